"""Robots take loads from station to station."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from depot import depot, orders_of, run_until

import fleet_sim as fs
from fleet_sim.warehouse.orders import OrderState, RobotState
from fleet_sim.warehouse.orders.order import FINAL, TRANSITIONS, after

ONE = {"id": "first", "pick": "shelf_a", "drop": "dock", "load": 12.0, "pick_time": 2.0, "drop_time": 3.0}


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
