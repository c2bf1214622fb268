"""Lidars see the same with compiled code as without, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.arrays import Floats

pytest.importorskip("numba")


def scans(use: str) -> Floats:
    """Turning lidars of few and of many rays among discs, boxes and walls, some of which they touch or are in."""
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.1, target_rtf=0, compiled_code=use))
    rng = np.random.default_rng(4)
    shapes = (
        fs.ShapeParams(shape_type="cylinder", radius=0.3, height=0.5),
        fs.ShapeParams(shape_type="box", half_extents=(0.4, 0.2, 0.3)),
        fs.ShapeParams(shape_type="sphere", radius=0.3),
        fs.ShapeParams(shape_type="box", half_extents=(4.0, 0.05, 0.5)),
    )
    # On a lattice, so that edges lie in line with lidars.
    for index, (x, y) in enumerate(np.round(rng.uniform(-8.0, 8.0, (70, 2)) * 2.0) / 2.0):
        pose = fs.Pose.from_yaw(x, y, 0.2, 0.5 * np.pi * (index % 5))
        sim.spawn(fs.SimObjectSpawnParams(collision_shape=shapes[index % 4], initial_pose=pose))
    robots = []
    for index in range(30):
        rays, first = (360, -np.pi) if index % 2 else (7, 0.3)
        lidar = {
            "type": "lidar",
            "name": "eyes",
            "pose": [0.0, 0.0, 0.2],
            "rays": rays,
            "angle_min": first,
            "range_max": 6.0,
        }
        pose = fs.Pose.from_yaw(*(np.round(rng.uniform(-8.0, 8.0, 2) * 2.0) / 2.0), 0.0, 0.25 * np.pi * index)
        robots.append(sim.spawn(fs.AgentSpawnParams(initial_pose=pose, sensors=[lidar])))
        robots[-1].set_velocity(0.5, 0.0, 0.0, 0.7)
    found = []
    for _ in range(5):
        sim.step_once()
        found += [robot.sensor("eyes").read().ranges for robot in robots]
    sim.close()
    return np.concatenate(found)


def test_ranges_are_those_of_arrays() -> None:
    expected = scans("never")
    assert np.count_nonzero(np.isfinite(expected)) > 10_000
    assert expected.tobytes() == scans("always").tobytes()
