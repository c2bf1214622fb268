"""Measure a shift in a busy hall with one forklift and three people beside one without: `python bench/people.py`.

It prints orders done per hour, the longest stand of a robot that is on its way, and the least gaps between bodies,
found from the poses of each step by `test/support/overlaps.py`. `--crowd 10000` measures instead how many times real
time so many people and `--robots` robots take, at steps of 0.1 s.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import fleet_sim as fs
from fleet_sim.base.kernels import compile_at_first_call

sys.path.append(str(Path(__file__).parents[1] / "test" / "support"))
from overlaps import Track, least_gap
from shift_hall import shift_hall

FORKLIFT: dict[str, Any] = {
    "name": "forklift",
    "pose": [1.5, 20.5, 0.15],
    "shape": {"shape_type": "box", "half_extents": [0.38, 0.28, 0.15], "rgba_color": [0.9, 0.2, 0.15, 1.0]},
    "controller": {"type": "differential", "max_linear_vel": 1.5, "max_linear_accel": 0.8, "max_angular_vel": 1.5},
    "forklift": {"visits": ["pick", "packing_0", "packing_1"]},
}
PEOPLE = {"groups": [{"name": "picker", "count": 3, "visits": ["workstation", "drop", "charge"], "stays": [5, 60]}]}


CHUNK = 2400
"""Steps whose poses are kept at a time."""


def shift(seconds: float, seed: int, *, disturbed: bool) -> dict[str, float]:
    """Return the figures of one shift."""
    with tempfile.TemporaryDirectory() as folder:
        content = shift_hall(Path(folder), seed=seed)
        content["orders"]["robot"] = None
        if disturbed:
            content["robots"].append(FORKLIFT)
            content["people"] = PEOPLE
        with fs.MultiRobotSimulationCore.from_dict(content) as sim:
            return _figures(sim, round(seconds / sim.world.clock.dt), disturbed)


def _figures(sim: Any, steps: int, disturbed: bool) -> dict[str, float]:
    world, table = sim.world, sim.world.tables["traffic"]
    robots = np.array([agent.row for agent in sim.agents])
    people = sim.get_manager("people").rows if disturbed else robots[:0]
    radii = world.radius[people]
    discs = np.column_stack((radii, np.zeros(len(radii))))
    stands, longest, gaps = np.zeros(len(robots)), 0.0, np.full(2, np.inf)
    places, spots, yaws = [], [], []
    result: dict[str, float] = {}
    for step in range(steps):
        sim.step_once()
        goes = (table.goal[robots] >= 0) & ~table.arrived[robots]
        moves = world.velocity[robots].any(axis=1) | world.angular_velocity[robots].any(axis=1)
        stands = np.where(goes & ~moves, stands + world.clock.dt, 0.0)
        longest = max(longest, float(stands.max()))
        places.append(world.position[robots, :2].copy())
        spots.append(world.position[people, :2].copy())
        yaws.append(table.yaw[robots].copy())
        if len(places) < CHUNK and step < steps - 1:
            continue
        track = Track(np.array(places), np.array(yaws), world.half_extents[robots, :2])
        found = least_gap(track, Track(np.array(spots), np.zeros((len(places), len(people))), discs))
        gaps = np.minimum(gaps, found)
        # The last sample is the first of the next chunk.
        places, spots, yaws = places[-1:], spots[-1:], yaws[-1:]
        done = sim.get_manager("orders").counts
        count = next(number for state, number in done.items() if state.value == "done")
        result = {"simulated_s": world.clock.time, "orders_per_hour": 3600.0 * count / world.clock.time}
        result |= {"longest_stand_s": longest, "gap_of_robots_m": float(gaps[0]), "gap_to_people_m": float(gaps[1])}
        result |= sim.get_manager("people").figures() if disturbed else {}
        print({name: round(value, 3) for name, value in result.items()}, flush=True)
    return result


def crowd(people: int, robots: int, seconds: float) -> float:
    """Return how many times real time a yard with `people` and `robots` in the traffic takes, at steps of 0.1 s."""
    from fleet_sim.warehouse.sites import Grid, Site, write_site

    with tempfile.TemporaryDirectory() as folder:
        free = np.ones((200, 200), bool)
        free[10:190:6, 10:190] = False
        free[:, 60:64] = free[:, 130:134] = True
        write_site(Site("yard", Grid(free, cell=1.0)), Path(folder) / "yard.yaml")
        corners = [[[x, y], [x + 8, y], [x + 8, y + 8], [x, y + 8]] for x in (0, 192) for y in (0, 192)]
        shape = {"shape_type": "cylinder", "radius": 0.35, "height": 0.3}
        drive = {"type": "differential", "max_linear_vel": 2.0, "max_linear_accel": 1.0}
        content = {
            "simulation": {"gui": False, "monitor": False, "timestep": 0.1, "target_rtf": 0},
            "site": {"map": str(Path(folder) / "yard.yaml")},
            "robots": [{"name": "amr", "at": {"site": "free", "count": robots}, "shape": shape, "controller": drive}],
            "traffic": {},
            "people": {"groups": [{"name": "person", "count": people, "visits": corners, "size": 2}]},
        }
        with fs.MultiRobotSimulationCore.from_dict(content) as sim:
            traffic, random = sim.get_manager("traffic"), np.random.default_rng(1)
            rows = traffic.rows
            traffic.send_rows(rows, random.permutation(len(traffic.network))[: len(rows)])
            for _ in range(20):
                sim.step_once()
            begin = time.process_time()
            for _ in range(round(10.0 * seconds)):
                sim.step_once()
            took = time.process_time() - begin
            print(sim.get_profiling_stats())
            return seconds / took


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=7200.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("plain", "disturbed"))
    parser.add_argument("--crowd", type=int, default=0)
    parser.add_argument("--robots", type=int, default=1000)
    options = parser.parse_args()
    compile_at_first_call()
    if options.crowd:
        print(f"{crowd(options.crowd, options.robots, min(options.seconds, 30.0)):.1f} times real time")
        return
    for disturbed in (False, True):
        if options.only != ("disturbed", "plain")[not disturbed] and options.only is not None:
            continue
        figures = shift(options.seconds, options.seed, disturbed=disturbed)
        print(
            "disturbed" if disturbed else "plain",
            {name: round(value, 4) for name, value in figures.items()},
            flush=True,
        )


if __name__ == "__main__":
    main()
