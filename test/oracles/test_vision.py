"""What lidars, range finders and cameras see, against rays that march along distance functions; rates and noise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rigid
import solids_apart as apart
from oracle_rows import holds

import fleet_sim as fs

CARRIER = fs.Pose.from_euler(0.4, -0.3, 0.5, 0.0, 0.0, 0.7)
LEVEL = fs.Pose.from_euler(0.21, 0.14, 0.33, 0.0, 0.0, 1.1)
OVER = fs.Pose.from_euler(0.21, 0.14, 0.33, math.pi, 0.0, 1.1)
TILTED = fs.Pose.from_euler(0.23, -0.11, 0.37, 0.3, 0.25, -0.6)
FORMS = [("never", 0.05), ("always", 0.013)]


def seen_along(
    solids: list[apart.Solid], frame: np.ndarray, directions: np.ndarray, reach: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ranges, which solids, and whether rays are safe from grazing, for directions in a frame."""
    ways = directions @ frame[:3, :3].T
    starts = np.tile(frame[:3, 3], (len(ways), 1))
    ranges, which = apart.march(solids, starts, ways, reach)
    wide = [apart.Solid(solid.kind, solid.sizes + 2e-4, solid.frame) for solid in solids]
    around, near = apart.march(wide, starts, ways, reach)
    with np.errstate(invalid="ignore"):
        safe = (which == near) & (np.isinf(ranges) | (np.abs(ranges - around) < 2e-2))
    return ranges, which, safe


def bearing(angles: np.ndarray) -> np.ndarray:
    return np.stack((np.cos(angles), np.sin(angles), 0.0 * angles), axis=1)


@pytest.mark.parametrize(("compiled", "dt"), FORMS)
@pytest.mark.parametrize("mount", [LEVEL, OVER, TILTED], ids=["level", "over", "tilted"])
@holds(
    "ros:sensor_msgs/LaserScan.ranges", "ros:sensor_msgs/LaserScan.intensities", "api:LidarReading.*",
    fault="sensing/sensors/planar_rays.py: the senses of lidars upside down are left out",
)  # fmt: skip
def test_a_lidar_sees_what_its_rays_meet(compiled: str, dt: float, mount: fs.Pose) -> None:
    sim, robot, solids, ids = apart.scene(compiled, dt, CARRIER)
    settings: dict[str, Any] = {"rays": 331, "angle_min": -2.3, "angle_max": 1.9, "range_min": 1.05, "range_max": 2.9}
    plain, labelled, shiny = (
        sim.add_sensor(fs.LidarParams(pose=mount, name=f"scan{index}", **settings, **asked), robot)
        for index, asked in enumerate(({}, {"labels": True}, {"labels": True, "intensities": True}))
    )
    robot.set_velocity(0.3, -0.2, wz=0.4)
    for _ in range(4):
        sim.step_once()
    frame = rigid.frame_of(robot.get_pose()) @ rigid.frame_of(mount)
    directions = bearing(-2.3 + 4.2 * np.arange(331) / 330)
    ranges, which, safe = seen_along(solids, frame, directions, 2.9)
    wanted = np.where(ranges < 1.05, -np.inf, ranges)
    assert safe.mean() > 0.9 and 60 < np.isfinite(wanted).sum() < 320
    known = np.where(np.isfinite(wanted), np.array(ids)[which], -1)
    for lidar in (plain, labelled, shiny):
        reading = lidar.read()
        # A level lidar sees what is round and tilted as a polygon.
        assert np.allclose(reading.ranges[safe], wanted[safe], atol=1e-6 if mount is TILTED else 1e-3)
        assert lidar is plain or (reading.labels[safe] == known[safe]).all()
    hits = np.flatnonzero(safe & np.isfinite(wanted))
    for ray in hits[::5]:
        way = frame[:3, :3] @ directions[ray]
        point = frame[:3, 3] + ranges[ray] * way
        step = 1e-6 * np.stack((np.eye(3), -np.eye(3)))
        slope = np.array([solids[which[ray]].distances(point + side) for side in step])
        normal = (slope[0] - slope[1]) / 2e-6
        if abs(np.linalg.norm(normal) - 1.0) < 1e-3:
            assert reading.intensities[ray] == pytest.approx(abs(normal @ way), abs=2e-3)
    assert not reading.intensities[~np.isfinite(reading.ranges)].any()


@pytest.mark.parametrize(("compiled", "dt"), FORMS)
@holds(
    "ros:sensor_msgs/PointCloud2.data", "ros:sensor_msgs/Range.range", "api:Lidar3dReading.*", "api:RangeReading.*",
    fault="sensing/sensors/lidar.py: rise and reach of the elevations are exchanged",
)  # fmt: skip
def test_layers_fans_and_cones_see_what_their_rays_meet(compiled: str, dt: float) -> None:
    sim, robot, solids, _ = apart.scene(compiled, dt, CARRIER)
    cloud = sim.add_sensor(
        fs.Lidar3dParams(pose=TILTED, rays=61, layers=7, angle_min=-1.2, angle_max=2.4, elevation_min=-0.35,
                         elevation_max=0.5, range_max=3.1), robot
    )  # fmt: skip
    fan = sim.add_sensor(fs.RangeParams(pose=LEVEL, field_of_view=0.9, rays=31, range_max=3.3, name="fan"), robot)
    cone = sim.add_sensor(
        fs.RangeParams(pose=TILTED, field_of_view=0.8, rays=400, range_max=3.3, shape="cone", name="cone"), robot
    )
    robot.set_velocity(0.3, -0.2, wz=0.4)
    for _ in range(4):
        sim.step_once()
    body = rigid.frame_of(robot.get_pose())
    around, up = -1.2 + 3.6 * np.arange(61) / 60, -0.35 + 0.85 * np.arange(7) / 6
    flat = np.cos(up)[:, None, None] * bearing(around) + np.sin(up)[:, None, None] * [0.0, 0.0, 1.0]
    rays = flat.reshape(-1, 3)
    ranges, _, safe = seen_along(solids, body @ rigid.frame_of(TILTED), rays, 3.1)
    reading = cloud.read()
    assert np.allclose(reading.ranges.reshape(-1)[safe], ranges[safe], atol=1e-6)
    points = np.where(np.isfinite(ranges), ranges, np.nan)[:, None] * rays
    assert np.allclose(reading.points.reshape(-1, 3)[safe], points[safe], atol=1e-6, equal_nan=True)
    inside = bearing(-0.45 + 0.9 * np.arange(31) / 30)
    ranges, _, safe = seen_along(solids, body @ rigid.frame_of(LEVEL), inside, 3.3)
    assert fan.read().range == pytest.approx(ranges[safe].min(), abs=1e-6)
    # The nearest point in the cone, of many more rays: a few rays come nearly as near.
    rng = np.random.default_rng(1)
    along = np.cos(0.4) + (1.0 - np.cos(0.4)) * rng.uniform(size=4000)
    turn, off = rng.uniform(0.0, 2.0 * math.pi, 4000), np.sqrt(1.0 - along**2)
    many = np.stack((along, off * np.cos(turn), off * np.sin(turn)), axis=1)
    ranges, _, _ = seen_along(solids, body @ rigid.frame_of(TILTED), many, 3.3)
    assert ranges.min() - 1e-3 < cone.read().range < ranges.min() + 0.12


RENDERERS = ["opengl", "tiny"]


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("frame_kind", ["body", "optical"])
@holds(
    "ros:sensor_msgs/Image.data", "ros:sensor_msgs/CameraInfo.k", "api:CameraReading.*",
    fault="sensing/sensors/render/shot.py: fy stands in the first row of the projection",
)  # fmt: skip
def test_a_camera_sees_what_the_pinhole_formula_says(
    renderer: str, frame_kind: str, request: pytest.FixtureRequest
) -> None:
    if renderer == "opengl":
        request.getfixturevalue("opengl")
    else:
        pytest.importorskip("pybullet")
    # The engine draws round bodies with few corners.
    kinds = ("box",) if renderer == "tiny" else apart.KINDS[:4]
    sim, robot, solids, ids = apart.scene("never", 0.05, CARRIER, kinds=kinds)
    fx, fy, cx, cy = 71.0, 93.0, 43.3, 27.2
    mount = TILTED if frame_kind == "body" else fs.Pose.from_euler(0.23, -0.11, 0.47, -1.9, 0.1, -1.1)
    camera = sim.add_sensor(
        fs.CameraSensorParams(pose=mount, width=96, height=72, intrinsics=(fx, fy, cx, cy), near=0.07, far=3.0,
                              channels=("depth", "ids"), renderer=renderer, frame=frame_kind), robot
    )  # fmt: skip
    robot.set_velocity(0.2, -0.1, wz=0.3)
    for _ in range(4):
        sim.step_once()
    reading = camera.read()
    frame = rigid.frame_of(robot.get_pose()) @ rigid.frame_of(mount)
    if frame_kind == "body":
        # x right, y down, z ahead, of a body whose x is ahead, y left and z up.
        frame[:3, :3] = frame[:3, :3] @ np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    columns, rows = np.meshgrid(np.arange(96), np.arange(72))
    rays = np.stack(((columns - cx) / fx, (rows - cy) / fy, np.ones(columns.shape)), axis=-1).reshape(-1, 3)
    sizes = np.linalg.norm(rays, axis=1)
    ranges, which, _ = seen_along(solids, frame, rays / sizes[:, None], 20.0)
    depth = ranges / sizes
    depth[depth > 3.0], which = np.inf, np.where(depth > 3.0, -1, which)
    depth, which = depth.reshape(72, 96), which.reshape(72, 96)
    inner = np.ones((72, 96), bool)
    for axis in (0, 1):
        for shift in (-1, 1):
            inner &= np.roll(which, shift, axis) == which
            with np.errstate(invalid="ignore"):
                jump = np.abs(np.roll(depth, shift, axis) - depth)
            inner &= ~(jump > 0.1)
    inner[[0, -1]] = inner[:, [0, -1]] = False
    seen = inner & (which >= 0)
    assert inner.mean() > 0.6 and seen.mean() > 0.05
    known = np.where(which >= 0, np.array(ids)[which], -1)
    assert (reading.ids[inner] == known[inner]).all()
    assert np.isinf(reading.depth[inner & (which < 0)]).all()
    flat = seen & np.isin(which, [index for index, solid in enumerate(solids) if solid.kind == "box"])
    assert np.allclose(reading.depth[flat], depth[flat], atol=1e-3)
    assert np.allclose(reading.position, frame[:3, 3], atol=1e-9)
    assert np.allclose(rigid.rotation(reading.orientation), frame[:3, :3], atol=1e-9)
    assert np.allclose(reading.intrinsics.matrix, [[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])
    # What is round is drawn as a polyhedron, the coarser the fewer pixels it has: within half a pixel.
    for index, solid in enumerate(solids):
        points = reading.points()[seen & (which == index)].reshape(-1, 3)
        if len(points):
            assert (
                np.abs(solid.distances(points @ frame[:3, :3].T + frame[:3, 3])).max()
                < 0.5 * depth[seen & (which == index)].max() / fx
            )


@pytest.mark.parametrize("compiled", ["never", "always"])
@holds(
    "api:RayHits.*", "api:LidarReading.ranges",
    fault="sensing/sensors/rays.py: the first face of a hull is left out",
)  # fmt: skip
def test_meshes_are_seen_as_their_hulls_or_their_triangles(tmp_path: Path, compiled: str) -> None:
    hulls: Any = pytest.importorskip("scipy.spatial")
    rng = np.random.default_rng(8)
    corners = rng.normal(size=(30, 3)) * [0.5, 0.35, 0.6]
    path = apart.write_hull(tmp_path / "blob.obj", corners)
    sim = fs.MultiRobotSimulationCore(
        fs.SimulationParams(gui=False, target_rtf=0, timestep=0.05, compiled_code=compiled, enable_floor=False)
    )
    frame = apart.random_frame(rng, 0.5)
    starts = rng.normal(size=(600, 3))
    starts *= 2.5 / np.linalg.norm(starts, axis=1)[:, None]
    starts += frame[:3, 3]
    ways = frame[:3, 3] + 0.4 * rng.normal(size=(600, 3)) - starts
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    for concave in (False, True):
        shape = fs.ShapeParams("mesh", mesh_path=path, concave=concave)
        thing = sim.spawn(fs.SimObjectSpawnParams(shape, shape, apart.pose(frame), pickable=False))
        sim.step_once()
        faces = corners.reshape(-1, 3, 3) if concave else corners[hulls.ConvexHull(corners).simplices]
        placed = faces @ frame[:3, :3].T + frame[:3, 3]
        wanted = apart.through_triangles(placed, starts, ways)
        found = sim.queries.ray_cast(starts, starts + 6.0 * ways)
        assert 100 < np.isfinite(wanted).sum() < 590
        assert np.mean(np.isclose(found.distances, wanted, atol=1e-6)) > 0.995
        sim.remove_object(thing)
