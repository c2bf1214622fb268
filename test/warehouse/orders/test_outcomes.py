"""What becomes of orders that are cancelled, of robots that vanish, of stations that close."""

from __future__ import annotations

from pathlib import Path

import pytest
from depot import depot, orders_of, run_until

import fleet_sim as fs
from fleet_sim.warehouse.orders import OrderState
from fleet_sim.warehouse.orders.order import FINAL

ONE = {"id": "first", "pick": "shelf_a", "drop": "dock", "pick_time": 2.0, "drop_time": 3.0}
OPEN = [state for state in OrderState if state not in FINAL]
TWO = [{**ONE, "release": 5.0}, {"id": "second", "pick": "shelf_c", "drop": "gate"}]
"""The first one waits in the plan of the robot that serves the second."""


@pytest.mark.parametrize("state", OPEN)
def test_an_order_may_be_cancelled_in_every_state(tmp_path: Path, state: OrderState) -> None:
    entry: dict[str, object] = {"list": [ONE], "load": {"remain": 1.0}}
    if state is OrderState.ASSIGNED:
        entry = {"list": TWO, "allocation": {"type": "auction", "queue": 2}}
    elif state is OrderState.WAITING:
        entry = {"list": [{**ONE, "release": 50.0}]}
    with depot(tmp_path, entry) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: orders.status("first").state is state)
        carried = robot.get_attached_objects()
        orders.cancel("first", "not wanted")
        assert orders.status("first").state is OrderState.CANCELLED
        assert orders.status("first").reason == "not wanted"
        if carried:
            # Back to where it was taken from.
            run_until(sim, lambda: not robot.get_attached_objects())
            assert carried[0].get_pose().position[:2] == pytest.approx((3.5, 5.5))
        elif state in (OrderState.DRIVING, OrderState.PICKING):
            sim.step_once()
            assert not robot.is_moving
        # Whatever it was: the robot serves the next one, and this one stays as it is.
        following = orders.submit(pick="shelf_b", drop="gate")
        run_until(sim, lambda: orders.status(following).state is OrderState.DONE)
        assert orders.status("first").state is OrderState.CANCELLED
        with pytest.raises(fs.StateError, match="an order that is cancelled cannot cancel"):
            orders.cancel("first")


@pytest.mark.parametrize("state", OPEN[1:])
def test_a_robot_may_vanish_in_every_state(tmp_path: Path, state: OrderState) -> None:
    entry: dict[str, object] = {"list": [ONE]}
    if state is OrderState.ASSIGNED:
        entry = {"list": TWO, "allocation": {"type": "auction", "queue": 2}}
    with depot(tmp_path, entry) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: orders.status("first").state is state)
        carried, place = robot.get_attached_objects(), robot.get_pose().position
        sim.remove_object(robot)
        status = orders.status("first")
        if carried:
            assert (status.state, status.reason) == (OrderState.FAILED, "its robot was removed with the load")
            # The load stays where it was.
            assert carried[0].get_pose().position[:2] == pytest.approx(place[:2])
            assert not carried[0].is_attached()
        else:
            assert (status.state, status.reason) == (OrderState.WAITING, "its robot was removed")
            sim.spawn_robots_from_config([{**ROBOT_AGAIN}])
            run_until(sim, lambda: orders.status("first").state is OrderState.DONE)
            assert orders.status("first").robot == "late"


ROBOT_AGAIN = {
    "name": "late",
    "motion_mode": "omnidirectional",
    "max_linear_vel": 2.0,
    "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]},
    "pose": [5.5, 3.5, 0.15],
    "orders": {},
}


def test_orders_wait_for_a_closed_station(tmp_path: Path) -> None:
    with depot(tmp_path) as sim:
        orders = orders_of(sim)
        orders.close_station("dock")
        orders.submit(ONE)
        sim.run_simulation(duration=5.0)
        status = orders.status("first")
        assert (status.state, status.reason) == (OrderState.WAITING, "station dock is closed")
        orders.open_station("dock")
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)
        with pytest.raises(fs.UnknownNameError, match=r"unknown station 'dok'. Did you mean 'dock'"):
            orders.close_station("dok")


@pytest.mark.parametrize("closed", ["shelf_a", "dock"])
def test_a_robot_on_its_way_to_the_load_gives_the_order_back(tmp_path: Path, closed: str) -> None:
    with depot(tmp_path, {"list": [ONE]}) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: orders.status("first").state is OrderState.DRIVING)
        orders.close_station(closed)
        sim.step_once()
        assert orders.status("first").state is OrderState.WAITING
        assert orders.status("first").reason == f"station {closed} is closed"
        assert not robot.is_moving
        orders.open_station(closed)
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_a_robot_with_the_load_waits_until_its_station_opens(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE]}) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: orders.status("first").state is OrderState.CARRYING)
        orders.close_station("dock")
        sim.run_simulation(duration=20.0)
        assert orders.status("first").state is OrderState.CARRYING
        assert not robot.is_moving
        orders.open_station("dock")
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_who_is_at_a_station_when_it_closes_is_served(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE]}) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.status("first").state is OrderState.DROPPING)
        orders.close_station("dock")
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_a_robot_that_somebody_else_drives_gives_its_order_back(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE], "retry_after": 2.0}) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: robot.is_moving)
        robot.execute_action(fs.Wait(1.0))
        robot.stop()
        sim.run_simulation(duration=0.3)
        assert orders.status("first").state is OrderState.WAITING
        assert orders.status("first").reason == "stopped"
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_an_order_whose_load_somebody_takes_fails(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE]}) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: orders.status("first").state is OrderState.CARRYING)
        robot.drop()
        run_until(sim, lambda: orders.status("first").state is OrderState.FAILED)
        assert orders.status("first").reason == "its load was taken from the robot or removed"
        following = orders.submit(pick="shelf_b", drop="gate")
        run_until(sim, lambda: orders.status(following).state is OrderState.DONE)


WIDE = {**ROBOT_AGAIN, "shape": {"shape_type": "box", "half_extents": [0.9, 0.9, 0.2]}, "pose": [9.0, 1.5, 0.2]}


def test_a_way_that_is_too_narrow_fails_the_order_in_the_end(tmp_path: Path) -> None:
    entry = {"list": [], "attempts": 2, "retry_after": 1.0}
    # There is a way for the small robot, but only the wide one takes the load.
    with depot(tmp_path, entry, orders={"max_load": 1.0}) as sim:
        sim.spawn_robots_from_config([{**WIDE, "orders": {"max_load": 60.0}}])
        orders, places = orders_of(sim), [robot.get_pose() for robot in sim.agents]
        orders.submit({**ONE, "load": 50.0})
        run_until(sim, lambda: orders.status("first").state is OrderState.FAILED)
        assert "too near to a wall" in orders.status("first").reason
        assert [robot.get_pose() for robot in sim.agents] == places


def test_an_order_that_no_robot_can_serve_says_so(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE]}) as sim:
        sim.spawn_robots_from_config([WIDE])
        sim.remove_object(sim.get_object("amr_0"))
        orders = orders_of(sim)
        sim.run_simulation(duration=2.0)
        status = orders.status("first")
        assert (status.state, status.reason) == (OrderState.WAITING, "no robot that is free gets to shelf_a")
