"""Measure a motion step by fleet size, motion law and kind of motion. Half of the robots move.

Run: python bench/motion.py
"""

from __future__ import annotations

import time

import numpy as np

from fleet_sim.base.kernels import is_usable
from fleet_sim.base.spatial.quaternions import from_yaws
from fleet_sim.robots.motion.laws import motion_law_index
from fleet_sim.robots.motion.system import MotionSystem
from fleet_sim.world.clock import Clock
from fleet_sim.world.steering import give_limits, give_paths, give_velocities
from fleet_sim.world.world import World

DT = 0.1


def build(count: int, law: str, kind: str) -> World:
    """Return a world of `count` robots; every second one has a distant goal."""
    world = World(Clock(DT), capacity=count)
    world.compiled = is_usable()
    rows = world.allocate([None] * count)
    random = np.random.default_rng(1)
    world.position[rows] = random.uniform(-50.0, 50.0, (count, 3)) * [1.0, 1.0, 0.0]
    world.motion.law[rows] = motion_law_index(law)
    give_limits(world, rows, linear_speed=2.0, linear_accel=5.0, angular_speed=3.0, angular_accel=10.0)
    moving = np.sort(random.choice(rows, count // 2, replace=False))
    if kind == "velocity":
        twist = random.uniform(-1.0, 1.0, (len(moving), 3))
        give_velocities(world, moving, twist, twist * [0.0, 0.0, 1.0])
        return world
    legs = 10 if kind == "path" else 1
    goals = random.uniform(-5000.0, 5000.0, (len(moving) * legs, 3)) * [1.0, 1.0, 0.0]
    if kind == "path":
        goals = np.repeat(world.position[moving], legs, axis=0) + random.uniform(-4.0, 4.0, goals.shape) * [1, 1, 0]
    yaws = random.uniform(-3.0, 3.0, len(goals)) if kind == "turn" else np.zeros(len(goals))
    lengths = np.full(len(moving), legs)
    give_paths(world, moving, lengths, goals, from_yaws(yaws), align_final=kind == "turn")
    return world


def measure(count: int, law: str, kind: str) -> tuple[float, float, float]:
    """Return the time in ms of the first step, and the lowest and median time of the steps after it."""
    world = build(count, law, kind)
    system = MotionSystem()
    times = []
    for _ in range(8 if kind == "turn" else 60):
        begin = time.perf_counter()
        system.run(world, DT)
        times.append((time.perf_counter() - begin) * 1e3)
        world.clock.tick += 1
    return times[0], float(np.min(times[1:])), float(np.median(times[1:]))


def main() -> None:
    """Print the table."""
    print(f"{'law':16} {'kind':9} {'robots':>7} {'first ms':>9} {'min ms':>8} {'median ms':>9}")
    for law in ("omnidirectional", "differential"):
        for kind in ("goal", "turn", "path", "velocity"):
            for count in (1_000, 10_000, 100_000):
                first, least, median = measure(count, law, kind)
                print(f"{law:16} {kind:9} {count:7} {first:9.3f} {least:8.3f} {median:9.3f}")


if __name__ == "__main__":
    main()
