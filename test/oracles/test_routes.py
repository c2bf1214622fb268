"""Routes against a search of their own: lengths, robots that stand on stations, and starts at walls."""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.warehouse.sites import Grid, Site, Station, build_walls
from fleet_sim.warehouse.traffic import Route, Router, offer_routes

CELL, ORIGIN = 0.45, (3.7, -2.2, 0.7)
ROOM = 0.02
"""The room in m that routes leave between footprints and walls."""


# ---- an own search -------------------------------------------------------------------------------------------------


def corners(free: Bools) -> list[tuple[float, float]]:
    """Corners of blocked cells, in m along the grid from its lower left corner."""
    height = free.shape[0]
    cells = [(column, height - 1 - row) for row, column in np.argwhere(~free).tolist()]
    return sorted({((x + i) * CELL, (y + j) * CELL) for x, y in cells for i in (0, 1) for j in (0, 1)})


def gap(free: Bools, places: Floats) -> Floats:
    """Distances of places (K, 2) in m along the grid from what is blocked; the edge of the map is."""
    height, width = free.shape
    x, y = places.T
    nearest = np.minimum.reduce([x, y, width * CELL - x, height * CELL - y])
    for row, column in np.argwhere(~free).tolist():
        left, low = column * CELL, (height - 1 - row) * CELL
        across = np.maximum(np.maximum(left - x, x - left - CELL), 0.0)
        up = np.maximum(np.maximum(low - y, y - low - CELL), 0.0)
        nearest = np.minimum(nearest, np.hypot(across, up))
    return nearest


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
    fault="warehouse/traffic/across.py: the first cost of a cell stays, nearer or not",
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


@holds("api:Router.plan", fault="warehouse/traffic/across.py: a step past a disc looks at its mirror image")
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


def hall(*stations: Station) -> Site:
    """A hall of 9 x 4.5 m with a pillar, turned."""
    free = np.ones((10, 20), bool)
    free[[0, -1]] = free[:, [0, -1]] = free[4, 5] = False
    return Site("hall", Grid(free, CELL, ORIGIN), stations=stations)


def simulation(site: Site, timestep: float) -> fs.MultiRobotSimulationCore:
    """A simulation of a hall in which robots stop before what they would hit."""
    params = fs.SimulationParams(gui=False, timestep=timestep, target_rtf=0, block_on_collision=True)
    sim = fs.MultiRobotSimulationCore(params)
    build_walls(sim, site)
    offer_routes(sim, site)
    return sim


def robot(sim: fs.MultiRobotSimulationCore, place: Floats, radius: float, mode: str = "omnidirectional") -> fs.Agent:
    """A round robot in a simulation."""
    shape = fs.ShapeParams("cylinder", radius=radius, height=0.4)
    return sim.spawn(fs.AgentSpawnParams(shape, shape, fs.Pose.from_yaw(*place, 0.2, 0.7), motion_mode=mode))


def run(sim: fs.MultiRobotSimulationCore, moves: list[fs.MoveTo], most: float) -> list[Floats]:
    """Step until all moves have ended; returns where the robots were after each step."""
    agents, seen, end = list(sim.agents), list[Floats](), sim.sim_time + most
    while not all(move.is_complete() for move in moves) and sim.sim_time < end:
        sim.step_once()
        seen.append(np.array([agent.position[:2] for agent in agents]))
    return seen


@holds("api:MoveTo.status", fault="warehouse/traffic/router.py: a start too near to a wall has no route")
@pytest.mark.parametrize(("mode", "yaw"), [("differential", 2.1), ("omnidirectional", -1.9)])
def test_a_robot_that_a_wall_has_stopped_drives_on_along_a_route(mode: str, yaw: float) -> None:
    site = hall()
    with simulation(site, 0.013) as sim:
        at, goal = site.grid.to_world(np.array([[4.1, 2.6], [6.83, 1.97]]))
        agent = robot(sim, at, 0.31, mode)
        # Into the wall, along the world's axes for a robot that drives sideways.
        agent.set_pose(fs.Pose.from_yaw(*at, 0.2, yaw))
        agent.set_velocity(0.9, 0.0)
        for _ in range(400):
            sim.step_once()
        stopped = gap(site.grid.free_mask, site.grid.to_own(agent.position[None, :2]))[0]
        assert 0.31 <= stopped < 0.33
        agent.set_velocity(0.0, 0.0)
        move = fs.MoveTo(fs.Pose((*goal, 0.2)), route=True)
        agent.add_action(move)
        seen = run(sim, [move], 40.0)
        assert (move.status, move.error_message) == ("completed", None)
        assert agent.position[:2] == pytest.approx(goal, abs=1e-6)
        own = [site.grid.to_own(places)[0] for places in seen]
        assert gap(site.grid.free_mask, np.array(own)).min() >= 0.31


@holds(
    "api:MoveTo.status", fault="warehouse/traffic/router.py: a robot in a cell that a thin wall blocks has no way out"
)
@pytest.mark.parametrize("side", [-1, 1])
def test_a_robot_beside_a_thin_wall_leaves_the_cells_that_the_wall_blocks(side: int) -> None:
    radius, half, turn, middle = 0.19, np.array([1.05, 0.03]), 0.23, np.array([4.4, 2.2])
    ahead, aside = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    free = hall().grid.free_mask.copy()
    free[4, 5] = True
    rows, columns = np.indices(free.shape)
    off = np.stack(((columns + 0.5) * CELL, (free.shape[0] - rows - 0.5) * CELL), axis=-1) - middle
    # All cells that the wall may touch.
    free &= (np.abs(off @ ahead) > half[0] + 0.35) | (np.abs(off @ aside) > half[1] + 0.35)
    grid = Grid(free, CELL, ORIGIN)
    (place,) = grid.to_world(middle[None])
    edges = [(4.5, 0.2, 4.5, 0.2), (4.5, 4.3, 4.5, 0.2), (0.2, 2.25, 0.2, 2.25), (8.8, 2.25, 0.2, 2.25)]
    walls = [(*grid.to_world(np.array([edge[:2]]))[0], ORIGIN[2], *edge[2:]) for edge in edges]
    site = Site("thin", grid, walls=np.array([(*place, ORIGIN[2] + turn, *half), *walls]))
    start = middle + 0.31 * ahead + side * (half[1] + radius + 0.002) * aside
    goal = middle - 0.6 * ahead - side * 1.35 * aside
    begin, end = grid.to_world(np.array([start, goal]))
    assert not grid.is_free(grid.cells_at(begin[None]))[0]
    with simulation(site, 0.05) as sim:
        agent = robot(sim, begin, radius)
        move = fs.MoveTo(fs.Pose((*end, 0.2)), route=True)
        agent.add_action(move)
        seen = run(sim, [move], 40.0)
        assert (move.status, move.error_message) == ("completed", None)
        away = grid.to_own(np.concatenate(seen)) - middle
        gaps = np.maximum(np.abs(np.stack((away @ ahead, away @ aside), axis=1)) - half, 0.0)
        assert np.hypot(*gaps.T).min() >= radius


# ---- robots that stand ---------------------------------------------------------------------------------------------


@holds("api:MoveTo.status", fault="warehouse/traffic/router.py: cells under robots that stand are walls of a new site")
@pytest.mark.parametrize("timestep", [0.05, 0.013])
def test_a_route_leads_around_a_robot_on_a_station(timestep: float) -> None:
    radii = (0.27, 0.33)
    free = hall()
    desk, start, goal = free.grid.to_world(np.array([[4.6, 2.7], [1.3, 2.5], [7.73, 2.81]]))
    site = hall(Station("desk", "drop", *desk, 0.3))
    with simulation(site, timestep) as sim:
        parked, agent = robot(sim, desk + 0.07, radii[0]), robot(sim, start, radii[1], "differential")
        move = fs.MoveTo(fs.Pose((*goal, 0.2)), route=True)
        agent.add_action(move)
        seen = np.array(run(sim, [move], 60.0))
        assert (move.status, move.error_message) == ("completed", None)
        assert agent.position[:2] == pytest.approx(goal, abs=1e-6)
        assert parked.position[:2] == pytest.approx(desk + 0.07)
        assert np.hypot(*(seen[:, 0] - seen[:, 1]).T).min() >= sum(radii)


@holds("api:MoveTo.status", fault="warehouse/traffic/router.py: cells under robots that stand are walls of a new site")
def test_two_that_meet_in_a_passage_full_of_stations_both_arrive() -> None:
    free = np.ones((12, 24), bool)
    free[[0, -1]] = free[:, [0, -1]] = False
    free[:5, 8:16] = free[8:, 8:16] = False
    grid = Grid(free, CELL, ORIGIN)
    places = grid.positions(grid.free_cells)
    stations = [Station(f"place {number}", "park", x, y) for number, (x, y) in enumerate(places.tolist())]
    site = Site("passage", grid, stations=tuple(stations))
    ends = grid.to_world(np.array([[1.3, 2.9], [9.6, 2.6], [9.1, 3.7], [1.7, 2.2]]))
    with simulation(site, 0.05) as sim:
        agents = [robot(sim, ends[0], 0.24), robot(sim, ends[1], 0.29, "differential")]
        moves = [fs.MoveTo(fs.Pose((*goal, 0.2)), route=True) for goal in ends[2:]]
        for agent, move in zip(agents, moves, strict=True):
            agent.add_action(move)
        seen = np.array(run(sim, moves, 120.0))
        assert [(move.status, move.error_message) for move in moves] == [("completed", None)] * 2
        assert np.hypot(*(seen[:, 0] - seen[:, 1]).T).min() >= 0.53
