"""Lidars read what the rays of PyBullet hit, and tilted ones what level ones would."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from lidar_scene import at, thing, zoo

import fleet_sim as fs
from fleet_sim.arrays import Floats

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


def pybullet_ranges(sim: Sim, lidar: Any) -> Floats:
    """Return what PyBullet's rays meet from just outside the robot on."""
    pose = lidar.get_pose()
    angles = pose.yaw + lidar.params.angles
    rays = np.stack((np.cos(angles), np.sin(angles), np.zeros(len(angles))), axis=1)
    ends = np.array(pose.position) + lidar.params.range_max * rays
    bodies = sim.bullet.rayTestBatch(np.broadcast_to(pose.position, ends.shape).tolist(), ends.tolist())
    assert all(hit[0] != lidar.owner.body_id for hit in bodies)
    return np.array([hit[2] * lidar.params.range_max if hit[0] >= 0 else math.inf for hit in bodies])


@pytest.mark.parametrize(
    ("kinds", "tilt"),
    [
        (["box", "cylinder", "sphere", "capsule"], 0.0),
        (["box", "cylinder", "sphere", "capsule"], 1.5),
    ],
)
def test_agrees_with_the_rays_of_pybullet(make_sim: MakeSim, kinds: list[str], tilt: float) -> None:
    pytest.importorskip("pybullet")
    sim = make_sim()
    lidars = zoo(sim, kinds, tilt, seed=1)
    seen = np.array([reading.ranges for reading in sim.sensors.read(lidars)])
    expected = np.array([pybullet_ranges(sim, lidar) for lidar in lidars])
    same_mask = near(seen, expected, 0.01)
    assert same_mask.mean() >= 0.994
    # PyBullet's rays hit what they pass by at some millimetres: the others are at rims, and see what is beside.
    for angle in (-0.012, 0.012):
        same_mask |= near(turned(sim, lidars, angle), expected, 0.15)
    assert same_mask.mean() >= 0.9985
    assert np.isfinite(seen).mean() > 0.4


def near(a: Floats, b: Floats, tolerance: float) -> Any:
    """Return where two arrays of ranges agree."""
    a, b = np.broadcast_arrays(a, b)
    mask = a == b
    finite_mask = np.isfinite(a) & np.isfinite(b)
    mask[finite_mask] = np.abs(a[finite_mask] - b[finite_mask]) < tolerance
    return mask


def turned(sim: Sim, lidars: Sequence[Any], angle: float) -> Floats:
    """Return what lidars would see (N, M) if they were turned a little."""
    others = []
    for lidar in lidars:
        pose = fs.Pose.from_yaw(*lidar.params.pose.position, angle)
        others.append(sim.add_sensor(lidar.params, lidar.owner, name=f"turned {angle}", pose=pose))
    return np.array([reading.ranges for reading in sim.sensors.read(others)])


def test_tilted_lidars_see_what_level_ones_would(sim: Sim) -> None:
    lidars = zoo(sim, ["box", "cylinder"], 0.0, 3)
    tilted = [
        sim.add_sensor(
            "lidar", lidar.owner, name="tilted", pose=fs.Pose.from_euler(*lidar.params.pose.position, 0.0, 0.002, 0.0)
        )
        for lidar in lidars
    ]
    level = np.array([reading.ranges for reading in sim.sensors.read(lidars)])
    other = np.array([reading.ranges for reading in sim.sensors.read(tilted)])
    with np.errstate(invalid="ignore"):
        same_mask = (level == other) | (np.abs(level - other) < 0.02)
    assert same_mask.mean() > 0.99
    assert not (level == other).all()


@pytest.mark.parametrize(
    "body",
    [
        fs.ShapeParams("sphere", radius=0.3),
        fs.ShapeParams("capsule", radius=0.2, height=0.3),
        fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.2)),
    ],
    ids=["sphere", "capsule", "box"],
)
@pytest.mark.parametrize("mount", [[0.1, 0.05, 0.02], [-0.6, 0, 0]], ids=["inside", "behind"])
def test_a_tilted_lidar_looks_through_its_own_robot(sim: Sim, body: fs.ShapeParams, mount: list[float]) -> None:
    thing(sim, "box", at(1.0, 0.0), half_extents=(0.5, 2.0, 2.0))
    robot = sim.spawn(fs.AgentSpawnParams(body, body, at(0.0, 0.0)))
    lidar = sim.add_sensor(
        "lidar", robot, rays=1, angle_min=0, angle_max=0, pose={"position": mount, "rpy": [0, 0.2, 0]}
    )
    assert lidar.read().ranges == pytest.approx([(0.5 - mount[0]) / math.cos(0.2)], abs=1e-3)
