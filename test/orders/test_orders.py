"""Robots take loads from station to station."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from depot import depot, orders_of, run_until

import fleet_sim as fs
from fleet_sim.orders import Order, OrderState, RobotState
from fleet_sim.orders.states import FINAL, TRANSITIONS, after

ONE = {"id": "first", "pick": "shelf_a", "drop": "dock", "load": 12.0, "pick_time": 2.0, "drop_time": 3.0}


def test_a_load_is_taken_carried_and_put_down(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE], "load": {"remain": 4.0}}) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        seen: list[tuple[str, str]] = []
        sim.events.on("order_changed", lambda order, state, **_: seen.append((order, state.value)))
        run_until(sim, lambda: orders.status("first").state is OrderState.CARRYING)
        box = sim.get_object("load_first")
        assert robot.get_attached_objects() == [box]
        assert box.mass == 12.0
        # On top of the robot, and with it wherever it goes.
        assert box.get_pose().z == pytest.approx(0.3 + 0.125)
        # It sets out in the step in which it has the load.
        assert robot.get_pose().position[:2] == pytest.approx((3.5, 5.5), abs=0.05)
        run_until(sim, lambda: orders.status("first").state is OrderState.DROPPING)
        assert box.get_pose().position[:2] == pytest.approx((13.5, 0.5))
        assert orders.status("first").robot == "amr_0"
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)
        assert robot.get_attached_objects() == []
        assert box.get_pose().position == pytest.approx((13.5, 0.5, 0.125))
        status = orders.status("first")
        assert status.ended is not None
        run_until(sim, lambda: sim.clock.time >= status.ended + 3.9)
        assert box in sim.sim_objects
        sim.run_simulation(duration=0.3)
        assert box not in sim.sim_objects
    names = ["assigned", "driving", "picking", "carrying", "dropping", "done"]
    assert seen == [("first", name) for name in names]


def test_times_are_those_of_the_simulation(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [{**ONE, "release": 7.0}]}) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.status("first").state is not OrderState.WAITING)
        assert orders.status("first").assigned == pytest.approx(7.0)
        run_until(sim, lambda: orders.status("first").state is OrderState.PICKING)
        # The clock stands at the next step already.
        begin = sim.clock.time - sim.params.timestep
        run_until(sim, lambda: orders.status("first").state is OrderState.CARRYING)
        assert orders.status("first").picked == pytest.approx(begin + 2.0)
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)
        table, row = sim.features.table("orders"), sim.agents[0].row
        spent = table.times[row]
        assert spent[RobotState.SERVING.code] == pytest.approx(5.0)
        # Until it became idle again; what came after is not in the columns yet.
        assert spent.sum() == pytest.approx(orders.status("first").ended)


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


def test_a_loaded_robot_is_slower_as_set(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE], "robot": {"loaded_speed": 0.5}}) as sim:
        orders, robot, fastest = orders_of(sim), sim.agents[0], {False: 0.0, True: 0.0}
        while orders.status("first").state is not OrderState.DONE:
            sim.step_once()
            loaded = orders.status("first").state in (OrderState.CARRYING, OrderState.DROPPING)
            fastest[loaded] = max(fastest[loaded], float(np.linalg.norm(robot.velocity)))
        assert fastest[False] == pytest.approx(2.0)
        assert fastest[True] == pytest.approx(1.0)
        assert robot.max_linear_vel.max() == pytest.approx(2.0)


def test_urgent_orders_are_served_first_and_robots_keep_to_their_limits(tmp_path: Path) -> None:
    late = [{**ONE, "id": name, "priority": priority} for name, priority in (("low", 0), ("high", 5))]
    heavy = {**ONE, "id": "heavy", "load": 80.0, "priority": 9}
    entry = {"list": [*late, heavy]}
    (first, second) = [[5.5, 3.5], [0.5, 0.5]]
    with depot(tmp_path, entry, [first, second]) as sim:
        orders, weak = orders_of(sim), sim.agents[0]
        sim.features.give("orders", np.array([weak.row]), {"max_load": 50.0})
        sim.step_once()
        # The nearer robot cannot take the most urgent one.
        assert orders.status("heavy").robot == "amr_1"
        assert orders.status("high").robot == "amr_0"
        assert orders.status("low").state is OrderState.WAITING


def test_a_station_serves_one_robot_at_a_time(tmp_path: Path) -> None:
    entries = [{**ONE, "id": str(number), "pick_time": 20.0} for number in range(3)]
    places = [[3.5, 7.5], [5.5, 7.5], [1.5, 5.5]]
    with depot(tmp_path, {"list": entries}, places) as sim:
        orders, table = orders_of(sim), sim.features.table("orders")
        rows = [robot.row for robot in sim.agents]
        run_until(sim, lambda: orders.counts[OrderState.CARRYING] == 1)
        assert sorted(table.state[rows].tolist()) == sorted(
            [RobotState.LOADED.code, RobotState.SERVING.code, RobotState.WAITING.code]
        )
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 3)
        picked = sorted(orders.status(str(number)).picked for number in range(3))
        assert min(np.diff(picked)) >= 20.0 - 1e-6


def test_the_same_run_again_after_a_reset_and_from_a_saved_state(tmp_path: Path) -> None:
    entries = [{**ONE, "id": str(number), "pick": f"shelf_{'abc'[number % 3]}"} for number in range(5)]
    with depot(tmp_path, {"list": entries, "allocation": {"type": "hungarian"}}, [[5.5, 3.5], [0.5, 0.5]]) as sim:
        orders = orders_of(sim)

        def finish() -> tuple[str, list[object]]:
            run_until(sim, lambda: orders.counts[OrderState.DONE] == 5)
            return sim.state_hash(), [orders.status(str(number)) for number in range(5)]

        run_until(sim, lambda: orders.counts[OrderState.CARRYING] == 2)
        saved = sim.save_state()
        first = finish()
        sim.restore_state(saved)
        assert orders.counts[OrderState.CARRYING] == 2
        assert finish() == first
        sim.reset()
        assert orders.counts[OrderState.WAITING] == 5
        assert finish() == first
        sim.restore_state(saved)
        assert finish() == first


def test_orders_go_with_a_clear_and_come_back_with_a_new_building(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE]}) as sim:
        sim.run_simulation(duration=1.0)
        sim.clear()
        with pytest.raises(fs.UnknownNameError):
            sim.get_manager("orders")
        sim.run_simulation(duration=1.0)


def test_an_order_changes_by_named_transitions_only() -> None:
    for name, (begins, end) in TRANSITIONS.items():
        for state in OrderState:
            if state in begins:
                assert after(name, state) is end
            else:
                with pytest.raises(fs.StateError, match=f"an order that is {state} cannot {name}"):
                    after(name, state)
    assert not any(state in begins for state in FINAL for begins, _ in TRANSITIONS.values())


def test_an_order_says_all_its_stops() -> None:
    assert Order(pick="a", drop=(1.0, 2.0)).places == ("a", (1.0, 2.0))
    assert Order(stops=("a", "b", "c")).places == ("a", "b", "c")
