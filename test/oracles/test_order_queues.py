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
            assert (orders.pods.stock.promised <= orders.pods.stock.held).all()
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


@holds(
    "report:orders.pods.items_per_visit",
    "report:orders.robots.driven_loaded_m",
    fault="warehouse/orders/pods/crew.py: a visit takes the time of one item, however many are picked",
)
@pytest.mark.parametrize("place", ["original", "nearest"])
def test_a_visit_takes_its_times_and_moves_the_pod_as_its_settings_say(tmp_path: Path, place: str) -> None:
    step, lift_time, item_time, visit_time, raised, legs, high = 0.05, 1.3, 0.7, 1.15, 0.07, 0.37, 1.1
    stock = {"tea": 9, "nuts": 6, "salt": 4}
    pods = {
        "list": [{"id": "shelf", "at": [7.5, 7.5], "stock": stock}],
        **{"lift_time": lift_time, "item_time": item_time, "visit_time": visit_time},
        **{"lift": raised, "legs": legs, "size": [0.6, 0.5, high], "mass": 31.0},
        **{"place": {"type": place}, "replenishment": {"type": "never"}},
    }
    robot = {"at": {"site": "free", "count": 1, "seed": 1}, "orders": {"loaded_speed": 0.6}}
    with scenario(tmp_path, pods, simulation={"timestep": step}, robot=robot) as sim:
        orders, agent, shelf = sim.get_manager("orders"), sim.agents[0], sim.get_object("shelf")
        orders.submit(id="a", lines={"tea": 2, "nuts": 5}, drop="right")
        seen, speeds, driven = [], [], 0.0
        while sim.sim_time < 120.0 and not orders.figures()["pods"]["visits"]:
            before = agent.position
            sim.step_once()
            way = float(np.hypot(*(agent.position - before)[:2]))
            carried = shelf.get_pose().z > legs + 0.5 * high + 0.5 * raised
            driven += way * carried
            speeds.append((carried, way / step))
            at = tuple(np.round(agent.position[:2], 6).tolist())
            seen.append((sim.sim_time, carried, at if way == 0.0 else None, orders.status("a").state.value))
        # It stands under the pod, at the workstation, and at the storage place.
        stays: dict[tuple[float, float], list[float]] = {}
        for time, _, where, _ in seen[20:]:
            if where is not None:
                stays.setdefault(where, []).append(time)
        work = visit_time + item_time * 7
        home = (7.5, 7.5) if place == "original" else (3.5, 6.5)
        lasts = {where: times[-1] - times[0] for where, times in stays.items()}
        assert lasts[0.5, 6.5] >= work - 2 * step
        lifted = next(time for time, carried, _, _ in seen if carried)
        assert lifted - next(time for time, _, where, _ in seen if where == (7.5, 7.5)) == pytest.approx(
            lift_time, abs=2.1 * step
        )
        came = next(time for time, _, where, _ in seen if where == (0.5, 6.5))
        begun, done = (next(time for time, *_, state in seen if state == name) for name in ("picking", "done"))
        # The first line is counted when all of it is picked.
        assert done - came == pytest.approx(work, abs=3.1 * step)
        assert done - begun in (
            pytest.approx(5 * item_time, abs=2.1 * step),
            pytest.approx(2 * item_time, abs=2.1 * step),
        )
        lowered = next(time for time, carried, _, _ in seen[::-1] if carried)
        assert lowered - min(time for time in stays[home] if time > done) == pytest.approx(lift_time, abs=3.1 * step)
        pose = shelf.get_pose()
        assert pose.position == pytest.approx((*home, legs + 0.5 * high))
        assert sim.world.mass[shelf.row] == 31.0
        assert max(speed for carried, speed in speeds if carried) == pytest.approx(0.6 * 1.5, rel=1e-6)
        assert max(speed for carried, speed in speeds if not carried) == pytest.approx(1.5, rel=1e-6)
        figures = orders.figures()
        assert figures["robots"]["driven_loaded_m"] == pytest.approx(driven, abs=0.1)
        assert (figures["pods"]["items_per_visit"], figures["pods"]["lines_done"]) == (7.0, 2)
        left = {sku: int(orders.pods.stock.held[0, orders.pods.stock.number(sku)]) for sku in stock}
        assert left == {"tea": 7, "nuts": 1, "salt": 4}
        idle, whole = figures["pods"]["station_idle_s"], sim.sim_time
        assert idle["left"] == pytest.approx(whole, abs=2 * step)
        assert whole - idle["right"] == pytest.approx(work, abs=4 * step)


@holds("api:Orders.submit", fault="warehouse/orders/pods/crew.py: the least urgent order comes to a workstation first")
def test_workstations_begin_with_the_most_urgent_orders(tmp_path: Path) -> None:
    pods = {"list": [{"id": "shelf", "at": [4.5, 2.5], "stock": {"tea": 9}}], "open_orders": 1}
    with scenario(tmp_path, {**pods, "replenishment": {"type": "never"}}) as sim:
        orders, begun = sim.get_manager("orders"), list[str]()
        sim.events.on(
            "order_changed", lambda order, before, state, robot: begun.append(order) if state == "assigned" else None
        )
        # By priority, then by release, then as they were submitted.
        for name, priority, release in (("e", 0, 0.0), ("d", 1, 0.6), ("b", 1, 0.4), ("c", 1, 0.4), ("a", 2, 0.6)):
            orders.submit(id=name, lines={"tea": 1}, drop="left", priority=priority, release=release)
        orders.close_station("left")
        for _ in range(6):
            sim.step_once()
        orders.open_station("left")
        while orders.delivered < 5 and sim.sim_time < 200.0:
            sim.step_once()
        assert begun == ["a", "b", "c", "d", "e"]
