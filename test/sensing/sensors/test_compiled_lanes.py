"""Compiled code draws outlines as Python does, to the last bit, on input that scenarios seldom have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.base.arrays import Floats
from fleet_sim.sensing.sensors.occupancy import Circles, Discs, Outlines, Polygons, Segments, Walls
from fleet_sim.sensing.sensors.raster import Fan, Stations, cast

pytest.importorskip("numba")


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


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([(0, 0), (3, 9), (9, 60), (4, 300)]))
def test_all_outlines_are_drawn_in_compiled_code_as_in_python(seed: int, odd: bool, counts: tuple[int, int]) -> None:
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
    # Steps so tiny that counting them to the far side of a turn is beyond integers, too.
    fans = ((-np.pi, 2.0 * np.pi / 90, 90), (0.3, 0.01, 40), (3.0, 1e-7, 30), (-1.0, 1.0, 1), (0.0, 1e-300, 3))
    first, step, rays = fans[seed % len(fans)]
    fan = Fan(first, step, rays, float(rng.choice([0.5, 6.0, 1e4])))
    with np.errstate(all="ignore"):
        expected = cast(stations, fan, outlines).ranges
    assert cast(stations, fan, outlines, compiled=True).ranges.tobytes() == expected.tobytes()
