"""Ways of VDA 5050 orders: curves against SciPy's B-splines, with weights, and zones by winding numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from oracle_rows import holds
from scipy.interpolate import BSpline

from fleet_sim.warehouse.vda5050.driving import curve_points
from fleet_sim.warehouse.vda5050.order import RELEASE, SPACING, SPEED_LIMIT, EdgeTrajectory, VehicleZone, zoned


@pytest.mark.parametrize(
    ("degree", "inner"), [(1, [0.2, 0.7]), (2, []), (2, [0.25, 0.25, 0.8]), (3, [0.3, 0.55]), (4, [0.1, 0.45, 0.45])]
)
@pytest.mark.parametrize("tolerance", [0.004, 0.15])
@holds("vda5050:order.edges.trajectory", fault="warehouse/vda5050/driving.py: of two spans the shares are exchanged")
def test_points_are_on_the_curve_and_lines_between_them_near_it(
    degree: int, inner: list[float], tolerance: float
) -> None:
    rng = np.random.default_rng(degree + 10 * len(inner))
    knots = np.array([0.0] * (degree + 1) + inner + [1.0] * (degree + 1))
    count = len(knots) - degree - 1
    points, weights = rng.uniform(-3.0, 3.0, (count, 2)), rng.uniform(0.4, 2.5, count)
    if degree == 1:
        weights[:] = 1.0
    spline = BSpline(knots, np.column_stack((points * weights[:, None], weights)), degree)

    def at(places: np.ndarray) -> np.ndarray:
        values = spline(places)
        return np.asarray(values[:, :2] / values[:, 2:])

    found = curve_points(
        EdgeTrajectory(degree, knots.tolist(), list(map(tuple, np.column_stack((points, weights)).tolist()))), tolerance
    )
    assert found[[0, -1]] == pytest.approx(points[[0, -1]])
    if degree > 1:
        assert found == pytest.approx(at(np.linspace(0.0, 1.0, len(found))), abs=1e-9)
    dense = at(np.linspace(0.0, 1.0, 3001))
    begins, ways = found[:-1], np.diff(found, axis=0)
    offsets = dense[:, None] - begins
    shares = np.clip((offsets * ways).sum(axis=2) / (ways * ways).sum(axis=1), 0.0, 1.0)
    gaps = np.linalg.norm(offsets - shares[..., None] * ways, axis=2).min(axis=1)
    assert gaps.max() <= tolerance
    # No finer than four times what it takes: half as many points would be too few.
    assert (
        len(found) <= 17
        or np.linalg.norm(found[1:-1:2] - 0.5 * (found[:-2:2] + found[2::2]), axis=1).max() > 0.06 * tolerance
    )


def gap(corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """How far points (K,) are from a polygon (N,), complex numbers: 0 inside, where the sides turn once around."""
    sides = np.roll(corners, -1) - corners
    offsets = points[:, None] - corners
    shares = np.clip((offsets * np.conj(sides)).real / np.abs(sides) ** 2, 0.0, 1.0)
    turns = np.angle(np.roll(-offsets, -1, axis=1) / -offsets).sum(axis=1)
    return np.where(np.abs(turns) > 1.0, 0.0, np.abs(offsets - shares * sides).min(axis=1))


@holds("vda5050:zoneSet.zones", fault="warehouse/vda5050/order.py: sides are crossed by a ray to the left as well")
def test_ways_have_the_limits_and_begins_of_the_zones_that_a_disc_on_them_touches() -> None:
    radius, near, entries = 0.31, 2.0 * SPACING, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        zones, areas = [], []
        for name, kind, speed in (("slow", SPEED_LIMIT, 0.4), ("slower", SPEED_LIMIT, 0.9), ("gate", RELEASE, np.inf)):
            # Stars: concave, with a spike here and there.
            angles = np.sort(rng.uniform(0.0, 2.0 * np.pi, 7)) + rng.uniform(0.0, 6.0)
            area = complex(*rng.uniform(0.5, 5.5, 2)) + rng.uniform(0.4, 1.9, 7) * np.exp(1j * angles)
            areas.append(area)
            zones.append(VehicleZone(name, kind, [(corner.real, corner.imag) for corner in area.tolist()], speed))
        corners = rng.uniform(0.0, 6.0, (5, 2))
        way = zoned(tuple(corners[0].tolist()), corners[1:], zones, radius)
        stops = np.concatenate((corners[:1], way.points)) @ [1, 1j]
        assert all((way.points == corner).all(axis=1).any() for corner in corners[1:])
        for begin, end, limit in zip(stops[:-1], stops[1:], way.limits, strict=True):
            gaps = [gap(area, begin + np.linspace(0.0, 1.0, 40) * (end - begin)).min() for area in areas[:2]]
            surely, perhaps = (
                [s for g, s in zip(gaps, (0.4, 0.9), strict=True) if g < radius + d] for d in (-near, near)
            )
            assert min(perhaps, default=np.inf) <= limit <= min(surely, default=np.inf)
        lines = [begin + np.linspace(0.0, 1.0, 400) * (end - begin) for begin, end in itertools.pairwise(stops)]
        touched = gap(areas[2], np.concatenate(lines)) <= radius
        entries += int(touched[0]) + int((touched[1:] & ~touched[:-1]).sum())
        for place, names in way.gates.items():
            assert names == ["gate"]
            away, after = gap(areas[2], stops[place : place + 2])
            assert after <= radius + near and (place == 0 or away >= radius - near)
        entries -= len(way.gates)
    assert entries == 0
