"""Routes against a search of their own: lengths, ways past what stands, and starts at walls."""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest
from blocked_cells import CELL, ORIGIN, gap
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.warehouse.sites import Grid, Site
from fleet_sim.warehouse.traffic import Route, Router

ROOM = 0.02
"""The room in m that routes leave between footprints and walls."""


# ---- an own search -------------------------------------------------------------------------------------------------


def corners(free: Bools) -> list[tuple[float, float]]:
    """Corners of blocked cells, in m along the grid from its lower left corner."""
    height = free.shape[0]
    cells = [(column, height - 1 - row) for row, column in np.argwhere(~free).tolist()]
    return sorted({((x + i) * CELL, (y + j) * CELL) for x, y in cells for i in (0, 1) for j in (0, 1)})


def samples(begin: Floats, end: Floats, apart: float = 0.004) -> Floats:
    """Points (K, 2) along a line."""
    return begin + (end - begin) * np.linspace(0.0, 1.0, 2 + int(math.dist(begin, end) / apart))[:, None]


def shortest(count: int, lengths: dict[tuple[int, int], float], begin: int, end: int) -> float:
    """Dijkstra's algorithm on edges that lead both ways."""
    beside: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for (one, two), length in lengths.items():
        beside[one].append((two, length))
        beside[two].append((one, length))
    best, waiting = {begin: 0.0}, [(0.0, begin)]
    while waiting:
        cost, node = heapq.heappop(waiting)
        if node == end:
            return cost
        for other, length in beside[node]:
            if cost + length < best.get(other, math.inf):
                best[other] = cost + length
                heapq.heappush(waiting, (cost + length, other))
    return math.inf


def taut_length(free: Bools, start: Floats, goal: Floats) -> float:
    """The length of the shortest way of a point, over the corners of walls that see each other."""
    points = np.array([start, goal, *corners(free)])
    lengths = {
        (i, j): math.dist(points[i], points[j])
        for i, j in combinations(range(len(points)), 2)
        if not inside(free, samples(points[i], points[j], 0.03)).any()
    }
    return shortest(len(points), lengths, 0, 1)


def inside(free: Bools, places: Floats) -> Bools:
    """Which places (K, 2) are within a blocked cell, and not on its edge."""
    height, width = free.shape
    own = places / CELL
    whole = np.floor(own).astype(int)
    off_edge = (np.abs(own - np.round(own)) > 1e-6).all(axis=1)
    rows, columns = np.clip(height - 1 - whole[:, 1], 0, height - 1), np.clip(whole[:, 0], 0, width - 1)
    return np.asarray(off_edge & ~free[rows, columns])


def near_line(begin: Floats, end: Floats, place: Floats) -> float:
    """The distance of a place (2,) from a line."""
    way = end - begin
    return math.dist(begin + way * min(max((place - begin) @ way / (way @ way), 0.0), 1.0), place)


def stepped_length(
    free: Bools, clear: list[tuple[int, int]], start: int, goal: int, discs: Floats | None = None
) -> float:
    """The length of the shortest way over middles of clear cells, straight and diagonal steps that touch no disc."""
    middles = np.array([((column + 0.5) * CELL, (free.shape[0] - row - 0.5) * CELL) for row, column in clear])
    numbers = {cell: number for number, cell in enumerate(clear)}
    lengths = {}
    for (row, column), number in numbers.items():
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            other = (row + down, column + right)
            beside = [(row + down, column), (row, column + right)]
            if other not in numbers or not all(cell in numbers for cell in beside):
                continue
            ends = middles[number], middles[numbers[other]]
            if all(near_line(*ends, disc[:2]) >= disc[2] for disc in (() if discs is None else discs)):
                lengths[number, numbers[other]] = CELL * math.hypot(down, right)
    return shortest(len(clear), lengths, start, goal)


def scenes(count: int) -> Iterator[tuple[Bools, float, np.random.Generator]]:
    """Rooms with walls by chance, and radii of robots."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        yield rng.random((int(rng.integers(7, 11)), int(rng.integers(8, 13)))) >= 0.16, rng.uniform(0.05, 0.3), rng


# ---- lengths -------------------------------------------------------------------------------------------------------


@holds(
    "api:Router.plan",
    "api:Route.length",
    fault="warehouse/traffic/free_space.py: the first cost of a cell stays, nearer or not",
)
def test_lengths_are_between_the_shortest_way_of_a_point_and_that_over_middles_of_cells() -> None:
    compared = 0
    for free, radius, rng in scenes(10):
        grid = Grid(free, CELL, ORIGIN)
        height = free.shape[0]
        cells = [tuple(cell) for cell in np.argwhere(free).tolist()]
        middles = np.array([((column + 0.5) * CELL, (height - row - 0.5) * CELL) for row, column in cells])
        fits = gap(free, middles) >= radius - 1e-9
        clear, middles = [cell for cell, fit in zip(cells, fits, strict=True) if fit], middles[fits]
        router = Router(Site("random", grid))
        for _ in range(6):
            start, goal = rng.choice(len(clear), 2, replace=False).tolist()
            most = stepped_length(free, clear, start, goal)
            ends = grid.to_world(middles[[start, goal]])
            if math.isinf(most):
                continue
            route = router.plan(*ends, radius)
            own = grid.to_own(route.points)
            assert route.length == pytest.approx(sum(math.dist(*line) for line in pairwise(own)))
            assert taut_length(free, own[0], own[-1]) - 1e-9 <= route.length <= most + 1e-9
            assert min(gap(free, samples(*line)).min() for line in pairwise(own)) >= radius - 1e-6
            compared += 1
    assert compared > 30


@holds("api:Router.plan", fault="warehouse/traffic/free_space.py: a step past a disc looks at its mirror image")
def test_ways_around_robots_that_stand_touch_none_and_are_no_longer_than_over_middles_of_cells() -> None:
    compared = around = 0
    for free, radius, rng in scenes(12):
        grid, radius = Grid(free, CELL, ORIGIN), 0.5 * radius
        cells = [tuple(cell) for cell in np.argwhere(free).tolist()]
        middles = np.array([((column + 0.5) * CELL, (free.shape[0] - row - 0.5) * CELL) for row, column in cells])
        places = rng.uniform((0.0, 0.0), np.array(free.shape[::-1]) * CELL, (4, 2))
        sizes = rng.uniform(0.05, 0.4, 4)
        discs = np.column_stack((places, sizes + radius + 1e-9))
        fits = gap(free, middles) >= radius - 1e-9
        plain = Router(Site("random", grid))
        router = plain.avoiding(np.column_stack((grid.to_world(places), sizes)))
        clear, middles = [cell for cell, fit in zip(cells, fits, strict=True) if fit], middles[fits]
        off = np.flatnonzero((discs[:, 2] <= np.hypot(*(middles[:, None] - places).T).T).all(axis=1))
        for _ in range(8):
            start, goal = rng.choice(off, 2, replace=False).tolist()
            most = stepped_length(free, clear, start, goal, discs)
            ends = grid.to_world(middles[[start, goal]])
            if math.isinf(most):
                # Steps are all that it searches.
                with pytest.raises(fs.InvalidValueError):
                    router.plan(*ends, radius)
                continue
            route = router.plan(*ends, radius)
            own = grid.to_own(route.points)
            assert route.length <= most + 1e-9
            for line in pairwise(own):
                assert (
                    min(near_line(*line, place) - size for place, size in zip(places, sizes, strict=True))
                    > radius - 1e-6
                )
            compared += 1
            around += route.length > plain.plan(*ends, radius).length + 1e-6
    assert compared > 40 and around > 15


# ---- starts at walls -----------------------------------------------------------------------------------------------


def near_to(place: Floats, places: Floats) -> Bools:
    return np.asarray(np.hypot(*(places - place).T) < 1e-6)


@holds("api:Router.plan", fault="warehouse/traffic/router.py: a start too near to a wall has no route")
def test_a_robot_that_touches_walls_has_a_route_that_brings_it_no_nearer_to_any() -> None:
    begun = 0
    for free, radius, rng in scenes(14):
        grid, height = Grid(free, CELL, ORIGIN), free.shape[0]
        router = Router(Site("random", grid), ROOM)
        size = np.array(free.shape[::-1]) * CELL
        for start in rng.uniform((0.0, 0.0), size, (400, 2)):
            near = gap(free, start[None])[0]
            # Its footprint is free, its room is not.
            if not radius < near < radius + ROOM or inside(free, start[None])[0]:
                continue
            goals = np.array([((c + 0.5) * CELL, (height - r - 0.5) * CELL) for r, c in np.argwhere(free).tolist()])
            away = np.hypot(*(goals - start).T)
            # Straight to the middle of a cell with room, without coming nearer to anything: then there is a way.
            ways = [samples(start, goal) for goal, far in zip(goals, away, strict=True) if far < 1.5 * CELL]
            seen = [way for way in ways if gap(free, way).min() >= near and gap(free, way[-1:])[0] >= radius + ROOM]
            if not seen:
                continue
            begin, goal = grid.to_world(start[None])[0], grid.to_world(seen[-1][-1:])[0]
            wanted = functools.partial(near_to, goal)
            for route in (router.plan(begin, goal, radius), router.nearest(begin, radius, speed=0.7, wanted=wanted)):
                assert isinstance(route, Route) and route.points[-1] == pytest.approx(goal)
                lines = [samples(*line) for line in pairwise(grid.to_own(route.points))]
                assert gap(free, lines[0]).min() >= near - 1e-6
                assert min([gap(free, line).min() for line in lines[1:]], default=radius + ROOM) >= radius + ROOM - 1e-6
            begun += 1
    assert begun > 40
