"""The formulas of the metrics, on cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.swarm.metrics.crowd import (
    aggregation,
    components,
    dispersion,
)
from fleet_sim.swarm.metrics.shape import convex_hull, convex_hull_area

# Four agents at the corners of a square of side 2 about (5, 3), each driving counter-clockwise along it.
SQUARE = np.array([(6.0, 4.0), (4.0, 4.0), (4.0, 2.0), (6.0, 2.0)])
# A 3-4-5 triangle with a right angle at the origin.
TRIANGLE = np.array([(0.0, 0.0), (3.0, 0.0), (0.0, 4.0)])


def test_clusters() -> None:
    # A chain of three, a pair, one alone.
    places = np.array([(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (5.0, 0.0), (5.0, 1.0), (9.0, 9.0)])
    assert aggregation(places, 1.0) == 0.5
    assert aggregation(places, 0.5) == pytest.approx(1.0 / 6.0)
    assert aggregation(places, 20.0) == 1.0
    line = np.arange(500)
    assert not components(line[:-1], line[1:], 500).any()
    assert components(line[1:][::-1], line[:-1][::-1], 501).tolist() == [0] * 500 + [500]


def test_large_swarms_are_measured_in_blocks() -> None:
    places = np.random.default_rng(2).uniform(0.0, 1.0, (1500, 2))
    # The mean distance of two points in a unit square: (2 + sqrt 2 + 5 ln(1 + sqrt 2)) / 15.
    assert dispersion(places) == pytest.approx(0.5214, rel=0.02)


def test_hulls() -> None:
    places = np.concatenate((SQUARE, [(5.0, 3.0), (5.0, 4.0), (4.5, 2.5)], SQUARE))
    assert convex_hull(places).tolist() == [[4.0, 2.0], [6.0, 2.0], [6.0, 4.0], [4.0, 4.0]]
    assert convex_hull_area(places) == pytest.approx(4.0)
    assert convex_hull_area(TRIANGLE) == pytest.approx(6.0)
    assert convex_hull_area(SQUARE[:2]) == 0.0
    assert convex_hull_area(np.array([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)])) == 0.0
    disc = np.random.default_rng(3).normal(size=(4000, 2))
    disc /= np.maximum(np.hypot(disc[:, 0], disc[:, 1]), 1.0)[:, None]
    assert convex_hull_area(disc) == pytest.approx(np.pi, rel=0.01)
