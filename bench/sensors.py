"""Measure sensors and compare with PyBullet's rays: python bench/sensors.py [--quick]

A room with walls and one robot on every 4 m2 (or 1 m2: dense), each with a lidar of 360 rays and 10 m; half of the
robots move between readings. PyBullet casts the same rays with rayTestBatch in one thread, in the largest batches it
can take; bringing its bodies up to date is not counted. Meshes are balls with waves, as their convex hulls. Times are
those of the processor, which other programs on the machine
disturb less than those of a clock on the wall; both run in one thread. Ratios and budgets go by the least of them.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rays import ball

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.base.spatial import quaternions

BATCH = 16383
"""Largest batch of PyBullet: with one ray more, it loses a ray."""
BODIES = {
    "discs": fs.ShapeParams("cylinder", radius=0.25, height=0.4),
    "boxes": fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.2)),
}
MESHES = "meshes"
WAVES = 5
LIDAR = {"type": "lidar", "pose": [0.0, 0.0, 0.1], "rays": 360, "range_max": 10.0}
BUDGETS = {"discs": 1.0, "boxes": 1.5, MESHES: 3.0}
"""Budgets of one reading of 100 lidars with one robot on 4 m2, in ms."""
LEAST = 100.0
"""Budget of the speed-up over PyBullet of 100 lidars among discs."""


@dataclass(frozen=True)
class Scene:
    """A number of robots of one shape, one on each square of `spacing` m."""

    robots: int
    body: str
    spacing: float

    def build(self) -> fs.MultiRobotSimulationCore:
        """Return a new simulation of the scene, with four walls."""
        rng = np.random.default_rng(self.robots)
        sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1))
        side = math.ceil(math.sqrt(self.robots))
        half = 0.5 * side * self.spacing + 1.0
        for x, y, along in ((0.0, half, True), (0.0, -half, True), (half, 0.0, False), (-half, 0.0, False)):
            wall = fs.ShapeParams("box", half_extents=(half, 0.1, 0.5) if along else (0.1, half, 0.5))
            pose = fs.Pose.from_xyz(x, y, 0.5)
            sim.spawn(fs.SimObjectSpawnParams(None, wall, pose, collision_mode=fs.CollisionMode.STATIC))
        body = self._shape()
        cells = np.stack(np.divmod(np.arange(self.robots), side), axis=1) - 0.5 * (side - 1)
        places = cells * self.spacing + rng.uniform(-0.25, 0.25, (self.robots, 2)) * (self.spacing - 0.7)
        sim.spawn_all(
            [
                fs.AgentSpawnParams(body, body, fs.Pose.from_yaw(x, y, 0.2, yaw), name=f"r{index}", sensors=[LIDAR])
                for index, ((x, y), yaw) in enumerate(
                    zip(places.tolist(), rng.uniform(-3, 3, self.robots).tolist(), strict=True)
                )
            ]
        )
        # Compiled code is loaded by the first step.
        sim.step_once()
        return sim

    def _shape(self) -> fs.ShapeParams:
        if self.body != MESHES:
            return BODIES[self.body]
        folder = Path(tempfile.mkdtemp())
        return fs.ShapeParams("mesh", mesh_path=ball(folder, WAVES))


class Shaker:
    """Moves half of the robots back and forth by a small distance."""

    def __init__(self, sim: fs.MultiRobotSimulationCore) -> None:
        self._ids = [agent.object_id for agent in sim.agents][::2]
        self._sim = sim
        self._way = 0.02

    def __call__(self) -> None:
        positions, orientations = self._sim.get_poses(self._ids)
        self._sim.set_poses(self._ids, positions + [self._way, 0.0, 0.0], orientations)
        self._way = -self._way


def timed(work: Callable[[], object], before: Callable[[], object], rounds: int) -> list[float]:
    """Return the ms of each of `rounds`, after one warm-up round."""
    times = []
    for _ in range(rounds + 1):
        before()
        start = time.process_time()
        work()
        times.append(1e3 * (time.process_time() - start))
    return times[1:]


def rays_of(sensors: list[Any]) -> tuple[Floats, Floats]:
    """Return the start and end points of all rays, (R, 3) each."""
    params = sensors[0].params
    count = len(params.angles)
    poses = [sensor.get_pose() for sensor in sensors]
    starts = np.repeat([pose.position for pose in poses], count, axis=0)
    local = np.stack((np.cos(params.angles), np.sin(params.angles), np.zeros(count)), axis=1)
    turns = np.repeat([pose.orientation for pose in poses], count, axis=0)
    return starts, starts + params.range_max * quaternions.rotate(turns, np.tile(local, (len(sensors), 1)))


def cast_by_pybullet(sim: fs.MultiRobotSimulationCore, starts: Any, ends: Any) -> list[Any]:
    """Return PyBullet's results for lists of rays."""
    hits: list[Any] = []
    for first in range(0, len(starts), BATCH):
        part = slice(first, first + BATCH)
        hits += sim.bullet.rayTestBatch(starts[part], ends[part], 1)
    return hits


def agreement(ranges: Floats, hits: list[Any], reach: float) -> float:
    """Return the share of rays that end within 1 cm of PyBullet's."""
    fractions = np.array([hit[2] if hit[0] >= 0 else math.inf for hit in hits])
    expected = reach * fractions
    same_mask = ranges == expected
    both_mask = np.isfinite(ranges) & np.isfinite(expected)
    same_mask[both_mask] = np.abs(ranges[both_mask] - expected[both_mask]) < 0.01
    return float(same_mask.mean())


def measure(scene: Scene, rounds: int) -> None:
    """Print the row of one scene."""
    with scene.build() as sim:
        sensors = [agent.sensor("scan") for agent in sim.agents]
        ours = timed(lambda: sim.sensors.read(sensors), Shaker(sim), rounds)
        row = f"{scene.robots:7} {scene.body:6} {scene.spacing**2:6.1f} {np.median(ours):9.2f} {min(ours):8.2f}"
        if scene.robots <= 1000:
            starts, ends = rays_of(sensors)
            first, last = starts.tolist(), ends.tolist()
            sim.bullet.rayTest(first[0], last[0])
            theirs = timed(lambda: cast_by_pybullet(sim, first, last), lambda: None, 3 if scene.robots < 1000 else 1)
            ranges = np.concatenate([reading.ranges for reading in sim.sensors.read(sensors)])
            share = agreement(ranges, cast_by_pybullet(sim, first, last), LIDAR["range_max"])  # type: ignore[arg-type]
            ratio = min(theirs) / min(ours)
            row += f" {min(theirs):10.1f} {ratio:7.0f}x {100 * share:9.2f} % {verdict(scene, ours, ratio)}"
        print(row, flush=True)


def verdict(scene: Scene, ours: list[float], ratio: float) -> str:
    """Return whether the budgets for this scene are met, as text; empty without budgets."""
    if scene.robots != 100 or scene.spacing != 2.0:
        return ""
    limit, least = BUDGETS[scene.body], LEAST if scene.body == "discs" else None
    met = min(ours) <= limit and (least is None or ratio >= least)
    wanted = f"<= {limit:g} ms" + (f", >= {least:g}x" if least else "")
    return f"  {wanted}: {'met' if met else 'missed'}"


def measure_others(count: int, rounds: int) -> None:
    """Print the times of the other sensors of `count` robots."""
    for name, settings in (
        ("imu", {"accel_noise": 0.01, "gyro_noise": 0.001}),
        ("odometry", {"linear_noise": 0.01}),
        ("range", {"rays": 15}),
        ("contact", {}),
        ("lidar", {"noise": 0.01}),
    ):
        with Scene(count, "discs", 2.0).build() as sim:
            sim.step_once()
            sensors = [sim.add_sensor(name, agent, name="it", **settings) for agent in sim.agents]
            times = timed(lambda sim=sim, sensors=sensors: sim.sensors.read(sensors), sim.step_once, rounds)  # type: ignore[misc]
            print(f"{count:7} {name:10} {np.median(times):9.2f} {min(times):8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="the small scenes only")
    quick = parser.parse_args().quick
    print(f"{'lidars':>7} {'robots':6} {'m2/bot':>6} {'median ms':>9} {'least ms':>8} ", end="")
    print(f"{'PyBullet':>10} {'ratio':>8} {'same range':>11}")
    for count in (10, 100) if quick else (10, 100, 1000, 10_000):
        for body in (*BODIES, MESHES):
            for spacing in (2.0, 1.0):
                measure(Scene(count, body, spacing), 5 if count > 1000 else 15)
    print(f"\n{'robots':>7} {'sensor':10} {'median ms':>9} {'least ms':>8}")
    for count in (100,) if quick else (100, 1000):
        measure_others(count, 15)


if __name__ == "__main__":
    main()
