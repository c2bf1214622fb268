"""Routes keep away from walls: against an independent computation of the distance to every blocked cell."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.warehouse.sites import Grid, Site, Warehouse
from fleet_sim.warehouse.traffic import Router, across
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
