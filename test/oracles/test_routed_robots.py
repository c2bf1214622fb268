"""Robots on routes in a simulation: at walls, past a robot on a station, and through a passage full of stations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from blocked_cells import CELL, ORIGIN, gap
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.sites import Grid, Site, Station, build_walls
from fleet_sim.warehouse.traffic import offer_routes


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
