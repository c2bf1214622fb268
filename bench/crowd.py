"""A crowd of URDF robots with exact contacts in each step: python bench/crowd.py [--robots 500] [--steps 60]

Robots `diff_base` drive across each other, so close that each has about two others within its box. Printed are the
time of a step, of its collisions, and what PyBullet takes for the same pairs where it is installed.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec

import numpy as np

import fleet_sim as fs

DT = 0.05
SPACING = 0.8


def crowd(robots: int) -> fs.MultiRobotSimulationCore:
    """Return robots on a grid that turn and drive to the places of others."""
    rng = np.random.default_rng(1)
    sim = fs.MultiRobotSimulationCore(
        fs.SimulationParams(gui=False, timestep=DT, target_rtf=0, collision_check_frequency=None)
    )
    side = int(np.ceil(np.sqrt(robots)))
    places = [(SPACING * (k % side), SPACING * (k // side)) for k in range(robots)]
    goals = rng.permutation(robots).tolist()
    for number, (x, y) in enumerate(places):
        pose = fs.Pose.from_yaw(x, y, 0.0, float(rng.uniform(-3.0, 3.0)))
        robot = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", name=f"r{number}", initial_pose=pose))
        robot.set_goal_pose(fs.Pose.from_yaw(*places[goals[number]], 0.0, 0.0))
    return sim


def by_engine(sim: fs.MultiRobotSimulationCore, pairs: list[tuple[int, int]]) -> float:
    """Return the milliseconds that PyBullet takes for pairs of bodies, poses written before."""
    ask, client = __import__("pybullet").getClosestPoints, sim.client
    start = time.perf_counter()
    for one, other in pairs:
        ask(one, other, sim.params.collision_margin, physicsClientId=client)
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=500)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    sim = crowd(args.robots)
    for _ in range(30):
        sim.step_once()
    steps, checks, near, hits = [], [], [], []
    for _ in range(args.steps):
        start = time.perf_counter()
        sim.step_once()
        steps.append(1e3 * (time.perf_counter() - start))
        checks.append(sim.collisions.breakdown["total"])
        near.append(len(sim.collisions.candidates()))
        hits.append(len(sim.get_active_collision_pairs()))
    print(f"{args.robots} diff_base: {np.mean(near):.0f} near pairs, {np.mean(hits):.0f} in contact")
    step = float(np.median(steps))
    print(f"step {step:8.3f} ms (least {min(steps):.3f}), {1e3 * DT / step:.1f} times real time at dt {DT}")
    print(f"of it collisions {np.median(checks):8.3f} ms (least {min(checks):.3f})")
    if find_spec("pybullet") is not None:
        bodies = [(sim.world.handles[a].body_id, sim.world.handles[b].body_id) for a, b in sim.collisions.candidates()]
        print(f"PyBullet for as many pairs {min(by_engine(sim, bodies) for _ in range(3)):8.3f} ms, without its poses")
    sim.close()


if __name__ == "__main__":
    main()
