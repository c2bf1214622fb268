"""Measure the cost of the PyBullet view: bodies, pose writes, staging and physics.

Run with `python bench/bullet.py`; all times are the lowest of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fleet_sim.base.arrays import Rows
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.engines.bullet.engine import BulletPhysics
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.world.clock import Clock
from fleet_sim.world.shapes import BodyShape, Geometry
from fleet_sim.world.world import World

ROBOT = Geometry(ShapeKind.BOX, half_extents=(0.25, 0.2, 0.15))
HEADS = ("", "spawn", "a body", "a body", "removal", "flush half", "a pose", "staging", "one body")
UNITS = ("robots", "ms", "us", "kB", "us", "ms", "us", "us", "us")


def make(count: int, policy: str = "demand") -> tuple[World, BulletMirror, Rows]:
    """Return a world of `count` box robots on a square grid, one per m2, without bodies yet."""
    world = World(Clock(0.1))
    mirror = BulletMirror(world, BulletClient(floor=True), policy)
    mirror.client.connect()
    rows = world.allocate([None] * count)
    side = int(np.ceil(np.sqrt(count)))
    world.position[rows] = np.stack([rows % side, rows // side, np.full(count, 0.15)], axis=1)
    world.shape_id[rows] = world.shapes.intern(BodyShape(ROBOT, ROBOT))
    world.announce(rows)
    return world, mirror, rows


def clock(work: Callable[[], object], before: Callable[[], object] = lambda: None, repeats: int = 15) -> float:
    """Return the lowest time of `work` in seconds; `before` runs before each call and is not measured."""
    best = np.inf
    for _ in range(repeats):
        before()
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def resident_kb() -> float:
    """Return the process's resident memory in kB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4.096


def bodies(count: int) -> None:
    """Print the cost of creating, staging, writing and removing bodies for `count` robots."""
    world, mirror, rows = make(count)
    memory = resident_kb()
    first = clock(mirror.ensure, repeats=1)
    memory = (resident_kb() - memory) / count
    again = clock(mirror.ensure, mirror.reset, repeats=3)
    movers = rows[np.random.default_rng(0).permutation(count)[: count // 2]]

    def drive() -> None:
        world.position[movers, 0] += 0.02
        world.touch(movers)

    flush = clock(mirror.ensure, drive)
    stage = clock(mirror.begin_step, mirror.end_step)
    mirror.end_step()
    asked = clock(lambda: mirror.body_id(int(movers[0])), drive)
    removal = clock(lambda: world.release(rows), repeats=1)
    figures = (first * 1e3, again * 1e6 / count, memory, removal * 1e6 / count,
               flush * 1e3, flush * 1e6 / len(movers), stage * 1e6, asked * 1e6)  # fmt: skip
    print(f"{count:>10} " + " ".join(f"{figure:>10.2f}" for figure in figures))
    mirror.close()


def questions() -> None:
    """Print the cost of physics."""
    world, mirror, rows = make(1000)
    physics = BulletPhysics(mirror)
    world.dynamic[rows[:500]] = True
    world.mass[rows[:500]] = 1.0
    movers = rows[500:750]

    def drive() -> None:
        world.moved[:] = False
        mirror.begin_step()
        world.position[movers, 0] += 0.01
        world.touch(movers)
        mirror.flush()

    drive()
    physics.step(0.1)
    dt = clock(lambda: physics.step(0.1), drive, repeats=3)
    back = clock(physics.read_back)
    print(f"physics step 0.1 s, 500 dynamic, 250 drive: {dt * 1e3:.1f} ms (read back {back * 1e3:.2f} ms)")
    mirror.close()


def main() -> None:
    """Print the tables."""
    for heads in (HEADS, UNITS):
        print(" ".join(f"{head:>10}" for head in heads))
    for count in (100, 1_000, 10_000):
        bodies(count)
    print()
    questions()


if __name__ == "__main__":
    main()
