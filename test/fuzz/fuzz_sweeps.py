"""Targets: sweeps, which are read and planned, and buildings of Open-RMF, which are built with all that is in them."""

from __future__ import annotations

from random import Random

import yaml
from fuzz_files import SEEDS, Files, words_of
from fuzz_scenarios import HEADLESS, mutate
from fuzz_target import ROOT, Target
from fuzz_worlds import check_columns

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.apps.sweeps import load_sweep

MOST_PLANNED = 20
STEPS = 3


def sweep_target() -> Target:
    """Return the target of sweeps: the first and the last runs are planned."""
    files = Files()
    scenario = {"simulation": {**HEADLESS, "target_rtf": 0}, "robots": [{"name": "a", "pose": [0, 0, 0]}]}
    axes = {
        "simulation.timestep": [0.1, 0.2],
        "robots[0].pose": {"from": 0, "to": 4, "count": 3},
        "robots[0].mass": {"log_uniform": [0.1, 10]},
        "simulation.speed": {"from": 1, "to": 2, "step": 0.5},
    }
    sweep = {"scenario": scenario, "duration": 1.0, "seeds": "1-3,7", "parameters": axes, "measure": ["collisions"]}
    small = {"scenario": "demo.yaml", "seeds": [1, 2], "combine": "zip", "samples": 2, "time_limit": 5, "attempts": 1}
    seeds = [yaml.safe_dump(one, sort_keys=False).encode() for one in (sweep, small)]
    seeds += [path.read_bytes() for path in sorted(ROOT.glob("config/sweeps/*.yaml"))]

    def feed(data: bytes) -> None:
        file = files.write(data, "sweep.yaml")
        try:
            plan = load_sweep(file)
            for number in {*range(min(len(plan), MOST_PLANNED)), len(plan) - 1}:
                plan.seed(number)
                plan.scenario_of(number)
        finally:
            files.clean(file)

    extra = [b"1-100000", b"1-99999999999", b"{uniform: [0, 1]}", b"{normal: [0, 0]}", b"samples: 1000000", b"zip"]
    return Target(feed, seeds, words_of(seeds) + extra * 5, mutate=mutate, seconds=20.0)


def building_target() -> Target:
    """Return the target of `.building.yaml` files: built with walls, doors, lifts and robots, and stepped."""
    files = Files()
    shipped = sorted(ROOT.glob("config/**/*.building.yaml"))
    seeds = [path.read_bytes() for path in (SEEDS / "sites" / "building.yaml", *shipped)]
    settings = {**HEADLESS, "target_rtf": 0, "timestep": 0.05}

    def feed(data: bytes) -> None:
        file = files.write(data, "some.building.yaml")
        try:
            with MultiRobotSimulationCore.from_dict({"simulation": settings, "building": str(file)}) as sim:
                for _ in range(STEPS):
                    sim.step_once()
                check_columns(sim)
                assert not sim.guard.total, f"survived, but a fault: {dict(sim.guard.counts)}"
        finally:
            files.clean(file)

    def changed(data: bytes, random: Random) -> bytes:
        head, mark, rest = data.partition(b"building.yaml\n")
        return head + mark + mutate(rest, random) if mark else mutate(data, random)

    return Target(feed, seeds, words_of(seeds), mutate=changed, seconds=30.0)
