"""Robots at work on orders, from their poses: how long stops take, where loads are, how fast robots are with them."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot, orders_of
from oracle_rows import holds

STEP = 0.05
SIZE, TOP = (0.5, 0.4, 0.3), 0.15
TIMES = {"pick_time": 1.35, "stop_time": 0.7, "drop_time": 2.1}
LISTED = [
    {"id": "plain", "pick": "shelf_a", "drop": "dock", "load": 7.5},
    {"id": "slow", "pick": "shelf_a", "drop": "gate", "load": 3.0, "pick_time": 2.6, "drop_time": 0.4},
    {"id": "round", "stops": ["shelf_a", "shelf_c", "desk", "dock"], "load": 11.0},
    {"id": "more", "pick": "shelf_a", "drop": "dock", "load": 1.0, "stop_time": 9.0},
]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Four robots begin at one shelf: what the orders, robots and boxes were after each step."""
    section = {"list": LISTED, "service": TIMES, "load": {"size": SIZE, "remain": 3.3}}
    places = [[5.5, 2.5], [0.5, 0.5], [9.5, 2.5], [6.5, 4.5]]
    own = {"orders": {"loaded_speed": 0.6, "max_load": 20.0}, "max_linear_vel": 1.9}
    with depot(tmp_path_factory.mktemp("work"), section, places, timestep=STEP, **own) as sim:
        orders = orders_of(sim)
        steps: list[dict[str, Any]] = []
        while sim.sim_time < 90.0:
            sim.step_once()
            status = {name: orders.status(name) for name in orders.names}
            boxes = {}
            for name in orders.names:
                if sim.world.index.has_name(f"load_{name}"):
                    box = sim.get_object(f"load_{name}")
                    boxes[name] = (box.get_pose(), float(sim.world.mass[box.row]))
            robots = {agent.name: (agent.get_pose(), math.hypot(*agent.velocity[:2])) for agent in sim.agents}
            steps.append({"time": sim.sim_time, "status": status, "boxes": boxes, "robots": robots})
        yield steps, orders.figures()["robots"]["time_s"], orders.places


def spans(steps: list[dict[str, Any]]) -> dict[str, dict[str, tuple[float, float, str]]]:
    """By order and state: when it began and ended, and the robot that had the order."""
    found: dict[str, dict[str, tuple[float, float, str]]] = defaultdict(dict)
    for step in steps:
        for name, status in step["status"].items():
            begin = found[name].get(status.state.value, (step["time"],))[0]
            found[name][status.state.value] = (begin, step["time"] + STEP, status.robot or "")
    return found


@holds(
    "report:orders.robots.time_s.serving", fault="warehouse/orders/fleet.py: stops in between take as long as the first"
)
def test_each_stop_takes_its_time_and_serves_one_robot_after_the_other(work: Any) -> None:
    steps, seconds, _ = work
    told = spans(steps)
    assert all(told[entry["id"]].get("done") for entry in LISTED)
    whole = 0.0
    for entry in LISTED:
        own: Any = {**TIMES, **entry}
        for state, time in (("picking", own["pick_time"]), ("dropping", own["drop_time"])):
            begin, end, _ = told[entry["id"]][state]
            assert end - begin == pytest.approx(time, abs=1.01 * STEP), (entry["id"], state)
            whole += time
        whole += (len(own.get("stops", (0, 0))) - 2) * own["stop_time"]
    assert seconds["serving"] == pytest.approx(whole, abs=4 * len(LISTED) * STEP)
    picks = sorted(told[entry["id"]]["picking"][:2] for entry in LISTED)
    for (_, end), (begin, _) in pairwise(picks):
        assert begin >= end - 1e-9


@holds("api:SimObject.get_pose", fault="warehouse/orders/transport.py: a box stands in the middle of its robot")
def test_a_load_stands_on_its_robot_and_then_at_its_station_until_it_is_taken_away(work: Any) -> None:
    steps, _, places = work
    told = spans(steps)
    loads = {entry["id"]: entry["load"] for entry in LISTED}
    ends = {"plain": "dock", "slow": "gate", "round": "dock", "more": "dock"}
    seen = dict.fromkeys(loads, 0)
    last = {}
    for step in steps:
        for name, (pose, mass) in step["boxes"].items():
            assert mass == pytest.approx(loads[name])
            state, robot = step["status"][name].state.value, step["status"][name].robot
            if state in ("carrying", "dropping"):
                carrier = step["robots"][robot][0]
                assert pose.position == pytest.approx((carrier.x, carrier.y, carrier.z + TOP + 0.5 * SIZE[2]))
                assert math.remainder(pose.yaw - carrier.yaw, math.tau) == pytest.approx(0.0, abs=1e-9)
                seen[name] += 1
            else:
                assert state == "done"
                x, y = places.points[places.number(ends[name])][:2]
                assert pose.position == pytest.approx((x, y, 0.5 * SIZE[2]))
                last[name] = step["time"]
    assert min(seen.values()) > 40
    for name in loads:
        assert last[name] - told[name]["done"][0] == pytest.approx(3.3, abs=2.1 * STEP)


@holds("api:Agent.velocity", fault="warehouse/orders/fleet.py: the speed with a load stays after the load is put down")
def test_robots_drive_slower_with_a_load_and_as_fast_as_before_without(work: Any) -> None:
    steps, _, _ = work
    speeds: dict[bool, list[float]] = {True: [], False: []}
    after: list[float] = []
    for step in steps:
        loaded = {one.robot for one in step["status"].values() if one.state.value in ("carrying", "dropping")}
        done = {one.robot for one in step["status"].values() if one.state.value == "done"}
        for name, (_, speed) in step["robots"].items():
            speeds[name in loaded].append(speed)
            if name in done and name not in loaded:
                after.append(speed)
    assert max(speeds[False]) == pytest.approx(1.9) and max(speeds[True]) == pytest.approx(0.6 * 1.9)
    # As they slow down, too: not above it for longer than that takes.
    assert np.mean(np.array(speeds[True]) > 0.0) > 0.3
    assert max(after, default=0.0) <= 1.9


@holds("api:OrderStatus.stops", fault="warehouse/orders/settings.py: who cannot stay goes to the first of the others")
@pytest.mark.parametrize(
    ("picks", "drops"),
    [
        ({"shelf_a": 1.0, "dock": 3.0}, {"dock": 1.0, "gate": 2.0, "shelf_a": 1.0}),
        ({"dock": 5.0, "shelf_b": 1.0, "shelf_c": 2.0}, {"dock": 1.0}),
    ],
)
def test_orders_at_random_lead_elsewhere_by_the_weights_of_stations(
    tmp_path: Path, picks: dict[str, float], drops: dict[str, float]
) -> None:
    stream = {"per_hour": [36000.0], "end": 300.0, "pick": picks, "drop": drops}
    with depot(tmp_path, {"arrivals": [stream]}, at=[], timestep=10.0) as sim:
        sim.run_simulation(duration=310.0)
        orders = orders_of(sim)
        pairs = [orders.status(name).stops for name in orders.names]
    # Where the only place to go is where the load is, it is taken from elsewhere.
    taken = {pick: weight for pick, weight in picks.items() if set(drops) != {pick}}
    for pick, weight in taken.items():
        others = {drop: share for drop, share in drops.items() if drop != pick}
        for drop, share in others.items():
            mean = len(pairs) * weight / sum(taken.values()) * share / sum(others.values())
            assert pairs.count((pick, drop)) == pytest.approx(mean, abs=4.0 * math.sqrt(mean))
    assert len(pairs) > 2700 and all(begin != end for begin, end in pairs)
