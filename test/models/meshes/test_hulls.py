"""Meshes as sensors see them: as their convex hulls, also on the links of robots."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.meshes.loading import Hull, hull_faces, hull_of
from fleet_sim.world.shapes import Geometry

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


def write_stl(path: Path, triangles: Floats) -> str:
    """Write triangles (T, 3, 3) to a binary STL file."""
    records = b"".join(struct.pack("<12fH", *([0.0] * 3), *corners.reshape(-1), 0) for corners in triangles)
    path.write_bytes(bytes(80) + struct.pack("<I", len(triangles)) + records)
    return str(path)


def rock(seed: int, count: int = 60) -> Floats:
    """Return points (N, 3) on an uneven ball, and inside it."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    return 0.5 * points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0.3, 1.0, (count, 1)) * [1.0, 0.7, 0.5]


def test_a_hull_is_convex_and_holds_all_points() -> None:
    for seed in range(5):
        points = rock(seed)
        faces = hull_faces(points)
        a, b, c = (points[faces[:, corner]] for corner in range(3))
        normals = np.cross(b - a, c - a)
        assert ((points[:, None] - a[None]) * normals).sum(axis=2).max() < 1e-12
        # Closed: each edge belongs to two faces, once in each direction.
        edges = {(int(face[i]), int(face[(i + 1) % 3])) for face in faces for i in range(3)}
        assert len(edges) == 3 * len(faces)
        assert {(end, start) for start, end in edges} == edges


def test_the_hull_of_a_box_is_the_box() -> None:
    corners = np.array([[x, y, z] for x in (0.0, 2.0) for y in (-1.0, 1.0) for z in (3.0, 3.5)])
    inside = np.random.default_rng(0).uniform(0.1, 0.9, (200, 3)) * [2.0, 2.0, 0.5] + [0.0, -1.0, 3.0]
    hull = Hull(np.concatenate((inside, corners)))
    assert hull.centre.tolist() == [1.0, 0.0, 3.25]
    assert hull.half_extents.tolist() == [1.0, 1.0, 0.25]
    assert len(hull.vertices) == 8
    assert hull.radius == pytest.approx(math.sqrt(2.0 + 0.25**2))
    with pytest.raises(ValueError, match="read-only"):
        hull.vertices[0] = 0.0


@pytest.mark.parametrize("points", [[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 0], [1, 1, 1]], [[1, 2, 3]]])
def test_what_is_flat_is_a_thin_plate(points: list[list[float]]) -> None:
    hull = Hull(np.array(points, np.float64))
    assert len(hull.edges) >= 6
    assert hull.half_extents.min() >= 5e-5


def compare(sim: Sim, lidars: list[Any], tolerance: float = 0.01) -> tuple[float, float]:
    """Return which share of rays agrees with PyBullet's, and which share hits anything."""
    same, hits = [], []
    for lidar, reading in zip(lidars, sim.sensors.read(lidars), strict=True):
        pose, params = lidar.get_pose(), lidar.params
        angles = pose.yaw + params.angles
        rays = np.stack((np.cos(angles), np.sin(angles), np.zeros(len(angles))), axis=1)
        ends = np.array(pose.position) + params.range_max * rays
        found = sim.bullet.rayTestBatch(np.broadcast_to(pose.position, ends.shape).tolist(), ends.tolist())
        expected = np.array([hit[2] * params.range_max if hit[0] >= 0 else math.inf for hit in found])
        ranges = reading.ranges
        both_mask = np.isfinite(ranges) & np.isfinite(expected)
        same_mask = ranges == expected
        same_mask[both_mask] = np.abs(ranges[both_mask] - expected[both_mask]) < tolerance
        same.append(same_mask.mean())
        hits.append(both_mask.mean())
    return float(np.mean(same)), float(np.mean(hits))


def test_meshes_are_seen_as_pybullet_sees_them(sim: Sim, tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    for index in range(6):
        points = rock(index)
        path = write_stl(tmp_path / f"rock{index}.stl", points[hull_faces(points)].astype(np.float32))
        frame = fs.Pose.from_euler(0.1, 0.0, 0.05, 0.2, 0.0, 1.0)
        shape = fs.ShapeParams("mesh", mesh_path=path, mesh_scale=(1.0, 1.5, 1.2), frame_pose=frame)
        x, y = 2.0 * math.cos(index), 2.0 * math.sin(index)
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_euler(x, y, 0.3, 0.3 * index, 0.1, index)))
    lidars = [sim.add_sensor("lidar", name=f"l{index}", pose=[0, 0, 0.1 + 0.1 * index], rays=720) for index in range(5)]
    # PyBullet's hulls are a millimetre thicker, which is more where rays only graze the rocks.
    agreement, hits = compare(sim, lidars, tolerance=0.03)
    assert agreement > 0.995
    assert hits > 0.2


@pytest.mark.parametrize("model", ["panda", "kuka_iiwa", "arm6", "mobile_manipulator"])
def test_the_links_of_robots_are_seen_where_their_joints_put_them(sim: Sim, model: str) -> None:
    pytest.importorskip("pybullet")
    pose = fs.Pose.from_yaw(0, 0, 0, 0.3)
    arm = sim.spawn(
        # Every joint gets a target of its own here.
        fs.AgentSpawnParams(urdf_path=fs.resolve_urdf(model), initial_pose=pose, name="arm", mimic_joints=False)
    )
    joints = len(sim.world.model_of(arm.row).movable)
    arm.set_all_joints_targets(np.linspace(0.1, 0.5, joints).tolist())
    for _ in range(20):
        sim.step_once()
    lidars = [
        sim.add_sensor("lidar", name=f"l{side}_{level}", rays=720, pose=[1.5 * side, 0.4, 0.15 + 0.2 * level])
        for side in (-1, 1)
        for level in range(3)
    ]
    agreement, hits = compare(sim, lidars)
    assert agreement > 0.995
    assert hits > 0.005


def test_broken_meshes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(fs.InvalidValueError, match="cannot be read"):
        hull_of(Geometry(ShapeKind.MESH, mesh_path=str(tmp_path / "none.obj")))
