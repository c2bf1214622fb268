"""Measure arms whose joints all move: step, spawning, the cost of PyBullet's view, and pybullet-fleet's step.

Run: python bench/joints.py --peer .venv-peer/bin/python (without --peer only fleet_sim is measured)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import joint_workload
import numpy as np

from fleet_sim import Agent, AgentSpawnParams, MultiRobotSimulationCore, SetJoints, SimulationParams
from fleet_sim.robots.spawning import spawn_many


def measure(arms: int, legs: int, flush: str = "demand") -> dict[str, float]:
    """Return the times of a simulation with `arms` arms."""
    params = SimulationParams(
        gui=False, target_rtf=0, timestep=joint_workload.TIME_STEP, collision_check_frequency=0, pose_flush=flush
    )
    with MultiRobotSimulationCore(params) as sim:
        arm = AgentSpawnParams(urdf_path="panda", use_fixed_base=True)
        sim.spawn(arm)  # reads the description
        places = np.zeros((arms, 3))
        places[:, 0] = 2.0 * np.arange(arms)
        names = tuple(f"arm_{index}" for index in range(arms))
        begin = time.perf_counter()
        spawn_many(sim.world, Agent, arm, places, np.tile([0.0, 0.0, 0.0, 1.0], (arms, 1)), names)
        spawn = time.perf_counter() - begin

        def send(leg: int) -> None:
            positions = np.tile(joint_workload.targets(leg), (arms, 1))
            assert sim.dispatcher.dispatch(SetJoints(names=names, positions=positions)).ok

        return {**joint_workload.measure(sim.step_once, send, legs), "spawn_ms": 1e3 * spawn}


def measure_peer(python: str, arms: int, legs: int) -> dict[str, Any]:
    """Return the peer's times."""
    program = Path(__file__).with_name("peer_joints.py")
    done = subprocess.run([python, str(program), str(arms), str(legs)], capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="a Python with pybullet-fleet; 100 arms take it 5 GB")
    parser.add_argument("--arms", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--legs", type=int, default=10, help=f"number of legs of {joint_workload.LEG} steps")
    arguments = parser.parse_args()
    print(f"{'':24} {'arms':>6} {'min ms':>9} {'median ms':>10} {'spawn ms':>9}")
    for arms in arguments.arms:
        rows = {"fleet_sim": measure(arms, arguments.legs)}
        if arms <= 100:
            rows["fleet_sim, written"] = measure(arms, 2, "step")
            if arguments.peer:
                rows["pybullet-fleet"] = measure_peer(arguments.peer, arms, 3)
        for name, row in rows.items():
            print(f"{name:24} {arms:6} {row['min_ms']:9.3f} {row['median_ms']:10.3f} {row['spawn_ms']:9.1f}")
        if "pybullet-fleet" in rows:
            peer, ours = rows["pybullet-fleet"], rows["fleet_sim"]
            print(f"{'ratio':24} {arms:6} {peer['min_ms'] / ours['min_ms']:9.0f} "
                  f"{peer['median_ms'] / ours['median_ms']:10.0f}")  # fmt: skip


if __name__ == "__main__":
    main()
