"""Lidars see the same with compiled code as without, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fleet_sim as fs
from fleet_sim.arrays import Floats
from fleet_sim.sensors.fans import Fan, Stations
from fleet_sim.sensors.outlines import Circles, Discs, Outlines, Polygons, Segments, Walls
from fleet_sim.sensors.raster import cast

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


def lattice(rng: np.random.Generator, count: int, odd: bool) -> Floats:
    """Points (2, N) on a lattice, so that many are in one place or in line; some odd ones far away."""
    points = np.round(rng.uniform(-6.0, 6.0, (2, count)) * 2.0) / 2.0
    if odd:
        points[:, rng.random(count) < 0.1] *= rng.choice([1e-12, 1e3, 1e9, -0.0])
    return points


def polygons(rng: np.random.Generator, count: int, odd: bool) -> Polygons:
    """Regular polygons of three to seven corners, some turned so that edges are seen edge-on, some without a size."""
    (x, y), sizes, radii = lattice(rng, count, odd), rng.integers(3, 8, count), rng.choice([0.0, 0.5, 2.0], count)
    first = np.cumsum(sizes) - sizes
    owners, steps = np.repeat(np.arange(count), sizes), np.arange(int(sizes.sum())) - np.repeat(first, sizes)
    angles = 2.0 * np.pi * steps / sizes[owners] + np.round(rng.uniform(0.0, 4.0, count))[owners] * np.pi / 4.0
    corners = np.stack((x[owners] + radii[owners] * np.cos(angles), y[owners] + radii[owners] * np.sin(angles)))
    low = rng.choice([-1.0, 0.0, 0.5], count)
    return Polygons(Circles(rng.integers(0, 9, count), x, y, radii, low, low + 0.7), first, sizes, corners)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([(0, 0), (3, 9), (9, 60), (4, 700)]))
def test_all_outlines_are_drawn_as_by_arrays(seed: int, odd: bool, counts: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    sensors, many = counts
    (x, y), turns = lattice(rng, sensors, odd), rng.uniform(-4.0, 4.0, sensors)
    senses, z = rng.choice([-1.0, 1.0], sensors), rng.choice([0.0, 0.2, 0.5], sensors)
    stations = Stations(rng.integers(-1, 9, sensors), x, y, z, np.cos(turns), np.sin(turns), senses)
    (disc_x, disc_y), disc_z = lattice(rng, many, odd), rng.choice([0.0, 0.3], many)
    rows, radii = rng.integers(0, 9, many), rng.choice([0.0, 0.3, 1.0, 1.5], many)
    discs = Discs(Circles(rows, disc_x, disc_y, radii, disc_z - 0.4, disc_z + 0.4), disc_z, rng.random(many) < 0.3)
    starts, ends = lattice(rng, many, odd), lattice(rng, many, odd)
    middle, level = 0.5 * (starts + ends), rng.choice([0.0, 0.2], many)
    lengths = 0.5 * np.hypot(*(ends - starts))
    segments = Segments(Circles(rng.integers(0, 9, many), *middle, lengths, level, level), starts, ends)
    normals = rng.choice([0.0, 1.0, -1.0], (2, 3))
    walls = Walls(rng.integers(0, 9, 2), normals, rng.uniform(-3.0, 3.0, (2, 3)))
    outlines = Outlines(discs, polygons(rng, many, odd), walls, segments)
    fans = ((-np.pi, 2.0 * np.pi / 90, 90), (0.3, 0.01, 40), (3.0, 1e-7, 30), (-1.0, 1.0, 1), (6.0, 0.1, 63))
    first, step, rays = fans[seed % len(fans)]
    fan = Fan(first, step, rays, float(rng.choice([0.5, 6.0, 1e4])))
    with np.errstate(all="ignore"):
        expected = cast(stations, fan, outlines).ranges
    assert cast(stations, fan, outlines, compiled=True).ranges.tobytes() == expected.tobytes()
