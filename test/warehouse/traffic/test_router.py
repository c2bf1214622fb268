"""Routes keep away from walls: against an independent computation of the distance to every blocked cell."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from buildings import drive, scenario
from hypothesis import given, settings
from hypothesis import strategies as st

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.warehouse.sites import Grid, Roadmap, Site, Warehouse, Zone, ZoneKind
from fleet_sim.warehouse.traffic import Router, across
from fleet_sim.warehouse.traffic.across import TOUCH, Point, Sight, pulled
from fleet_sim.world.routes import NoRoute, Route


def point_to_box(x: Floats, y: Floats, low: tuple[float, float], high: tuple[float, float]) -> Floats:
    """Distances of points to a box."""
    dx = np.maximum(np.maximum(low[0] - x, x - high[0]), 0.0)
    dy = np.maximum(np.maximum(low[1] - y, y - high[1]), 0.0)
    return np.asarray(np.hypot(dx, dy))


def nearest_wall(begin: Floats, end: Floats, free: Bools) -> float:
    """The distance from a segment to the nearest blocked cell of 1 m, or to the edge; 1e-4 m exact."""
    height, width = free.shape
    parts = np.linspace(0.0, 1.0, max(int(np.hypot(*(end - begin)) * 400), 2))
    x = begin[0] + (end[0] - begin[0]) * parts
    y = begin[1] + (end[1] - begin[1]) * parts
    nearest = float(np.min([x, width - x, y, height - y]))
    for row, column in np.argwhere(~free).tolist():
        low = (column, height - 1 - row)
        nearest = min(nearest, float(point_to_box(x, y, low, (low[0] + 1, low[1] + 1)).min()))
    return nearest


def reachable(clear: Bools, start: tuple[int, int]) -> set[tuple[int, int]]:
    """The cells that can be reached from `start` by steps along rows and columns."""
    found, waiting = {start}, deque([start])
    while waiting:
        row, column = waiting.popleft()
        for cell in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            inside = 0 <= cell[0] < clear.shape[0] and 0 <= cell[1] < clear.shape[1]
            if inside and clear[cell] and cell not in found:
                found.add(cell)
                waiting.append(cell)
    return found


MASKS = st.tuples(st.integers(3, 14), st.integers(3, 14), st.integers(0, 10**6), st.floats(0.0, 0.45)).map(
    lambda given: np.random.default_rng(given[2]).random(given[:2]) >= given[3]
)
SHARES = st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0))


@given(MASKS, st.floats(0.0, 1.6), SHARES, SHARES)
@settings(max_examples=150, deadline=None)
def test_no_line_of_a_route_comes_nearer_to_a_wall_than_the_radius(
    free: Bools, radius: float, begin: tuple[float, float], end: tuple[float, float]
) -> None:
    router = Router(Site("random", Grid(free)))
    size = np.array(free.shape[::-1])
    start, goal = np.array(begin) * size, np.array(end) * size
    found = router.find(start, goal, radius, speed=1.0, mode=RouteMode.GRID)
    if isinstance(found, Route):
        assert found.points[0].tolist() == start.tolist()
        assert found.points[-1].tolist() == goal.tolist()
        # From a start without room it comes no nearer to walls.
        room = min(radius, nearest_wall(start, start, free))
        for one, two in pairwise(found.points):
            assert nearest_wall(one, two, free) >= (room if np.array_equal(one, start) else radius) - 1e-6
        assert found.length >= np.hypot(*(goal - start)) - 1e-9
    elif found.cause is ActionCause.INVALID_GOAL:
        assert nearest_wall(goal, goal, free) <= radius + 1e-5
    elif found.reason.startswith("the start"):
        assert nearest_wall(start, start, free) <= radius + 1e-5


@given(MASKS, st.floats(0.0, 1.6), st.data())
@settings(max_examples=150, deadline=None)
def test_there_is_a_route_exactly_where_clear_cells_are_connected(
    free: Bools, radius: float, data: st.DataObject
) -> None:
    grid = Grid(free)
    clear = grid.clear_of(radius).free_mask
    cells = [(int(row), int(column)) for row, column in np.argwhere(clear)]
    if not cells:
        return
    start, goal = data.draw(st.sampled_from(cells)), data.draw(st.sampled_from(cells))
    places = grid.positions(np.array([row * grid.width + column for row, column in (start, goal)]))
    found = Router(Site("random", grid)).find(*places, radius, speed=1.0, mode=RouteMode.GRID)
    if goal in reachable(clear, start):
        assert isinstance(found, Route)
        # Never longer than along rows and columns, and the line is the shortest of all.
        assert found.length >= math.dist(*places) - 1e-9
    else:
        assert isinstance(found, NoRoute) or len(found.points) == 2


@pytest.mark.parametrize(
    ("start", "goal"),
    [((0.5, 1.5), (1.5, 0.5)), ((0.5, 1.5), (0.5, 1.0)), ((1.0, 1.5), (0.5, 1.5)), ((0.0, 1.5), (0.5, 1.5))],
    ids=["through the corner of two walls", "to an edge", "from an edge", "from the edge of the map"],
)
def test_a_point_without_extent_slips_through_nothing(start: tuple[float, float], goal: tuple[float, float]) -> None:
    free = np.array([[True, False], [False, True]])
    with pytest.raises(InvalidValueError, match=r"there is no way|too near to a wall|in a wall"):
        Router(Site("corner", Grid(free))).plan(start, goal)


def test_one_field_serves_all_that_go_to_a_goal_and_old_ones_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Warehouse().site()
    places = site.grid.positions(site.grid.free_cells[::7])
    router = Router(site)
    first = [router.plan(place, places[0], 0.4).points.tolist() for place in places[1:]]
    # No room for more than one field: every route is computed anew, and is the same.
    monkeypatch.setattr(across, "MOST_MEMORY", 1)
    small = Router(site)
    for place, points in zip(places[1:], first, strict=True):
        small.plan(places[0], place, 0.4)
        assert small.plan(place, places[0], 0.4).points.tolist() == points


# ---- sight -----------------------------------------------------------------------------------------------------------


def gap(begin: Floats, end: Floats, low: Floats) -> float:
    """Return the distance from a line to the cell with its lower corner at `low`, by looking along both."""
    # The squared distance to a box is convex along a line: thirds close in on the least.
    first, last = 0.0, 1.0
    for _ in range(120):
        left, right = first + (last - first) / 3.0, last - (last - first) / 3.0
        if away(begin + left * (end - begin), low) <= away(begin + right * (end - begin), low):
            last = right
        else:
            first = left
    return away(begin + 0.5 * (first + last) * (end - begin), low)


def away(point: Floats, low: Floats) -> float:
    """Return the distance from a point to a cell."""
    offset = np.maximum(np.maximum(low - point, point - low - 1.0), 0.0)
    return float(np.sqrt(offset @ offset))


def room(blocked: Bools, begin: Floats, end: Floats) -> float:
    """Return the radius of the largest disc that moves along a line and touches no blocked cell and no border."""
    height, width = blocked.shape
    ends = np.array([begin, end])
    border = min(ends.min(), float((np.array([width, height]) - ends).min()))
    return min([border, *(gap(begin, end, cell[::-1].astype(float)) for cell in np.argwhere(blocked))])


@pytest.mark.parametrize("seed", range(6))
def test_a_line_is_clear_for_the_discs_that_have_room(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocked = rng.random((7, 9)) < 0.12
    sight = Sight(blocked)
    seen = 0
    for _ in range(60):
        begin, end = rng.uniform((0.0, 0.0), (9.0, 7.0), (2, 2))
        widest = room(blocked, begin, end)
        ends: tuple[Point, Point] = (begin[0], begin[1]), (end[0], end[1])
        for radius in (0.0, 0.3, 0.75, max(widest - 1e-4, 0.0), widest + 1e-4):
            if abs(radius - widest) < 1e-5:
                continue
            clear = sight.is_clear(*ends, radius)
            assert clear == (radius < widest), (ends, radius, widest)
            # It does not matter which way the robot goes.
            assert sight.is_clear(*ends[::-1], radius) == clear
            seen += clear
    assert seen > 20


def test_discs_may_touch_walls_and_borders() -> None:
    blocked = np.zeros((3, 5), bool)
    blocked[0, 2] = True
    sight = Sight(blocked)
    assert sight.is_clear((0.5, 1.5), (4.5, 1.5), 0.5)
    assert not sight.is_clear((0.5, 1.5), (4.5, 1.5), 0.5 + 3.0 * TOUCH)
    assert sight.is_clear((0.5, 2.5), (4.5, 2.5), 0.5)
    assert not sight.is_clear((0.4, 2.5), (4.5, 2.5), 0.5)
    # A point that stands is a line, too.
    assert sight.is_clear((4.0, 1.0), (4.0, 1.0), 1.0)
    assert not sight.is_clear((2.5, 0.5), (2.5, 0.5), 0.0)


def test_a_way_in_the_open_is_one_line() -> None:
    points = [(float(x), 0.0) for x in range(40)]
    assert pulled(points, lambda begin, end: True) == [points[0], points[-1]]
    assert pulled(points[:1], lambda begin, end: True) == points[:1]


def test_a_way_without_sight_stays_as_it_is() -> None:
    points = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (2.0, 1.0)]
    assert pulled(points, lambda begin, end: False) == points


@pytest.mark.parametrize("reach", [1, 2, 3, 7, 20])
def test_lines_go_as_far_as_one_can_see(reach: int) -> None:
    points = [(float(x), 0.0) for x in range(50)]
    asked = []

    def sees(begin: Point, end: Point) -> bool:
        asked.append((begin, end))
        return end[0] - begin[0] <= reach

    kept = pulled(points, sees)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert all(end[0] - begin[0] <= max(reach, 1) for begin, end in pairwise(kept))
    # No line could be longer, but the last.
    assert all(end[0] - begin[0] == max(reach, 1) for begin, end in list(pairwise(kept))[:-1])
    # By doubling and halving: few looks for each line.
    assert len(asked) <= len(kept) * (2 * reach.bit_length() + 2)


# ---- Zones and roadmaps: what is not allowed is not driven, and limits are kept --------------------------------------


def box(x1: float, y1: float, x2: float, y2: float) -> list[list[float]]:
    return [[x1, y1], [x2, y1], [x2, y2], [x1, y2]]


def two_aisles(*zones: Zone, roadmap: Roadmap | None = None) -> Site:
    """A block of 16 x 6 cells between a lower aisle (y 0 to 3) and an upper one (y 9 to 12), open at both ends."""
    free = np.ones((12, 24), bool)
    free[3:9, 4:20] = False
    return Site("aisles", Grid(free, 1.0), roadmap, zones=zones)


def through(route: object, zone: Zone) -> bool:
    """Whether a route leads through a zone."""
    return any(zone.contains(np.linspace(one, two, 400)).any() for one, two in pairwise(route.points))  # type: ignore[attr-defined]


LOWER = box(4, 0, 20, 3)
START, GOAL = (1.5, 1.5), (22.5, 1.5)


def test_no_go_zones_are_driven_around_with_room_for_the_footprint() -> None:
    zone = Zone("wet", ZoneKind.NO_GO, np.array(box(10, 0, 12, 3)))
    assert Router(two_aisles()).plan(START, GOAL, 0.4).points.tolist() == [list(START), list(GOAL)]
    route = Router(two_aisles(zone)).plan(START, GOAL, 0.4)
    assert not through(route, zone)
    assert route.points[:, 1].max() > 9.0
    found = Router(two_aisles(zone)).find(np.array(START), np.array([11.0, 1.0]), 0.4, speed=1.0, mode=RouteMode.AUTO)
    assert isinstance(found, NoRoute) and found.cause is ActionCause.INVALID_GOAL and "no-go zone" in found.reason


def test_one_way_zones_are_not_driven_against() -> None:
    west = Zone("west", ZoneKind.ONE_WAY, np.array(LOWER), direction=np.pi)
    router = Router(two_aisles(west))
    assert router.plan(GOAL, START, 0.4).length == pytest.approx(21.0)
    there = router.plan(START, GOAL, 0.4)
    assert there.length > 30.0
    for one, two in pairwise(there.points):
        middle = west.contains(np.linspace(one, two, 50))
        assert not (middle.any() and (two - one)[0] > 1e-9)
    # Across is allowed, and out of it ahead.
    assert router.plan((10.5, 1.5), (10.5, 2.5), 0.4).length == pytest.approx(1.0)


def test_a_goal_behind_one_way_zones_has_no_route_and_says_why() -> None:
    zones = [
        Zone(f"west_{number}", ZoneKind.ONE_WAY, np.array(corners), direction=np.pi)
        for number, corners in enumerate((LOWER, box(4, 9, 20, 12)))
    ]
    with pytest.raises(InvalidValueError, match="keeps to the one-way zones"):
        Router(two_aisles(*zones)).plan(START, GOAL, 0.4)


def test_a_slow_zone_is_driven_around_where_that_is_faster() -> None:
    slow = Zone("people", ZoneKind.SPEED_LIMIT, np.array(LOWER), speed=0.3)
    route = Router(two_aisles(slow)).plan(START, GOAL, 0.4, speed=1.5)
    assert not through(route, slow)
    assert np.isinf(route.speed_limits).all()
    # For a robot that is as slow anyway, the straight way is the fastest.
    route = Router(two_aisles(slow)).plan(START, GOAL, 0.4, speed=0.3)
    assert route.length == pytest.approx(21.0)
    assert route.speed_limits.min() == 0.3


@pytest.mark.parametrize("motion", ["differential", "omnidirectional"])
def test_robots_keep_the_limit_of_a_zone(tmp_path: Path, motion: str) -> None:
    slow = Zone("people", ZoneKind.SPEED_LIMIT, np.array(box(6, 0, 9, 12)), speed=0.7)
    shape = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]}
    robot = {"name": "amr", "motion_mode": motion, "shape": shape, "pose": [*START, 0.15], "max_linear_vel": 2.0}
    with fs.MultiRobotSimulationCore.from_yaml(scenario(tmp_path, two_aisles(slow), [robot])) as sim:
        amr = sim.agents[0]
        amr.execute_action(fs.MoveTo(fs.Pose((*GOAL, 0.15)), route=True))
        places = np.vstack(([START], drive(sim, amr)))
        speeds = np.hypot(*np.diff(places, axis=0).T) / 0.05
        # Steps that begin and end inside.
        inside = slow.contains(places)[1:] & slow.contains(places)[:-1]
        assert inside.sum() > 60
        assert speeds[inside].max() == pytest.approx(0.7)
        assert speeds[~inside].max() == pytest.approx(2.0)


# ---- roadmaps --------------------------------------------------------------------------------------------------------

NODES = [(2.5, 1.5), (21.5, 1.5), (21.5, 10.5), (2.5, 10.5)]
RING = Roadmap(np.array(NODES), np.array([(1, 0), (0, 3), (3, 2), (2, 1)]))
"""A ring around the block, one way: clockwise."""


def test_lanes_are_driven_in_their_direction() -> None:
    router = Router(two_aisles(roadmap=RING))
    for mode in ("auto", "roadmap"):
        route = router.plan(START, GOAL, 0.4, mode=mode)
        assert route.points.tolist() == [list(START), *map(list, (NODES[0], NODES[3], NODES[2], NODES[1])), list(GOAL)]
    assert router.plan(START, GOAL, 0.4, mode="grid").length == pytest.approx(21.0)
    # Between places at one node no lane is needed.
    assert len(router.plan(START, (3.0, 2.0), 0.4).points) == 2


def test_limits_of_lanes_count_for_the_way_and_for_the_robot(tmp_path: Path) -> None:
    lanes = np.array([(0, 1), (0, 3), (3, 2), (2, 1)])
    slow = Roadmap(np.array(NODES), lanes, speed_limits=np.array([0.2, 2.0, 2.0, 0.5]))
    site = two_aisles(roadmap=slow)
    route = Router(site).plan(START, GOAL, 0.4, speed=2.0)
    assert route.speed_limits[1:-1].tolist() == [2.0, 2.0, 0.5]
    shape = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]}
    robot = {"name": "amr", "shape": shape, "pose": [*START, 0.15], "max_linear_vel": 2.0}
    with fs.MultiRobotSimulationCore.from_yaml(scenario(tmp_path, site, [robot])) as sim:
        amr = sim.agents[0]
        amr.execute_action(fs.MoveTo(fs.Pose((*GOAL, 0.15)), route="roadmap"))
        places = drive(sim, amr)
        speeds = np.hypot(*np.diff(places, axis=0).T) / 0.05
        last = (np.abs(places[1:, 0] - 21.5) < 0.01) & (places[1:, 1] < 10.4) & (places[1:, 1] > 1.6)
        assert speeds[last].max() == pytest.approx(0.5)
        assert speeds.max() == pytest.approx(2.0)


def test_lanes_through_walls_and_against_zones_are_not_driven() -> None:
    across = Roadmap(np.array([(2.5, 6.0), (21.5, 6.0)]), np.array([(0, 1)]))
    router = Router(two_aisles(roadmap=across))
    with pytest.raises(InvalidValueError, match=r"no lanes lead from \(1.5, 6\)"):
        router.plan((1.5, 6.0), (22.5, 6.0), 0.4, mode="roadmap")
    assert router.plan((1.5, 6.0), (22.5, 6.0), 0.4).length > 21.0
    west = Zone("west", ZoneKind.ONE_WAY, np.array(box(4, 9, 20, 12)), direction=np.pi)
    with pytest.raises(InvalidValueError, match="no lanes lead"):
        Router(two_aisles(west, roadmap=RING)).plan(START, GOAL, 0.4, mode="roadmap")


def test_what_cannot_be_asked_is_refused() -> None:
    router = Router(two_aisles())
    with pytest.raises(InvalidValueError, match="has no roadmap; use grid or auto"):
        router.plan(START, GOAL, mode="roadmap")
    with pytest.raises(InvalidValueError, match="got none, which drives straight"):
        router.plan(START, GOAL, mode="none")
    for wrong in ({"radius": -0.1}, {"radius": float("nan")}, {"speed": 0.0}, {"mode": "fly"}):
        with pytest.raises(InvalidValueError):
            router.plan(START, GOAL, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="goal"):
        router.plan(START, (1.0, float("inf")))
    with pytest.raises(InvalidValueError, match="outside of the map"):
        router.plan(START, (1e7, -1e7))
