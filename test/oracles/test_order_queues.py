"""Stock, workstations and chargers of orders: what is promised is there, and each robot has one place in a queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot
from oracle_rows import holds
from pod_floor import scenario

from fleet_sim.warehouse.orders import OrderState

OPEN = ("assigned", "picking")


@pytest.mark.parametrize("seed", [3, 8])
@holds(
    "report:orders.pods.stock.*",
    "report:orders.pods.orders_short",
    fault="warehouse/orders/pods/crew.py: items that one order gets are not taken from those that the next one may get",
)
def test_no_more_is_promised_than_pods_hold(tmp_path: Path, seed: int) -> None:
    pods: dict[str, Any] = {
        "list": [
            {"id": "one", "at": [4.5, 2.5], "stock": {"tea": 3, "nuts": 4}},
            {"id": "two", "at": [6.5, 6.5], "stock": {"tea": 2, "nuts": 1}},
        ],
        "capacity": 12,
        "replenishment": {"type": "threshold", "options": {"below": 0.9}},
    }
    with scenario(tmp_path, pods, simulation={"seed": seed}) as sim:
        orders, random, asked = sim.get_manager("orders"), np.random.default_rng(seed), {}
        for number in range(9):
            name = orders.submit(lines={"tea": 1 + int(random.integers(3)), "nuts": 1 + number % 2})
            asked[name] = orders.book.orders[orders.book.number(name)].lines
        # What came and went by sku, from the lines of the orders that are done and from what pods hold.
        short = 0
        while orders.delivered < 9 and sim.sim_time < 500.0:
            sim.step_once()
            states = {name: orders.status(name).state.value for name in asked}
            stock = orders.figures()["pods"]["stock"]
            whole = {state: sum(n for name in asked if states[name] == state for _, n in asked[name]) for state in OPEN}
            picked = stock["picked"] - sum(n for name in asked if states[name] == "done" for _, n in asked[name])
            assert sum(whole.values()) - picked <= stock["on_pods"]
            for index, sku in enumerate(orders.pods.stock.skus):
                given = sum(n for name in asked if states[name] == "assigned" for kind, n in asked[name] if kind == sku)
                assert given <= orders.pods.stock.held[:, index].sum(), sku
            assert sum(stock[part] for part in ("on_pods", "coming", "picked", "gone")) == stock["supplied"]
            waiting = [
                name for name in asked if states[name] == "waiting" and "not enough" in orders.status(name).reason
            ]
            assert orders.figures()["pods"]["orders_short"] == len(waiting)
            short = max(short, len(waiting))
        assert orders.delivered == 9 and short > 2
        assert orders.figures()["pods"]["stock"]["picked"] == sum(n for lines in asked.values() for _, n in lines)


@holds(
    "report:orders.pods.visits",
    "report:orders.pods.station_idle_s.*",
    fault="warehouse/orders/pods/crew.py: a robot that overtakes keeps its place in the queue, or nobody overtakes",
)
def test_each_robot_has_one_place_before_a_workstation(tmp_path: Path) -> None:
    pods = {"count": 16, "skus": 6, "kinds": 2, "items": [6, 9], "queue": 3, "open_orders": 4, "go_on": False}
    demand = {"per_hour": [36000], "end": 3, "lines": [1, 2], "quantity": [1, 2]}
    with scenario(tmp_path, pods, orders={"arrivals": [demand]}, simulation={"seed": 4}) as sim:
        orders = sim.get_manager("orders")
        benches = list(orders.pods.counter.benches.values())
        overtaken, before = 0, {bench.place: -1 for bench in benches}
        queued: dict[int, set[int]] = {bench.place: set() for bench in benches}
        idle = {bench.place: 0.0 for bench in benches}
        while sim.sim_time < 260.0 and not (sim.sim_time > 3.0 and orders.delivered == len(orders)):
            sim.step_once()
            everywhere = [row for bench in benches for row in (*bench.queue, bench.owner) if row >= 0]
            assert len(everywhere) == len(set(everywhere)), "a robot has two places"
            for bench in benches:
                places = list(bench.queue.values())
                assert len(places) == len(set(places)) and bench.place not in places
                # The one that was to come waits now, behind one that waited before.
                owner = before[bench.place]
                overtaken += owner in bench.queue and bench.owner in queued[bench.place]
                before[bench.place], queued[bench.place] = bench.owner, set(bench.queue)
                idle[bench.place] += 0.2 * (bench.since < 0.0)
        assert orders.delivered == len(orders) > 15 and overtaken > 0
        told = orders.figures()["pods"]["station_idle_s"]
        names = {orders.places.names[place]: time for place, time in idle.items()}
        assert told == pytest.approx({name: names[name] for name in told}, abs=0.5)


@holds(
    "report:orders.robots.time_s.charging",
    fault="warehouse/orders/charging.py: a robot that is gone stays in the queue for a charger",
)
def test_a_robot_that_gives_up_its_place_is_not_waited_for(tmp_path: Path) -> None:
    battery = {"capacity_wh": 1.0, "idle_power": 0.0, "charge_power": 200.0, "level": 0.2, "low_level": 0.1}
    places = [[0.5, 0.5], [5.5, 2.5], [9.5, 5.5], [12.5, 2.5]]
    with depot(tmp_path, {"charging": {"period": 1.0}}, places, timestep=0.05, battery=battery) as sim:
        robots, table, seconds = sim.agents, sim.features.table("orders"), 0.0
        while not (sim.sim_time > 3.0 and any(robot.feature("battery").is_charging for robot in robots)):
            sim.step_once()
            seconds += 0.05 * any(robot.feature("battery").is_charging for robot in robots)
        waiting = [robot for robot in robots if not robot.feature("battery").is_charging]
        assert len(waiting) == 3
        # One is removed, and one is empty while it waits.
        sim.remove_object(waiting[0])
        waiting[1].feature("battery").battery_soc = 0.0
        left = [robot for robot in robots if robot is not waiting[0]]
        charged = set()
        while sim.sim_time < 120.0:
            sim.step_once()
            at = [robot.name for robot in left if robot.feature("battery").is_charging]
            # A robot has the only charger to itself, and nobody has it who is not there.
            assert len(at) <= 1
            charged.update(at)
            seconds += 0.05 * len(at)
        assert waiting[2].name in charged and waiting[2].feature("battery").battery_soc > 0.9
        assert waiting[1].name not in charged
        told = sim.get_manager("orders").figures()["robots"]["time_s"]["charging"]
        assert told == pytest.approx(seconds, abs=0.3)
        assert int(table.order[waiting[2].row]) == -1 and sim.get_manager("orders").counts[OrderState.FAILED] == 0


@holds(
    "report:orders.pods.stock.on_pods",
    fault="warehouse/orders/pods/floor.py: each pod begins with the kind after the last one",
)
def test_pods_stand_in_storage_and_are_filled_with_kinds_in_turns(tmp_path: Path) -> None:
    listed = [{"id": "own", "at": [4.5, 2.5], "stock": {"sku_2": 6}}, {"at": [6.5, 7.5], "stock": {"sku_1": 1}}]
    pods = {"list": listed, "count": 9, "skus": 6, "kinds": 2, "items": [3, 5], "capacity": 11}
    with scenario(tmp_path, pods) as sim:
        found = sim.get_manager("orders").pods
        held, names = found.stock.held, found.shelves.names
        assert names == ["own", *(f"pod_{number}" for number in range(1, 11))]
        assert [held[0, found.stock.number("sku_2")], held[0].sum(), held[1, found.stock.number("sku_1")]] == [6, 6, 1]
        filled = held[2:]
        # Two kinds on each, three to five of each kind, and each of six kinds on three of nine pods.
        assert ((filled > 0).sum(axis=1) == 2).all() and ((filled > 0).sum(axis=0) == 3).all()
        assert set(filled[filled > 0].tolist()) <= {3, 4, 5} and len(set(filled[filled > 0].tolist())) > 1
        assert held.sum() == sim.get_manager("orders").figures()["pods"]["stock"]["on_pods"]
        places = np.array([sim.get_object(name).position for name in names])
        assert len(np.unique(places.round(6), axis=0)) == 11
        x, y = places[:, 0], places[:, 1]
        assert ((x > 3) & (x < 9) & (((y > 1) & (y < 3)) | ((y > 6) & (y < 8)))).all()
        assert places[:2, :2] == pytest.approx(np.array([entry["at"] for entry in listed]))
