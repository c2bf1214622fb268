"""Compiled code casts rays as arrays do, on input that scenarios seldom have."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.arrays import Floats
from fleet_sim.sensors import nearby
from fleet_sim.sensors.fans import Fan, Stations
from fleet_sim.sensors.outlines import Circles, Discs, Outlines, Polygons, Segments, Walls
from fleet_sim.sensors.raster import cast

pytest.importorskip("numba")

FANS = (
    Fan(-np.pi, 2.0 * np.pi / 360, 360, 6.0),
    Fan(0.3, 0.01, 50, 6.0),
    Fan(0.0, 1.0, 1, 6.0),
    # Steps so tiny that counting them to the far side of a turn is beyond integers.
    Fan(0.0, 1e-300, 3, 6.0),
    Fan(-1e-9, 2.0 * np.pi / 7, 7, np.inf),
)


def lattice(rng: np.random.Generator, count: int, spread: float) -> tuple[Floats, Floats]:
    """Points that are often in line, and often the same."""
    x, y = np.round(rng.uniform(-spread, spread, (2, count)) * 2.0) / 2.0
    return x, y


def stations_of(rng: np.random.Generator, count: int, spread: float) -> Stations:
    x, y = lattice(rng, count, spread)
    angles = 0.25 * np.pi * rng.integers(0, 8, count)
    senses = np.where(rng.random(count) < 0.3, -1.0, 1.0)
    heights = rng.choice([0.0, 0.2, 0.5], count)
    return Stations(rng.integers(-1, 5, count), x, y, heights, np.cos(angles), np.sin(angles), senses)


def outlines_in(rng: np.random.Generator, count: int, spread: float) -> Outlines:
    x, y = lattice(rng, count, spread)
    rows, z = rng.integers(0, 5, count), rng.choice([0.0, 0.2, 0.4], count)
    radii = rng.choice([0.0, 0.3, 0.5, 9.0], count, p=[0.1, 0.5, 0.35, 0.05])
    discs = Discs(Circles(rows, x, y, radii, z - 0.3, z + 0.3), z, rng.random(count) < 0.4)
    sizes = rng.integers(3, 7, count)
    first = np.cumsum(sizes) - sizes
    corners = np.empty((2, int(sizes.sum())))
    for index in range(count):
        turns = rng.uniform(0.0, np.pi) + 2.0 * np.pi * np.arange(sizes[index]) / sizes[index]
        part = slice(first[index], first[index] + sizes[index])
        corners[:, part] = [x[index] + radii[index] * np.cos(turns), y[index] + radii[index] * np.sin(turns)]
    polygons = Polygons(Circles(rows, x, y, radii, z - 0.1, z + 0.1), first, sizes, corners)
    ends = np.stack(lattice(rng, count, spread))
    middle = 0.5 * (np.stack((x, y)) + ends)
    half = 0.5 * np.hypot(*(ends - np.stack((x, y))))
    lines = Segments(Circles(rows, middle[0], middle[1], half, z, z), np.stack((x, y)), ends)
    normals = np.array([[0.0, 0.0, 1.0], [0.6, -0.8, 0.0], [1.0, 0.0, 0.0]])
    walls = Walls(np.arange(3), normals, np.array([[0.0, 0.0, 0.0], [5.0, 1.0, 0.0], [-7.0, 0.0, 0.0]]))
    return Outlines(discs, polygons, walls, lines)


@pytest.mark.parametrize(("seed", "brute_force"), [(0, nearby.BRUTE_FORCE), (1, 0)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rays_end_where_they_end_on_arrays(seed: int, brute_force: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without comparing all, circles are found in the cells of a grid.
    monkeypatch.setattr(nearby, "BRUTE_FORCE", brute_force)
    rng = np.random.default_rng(seed)
    hits = 0
    for count, spread in ((40, 6.0), (300, 30.0), (1, 1.0), (0, 1.0)):
        stations, outlines = stations_of(rng, 25, spread), outlines_in(rng, count, spread)
        for fan in FANS:
            expected = cast(stations, fan, outlines).ranges
            assert cast(stations, fan, outlines, compiled=True).ranges.tobytes() == expected.tobytes()
            hits += int(np.isfinite(expected).sum())
    assert hits > 10_000
