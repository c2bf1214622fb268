"""What level lidars and maps say of halls and crowds, against triangles, planes, circles and distance functions."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rigid
import solids_apart as apart
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.sensing.sensors.lidar import draw_scans


def simulation(compiled: str) -> fs.MultiRobotSimulationCore:
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=0.05, compiled_code=compiled, enable_floor=False)
    return fs.MultiRobotSimulationCore(params)


def put(sim: fs.MultiRobotSimulationCore, shape: Any, frame: np.ndarray, **settings: Any) -> Any:
    return sim.spawn(fs.SimObjectSpawnParams(shape, shape, apart.pose(frame), pickable=False, **settings))


def planes_met(frame: np.ndarray, starts: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """How far rays go to a plane through the origin of a frame, across its z axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = ((frame[:3, 3] - starts) @ frame[:3, 2]) / (ways @ frame[:3, 2])
    return np.where(found > 0.0, found, np.inf)


@pytest.mark.parametrize("compiled", ["never", "always"])
@holds(
    "api:LidarReading.ranges", "api:LidarReading.labels",
    fault="sensing/sensors/occupancy.py: cuts of hulls are turned by the inverse of their rotation",
)  # fmt: skip
def test_level_lidars_see_meshes_walls_and_what_stands(tmp_path: Path, compiled: str) -> None:
    hulls: Any = pytest.importorskip("scipy.spatial")
    rng = np.random.default_rng(21)
    sim = simulation(compiled)
    plane = apart.random_frame(rng, 0.0)
    plane[:3, 2] = np.array([-0.8, 0.5, 0.33]) / np.linalg.norm([-0.8, 0.5, 0.33])
    plane[:3, 0] = np.cross([0.0, 0.0, 1.0], plane[:3, 2]) / np.linalg.norm(plane[:2, 2])
    plane[:3, 1] = np.cross(plane[:3, 2], plane[:3, 0])
    plane[:3, 3] = [4.3, -1.7, 0.4]
    walls = [(put(sim, fs.ShapeParams("plane"), plane).object_id, plane)]
    meshes, solids, ids = [], [], []
    for index in range(18):
        frame = apart.random_frame(rng, 0.0, upright=index % 2 == 0)
        if index % 4 == 2:
            # Upside down is upright, too.
            frame[:3, 1:3] *= -1.0
        frame[:3, 3] = [0.9 * (index % 6) - 2.6, 1.1 * (index // 6) - 1.3, rng.uniform(0.3, 0.7)]
        frame[:2, 3] += rng.uniform(-0.15, 0.15, 2)
        solid = apart.random_solid(rng, apart.KINDS[index % 5], frame)
        solid.sizes = solid.sizes * 0.8
        if solid.corners is None:
            ids.append(put(sim, apart.params(solid), frame).object_id)
            solids.append(solid)
            continue
        path, concave = apart.write_hull(tmp_path / f"{index}.obj", solid.corners), index % 2 == 0
        thing = put(sim, fs.ShapeParams("mesh", mesh_path=path, concave=concave), frame)
        faces = solid.corners.reshape(-1, 3, 3) if concave else solid.corners[hulls.ConvexHull(solid.corners).simplices]
        meshes.append((thing.object_id, faces @ frame[:3, :3].T + frame[:3, 3]))
    seen: set[int] = set()
    for number, (first, last, rays) in enumerate(
        [(-2.3, 2.9, 157), (-1.2, 2.0 * math.pi - 1.2, 120), (-3.1, -0.7, 91)]
    ):
        turned = number == 1
        mounts, lidars = [], []
        for index in range(7):
            yaw, height = rng.uniform(-3.0, 3.0), (0.37, 0.52)[index % 2]
            spot = [0.8 * index - 2.7, (-2.4, 2.3, -0.75)[index % 3], height]
            mounts.append(fs.Pose.from_euler(*spot, math.pi if turned else 0.0, 0.0, yaw))
            lidars.append(
                sim.add_sensor(
                    fs.LidarParams(pose=mounts[-1], name=f"l{number}_{index}", rays=rays, angle_min=first,
                                   angle_max=last, range_max=3.6, labels=index % 2 == 0)
                )
            )  # fmt: skip
        sim.step_once()
        # The second ones are upside down and see all around.
        angles = first + (last - first) * np.arange(rays) / (rays if turned else rays - 1)
        for mount, lidar in zip(mounts, lidars, strict=True):
            yaw = mount.yaw
            around = yaw - angles if turned else yaw + angles
            ways = np.stack((np.cos(around), np.sin(around), 0.0 * around), axis=1)
            starts = np.tile(np.array(mount.position), (rays, 1))
            if any(may_hold(faces, starts[0]) for _, faces in meshes):
                continue
            ranges, which = apart.march(solids, starts, ways, 3.6)
            known = np.where(which >= 0, np.array(ids)[which], -1)
            for identity, found in [(i, apart.through_triangles(f, starts, ways)) for i, f in meshes] + [
                (i, planes_met(f, starts, ways)) for i, f in walls
            ]:
                nearer = found < ranges
                ranges, known = np.where(nearer, found, ranges), np.where(nearer, identity, known)
            ranges[ranges > 3.6], known[ranges > 3.6] = np.inf, -1
            reading = lidar.read()
            # What is round and tilted is a polygon to a level lidar; rays that graze are decided by rounding.
            good = np.isclose(reading.ranges, ranges, atol=2e-3)
            assert good.mean() > 0.97, (number, np.flatnonzero(~good))
            if reading.labels is not None:
                assert (reading.labels == known)[good].mean() > 0.99
            seen |= set(known.tolist())
    assert len(seen - {-1}) > 15 and walls[0][0] in seen and {identity for identity, _ in meshes} & seen


def may_hold(faces: np.ndarray, point: np.ndarray) -> bool:
    """Whether a point may be within a mesh: within the ball around its corners."""
    middle = faces.reshape(-1, 3).mean(axis=0)
    return bool(np.linalg.norm(point - middle) < np.linalg.norm(faces.reshape(-1, 3) - middle, axis=1).max())


@pytest.mark.parametrize("compiled", ["never", "always"])
@pytest.mark.parametrize("labels", [False, True])
@holds("api:LidarReading.ranges", fault="sensing/sensors/planar_rays.py: a line of cells less is searched")
def test_many_lidars_see_the_nearest_discs_of_many(compiled: str, labels: bool) -> None:
    rng = np.random.default_rng(6)
    sim, count, lidars, reach = simulation(compiled), 2600, 800, 5.3
    centres, radii = rng.uniform(-30.0, 30.0, (count, 2)), rng.uniform(0.05, 0.3, count)
    # Two that are larger than all cells; others stand above or below the plane of the lidars.
    radii[:2], centres[:2] = [6.3, 4.1], [[27.0, 3.0], [-44.0, -21.0]]
    heights = np.where(rng.uniform(size=count) < 0.3, rng.choice([-1.1, 1.7], count), 0.4)
    shapes = [fs.ShapeParams("cylinder", radius=float(radius), height=0.9) for radius in radii]
    things = sim.spawn_all(
        [
            fs.SimObjectSpawnParams(None, shape, fs.Pose((x, y, z)), pickable=False)
            for shape, (x, y), z in zip(shapes, centres.tolist(), heights.tolist(), strict=True)
        ]
    )
    spots, yaws = rng.uniform(-33.0, 33.0, (lidars, 2)), rng.uniform(-3.0, 3.0, lidars)
    sensors = [
        sim.add_sensor(
            fs.LidarParams(pose=fs.Pose.from_yaw(*spot, 0.5, yaw), name=f"l{index}", rays=7, angle_min=-1.3,
                           angle_max=1.1, range_max=reach, labels=labels)
        )
        for index, (spot, yaw) in enumerate(zip(spots.tolist(), yaws.tolist(), strict=True))
    ]  # fmt: skip
    sim.step_once()
    readings = sim.sensors.read(sensors)
    angles = yaws[:, None] - 1.3 + 2.4 * np.arange(7) / 6
    level = np.flatnonzero(heights == 0.4)
    off = centres[level][None] - spots[:, None]
    square = (off**2).sum(axis=2) - radii[level] ** 2
    for ray in range(7):
        ahead = off[..., 0] * np.cos(angles[:, ray, None]) + off[..., 1] * np.sin(angles[:, ray, None])
        root = ahead**2 - square
        with np.errstate(invalid="ignore"):
            found = np.where((root > 0.0) & (ahead > 0.0) & (square > 0.0), ahead - np.sqrt(root), np.inf)
        nearest = found.argmin(axis=1)
        ranges = found[np.arange(lidars), nearest]
        told = np.array([reading.ranges[ray] for reading in readings])
        clear = np.abs(ranges - reach) > 1e-6
        # A ray that grazes a disc, or not.
        close = np.isclose(told, np.where(ranges <= reach, ranges, np.inf), atol=1e-6)[clear]
        assert close.mean() > 0.999 and 100 < np.isfinite(told).sum() < lidars
        if labels:
            known = np.array([things[level[k]].object_id for k in nearest])
            named = np.array([reading.labels[ray] for reading in readings])
            hit = np.isfinite(told) & clear
            assert (named[hit] == known[hit]).mean() > 0.999 and (named[~np.isfinite(told)] == -1).all()


@holds("ros:nav_msgs/OccupancyGrid.data", fault="sensing/sensors/occupancy.py: y of discs is their x")
def test_a_cell_of_a_map_is_occupied_where_something_is_in_it(tmp_path: Path) -> None:
    rng, sim = np.random.default_rng(9), simulation("never")
    solids = []
    for index in range(24):
        frame = apart.random_frame(rng, 0.0, upright=index % 3 > 0)
        frame[:3, 3] = [*rng.uniform(-2.4, 1.7, 2), rng.uniform(0.0, 0.5)]
        solid = apart.random_solid(rng, apart.KINDS[index % 4], frame)
        solids.append(solid)
        put(sim, apart.params(solid), frame)
    blob = apart.random_solid(rng, "mesh", apart.random_frame(rng, 0.1))
    blob.frame[:3, 3] = [2.6, -0.3, 0.3]
    shape = fs.ShapeParams("mesh", mesh_path=apart.write_hull(tmp_path / "b.obj", blob.corners))
    put(sim, shape, blob.frame)
    size, height, parts = 0.13, 0.31, 9
    grid = fs.occupancy_grid(sim.world, resolution=size, z=height, bounds=(-2.9, -2.2, 3.3, 2.5))
    assert grid.origin == pytest.approx((size * math.floor(-2.9 / size), size * math.floor(-2.2 / size)))
    assert grid.cells.shape == (math.ceil(2.5 / size) - math.floor(-2.2 / size), math.ceil(3.3 / size) + 23)
    lines, columns = np.indices(grid.cells.shape)
    corner = np.stack((columns, lines), axis=-1) * size + grid.origin
    inner = (np.arange(parts) + 0.5) / parts * size
    nearest = np.full(grid.cells.shape, np.inf)
    for dx, dy in itertools.product(inner, inner):
        points = np.concatenate((corner + [dx, dy], np.full((*grid.cells.shape, 1), height)), axis=-1).reshape(-1, 3)
        gap = np.min([solid.distances(points) for solid in solids], axis=0)
        nearest = np.minimum(nearest, gap.reshape(grid.cells.shape))
    # Beside the mesh; what is near that is held against its hull below.
    away = np.linalg.norm(corner + 0.5 * size - blob.frame[:2, 3], axis=-1)
    known = away > 1.2
    hit, free = (nearest <= 0.0) & known, (nearest > 0.75 * size / parts) & known
    assert (hit | free)[known].mean() > 0.93 and hit.sum() > 150 and free.sum() > 150
    assert (grid.cells[hit] == 100).all() and (grid.cells[free] == 0).all()
    hulls: Any = pytest.importorskip("scipy.spatial")
    planes = hulls.ConvexHull(blob.corners @ blob.frame[:3, :3].T + blob.frame[:3, 3]).equations
    middle = np.concatenate((corner + 0.5 * size, np.full((*grid.cells.shape, 1), height)), axis=-1)
    depth = (middle @ planes[:, :3].T + planes[:, 3]).max(axis=-1)
    rest = ~known & (nearest > size)
    assert (grid.cells[rest & (depth < 0.0)] == 100).all() and (rest & (depth < 0.0)).sum() > 3
    assert (grid.cells[rest & (depth > 0.75 * size)] == 0).all()
    lone = simulation("never")
    put(lone, apart.params(solids[2]), solids[2].frame)
    around = fs.occupancy_grid(lone.world, resolution=size, z=float(solids[2].frame[2, 3]), margin=0.4)
    occupied = np.argwhere(around.cells == 100)
    assert (occupied.min(axis=0) >= 2).all() and (occupied.max(axis=0) <= np.array(around.cells.shape) - 3).all()


@holds("api:draw_scans", fault="sensing/sensors/lidar.py: pictures of scans have y down")
def test_a_picture_of_scans_has_the_map_what_was_seen_and_where_rays_end() -> None:
    rng, sim = np.random.default_rng(4), simulation("never")
    for index in range(9):
        frame = apart.random_frame(rng, 0.0, upright=True)
        frame[:3, 3] = [*rng.uniform(-2.0, 3.0, 2), 0.3]
        solid = apart.random_solid(rng, apart.KINDS[index % 4], frame)
        if np.hypot(frame[0, 3] - 0.43, frame[1, 3] + 0.31) > 1.1:
            put(sim, apart.params(solid), frame)
    step, origin, cells = 0.13, np.array([-2.3, -1.7]), np.where(rng.random((31, 47)) < 0.2, 100, 0).astype(np.int8)
    grid = fs.OccupancyGrid(cells, (-2.3, -1.7), step, 0.3)
    at, yaw, near, far = np.array([0.43, -0.31]), 0.7, 0.5, 1.9
    lidars = [
        sim.add_sensor("lidar", pose=[*at, 0.3, yaw], range_min=near, range_max=far, **field)
        for field in ({"rays": 57, "angle_min": -2.1, "angle_max": 1.7}, {"rays": 40, "name": "round"})
    ]
    readings = [np.array(lidar.read().ranges) for lidar in lidars]
    assert np.isinf(readings[0]).any() and np.isfinite(readings[0]).sum() > 12
    width = 140
    picture = draw_scans(grid, lidars, width=width)
    scale = 2 * width / (47 * step)
    height = round(31 * step * scale / 2)
    assert picture.shape == (height, width, 3)
    lines, columns = np.indices((2 * height, 2 * width))
    points = origin + np.stack((columns + 0.5, 2 * height - 0.5 - lines), axis=-1) / scale
    line, column = (
        np.minimum(np.floor((points - origin) / step)[..., axis].astype(int), (46, 30)[axis]) for axis in (1, 0)
    )
    wanted = np.where((cells[line, column] == 100)[..., None], (70.0, 74.0, 82.0), (247.0, 247.0, 244.0))
    fields = np.linspace(-2.1, 1.7, 57), -np.pi + 2.0 * np.pi * np.arange(40) / 40
    away = points - at
    distances = np.linalg.norm(away, axis=-1)
    bearings = np.arctan2(away[..., 1], away[..., 0]) - yaw
    for ranges, angles, color in zip(readings, fields, ((31, 119, 220), (240, 130, 20)), strict=True):
        off = np.abs((bearings[..., None] - angles + np.pi) % (2.0 * np.pi) - np.pi)
        reach = np.where(ranges == np.inf, far, np.where(ranges == -np.inf, 0.0, ranges))[off.argmin(axis=-1)]
        seen = (distances <= reach) & (off.min(axis=-1) <= 0.5 * (angles[1] - angles[0]))
        wanted[seen] = 0.78 * wanted[seen] + 0.22 * np.array(color)
        ends = at + ranges[:, None] * np.stack((np.cos(angles + yaw), np.sin(angles + yaw)), axis=-1)
        for end in ends[np.isfinite(ranges)]:
            wanted[np.linalg.norm(points - end, axis=-1) <= 2.6 / scale] = color
        wanted[distances <= 9.0 / scale] = (30, 32, 36)
        wanted[distances <= 6.0 / scale] = color
    mean = wanted.reshape(height, 2, width, 2, 3).mean(axis=(1, 3))
    same = np.abs(picture - mean).max(axis=-1) <= 0.5 + 1e-9
    assert same.mean() > 0.999


@pytest.mark.parametrize("z", [0.31, 0.9])
@holds("ros:nav_msgs/OccupancyGrid.data", fault="sensing/sensors/occupancy.py: a plane is not moved where it leans")
def test_a_leaning_plane_is_on_the_map_where_it_is_at_that_height(z: float) -> None:
    sim = simulation("never")
    frame = rigid.frame_of(fs.Pose.from_euler(0.3, -0.2, 0.25, 0.0, 1.1, 0.7))
    put(sim, fs.ShapeParams("plane"), frame)
    size = 0.13
    grid = fs.occupancy_grid(sim.world, resolution=size, z=z, bounds=(-2.9, -2.2, 3.3, 2.5))
    lines, columns = np.indices(grid.cells.shape)
    heights = [
        (np.stack((columns + dx, lines + dy), axis=-1) * size + grid.origin - frame[:2, 3]) @ frame[:2, 2]
        + (z - frame[2, 3]) * frame[2, 2]
        for dx, dy in itertools.product((0, 1), (0, 1))
    ]
    crossed = (np.min(heights, axis=0) < 0.0) & (np.max(heights, axis=0) > 0.0)
    assert crossed.sum() > 30 and (grid.cells == np.where(crossed, 100, 0)).mean() > 0.9995


@pytest.mark.parametrize("compiled", ["never", "always"])
@pytest.mark.parametrize("labels", [False, True])
@holds("api:LidarReading.ranges", fault="sensing/sensors/planar_rays.py: past a full turn the first ray is left out")
def test_what_is_behind_a_lidar_is_seen_by_its_last_rays_and_its_first(compiled: str, labels: bool) -> None:
    sim, mount = simulation(compiled), fs.Pose.from_yaw(0.4, -0.3, 0.3, 0.7)
    lidar = sim.add_sensor("lidar", pose=mount, rays=40, range_max=4.0, labels=labels)
    angles, start = np.pi * np.arange(40) / 20 - np.pi + 0.7, np.array([0.4, -0.3, 0.3])
    ways = np.column_stack((np.cos(angles), np.sin(angles), np.zeros(40)))
    back = 0.7 + np.pi + 0.04
    for shape, yaw in (
        (fs.ShapeParams("box", half_extents=(0.3, 0.8, 0.5)), 0.9),
        (fs.ShapeParams("cylinder", radius=0.7, height=1.0), 0.0),
    ):
        place = start + 1.9 * np.array([math.cos(back), math.sin(back), 0.0])
        frame = rigid.frame_of(fs.Pose.from_yaw(*place, yaw))
        thing = put(sim, shape, frame)
        sim.step_once()
        reading = lidar.read()
        begin, way = (start - place) @ frame[:3, :3], ways @ frame[:3, :3]
        if shape.shape_type == "box":
            one, other = ((side * np.array([0.3, 0.8, 9.0]) - begin) / (way + [0.0, 0.0, 1e-9]) for side in (-1.0, 1.0))
            near, far = np.minimum(one, other).max(axis=1), np.maximum(one, other).min(axis=1)
            wanted = np.where((near < far) & (near > 0.0), near, np.inf)
        else:
            along = -way @ begin
            square = 0.7**2 - begin @ begin + along**2
            wanted = np.where((square > 0.0) & (along > 0.0), along - np.sqrt(np.maximum(square, 0.0)), np.inf)
        assert np.array(reading.ranges) == pytest.approx(wanted) and np.isfinite(wanted[[0, 1, -1]]).all()
        if labels:
            assert np.array_equal(reading.labels, np.where(np.isfinite(wanted), thing.object_id, -1))
        sim.remove_object(thing)


@holds("api:LidarReading.ranges", fault="sensing/sensors/lidar.py: what is as near as range_min is too near")
def test_the_limits_of_a_range_are_ranges() -> None:
    sim, cube = simulation("never"), fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5))
    put(sim, cube, rigid.frame_of(fs.Pose.from_yaw(1.0, 0.0, 0.25, 0.0)))
    # The face is 0.5 m ahead, to the last bit.
    for near, far, told in (
        (0.5, 0.75, 0.5),
        (0.25, 0.5, 0.5),
        (0.515625, 0.75, -math.inf),
        (0.25, 0.484375, math.inf),
    ):
        lidar = sim.add_sensor(
            "lidar", pose=[0.0, 0.0, 0.25, 0.0], rays=1, angle_min=0.0, angle_max=0.0, range_min=near, range_max=far,
            name=f"from_{near}_to_{far}".replace(".", "_"),
        )  # fmt: skip
        assert lidar.read().ranges[0] == told
