"""The formulas of the metrics, on cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.swarm.metrics.crowd import (
    aggregation,
    algebraic_connectivity,
    angular_momentum,
    arrivals,
    at_goal,
    average_speed,
    chain_gap,
    collisions_begun,
    components,
    dispersion,
    distances_moved,
    group_rotation,
    mean_distance,
    nearest_neighbour_distance,
    polarization,
    radial_variance,
    scatter,
)
from fleet_sim.swarm.metrics.shape import convex_hull, convex_hull_area, fatness, tangentness
from fleet_sim.swarm.swarm_state import Goal

# Four agents at the corners of a square of side 2 about (5, 3), each driving counter-clockwise along it.
SQUARE = np.array([(6.0, 4.0), (4.0, 4.0), (4.0, 2.0), (6.0, 2.0)])
AROUND = np.array([(-1.0, 0.0), (0.0, -1.0), (1.0, 0.0), (0.0, 1.0)])
HEADINGS = np.array([np.pi, -np.pi / 2, 0.0, np.pi / 2])
# A 3-4-5 triangle with a right angle at the origin.
TRIANGLE = np.array([(0.0, 0.0), (3.0, 0.0), (0.0, 4.0)])


def test_speeds() -> None:
    assert average_speed(np.array([(3.0, 4.0), (0.0, 1.0)])) == 3.0


def test_turning_about_the_middle() -> None:
    # Each: v x d = -(1 * 1), as turning is counter-clockwise; |d| is the root of 2.
    assert angular_momentum(SQUARE, AROUND, 2.0) == pytest.approx(-0.5)
    assert angular_momentum(SQUARE, -AROUND, 2.0) == pytest.approx(0.5)
    assert group_rotation(SQUARE, AROUND) == pytest.approx(-1.0 / np.sqrt(2.0))
    assert group_rotation(SQUARE, SQUARE - [5.0, 3.0]) == pytest.approx(0.0)
    assert group_rotation(np.zeros((1, 2)), np.ones((1, 2))) == 0.0


def test_distances_to_the_middle() -> None:
    assert scatter(SQUARE, 2.0) == pytest.approx(2.0 / 4.0)
    assert mean_distance(SQUARE) == pytest.approx(np.sqrt(2.0))
    assert radial_variance(SQUARE) == pytest.approx(0.0)
    # Distances 1 and 3 twice each, about 0: mean 2, variance 1.
    cross = np.array([(1.0, 0.0), (-1.0, 0.0), (0.0, 3.0), (0.0, -3.0)])
    assert radial_variance(cross) == pytest.approx(1.0)
    assert radial_variance(cross, 2.0) == pytest.approx(0.25)
    assert fatness(cross) == pytest.approx(1.0 - 1.0 / 9.0)
    assert fatness(SQUARE) == pytest.approx(0.0)
    assert fatness(np.zeros((3, 2))) == 1.0


def test_tangentness() -> None:
    # Along the sides: 45 degrees off the tangent at each corner.
    assert tangentness(SQUARE, HEADINGS) == pytest.approx(np.cos(np.pi / 4))
    assert tangentness(SQUARE, HEADINGS - np.pi / 4) == pytest.approx(0.0)
    assert tangentness(SQUARE, HEADINGS + np.pi / 4) == pytest.approx(1.0)


def test_clusters() -> None:
    # A chain of three, a pair, one alone.
    places = np.array([(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (5.0, 0.0), (5.0, 1.0), (9.0, 9.0)])
    assert aggregation(places, 1.0) == 0.5
    assert aggregation(places, 0.5) == pytest.approx(1.0 / 6.0)
    assert aggregation(places, 20.0) == 1.0
    line = np.arange(500)
    assert not components(line[:-1], line[1:], 500).any()
    assert components(line[1:][::-1], line[:-1][::-1], 501).tolist() == [0] * 500 + [500]


def test_distances_between_agents() -> None:
    assert dispersion(TRIANGLE) == pytest.approx((3.0 + 4.0 + 5.0) / 3.0)
    assert nearest_neighbour_distance(TRIANGLE) == pytest.approx((3.0 + 3.0 + 4.0) / 3.0)
    assert dispersion(TRIANGLE[:1]) == 0.0
    assert np.isnan(nearest_neighbour_distance(TRIANGLE[:1]))
    line = np.stack((np.arange(10.0) ** 2, np.zeros(10)), axis=1)
    assert nearest_neighbour_distance(line) == pytest.approx(np.mean([1, 1, 3, 5, 7, 9, 11, 13, 15, 17]))


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


def test_algebraic_connectivity() -> None:
    # Known spectra: complete graph N; path 2 - 2 cos(pi / N); ring 2 - 2 cos(2 pi / N); star 1.
    assert algebraic_connectivity(SQUARE, 10.0) == pytest.approx(4.0)
    path = np.stack((np.arange(5.0), np.zeros(5)), axis=1)
    assert algebraic_connectivity(path, 1.0) == pytest.approx(2.0 - 2.0 * np.cos(np.pi / 5))
    assert algebraic_connectivity(SQUARE, 2.0) == pytest.approx(2.0)
    star = np.concatenate((np.zeros((1, 2)), AROUND))
    assert algebraic_connectivity(star, 1.0) == pytest.approx(1.0)
    assert algebraic_connectivity(path, 0.5) == 0.0
    assert algebraic_connectivity(path[:1], 1.0) == 0.0


def test_headings_and_chains() -> None:
    assert polarization(HEADINGS) == pytest.approx(0.0)
    assert polarization(np.full(3, 2.0)) == pytest.approx(1.0)
    assert polarization(np.array([0.0, np.pi / 2])) == pytest.approx(np.sqrt(0.5))
    assert chain_gap(TRIANGLE) == pytest.approx(5.0)
    assert chain_gap(TRIANGLE[:1]) == 0.0


def test_counting() -> None:
    before, now = np.array([True, False, True, False]), np.array([True, True, False, False])
    assert collisions_begun(now, before) == 1
    assert arrivals(now, before) == 1
    assert distances_moved(TRIANGLE, TRIANGLE[[1, 1, 1]]).tolist() == [3.0, 0.0, 5.0]
    goals = [Goal(center=(0.0, 0.0), radius=1.0), Goal([(2.0, -1.0), (4.0, -1.0), (3.0, 1.0)])]
    assert at_goal(TRIANGLE, goals).tolist() == [True, True, False]
    assert at_goal(TRIANGLE, []).tolist() == [False] * 3
