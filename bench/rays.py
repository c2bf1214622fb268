"""Measure rays in all directions and compare with PyBullet's: python bench/rays.py

A lidar with 16 layers of 360 rays and 20 m stands among 100 things: boxes, primitives of all kinds, meshes as their
convex hulls, or the same meshes as concave ones. PyBullet casts the same rays in one thread; bringing its bodies up to
date and making arrays of what it returns are not counted. Times are of the processor, the least of several rounds.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fleet_sim as fs
from fleet_sim.base.kernels import is_usable

COUNT, HEIGHT, REACH = 100, 1.0, 20.0
PRIMITIVES = (
    fs.ShapeParams("box"),
    fs.ShapeParams("sphere", radius=0.4),
    fs.ShapeParams("cylinder", radius=0.3, height=0.7),
    fs.ShapeParams("capsule", radius=0.3, height=0.5),
)
SCENES = ("boxes", "primitives", "hulls", "concave")


def ball(folder: Path, waves: int) -> str:
    """Write the mesh of a ball with `waves` waves around it, of 1,100 triangles; return its path."""
    lines = 24
    rise, turn = np.linspace(0.0, math.pi, lines)[:, None], np.arange(lines) * 2.0 * math.pi / lines
    radius = 0.4 * (1.0 + 0.2 * np.sin(waves * turn) * np.sin(rise))
    points = np.stack(
        (radius * np.sin(rise) * np.cos(turn), radius * np.sin(rise) * np.sin(turn), radius * np.cos(rise)), axis=2
    )
    file = folder / f"ball_{waves}.obj"
    text = ["v {:.6f} {:.6f} {:.6f}\n".format(*point) for point in points.reshape(-1, 3).tolist()]
    for line in range(lines - 1):
        for place in range(lines):
            a, b = line * lines + place + 1, line * lines + (place + 1) % lines + 1
            text.append(f"f {a} {a + lines} {b}\nf {b} {a + lines} {b + lines}\n")
    file.write_text("".join(text))
    return str(file)


def shape(scene: str, number: int, folder: Path, rng: np.random.Generator) -> fs.ShapeParams:
    """Return the shape of a thing."""
    if scene == "boxes":
        return fs.ShapeParams("box", half_extents=tuple(rng.uniform(0.1, 0.6, 3)))
    if scene == "primitives":
        return PRIMITIVES[number % 4]
    return fs.ShapeParams("mesh", mesh_path=ball(folder, number % 10), concave=scene == "concave")


def build(scene: str, folder: Path) -> fs.MultiRobotSimulationCore:
    """Return a new simulation of a scene."""
    rng = np.random.default_rng(1)
    use = "always" if is_usable() else "never"
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, compiled_code=use))
    for number in range(COUNT):
        distance, angle = 1.5 + 10.0 * math.sqrt(rng.random()), rng.uniform(-3, 3)
        place = distance * math.cos(angle), distance * math.sin(angle), rng.uniform(0.2, 2.0)
        thing = shape(scene, number, folder, rng)
        pose = fs.Pose.from_euler(*place, *rng.uniform(-3, 3, 3))
        sim.spawn(fs.SimObjectSpawnParams(None, thing, pose, pickable=False))
    sim.step_once()
    return sim


def least(work: Callable[[], object], rounds: int) -> float:
    """Return the least ms of `rounds`, after one that is not counted."""
    times = []
    for _ in range(rounds + 1):
        begin = time.process_time()
        work()
        times.append(1e3 * (time.process_time() - begin))
    return min(times[1:])


def main() -> None:
    print(f"{'scene':>10} {'ours, ms':>9} {'arrays':>8} {'PyBullet':>9} {'ratio':>6} {'same to 1 cm':>13}")
    for scene in SCENES:
        with tempfile.TemporaryDirectory() as folder, build(scene, Path(folder)) as sim:
            lidar = sim.add_sensor("lidar_3d", pose=[0, 0, HEIGHT], layers=16, rays=360, range_max=REACH)
            ours, ranges = least(lidar.read, 15), lidar.read().ranges.reshape(-1)
            sim.world.compiled = False
            arrays = least(lidar.read, 3)
            ends = np.array([0, 0, HEIGHT]) + REACH * lidar.params.directions
            starts, last = [[0, 0, HEIGHT]] * len(ends), ends.tolist()
            theirs = least(lambda sim=sim, starts=starts, last=last: sim.bullet.rayTestBatch(starts, last, 1), 5)  # type: ignore[misc]
            found = sim.bullet.rayTestBatch(starts, last, 1)
            expected = np.array([REACH * hit[2] if hit[0] >= 0 else math.inf for hit in found])
            with np.errstate(invalid="ignore"):
                same = ((ranges == expected) | (np.abs(ranges - expected) < 0.01)).mean()
            row = f"{scene:>10} {ours:9.2f} {arrays:8.1f} {theirs:9.1f} {theirs / ours:5.1f}x {100 * same:11.2f} %"
            print(row, flush=True)


if __name__ == "__main__":
    main()
