"""Robots take loads from station to station."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot, orders_of, run_until

import fleet_sim as fs
from fleet_sim.base.errors import InvalidValueError, UnknownNameError
from fleet_sim.warehouse.orders import CancelOrders, OrderState, RobotState, SetStationsOpen, SubmitOrders
from fleet_sim.warehouse.orders.order import FINAL
from fleet_sim.warehouse.orders.orders import OrderNews
from fleet_sim.warehouse.orders.places import Timers
from fleet_sim.warehouse.orders.pods.floor import PodStock
from fleet_sim.warehouse.orders.stations import Service
from fleet_sim.world.commands import Command

ONE = {"id": "first", "pick": "shelf_a", "drop": "dock", "load": 12.0, "pick_time": 2.0, "drop_time": 3.0}


def test_stops_in_between_are_visited_with_the_load(tmp_path: Path) -> None:
    with depot(tmp_path) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        name = orders.submit(stops=["shelf_b", "desk", [6.5, 7.5], "gate"], stop_time=4.0)
        assert name == "order_0"
        table = sim.features.table("orders")
        stood: list[tuple[float, float]] = []
        while orders.status(name).state not in FINAL:
            if table.state[robot.row] == RobotState.SERVING.code:
                place = tuple(robot.get_pose().position[:2])
                if not stood or stood[-1] != place:
                    stood.append(place)
            sim.step_once()
        assert orders.status(name).stops == ("shelf_b", "desk", "(6.5, 7.5)", "gate")
        assert [tuple(np.round(place, 6)) for place in stood] == [(9.5, 5.5), (7.5, 0.5), (6.5, 7.5), (0.5, 7.5)]
        assert orders.counts[OrderState.DONE] == 1


def test_orders_go_with_a_clear_and_come_back_with_a_new_building(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE]}) as sim:
        sim.run_simulation(duration=1.0)
        sim.clear()
        with pytest.raises(fs.UnknownNameError):
            sim.get_manager("orders")
        sim.run_simulation(duration=1.0)


# ---- What becomes of orders that are cancelled, of robots that vanish, of stations that close ------------------------


ONE_OUTCOMES = {"id": "first", "pick": "shelf_a", "drop": "dock", "pick_time": 2.0, "drop_time": 3.0}
OPEN = [state for state in OrderState if state not in FINAL]
TWO = [{**ONE_OUTCOMES, "release": 5.0}, {"id": "second", "pick": "shelf_c", "drop": "gate"}]
"""The first one waits in the plan of the robot that serves the second."""


@pytest.mark.parametrize("state", OPEN)
def test_an_order_may_be_cancelled_in_every_state(tmp_path: Path, state: OrderState) -> None:
    entry: dict[str, object] = {"list": [ONE_OUTCOMES], "load": {"remain": 1.0}}
    if state is OrderState.ASSIGNED:
        entry = {"list": TWO, "allocation": {"type": "auction", "queue": 2}}
    elif state is OrderState.WAITING:
        entry = {"list": [{**ONE_OUTCOMES, "release": 50.0}]}
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
    entry: dict[str, object] = {"list": [ONE_OUTCOMES]}
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
        orders.submit(ONE_OUTCOMES)
        sim.run_simulation(duration=5.0)
        status = orders.status("first")
        assert (status.state, status.reason) == (OrderState.WAITING, "station dock is closed")
        orders.open_station("dock")
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)
        with pytest.raises(fs.UnknownNameError, match=r"unknown station 'dok'. Did you mean 'dock'"):
            orders.close_station("dok")


@pytest.mark.parametrize("closed", ["shelf_a", "dock"])
def test_a_robot_on_its_way_to_the_load_gives_the_order_back(tmp_path: Path, closed: str) -> None:
    with depot(tmp_path, {"list": [ONE_OUTCOMES]}) as sim:
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
    with depot(tmp_path, {"list": [ONE_OUTCOMES]}) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: orders.status("first").state is OrderState.CARRYING)
        orders.close_station("dock")
        sim.run_simulation(duration=20.0)
        assert orders.status("first").state is OrderState.CARRYING
        assert not robot.is_moving
        orders.open_station("dock")
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_who_is_at_a_station_when_it_closes_is_served(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE_OUTCOMES]}) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.status("first").state is OrderState.DROPPING)
        orders.close_station("dock")
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_a_robot_that_somebody_else_drives_gives_its_order_back(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE_OUTCOMES], "retry_after": 2.0}) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: robot.is_moving)
        robot.execute_action(fs.Wait(1.0))
        robot.stop()
        sim.run_simulation(duration=0.3)
        assert orders.status("first").state is OrderState.WAITING
        assert orders.status("first").reason == "stopped"
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_an_order_whose_load_somebody_takes_fails(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE_OUTCOMES]}) as sim:
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
        orders.submit({**ONE_OUTCOMES, "load": 50.0})
        run_until(sim, lambda: orders.status("first").state is OrderState.FAILED)
        assert "too near to a wall" in orders.status("first").reason
        assert [robot.get_pose() for robot in sim.agents] == places


def test_an_order_that_no_robot_can_serve_says_so(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE_OUTCOMES]}) as sim:
        sim.spawn_robots_from_config([WIDE])
        sim.remove_object(sim.get_object("amr_0"))
        orders = orders_of(sim)
        sim.run_simulation(duration=2.0)
        status = orders.status("first")
        assert (status.state, status.reason) == (OrderState.WAITING, "no robot that is free gets to shelf_a")


# ---- Orders by commands: from other threads, and from a log that is played again -------------------------------------


GOOD = {"id": "first", "pick": "shelf_a", "drop": "dock"}


def apply(sim: fs.MultiRobotSimulationCore, command: Command) -> Any:
    """Put a command in the inbox and make a step; returns the acknowledgement."""
    answer = sim.inbox.put(command)
    sim.step_once()
    return answer.result()


def test_orders_are_submitted_and_cancelled_by_commands(tmp_path: Path) -> None:
    with depot(tmp_path) as sim:
        orders = orders_of(sim)
        wrong: list[Any] = [{**GOOD, "id": "lost", "drop": "dok"}, {"pick": "shelf_a", "drop": "dock", "load": -1}, 7]
        ack = apply(sim, SubmitOrders(orders=(GOOD, *wrong, GOOD), command_id="mine"))
        assert (ack.accepted_names, ack.command_id) == (("first",), "mine")
        assert list(ack.rejected) == ["lost", "orders[2]", "orders[3]", "first"]
        assert "there is an order 'first' already" in ack.rejected["first"]
        assert orders.refused == 4
        ack = apply(sim, CancelOrders(ids=("first", "nobody"), reason="not wanted"))
        assert ack.accepted_names == ("first",)
        assert "unknown order 'nobody'" in ack.rejected["nobody"]
        assert orders.status("first").reason == "not wanted"
        with pytest.raises(fs.InvalidValueError, match="reason: must be a text of at most 200 letters"):
            apply(sim, CancelOrders(ids=("first",), reason="x" * 1000))


def test_stations_are_closed_and_opened_by_commands(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [GOOD]}) as sim:
        orders = orders_of(sim)
        ack = apply(sim, SetStationsOpen(stations=("dock", "dok"), open=False))
        assert (ack.accepted_names, list(ack.rejected)) == (("dock",), ["dok"])
        sim.run_simulation(duration=3.0)
        assert orders.status("first").state is OrderState.WAITING
        apply(sim, SetStationsOpen(stations=("dock",)))
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_commands_without_a_site_are_refused_with_the_reason() -> None:
    with fs.MultiRobotSimulationCore() as sim:
        answer = sim.inbox.put(SubmitOrders(orders=(GOOD,)))
        sim.step_once()
        with pytest.raises(fs.StateError, match="there are no orders without stations"):
            answer.result()


def test_commands_are_written_and_read_as_plain_data() -> None:
    for command in (
        SubmitOrders(orders=(GOOD,)),
        CancelOrders(ids=("first",), reason="late"),
        SetStationsOpen(stations=("dock",), open=False),
    ):
        assert Command.from_dict(command.to_dict()) == command


# ---- news ------------------------------------------------------------------------------------------------------------


FIRST = {"id": "first", "pick": "shelf_a", "drop": "dock"}
LATER = {"id": "later", "pick": "shelf_b", "drop": "gate", "release": 1000.0}


def told(news: OrderNews, most: int = 100) -> list[tuple[str, str]]:
    """Return the ids and states that are told now."""
    return [(status.id, status.state.value) for status in news.take(most)]


def test_new_and_changed_orders_are_told_once(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [FIRST, LATER]}) as sim:
        orders = orders_of(sim)
        news = OrderNews(sim.features.use("orders"), sim.events)
        assert told(news) == [("first", "waiting"), ("later", "waiting")]
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)
        name = orders.submit(pick="shelf_a", drop="gate", release=1000.0)
        # The many changes of one order are one.
        assert told(news) == [("first", "done"), (name, "waiting")]
        assert told(news) == []
        news.close()
        orders.cancel("later")
        assert told(news) == []


def test_no_more_are_told_at_a_time_than_asked_for(tmp_path: Path) -> None:
    entries = [{**LATER, "id": f"order_{number}"} for number in range(5)]
    with depot(tmp_path, {"list": entries}) as sim:
        news = OrderNews(sim.features.use("orders"), sim.events)
        assert [len(told(news, 2)) for _ in range(4)] == [2, 2, 1, 0]


def test_new_listeners_hear_of_open_orders_only(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [FIRST, LATER]}) as sim:
        news = OrderNews(sim.features.use("orders"), sim.events)
        orders_of(sim).cancel("first")
        news.begin_anew()
        assert told(news) == [("later", "waiting")]


def test_a_reset_or_a_restored_state_is_told_of(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [FIRST]}) as sim:
        news = OrderNews(sim.features.use("orders"), sim.events)
        sim.events.on("reset", news.begin_anew)
        sim.step_once()
        saved = sim.save_state()
        extra = orders_of(sim).submit(LATER)
        orders_of(sim).cancel("first")
        assert told(news) == [("first", "cancelled"), (extra, "waiting")]
        sim.restore_state(saved)
        assert told(news) == [("first", orders_of(sim).status("first").state.value)]
        orders_of(sim).submit(LATER)
        sim.reset()
        assert told(news) == [("first", "waiting")]


# ---- timers ----------------------------------------------------------------------------------------------------------


def test_what_is_due_comes_by_tick_and_then_in_the_order_it_was_asked_for() -> None:
    timers = Timers()
    for tick, what in ((5, "late"), (2, "first"), (2, "second"), (1, "early")):
        timers.add(tick, what, subject=7)
    assert timers.due(0) == []
    assert [timer.what for timer in timers.due(2)] == ["early", "first", "second"]
    assert timers.due(2) == []
    timers.add(1, "past", subject=8, token=3)
    (past,) = timers.due(2)
    assert (past.what, past.subject, past.token) == ("past", 8, 3)
    assert [timer.what for timer in timers.due(100)] == ["late"]


@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_places_serve_as_many_as_they_can_and_the_longest_waiting_first(at_once: int, seed: int) -> None:
    rng, service = np.random.default_rng(seed), Service(at_once, {})
    lines: dict[int, list[int]] = defaultdict(list)
    for row in range(300):
        place = int(rng.integers(3))
        line = lines[place]
        if rng.integers(2) or not line:
            line.append(row)
            assert service.enter(place, row) == (len(line) <= at_once)
        else:
            at = int(rng.integers(len(line)))
            called = service.leave(place, line.pop(at))
            # The first of those who wait moves up where one that was served has left.
            assert called == (line[at_once - 1] if at < at_once and len(line) >= at_once else None)
        assert service.leave(place, 999) is None and service.leave(7, row) is None
        if row % 50 == 0:
            saved = service.save()
            service = Service(at_once, {})
            service.restore(saved)
        assert all(service.length(number) == len(rows) for number, rows in lines.items())


def stock() -> PodStock:
    """Return the stock of two pods of ten items."""
    made = PodStock(["cup", "pen"], pods=2, capacity=10)
    made.fill(0, {"cup": 4, "pen": 2}, "pod_0")
    made.fill(1, {"pen": 5}, "pod_1")
    return made


def check_nothing_is_lost(made: PodStock) -> None:
    whole = made.held.sum(axis=0) + made.coming + made.picked + made.gone
    assert whole.tolist() == made.supplied.tolist()
    assert made.free.min() >= 0


def test_items_come_in_and_go_with_their_pod() -> None:
    made = stock()
    made.order(np.array([0, 4]))
    check_nothing_is_lost(made)
    assert made.room(1) == 5
    made.put(1, 1, 4)
    assert (made.room(1), made.coming.tolist()) == (1, [0, 0])
    made.remove(1)
    assert (made.gone.tolist(), made.room(1)) == ([0, 9], 10)
    check_nothing_is_lost(made)
    assert made.target.tolist() == [4, 7]


def test_a_pod_is_not_filled_with_more_than_it_holds() -> None:
    made = PodStock(["cup", "pen"], pods=1, capacity=3)
    with pytest.raises(InvalidValueError, match=r"pod 'p' holds 3 items, its stock has 4"):
        made.fill(0, {"cup": 2, "pen": 2}, "p")
    with pytest.raises(UnknownNameError, match="Did you mean 'pen'"):
        made.number("pem")
