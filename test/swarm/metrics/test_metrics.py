"""Metrics in worlds: what they remember, whom they look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle_rows import holds
from swarm_world import make_world

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError
from fleet_sim.swarm.metrics import METRICS, AverageSpeed, DistanceTravelled, TotalCollisions
from fleet_sim.swarm.metrics.crowd import aggregation, components, dispersion
from fleet_sim.swarm.metrics.shape import (
    FITS,
    Circle,
    circularity,
    convex_hull,
    convex_hull_area,
    delaunay_edges,
    instant_circularity,
    least_squares,
    taubin,
)
from fleet_sim.swarm.world import RectangularWorld


def add(world: RectangularWorld, kind: str, **params: Any) -> Any:
    metric = METRICS.get(kind)(**params)
    world.add_metric(metric)
    return metric


def driver(speed: float, turn: float = 0.0) -> dict[str, Any]:
    return {"type": "static", "output": [speed, turn]}


def test_the_last_value_and_the_mean_are_told_by_name() -> None:
    metric = AverageSpeed(name="pace")
    for value in (1.0, 2.0, 6.0):
        metric.set_value(value)
    assert metric.out_current() == ("pace", 6.0) and metric.out_average() == ("pace", 3.0)


def test_they_can_look_at_one_team() -> None:
    world = make_world(driver(0.2), positions=[[1.0, 1.0], [2.0, 2.0]])
    world.spawn({"type": "MazeAgent", "controller": driver(0.6), "team": "fast"}, [3.0, 3.0], 0.0)
    everybody, fast = add(world, "average_speed"), add(world, "average_speed", name="fast", team="fast")
    world.step()
    assert (everybody.value, fast.value) == (pytest.approx(1.0 / 3.0), pytest.approx(0.6))


@holds("api:PercentageAtGoal.value", fault="swarm/metrics/crowd.py: the step of success is counted twice")
def test_goals() -> None:
    goal = {"type": "circle", "position": [3.0, 2.5], "radius": 0.5}
    world = make_world(
        driver(0.5),
        positions=[[1.01, 2.5], [2.01, 2.5], [2.91, 2.5]],
        angles=[0.0] * 3,
        goals=[goal],
        agent={"collides": False},
    )
    number, share, rate = (add(world, name) for name in ("agents_at_goal", "at_goal_share", "throughput"))
    half = add(world, "percentage_at_goal", percentage=0.5)
    seen = []
    for _ in range(70):
        world.step()
        seen.append(number.value)
        assert share.value == pytest.approx(number.value / 3.0)
    # They make 25 mm per step: the second comes in with step 20 and leaves with 60, the third leaves with 24, and the
    # first comes in with 60.
    assert seen == [1.0] * 19 + [2.0] * 4 + [1.0] * 47
    assert rate.value == pytest.approx(2.0 / 3.5)
    assert half.value == 20.0


def test_distances_add_up_while_agents_come_and_go() -> None:
    world = make_world(driver(0.5), positions=[[1.0, 1.0], [1.0, 2.0]], angles=[0.0, 0.0])
    mean, total = add(world, "distance_travelled"), add(world, "distance_travelled", name="total", total=True)
    for _ in range(11):
        world.step()
    assert (mean.value, total.value) == (pytest.approx(0.25), pytest.approx(0.5))
    world.remove(world.population[:1])
    world.spawn({"type": "MazeAgent", "controller": driver(0.5)}, [1.0, 3.0], 0.0)
    for _ in range(10):
        world.step()
    # The one that stayed: 20 steps of 25 mm; the new one: 9 that could be measured.
    assert mean.value == pytest.approx((0.5 + 0.225) / 2)
    assert total.value == pytest.approx(0.5 + 0.25 + 0.225)


@pytest.mark.parametrize("cls", [AverageSpeed, TotalCollisions, DistanceTravelled])
def test_they_ask_for_their_world(cls: type[Any]) -> None:
    with pytest.raises(FleetSimError, match="attach_world"):
        cls().calculate()


# ---- The formulas of the metrics, on cases worked out by hand --------------------------------------------------------


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


# ---- Circle fits, the Delaunay triangulation and what is computed with them, on cases worked out by hand -------------


SQUARE_CIRCLES_AND_SPACING = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)])
LINE = np.stack((np.arange(5.0), 2.0 * np.arange(5.0)), axis=1)


def arc(radius: float, share: float, count: int = 20) -> Floats:
    angles = np.linspace(0.0, 2.0 * np.pi * share, count, endpoint=False)
    return np.array([7.0, -3.0]) + radius * np.stack((np.cos(angles), np.sin(angles)), axis=1)


@pytest.mark.parametrize("fit", FITS.values(), ids=list(FITS))
def test_every_fit_finds_a_circle_that_is_there(fit: object) -> None:
    assert callable(fit)
    for points in (arc(2.0, 1.0), arc(0.3, 0.25), SQUARE_CIRCLES_AND_SPACING[:3]):
        circle = fit(points)
        assert circle.residual(points) == pytest.approx(0.0, abs=1e-9)
    assert fit(arc(2.0, 0.4)) == pytest.approx((7.0, -3.0, 2.0))
    for points in (LINE, LINE[:2], np.zeros((4, 2))):
        assert fit(points) is None


@holds("api:Circularity.value", fault="swarm/metrics/shape.py: 1 - s r in place of 1 - s / r")
def test_circularity() -> None:
    assert circularity(arc(2.0, 1.0)) == pytest.approx(1.0)
    # Distances 1 and 1.2 twice each, about the middle of a cross: Taubin's radius is the root of their mean square.
    cross = np.array([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.2), (0.0, -1.2)])
    radius = np.sqrt(1.22)
    gaps = np.array([1.0, 1.2]) - radius
    assert circularity(cross, taubin) == pytest.approx(1.0 - np.sqrt(np.mean(gaps**2)) / radius)
    # Of a long cross a line is the better fit.
    assert taubin(cross * [1.0, 5.0]) is None
    assert np.isnan(circularity(LINE)) and np.isnan(instant_circularity(LINE, taubin))
    # About the origin the centre is 0, and what is left is the root of the sum of squares over r.
    assert instant_circularity(arc(2.0, 1.0) - [7.0, -3.0], taubin) == pytest.approx(np.sqrt(20.0))
    world = make_world("static", positions=0.2 * arc(2.0, 1.0) + [1.0, 3.0])
    metrics = [world.add_metric({"type": "circularity", "name": fit, "fit": fit}) for fit in FITS]
    world.step()
    assert [metric.value for metric in metrics] == pytest.approx([1.0] * 4)


def misfits(points: Floats, reach: float) -> Floats:
    """Return the sums of squared distances from the best circles with middles `reach` away, in many directions."""
    angles = np.linspace(-np.pi, np.pi, 721)
    middles = points.mean(axis=0) + reach * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    distances = np.hypot(*(points[:, None] - middles).T)
    return ((distances - distances.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)


@pytest.mark.parametrize("seed", range(12))
def test_the_geometric_fit_is_better_than_lines_and_than_circles_about_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(0.0, 6.0, (8, 2)) * rng.uniform(0.2, 1.0, 2)
    offsets = points - points.mean(axis=0)
    line = np.linalg.svd(offsets)[1][1] ** 2
    circle = least_squares(points)
    if circle is None:
        # Far away circles come as near as the line, and none nearer.
        assert min(misfits(points, reach).min() for reach in (3.0, 30.0, 300.0)) > 0.9 * line
        return
    misfit = len(points) * circle.residual(points) ** 2
    assert misfit < line
    # Of a step in any direction the misfit grows.
    reach = 1e-3 * circle.radius
    beside = [Circle(circle.x + reach * np.cos(a), circle.y + reach * np.sin(a), 0.0) for a in np.linspace(0, 6, 12)]
    for other in beside:
        distances = other.distances(points)
        assert ((distances - distances.mean()) ** 2).sum() >= misfit


def test_triangulations() -> None:
    triangle = SQUARE_CIRCLES_AND_SPACING[:3]
    assert delaunay_edges(triangle).tolist() == [[0, 1], [0, 2], [1, 2]]
    middle = np.concatenate((SQUARE_CIRCLES_AND_SPACING, [(1.0, 1.2)]))
    assert delaunay_edges(middle).tolist() == [[0, 1], [0, 3], [0, 4], [1, 2], [1, 4], [2, 3], [2, 4], [3, 4]]
    # A point on a side of the hull, and one in the place of another.
    split = np.concatenate((triangle, [(1.0, 0.0), (2.0, 2.0)]))
    assert delaunay_edges(split).tolist() == [[0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    for points in (LINE, LINE[:2], np.zeros((3, 2))):
        assert not len(delaunay_edges(points))


def test_triangulations_have_empty_circles() -> None:
    points = np.random.default_rng(11).uniform(-2.0, 3.0, (40, 2))
    known = {tuple(edge) for edge in delaunay_edges(points).tolist()}
    # By its definition: two points are neighbours where some circle through both holds no other one.
    for i in range(40):
        for j in range(i + 1, 40):
            assert ((i, j) in known) == _some_circle_is_empty(points, i, j)


def _some_circle_is_empty(points: Floats, i: int, j: int) -> bool:
    middle, side = 0.5 * (points[i] + points[j]), points[j] - points[i]
    normal = np.array([-side[1], side[0]])
    low, high = -np.inf, np.inf
    for k in set(range(len(points))) - {i, j}:
        offset = points[k] - middle
        height, excess = 2.0 * float(offset @ normal), float(offset @ offset - 0.25 * side @ side)
        # With its centre at middle + t normal, the circle holds k where t height > excess.
        low, high = (low, min(high, excess / height)) if height > 0.0 else (max(low, excess / height), high)
    return low < high


def test_grids_are_triangulated_whole() -> None:
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    # Euler: 3 N - 3 - H sides, with H points on the hull.
    assert len(delaunay_edges(grid)) == 3 * 30 - 3 - 18


# ---- against the source ----------------------------------------------------------------------------------------------


# A broken ring and a cloud, of which it was asked in a world with a radius of half the diagonal of 5 m by 4 m.
RING = np.array(
    [(3.2, 1.51), (2.96, 2.16), (2.36, 2.59), (1.64, 2.71), (1.01, 2.19), (0.82, 1.54), (1.02, 0.77), (1.6, 0.4)]
    + [(2.27, 0.33)]
)
RING_HEADINGS = [0.63, 0.83, 1.06, -2.1, -0.36, -1.56, -0.59, -2.42, 2.81]
CLOUD = np.array(
    [(2.49, 3.96), (0.86, 0.64), (2.45, 0.18), (0.14, 2.06), (1.86, 3.67), (2.52, 2.06), (1.99, 0.99), (0.05, 0.77)]
    + [(2.77, 0.8), (1.48, 0.01), (3.32, 0.62), (1.07, 3.52)]
)
CLOUD_HEADINGS = [0.29, -1.07, 1.51, -2.85, -0.77, -2.82, -2.26, 2.8, 0.95, -0.43, 0.14, 2.24]
PLACES = {"ring": (RING, RING_HEADINGS), "cloud": (CLOUD, CLOUD_HEADINGS)}

VALUES = [
    ("ScatterBehavior", 0.13734610057211682, 0.27728509485094854),
    ("RadialVarianceMetric", 0.016233773349199686, 0.46511338883713477),
    ("Fatness", 0.36567070409979086, 0.9280490031402906),
    ("Fatness2", 0.6343292959002091, 0.07195099685970935),
    ("Tangentness", 0.6761222391781823, 0.6194432842709237),
    ("RoutRin", 0.269946194726858, 1.805213582829338),
    ("AggregationFromFirst", -2.38018906812043, -4.0770822900697015),
    ("DelaunayDiffusion", 1.2534420688696506, 2.125314770851835),
    ("InteragentDispersion", 1.6734634078633457, 2.2849749428132125),
    ("ExplodingDispersion", 1.1829952333051612, 1.6136299484216294),
    ("InstantLSQCircularity", 50.28648381061727, 57.10226278951086),
    ("InstantLMCircularity", 50.28648381061727, 57.10226278951086),
    ("InstantHyperLSQCircularity", 50.286126021217854, 58.36843051448206),
    ("InstantPrattSVDCircularity", 50.25277473988692, 56.199520458298316),
    ("InstantTaubinSVDCircularity", 50.28612640676227, 58.37727503535841),
    ("InstantHyperSVDCircularity", 50.31954379358901, 60.80953797409387),
]


def value_in(places: str, kind: str, **params: Any) -> float:
    positions, headings = PLACES[places]
    world = make_world("static", positions=positions, angles=headings, size=[5.0, 4.0])
    metric = METRICS.get(kind)(**params)
    world.add_metric(metric)
    metric.calculate()
    return metric.value


@holds("api:DelaunayDiffusion.value", "api:Instant*.value", fault="swarm/metrics/shape.py: c in place of N c")
@pytest.mark.parametrize(("kind", "ring", "cloud"), VALUES)
def test_places_give_its_numbers(kind: str, ring: float, cloud: float) -> None:
    # Its least squares fit stops some digits earlier.
    assert value_in("ring", kind) == pytest.approx(ring, rel=1e-6)
    assert value_in("cloud", kind) == pytest.approx(cloud, rel=1e-6)


def test_its_files_name_a_circle_fit_and_get_a_factor() -> None:
    assert value_in("ring", "InstantTaubinSVDCircularity", scale=0.5) == pytest.approx(0.5 * 50.28612640676227)
    assert value_in("ring", "RoutRin", scale=-2.0) == pytest.approx(-2.0 * 0.269946194726858)
