"""Measure a shift in a busy hall with one forklift and three people beside one without: `python bench/people.py`.

It prints orders done per hour, the longest stand of a robot that is on its way, and the least gaps between bodies,
found from the poses of each step by `test/support/overlaps.py`. `--crowd 10000` measures instead how many times real
time so many people and `--robots` robots take, at steps of 0.1 s. `--all` runs the shift with everything that can go
wrong in it, and looks for overlaps of true poses in the recording.
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
from fleet_sim.apps.record.recording import Recording
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


ERROR = 0.014
"""How far in m localization may take robots from where they are planned."""
DISTURBANCES: list[dict[str, Any]] = [
    {"kind": "breakdown", "per_hour": 0.1, "lasts": {"exponential": 120}},
    {"kind": "slow", "per_hour": 0.5, "lasts": 120, "pace": 0.5},
    {"kind": "emergency_stop", "per_hour": 0.2, "lasts": {"uniform": [10, 40]}, "field_violation": True},
    {"kind": "manual", "per_hour": 0.1, "lasts": 60},
    {"kind": "action_failure", "per_hour": 0.2, "lasts": 60, "probability": 0.5},
    {"kind": "battery_fault", "per_hour": 0.02, "lasts": 120, "charge_error": 0.1},
    {"kind": "silent", "per_hour": 0.1, "lasts": 60},
    {"kind": "reboot", "per_hour": 0.05, "lasts": 30},
    {"kind": "radio", "latency": 0.05, "jitter": 0.1, "loss": 0.02, "duplicates": 0.02, "reordering": 0.02},
    {"kind": "radio", "per_hour": 0.2, "lasts": 20, "outage": True},
    {"kind": "localization", "noise": 0.01, "drift_per_metre": 0.005, "most": ERROR},
    {"kind": "localization", "per_hour": 0.1, "lasts": 20, "jump": 0.014, "lost": True, "most": ERROR},
    {"kind": "closed", "at": 300, "lasts": 300, "area": [[30, 33], [34, 33], [34, 37], [30, 37]]},
    {"kind": "station_closed", "per_hour": 0.05, "lasts": 120, "stations": ["shelf_*"]},
    {"kind": "station_slow", "per_hour": 1, "lasts": 120, "factor": 2.0, "stations": ["packing_*"]},
    {"kind": "station_blocked", "per_hour": 0.02, "lasts": 60, "stations": ["shelf_*"]},
]
"""All that goes wrong in a hall without doors and lifts."""


def everything(seconds: float, seed: int) -> dict[str, float]:
    """Return the figures of a shift with all disturbances, people and a forklift, and the gaps in its recording."""
    with tempfile.TemporaryDirectory() as folder:
        content = shift_hall(Path(folder), seed=seed)
        content["orders"]["robot"] = None
        # Planned with so much more room: two come nearer to each other by twice the error.
        content["traffic"]["radius"] += ERROR
        content["robots"].append(FORKLIFT)
        content |= {"people": PEOPLE, "disturbances": DISTURBANCES}
        path = Path(folder) / "shift.mcap"
        with fs.MultiRobotSimulationCore.from_dict(content) as sim:
            dt, half = sim.world.clock.dt, {agent.name: sim.world.half_extents[agent.row, :2] for agent in sim.agents}
            people = {sim.world.label(row): sim.world.radius[row] for row in sim.get_manager("people").rows.tolist()}
            with sim.record(path, rate=None):
                for _ in range(round(seconds / dt)):
                    sim.step_once()
            done = sim.get_manager("orders").figures()["orders"]["done"]
            begun = sim.features.use("disturbances").figures()
            seen = {"collisions": sim.collisions.count}
        result = {"simulated_s": seconds, "orders_per_hour": 3600.0 * done / seconds, **seen}
        result |= dict(zip(("gap_of_robots_m", "gap_to_people_m"), recorded_gaps(path, half, people), strict=True))
        print("disturbances", begun, flush=True)
        return result


def recorded_gaps(path: Path, half: dict[str, Any], people: dict[str, Any]) -> tuple[float, float]:
    """Return the least gaps of robots, and to people, from the true poses in a recording alone."""
    robots, spots, yaws = list[Any](), list[Any](), list[Any]()
    gaps = np.full(2, np.inf)
    halves, discs = (
        np.array(list(half.values())),
        np.array([(radius, 0.0) for radius in people.values()]).reshape(-1, 2),
    )
    with Recording(path) as recording:
        for number, when in enumerate(recording.times.tolist()):
            now = recording.snapshot_at(when)
            index = {name: place for place, name in enumerate(now.names)}
            mine, theirs = [index[name] for name in half], [index[name] for name in people]
            robots.append(now.positions[mine, :2])
            x, y, z, w = now.orientations[mine].T
            yaws.append(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))
            spots.append(now.positions[theirs, :2])
            if len(robots) == CHUNK or number == len(recording.times) - 1:
                track = Track(np.array(robots), np.array(yaws), halves)
                others = Track(np.array(spots), np.zeros((len(robots), len(people))), discs)
                gaps = np.minimum(gaps, least_gap(track, others))
                robots, spots, yaws = robots[-1:], spots[-1:], yaws[-1:]
    return float(gaps[0]), float(gaps[1])


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
    parser.add_argument("--all", action="store_true", help="with all disturbances, checked from the recording")
    parser.add_argument("--crowd", type=int, default=0)
    parser.add_argument("--robots", type=int, default=1000)
    options = parser.parse_args()
    compile_at_first_call()
    if options.crowd:
        print(f"{crowd(options.crowd, options.robots, min(options.seconds, 30.0)):.1f} times real time")
        return
    if options.all:
        print(f"seed {options.seed}", everything(options.seconds, options.seed), flush=True)
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
