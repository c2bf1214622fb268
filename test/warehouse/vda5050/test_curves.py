"""Curves of trajectories: points on what the standard means, as dense as asked for; what is no curve is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from master_control import line
from vehicle_bench import VehicleBench, scenario

from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.vda5050.driving import FINEST, curve_points
from fleet_sim.warehouse.vda5050.order import EdgeTrajectory

HALF = math.sqrt(0.5)
# A whole circle of radius 1 about (0, 0): the textbook's nine points.
CIRCLE = EdgeTrajectory(
    2,
    [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    [
        (1.0, 0.0, 1.0),
        (1.0, 1.0, HALF),
        (0.0, 1.0, 1.0),
        (-1.0, 1.0, HALF),
        (-1.0, 0.0, 1.0),
        (-1.0, -1.0, HALF),
        (0.0, -1.0, 1.0),
        (1.0, -1.0, HALF),
        (1.0, 0.0, 1.0),
    ],
)


def clamped(degree: int, points: list[tuple[float, float, float]]) -> EdgeTrajectory:
    """Return a curve from the first of `points` to the last, with evenly spaced knots between."""
    inner = len(points) - degree - 1
    knots = [0.0] * (degree + 1) + [float(index + 1) for index in range(inner)] + [inner + 1.0] * (degree + 1)
    return EdgeTrajectory(degree, knots, points)


def basis(index: int, degree: int, knots: list[float], at: float) -> float:
    """Return the value of a basis function, by the recursion that defines it."""
    if degree == 0:
        return float(knots[index] <= at < knots[index + 1])
    total = 0.0
    if knots[index + degree] > knots[index]:
        share = (at - knots[index]) / (knots[index + degree] - knots[index])
        total += share * basis(index, degree - 1, knots, at)
    if knots[index + degree + 1] > knots[index + 1]:
        share = (knots[index + degree + 1] - at) / (knots[index + degree + 1] - knots[index + 1])
        total += share * basis(index + 1, degree - 1, knots, at)
    return total


def defined(curve: EdgeTrajectory, at: float) -> list[float]:
    """Return the point at a parameter, by the definition of a NURBS."""
    parts = [basis(index, curve.degree, curve.knots, at) for index in range(len(curve.points))]
    weight = sum(part * point[2] for part, point in zip(parts, curve.points, strict=True))
    pairs = list(zip(parts, curve.points, strict=True))
    return [sum(part * point[2] * point[axis] for part, point in pairs) / weight for axis in (0, 1)]


def off_lines(points: Floats, finer: Floats) -> float:
    """Return how far any of `finer` is from the lines through `points`."""
    begin, along = points[:-1], np.diff(points, axis=0)
    lengths = np.maximum((along * along).sum(axis=1), 1e-300)
    offsets = finer[:, None] - begin
    share = np.clip((offsets * along).sum(axis=2) / lengths, 0.0, 1.0)
    gaps = offsets - share[..., None] * along
    return float(np.sqrt((gaps * gaps).sum(axis=2)).min(axis=1).max())


def test_a_circle_is_a_circle() -> None:
    points = curve_points(CIRCLE, 1e-3)
    assert np.hypot(*points.T) == pytest.approx(1.0, abs=1e-12)
    assert points[0].tolist() == points[-1].tolist() == [1.0, 0.0]
    turned = np.unwrap(np.arctan2(points[:, 1], points[:, 0]))
    assert (np.diff(turned) > 0.0).all()
    assert turned[-1] == pytest.approx(2.0 * math.pi)


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_points_are_those_of_the_definition(degree: int) -> None:
    rng = np.random.default_rng(degree)
    points = [(float(x), float(y), float(w)) for x, y, w in rng.uniform(0.5, 4.0, (8, 3))]
    curve = clamped(degree, points)
    found = curve_points(curve, 1e9)
    places = np.linspace(curve.knots[degree], curve.knots[-degree - 1], len(found))
    for at, point in zip(places[:-1].tolist(), found[:-1].tolist(), strict=True):
        assert point == pytest.approx(defined(curve, at), abs=1e-12)
    assert found[-1].tolist() == pytest.approx(points[-1][:2])


@pytest.mark.parametrize("tolerance", [0.1, 0.01, 1e-3])
def test_lines_between_points_stay_within_the_tolerance(tolerance: float) -> None:
    for curve in (CIRCLE, clamped(3, [(0, 0, 1), (4, 0, 1), (-2, 3, 5), (5, 3, 1), (1, 6, 1), (0, 8, 1)])):
        points = curve_points(curve, tolerance)
        assert off_lines(points, curve_points(curve, 0.0)) <= tolerance


def test_there_are_no_more_points_than_a_vehicle_needs() -> None:
    straight = clamped(3, [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1)])
    assert len(curve_points(straight, 0.01)) == 17
    assert len(curve_points(CIRCLE, 0.0)) == FINEST + 1
    assert len(curve_points(CIRCLE, 0.1)) < len(curve_points(CIRCLE, 1e-4))


def test_a_curve_of_degree_one_is_its_control_points() -> None:
    corners = EdgeTrajectory(1, [0, 0, 1, 2, 2], [(0.0, 0.0, 1.0), (2.0, 0.0, 7.0), (2.0, 1.0, 1.0)])
    assert curve_points(corners, 1e-3).tolist() == [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]]


def test_a_heavier_point_draws_the_curve_to_it() -> None:
    ways = [curve_points(clamped(2, [(0, 0, 1), (1, 1, weight), (2, 0, 1)]), 1e-3) for weight in (0.5, 1.0, 4.0)]
    highest = [float(way[:, 1].max()) for way in ways]
    # Half-way: weight / (1 + weight) of the height of the control point.
    assert highest == pytest.approx([1.0 / 3.0, 0.5, 0.8], abs=1e-3)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"knotVector": [0, 0, 0, 1, 1]}, "knotVector"),
        ({"degree": 0}, "degree"),
        ({"controlPoints": [{"x": 0.0, "y": math.inf}] * 3}, "controlPoints"),
    ],
)
def test_a_curve_that_is_none_is_refused_and_moves_nothing(changed: dict[str, Any], said: str) -> None:
    bench = VehicleBench(scenario())
    points = [{"x": 0.0, "y": 0.0}, {"x": 2.0, "y": 0.0}, {"x": 2.0, "y": 2.0}]
    order = line("o", [(0.0, 0.0), (2.0, 2.0)])
    order["edges"][0]["trajectory"] = {"degree": 2, "knotVector": [0, 0, 0, 1, 1, 1], "controlPoints": points} | changed
    assert said in bench.order(order)["a"]
    for _ in range(5):
        bench.sim.step_once()
    assert bench.place == (0.0, 0.0)
    assert bench.state()["orderId"] == ""
    assert bench.state()["errors"]
    assert sum(bench.desk.refused.values()) == 1
