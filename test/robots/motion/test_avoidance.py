"""Discs that avoid each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import AnyArray
from fleet_sim.robots.actions import MoveTo
from fleet_sim.robots.motion.orca import HalfPlanes, MovingDiscs, avoiding_velocities, nearest_allowed, nearest_ranks

DT = 0.1


def every_pair(count: int) -> tuple[AnyArray, AnyArray]:
    first, second = np.triu_indices(count, 1)
    return first.astype(np.int64), second.astype(np.int64)


def discs(x: AnyArray, y: AnyArray, vx: AnyArray, vy: AnyArray, radius: float = 0.3) -> MovingDiscs:
    return MovingDiscs(x, y, vx, vy, np.full(len(x), radius), np.ones(len(x), bool))


def nearest_gap(x: AnyArray, y: AnyArray) -> float:
    first, second = every_pair(len(x))
    return float(np.hypot(x[first] - x[second], y[first] - y[second]).min())


def test_discs_that_overlap_part() -> None:
    x, y, still = np.array([0.0, 0.2, 0.2]), np.array([0.0, 0.0, 0.0]), np.zeros(3)
    vx, vy = still, still
    for _ in range(30):
        vx, vy = avoiding_velocities(discs(x, y, vx, vy), every_pair(3), (still, still), np.ones(3), horizon=2.0, dt=DT)
        x, y = x + vx * DT, y + vy * DT
    assert nearest_gap(x, y) >= 0.6 - 1e-6


def test_discs_that_overlap_need_not_part() -> None:
    x, y, still = np.array([0.0, 0.4]), np.zeros(2), np.zeros(2)
    for wanted, expected in (([1.0, -1.0], [0.0, 0.0]), ([-0.5, 0.3], [-0.5, 0.3])):
        vx, _ = avoiding_velocities(
            discs(x, y, still, still),
            every_pair(2),
            (np.array(wanted), still),
            np.ones(2),
            horizon=2.0,
            dt=DT,
            push_apart=False,
        )
        assert vx.tolist() == pytest.approx(expected, abs=0.01)


def test_ranks_go_by_distance_and_then_as_they_come() -> None:
    owner = np.array([1, 0, 1, 1])
    order, ranks = nearest_ranks(owner, np.array([2.0, 1.0, 2.0, 1.5]), 3)
    assert order.tolist() == [1, 3, 0, 2]
    assert ranks.tolist() == [0, 0, 1, 2]


# ---- The nearest allowed velocity, compared with a search over all corners -------------------------------------------


def planes_of(rows: list[list[tuple[float, float, float]]], hard: list[int] | None = None) -> HalfPlanes:
    """Half-planes from (x, y, angle of the edge) by row."""
    depth = max(map(len, rows))
    table = np.zeros((4, depth, len(rows)))
    for row, entries in enumerate(rows):
        for k, (x, y, angle) in enumerate(entries):
            table[:, k, row] = x, y, np.cos(angle), np.sin(angle)
    return HalfPlanes(*table, np.array([len(row) for row in rows]), np.array(hard or [0] * len(rows)))


def violation(planes: HalfPlanes, row: int, x: float, y: float, begin: int = 0) -> float:
    """The largest distance of a point outside the half-planes of a row, from `begin` on; at least 0."""
    one = planes.take(np.array([row]))
    at = np.array([x]), np.array([y])
    return max([0.0, *(float(one.excess(k, *at)[0]) for k in range(begin, int(planes.counts[row])))])


@pytest.fixture(scope="module")
def case() -> tuple[HalfPlanes, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    rows = []
    for _ in range(400):
        count = random.integers(0, 7)
        rows.append([(*random.uniform(-1.2, 1.2, 2), random.uniform(-np.pi, np.pi)) for _ in range(count)])
    return planes_of(rows), *random.uniform(-2.0, 2.0, (2, 400)), random.uniform(0.5, 1.5, 400)


def test_where_nothing_is_allowed_the_largest_violation_is_least(
    case: tuple[HalfPlanes, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    planes, wanted_x, wanted_y, radii = case
    x, y = nearest_allowed(planes, wanted_x, wanted_y, radii)
    random = np.random.default_rng(4)
    angles, sizes = random.uniform(-np.pi, np.pi, 500), np.sqrt(random.random(500))
    impossible = 0
    for row in range(len(x)):
        mine = violation(planes, row, x[row], y[row])
        if mine > 1e-9:
            impossible += 1
            one = planes.take(np.array([row]))
            tried_x, tried_y = sizes * radii[row] * np.cos(angles), sizes * radii[row] * np.sin(angles)
            worst = np.max([one.excess(k, tried_x, tried_y) for k in range(int(planes.counts[row]))], axis=0)
            assert mine <= worst.min() + 1e-7
    assert impossible > 20


def test_hard_half_planes_are_kept_while_others_give_way() -> None:
    # A wall below y = 0 (allowed above), and somebody who wants y <= -0.5.
    edges = [(0.0, 0.0, 0.0), (0.0, -0.5, np.pi)]
    for hard, expected in ((1, 0.0), (0, -0.25)):
        _, y = nearest_allowed(planes_of([edges], [hard]), np.array([0.3]), np.array([0.0]), np.array([1.0]))
        assert y[0] == pytest.approx(expected, abs=1e-9)


# ---- Fleets whose robots get out of each other's way, in whole simulations -------------------------------------------


Sim = fs.MultiRobotSimulationCore

DISC = fs.ShapeParams("cylinder", radius=0.25, height=0.2)


def spawn(sim: Sim, x: float, y: float, yaw: float = 0.0, **params: Any) -> fs.Agent:
    controller = {"type": "omni", "max_linear_vel": 1.0, "max_linear_accel": 20.0, "avoidance": 3.0, **params}
    agent: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(DISC, DISC, fs.Pose.from_yaw(x, y, 0.0, yaw), controller=controller)
    )
    return agent


def run(sim: Sim, goals: dict[fs.Agent, tuple[float, float]], steps: int) -> float:
    """Send agents to goals and step until all have arrived; returns the least gap there was between two discs."""
    for agent, (x, y) in goals.items():
        agent.set_goal_pose(fs.Pose.from_xyz(x, y, 0.0))
    least = np.inf
    for _ in range(steps):
        sim.step_once()
        places = sim.world.position[sim.world.rows, :2]
        first, second = np.triu_indices(len(places), 1)
        if len(first):
            least = min(least, float(np.hypot(*(places[first] - places[second]).T).min()) - 0.5)
        if all(agent.is_goal_reached() for agent in goals):
            return least
    raise AssertionError([agent.get_pose().as_position() for agent in goals if not agent.is_goal_reached()])


@pytest.mark.parametrize("law", ["omni", "differential"])
def test_robots_on_a_circle_change_places(sim: Sim, law: str) -> None:
    angles = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
    places = [(3.0 * np.cos(angle), 3.0 * np.sin(angle)) for angle in angles]
    agents = [spawn(sim, x, y, angle + np.pi, type=law) for (x, y), angle in zip(places, angles, strict=True)]
    goals = {agent: (-x, -y) for agent, (x, y) in zip(agents, places, strict=True)}
    assert run(sim, goals, 600) > -0.01
    for agent, (x, y) in goals.items():
        assert agent.get_pose().as_position()[:2] == pytest.approx([x, y], abs=1e-9)


def test_a_free_way_is_driven_as_without_it(make_sim: Callable[..., Sim]) -> None:
    runs = []
    for horizon in (0.0, 3.0):
        sim = make_sim()
        agents = [spawn(sim, 10.0 * index, 0.0, avoidance=horizon, type="differential") for index in range(3)]
        for agent in agents:
            agent.set_goal_pose(fs.Pose.from_yaw(agent.get_pose().x, 2.0, 0.0, 1.0))
        way = []
        for _ in range(60):
            sim.step_once()
            way.append(sim.world.position[sim.world.rows].tolist())
        runs.append(way)
    assert runs[0] == runs[1]


def test_parked_robots_and_crates_are_gone_around_and_walls_are_kept_off(sim: Sim) -> None:
    parked = spawn(sim, 0.0, 0.0)
    crate = fs.ShapeParams("cylinder", radius=0.25, height=0.2)
    sim.spawn(fs.SimObjectSpawnParams(crate, crate, fs.Pose.from_xyz(2.0, 0.1, 0.0), name="drum"))
    wall = fs.ShapeParams("box", half_extents=(5.0, 0.05, 0.2))
    # On the right, the side on which robots pass.
    sim.spawn(
        fs.SimObjectSpawnParams(wall, wall, fs.Pose.from_xyz(0.0, -0.7, 0.0), collision_mode="static", name="wall")
    )
    agent = spawn(sim, -3.0, 0.0)
    agent.set_goal_pose(fs.Pose.from_xyz(4.0, 0.0, 0.0))
    gaps = []
    for _ in range(300):
        sim.step_once()
        x, y, _ = agent.get_pose().as_position()
        gaps.append(min(np.hypot(x, y) - 0.5, np.hypot(x - 2.0, y - 0.1) - 0.5, y + 0.65 - 0.25))
        if agent.is_goal_reached():
            break
    assert agent.is_goal_reached()
    assert min(gaps) > -0.01
    assert parked.get_pose().as_position() == [0.0, 0.0, 0.0]


def test_goals_beside_a_wall_are_reached(sim: Sim) -> None:
    wall = fs.ShapeParams("box", half_extents=(5.0, 0.05, 0.2))
    sim.spawn(
        fs.SimObjectSpawnParams(wall, wall, fs.Pose.from_xyz(0.0, 1.0, 0.0), collision_mode="static", name="wall")
    )
    agent = spawn(sim, 0.0, 0.0)
    agent.execute_action(MoveTo(fs.Pose.from_xyz(2.0, 0.75, 0.0)))
    for _ in range(100):
        sim.step_once()
    assert agent.get_pose().as_position()[:2] == pytest.approx([2.0, 0.75])


def test_other_floors_do_not_count(sim: Sim) -> None:
    agent, above = spawn(sim, -2.0, 0.0), spawn(sim, 2.0, 0.0)
    above.set_pose(fs.Pose.from_xyz(2.0, 0.0, 3.0))
    agent.set_goal_pose(fs.Pose.from_xyz(2.0, 0.0, 0.0))
    above.set_goal_pose(fs.Pose.from_xyz(-2.0, 0.0, 3.0))
    for _ in range(100):
        sim.step_once()
        assert agent.get_pose().y == 0.0
        assert above.get_pose().y == 0.0


def test_it_is_a_setting_of_the_controller() -> None:
    config = {
        "simulation": {"gui": False, "target_rtf": 0, "timestep": 0.1},
        "robots": [
            {"name": "cart", "pose": [0, 0, 0], "controller": {"type": "random_walk", "avoidance": 2.0, "radius": 1.0}}
        ],
    }
    with Sim.from_dict(config) as sim:
        assert sim.world.motion.avoidance[sim.world.rows].tolist() == [2.0]


@pytest.mark.parametrize("direction", ["forward", "backward", "auto"])
def test_differential_robots_that_meet_between_walls_touch_nothing(sim: Sim, direction: str) -> None:
    wall = fs.ShapeParams("box", half_extents=(5.0, 0.05, 0.2))
    for y in (-1.2, 1.2):
        sim.spawn(fs.SimObjectSpawnParams(wall, wall, fs.Pose.from_xyz(0.0, y, 0.0), collision_mode="static"))
    settings = {"type": "differential", "max_linear_accel": 2.0, "default_direction": direction}
    one, other = spawn(sim, -4.0, 0.0, **settings), spawn(sim, 4.0, 0.0, np.pi, **settings)
    for agent, x in ((one, 4.0), (other, -4.0)):
        agent.set_goal_pose(fs.Pose.from_xyz(x, 0.0, 0.0))
    least = np.inf
    for _ in range(600):
        sim.step_once()
        places = sim.world.position[[one.row, other.row], :2]
        least = min(
            least, float(np.hypot(*(places[0] - places[1]))) - 0.5, 1.15 - 0.25 - float(abs(places[:, 1]).max())
        )
        if one.is_goal_reached() and other.is_goal_reached():
            break
    assert one.is_goal_reached() and other.is_goal_reached()
    assert least > 0.0


@pytest.mark.slow
def test_nobody_stays_behind_when_all_of_a_circle_change_sides() -> None:
    """Some stop for good beside robots that are parked at their goals, unless they give way to what does not."""
    pytest.importorskip("numba")
    settings = {"timestep": 0.1, "target_rtf": 0, "collision_margin": 0.0}
    sim = Sim(fs.SimulationParams(gui=False, **settings))
    box, count, size = fs.ShapeParams("box", half_extents=(0.25, 0.2, 0.15)), 128, 24.0
    touched = []
    sim.events.on("collision_started", lambda *what, **more: touched.append(what))
    agents = []
    for index in range(count):
        angle = 2.0 * np.pi * index / count
        pose = fs.Pose.from_yaw(size * np.cos(angle), size * np.sin(angle), 0.15, angle + np.pi)
        spec = {"controller": {"avoidance": 1.5}, "max_linear_accel": 2.0, "name": f"robot{index}"}
        agents.append(sim.spawn(fs.AgentSpawnParams(box, box, pose, motion_mode="differential", **spec)))
    for agent in agents:
        x, y, _ = agent.get_pose().position
        agent.set_goal_pose(fs.Pose.from_yaw(-x, -y, 0.15, 0.0))
    for _ in range(1200):
        sim.step_once()
        if not sim.world.motion.path_length[: sim.world.capacity].any():
            break
    assert sum(agent.is_goal_reached() for agent in agents) == count
    assert not touched
