"""Robots of several sizes in one traffic: their outlines, swept between recorded poses, against others and walls."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.warehouse.sites import Grid, Site
from fleet_sim.warehouse.traffic import Traffic, offer_traffic
from fleet_sim.warehouse.traffic.runs import TasksSettings, offer_tasks

ROWS = [
    "................",
    "................",
    "................",
    "...####.........",
    "................",
    ".........####...",
    "................",
    "................",
    "................",
]
FREE = np.array([[letter == "." for letter in row] for row in ROWS])
ORIGIN = (-3.0, 2.0, 0.5)
MARGIN = 0.02
LENGTH, WIDTH, TOTE = 1.3, 0.9, 0.35
BIG = ((4, 1, 0), (11, 7, 2))
"""Columns, rows, and quarter turns; the last one drives forward only."""
PIECES = 8
"""Poses that are looked at from one record to the next."""


def enter(sim: fs.MultiRobotSimulationCore, grid: Grid, totes: int) -> None:
    """Spawn the pallet vehicles, and totes on cells that they do not cover."""
    free = FREE.copy()
    limits = {"type": "differential", "max_linear_vel": 1.3, "max_linear_accel": 1.1, "max_angular_vel": 1.9}
    for number, (column, row, quarter) in enumerate(BIG):
        free[row, column - 1 : column + 2] = False
        shape = fs.ShapeParams("box", half_extents=(0.5 * LENGTH, 0.5 * WIDTH, 0.2))
        (place,) = grid.positions(np.array([row * grid.width + column])).tolist()
        pose = fs.Pose.from_yaw(*place, 0.2, math.remainder(ORIGIN[2] + quarter * 0.5 * math.pi, math.tau))
        lead = "forward" if number == len(BIG) - 1 else "auto"
        params = fs.AgentSpawnParams(
            shape, shape, pose, name=f"pallet_{number}", controller={**limits, "default_direction": lead}
        )
        sim.spawn(params)
    cells = np.random.default_rng(2).permutation(np.flatnonzero(free))[:totes]
    shape = fs.ShapeParams("cylinder", radius=TOTE, height=0.3)
    for number, place in enumerate(grid.positions(cells).tolist()):
        pose = fs.Pose.from_yaw(*place, 0.2, 1.0)
        sim.spawn(fs.AgentSpawnParams(shape, shape, pose, name=f"tote_{number}", controller=limits))


def new_sim(**more: Any) -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore(
        fs.SimulationParams(gui=False, timestep=0.1, target_rtf=0, seed=5, collision_margin=MARGIN, **more)
    )


class Run:
    """Random tasks, and where all robots were after each step, along the axes of the grid."""

    def __init__(self, seconds: float) -> None:
        grid = Grid(FREE, 1.0, ORIGIN)
        self.done: dict[str, int] = {}
        with new_sim() as sim:
            enter(sim, grid, 9)
            delays = {"delays": {"probability": 0.06}}
            traffic: Traffic = offer_traffic(sim, Site("yard", grid), disturbances=delays, time_limit=3600.0)
            traffic.enroll(sim.agents)
            self.names = [str(agent.name) for agent in sim.agents]
            sim.events.on(
                "traffic_arrived", lambda agent, node: self.done.update({agent.name: 1 + self.done.get(agent.name, 0)})
            )
            work = offer_tasks(sim, traffic, TasksSettings(goals="random", dwell=0.5))
            poses = []
            while sim.sim_time < seconds:
                sim.step_once()
                poses.append([(*agent.position[:2], agent.get_pose().yaw) for agent in sim.agents])
            self.figures = {**work.figures(), **traffic.figures()}
        records = np.array(poses)
        yaws = np.unwrap(records[..., 2], axis=0) - ORIGIN[2]
        places = np.stack([grid.to_own(record[:, :2]) for record in records])
        whole = np.concatenate((places, yaws[..., None]), axis=2)
        # Straight lines and even turns from one record to the next, cut into pieces.
        shares = np.arange(PIECES)[:, None, None, None] / PIECES
        self.poses = (
            ((1.0 - shares) * whole[:-1] + shares * whole[1:]).transpose(1, 0, 2, 3).reshape(-1, len(self.names), 3)
        )
        self.step = np.abs(np.diff(self.poses, axis=0))


def corners(poses: Floats) -> Floats:
    """The corners (K, 4, 2) of pallet vehicles at poses (K, 3)."""
    ahead = np.stack((np.cos(poses[:, 2]), np.sin(poses[:, 2])), axis=1)
    aside = np.stack((-ahead[:, 1], ahead[:, 0]), axis=1)
    signs = ((1, 1), (1, -1), (-1, -1), (-1, 1))
    return np.stack([poses[:, :2] + 0.5 * (a * LENGTH * ahead + b * WIDTH * aside) for a, b in signs], axis=1)


def apart_of_boxes(one: Floats, other: Floats) -> Floats:
    """How far (K,) two boxes are apart along the best of their own axes: they overlap where that is negative."""
    gaps = []
    for yaws in (one[:, 2], other[:, 2]):
        for turn in (0.0, 0.5 * math.pi):
            axis = np.stack((np.cos(yaws + turn), np.sin(yaws + turn)), axis=1)[:, None]
            a, b = ((corners(poses) * axis).sum(axis=2) for poses in (one, other))
            gaps.append(np.maximum(b.min(axis=1) - a.max(axis=1), a.min(axis=1) - b.max(axis=1)))
    return np.max(gaps, axis=0)


def apart_of_disc(box: Floats, disc: Floats) -> Floats:
    """How far (K,) a disc is from a box."""
    off, cosine, sine = disc[:, :2] - box[:, :2], np.cos(box[:, 2]), np.sin(box[:, 2])
    along, across = np.abs(cosine * off[:, 0] + sine * off[:, 1]), np.abs(cosine * off[:, 1] - sine * off[:, 0])
    return np.hypot(np.maximum(along - 0.5 * LENGTH, 0.0), np.maximum(across - 0.5 * WIDTH, 0.0)) - TOTE


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(60.0)


@holds(
    "record:position",
    "record:orientation",
    fault="warehouse/traffic/sizes.py: a body reaches over a cell less than it does",
)
def test_outlines_of_all_sizes_never_overlap(run: Run) -> None:
    big = [name.startswith("pallet") for name in run.names]
    # What a corner moves from one pose to the next is less than what robots keep between them.
    assert run.step[..., :2].max() + 0.8 * run.step[..., 2].max() < 2 * MARGIN
    for one, other in combinations(range(len(run.names)), 2):
        a, b = run.poses[:, one], run.poses[:, other]
        if big[one] and big[other]:
            gap = apart_of_boxes(a, b)
        elif big[one] or big[other]:
            gap = apart_of_disc(*((a, b) if big[one] else (b, a)))
        else:
            gap = np.hypot(*(a - b)[:, :2].T) - 2 * TOTE
        assert gap.min() >= MARGIN - 1e-6, (run.names[one], run.names[other])


@holds("record:position", fault="warehouse/traffic/sizes.py: a kind has a node in each cell, whatever is around it")
def test_large_robots_keep_off_walls(run: Run) -> None:
    for robot, name in enumerate(run.names):
        if not name.startswith("pallet"):
            continue
        around = corners(run.poses[:, robot])
        # Points along the sides, closer than any wall is wide.
        for share in np.linspace(0.0, 1.0, 5):
            points = (1.0 - share) * around + share * np.roll(around, 1, axis=1)
            columns, ups = np.floor(points[..., 0]).astype(int), np.floor(points[..., 1]).astype(int)
            assert (columns >= 0).all() and (columns < FREE.shape[1]).all()
            assert (ups >= 0).all() and (ups < len(FREE)).all()
            assert FREE[len(FREE) - 1 - ups, columns].all()


def test_robots_of_all_sizes_get_to_their_goals(run: Run) -> None:
    assert all(run.done.get(name, 0) for name in run.names)
    assert run.figures["refusals"] == 0 and run.figures["collisions"] == 0


def test_the_run_goes_on_the_same_from_a_saved_state() -> None:
    def go(sim: fs.MultiRobotSimulationCore, traffic: Traffic, steps: int) -> list[Any]:
        for _ in range(steps):
            sim.step_once()
        return [agent.get_pose() for agent in sim.agents]

    grid = Grid(FREE, 1.0, ORIGIN)
    with new_sim() as sim:
        enter(sim, grid, 5)
        traffic = offer_traffic(sim, Site("yard", grid))
        traffic.enroll(sim.agents)
        goals = traffic.shared_nodes()
        for agent, node in zip(sim.agents, goals[::-7].tolist(), strict=False):
            traffic.send(agent, node)
        go(sim, traffic, 60)
        state = sim.save_state()
        first = go(sim, traffic, 80)
        sim.restore_state(state)
        assert go(sim, traffic, 80) == first


def test_large_robots_are_refused_where_they_cannot_drive() -> None:
    grid = Grid(FREE, 1.0)
    site = Site("yard", grid)
    shape = fs.ShapeParams("box", half_extents=(0.5 * LENGTH, 0.5 * WIDTH, 0.2))

    def spawn(sim: fs.MultiRobotSimulationCore, column: int, row: int, yaw: float) -> fs.Agent:
        pose = fs.Pose.from_yaw(column + 0.5, len(ROWS) - row - 0.5, 0.2, yaw)
        limits = {"type": "differential", "max_linear_vel": 1.0, "max_angular_vel": 1.0}
        agent: fs.Agent = sim.spawn(fs.AgentSpawnParams(shape, shape, pose, controller=limits))
        return agent

    for column, row, yaw, reason in ((4, 1, 0.3, "neither along a row"), (5, 4, 0.5 * math.pi, "has no room")):
        with new_sim() as sim:
            spawn(sim, column, row, yaw)
            traffic = offer_traffic(sim, site)
            with pytest.raises(InvalidValueError, match=reason):
                traffic.enroll(sim.agents)
    with new_sim() as sim:
        first, second = spawn(sim, 4, 1, 0.0), spawn(sim, 6, 1, 0.0)
        traffic = offer_traffic(sim, site)
        with pytest.raises(InvalidValueError, match="a part of what it needs"):
            traffic.enroll([first, second])
        traffic.enroll(first)
        with pytest.raises(InvalidValueError, match="along rows and columns"):
            traffic.send(first, (8.5, 7.5), heading=0.4)
        # Beside the edge of the map it cannot turn.
        with pytest.raises(InvalidValueError, match="no way leads"):
            traffic.send(first, (0.5, 3.5))
        traffic.send(first, (8.5, 7.5), heading=math.pi)
        assert traffic.goal_of(first) == traffic.node_of((8.5, 7.5))
    for planner in ("lacam", "astar"):
        with new_sim() as sim:
            traffic = offer_traffic(sim, site, planner=planner)
            agent = spawn(sim, 4, 1, 0.0)
            with pytest.raises(InvalidValueError, match="a cell each"):
                traffic.enroll(agent)
