"""Cars: shortest curves, exact arrival, no arc tighter than they can steer, and a reason for what they cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.spatial import quaternions
from fleet_sim.robots.actions import TurnAction
from fleet_sim.robots.motion.car_curves import Curves, dubins, reeds_shepp

Sim = fs.MultiRobotSimulationCore

RADIUS, DT = 1.0, 0.05
BOX = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}


def world(**settings: Any) -> Sim:
    given = {"timestep": DT, "target_rtf": 0, "collision_check_frequency": 0, **settings}
    return Sim(fs.SimulationParams(gui=False, **given))


def car(sim: Sim, name: str, pose: fs.Pose, rate: float | None = 1.0, **more: Any) -> fs.Agent:
    steering = {"wheelbase": 0.5, "min_turning_radius": RADIUS, "max_steering_rate": rate}
    spec = {"features": {"ackermann": steering}, "motion_mode": "ackermann", **more}
    return sim.spawn(fs.AgentSpawnParams(name=name, initial_pose=pose, **spec))


def finish(sim: Sim, agents: list[fs.Agent], most: int = 4000) -> list[np.ndarray]:
    """Step until all are idle; return x, y, yaw of all after each step."""
    rows = np.array([agent.row for agent in agents])
    track = [_places(sim, rows)]
    while sim.world.motion.control[rows].any():
        sim.step_once()
        track.append(_places(sim, rows))
        assert len(track) < most, "somebody is still under way"
    return track


def _places(sim: Sim, rows: np.ndarray) -> np.ndarray:
    return np.column_stack((sim.world.position[rows], quaternions.yaws(sim.world.orientation[rows])))


def moved(length: np.ndarray, turn: float, goal: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Return goals (x, y, heading) as cars see them after they drove `length` on an arc or straight on."""
    x, y, heading = goal
    angle = length * turn
    chord = length * np.sinc(0.5 * angle / np.pi)
    x, y = x - chord * np.cos(0.5 * angle), y - chord * np.sin(0.5 * angle)
    sine, cosine = np.sin(angle), np.cos(angle)
    return x * cosine + y * sine, y * cosine - x * sine, heading - angle


def end(curves: Curves, goal: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return how far from their goals curves end: x, y and heading."""
    for piece in range(curves.lengths.shape[1]):
        angles = curves.lengths[:, piece] * curves.turns[:, piece]
        x, y, heading = goal
        chord = curves.lengths[:, piece] * np.sinc(0.5 * angles / np.pi)
        x, y = x - chord * np.cos(0.5 * angles), y - chord * np.sin(0.5 * angles)
        goal = x * np.cos(angles) + y * np.sin(angles), y * np.cos(angles) - x * np.sin(angles), heading - angles
    return np.array([goal[0], goal[1], np.sin(0.5 * goal[2])])


@pytest.mark.parametrize("spread", [0.2, 1.0, 4.0])
@pytest.mark.parametrize(("curve", "ways"), [(reeds_shepp, (1.0, -1.0)), (dubins, (1.0,))])
def test_curves_are_the_shortest(curve: Any, ways: tuple[float, ...], spread: float) -> None:
    """A length that is that of a way to the goal, and that no way to drive shortens by more than was driven, is the
    shortest: along any other way it would have to shrink to 0 faster than the way is long.
    """
    random = np.random.default_rng(7)
    count = 3_000
    goal = (*(random.normal(size=(2, count)) * spread), random.uniform(-np.pi, np.pi, count))
    curves = curve(*goal)
    assert np.abs(end(curves, goal)).max() < 1e-9
    lengths, driven = curves.totals(), random.uniform(0.0, 0.6, count)
    for way in ways:
        for turn in (1.0, 0.0, -1.0):
            assert (lengths - curve(*moved(driven * way, turn, goal)).totals() - driven).max() < 1e-9
    alone = curve(*(part[5:6] for part in goal))
    assert alone.lengths.tobytes() == curves.lengths[5:6].tobytes()


def told(count: int) -> list[Any]:
    random = np.random.default_rng(5)
    fleet = []
    for index in range(count):
        start = fs.Pose.from_yaw(*random.uniform(-3, 3, 2), 0.1, random.uniform(-3, 3))
        path = [fs.Pose.from_yaw(*random.uniform(-3, 3, 2), 0.1, random.uniform(-3, 3)) for _ in range(1 + index % 3)]
        way = ("forward", "backward", "auto")[index % 3]
        fleet.append((start, path, way, [1.0, None][index % 2], bool(index % 5)))
    return fleet


def driven(fleet: list[Any]) -> tuple[Sim, list[fs.Agent], list[np.ndarray]]:
    sim = world()
    agents = [car(sim, f"car{at}", start, rate) for at, (start, _, _, rate, _) in enumerate(fleet)]
    for agent, (_, path, way, _, align) in zip(agents, fleet, strict=True):
        agent.set_path(path, direction=way, final_orientation_align=align)
    return sim, agents, finish(sim, agents)


def test_cars_arrive_exactly_never_turn_tighter_and_are_the_same_alone() -> None:
    fleet = told(24)
    _, agents, track = driven(fleet)
    for agent, (_, path, _, _, align) in zip(agents, fleet, strict=True):
        assert agent.is_goal_reached() and not agent.is_moving
        assert tuple(agent.get_pose().position) == tuple(path[-1].position)
        # The goal's heading bit for bit, but for what the plane of the robot makes of it.
        assert not align or abs(np.sin(0.5 * (agent.get_pose().yaw - path[-1].yaw))) < 1e-15
    steps = np.array(track)
    turned = np.abs((np.diff(steps[..., 3], axis=0) + np.pi) % (2 * np.pi) - np.pi)
    chord = np.linalg.norm(np.diff(steps[..., :2], axis=0), axis=2)
    # A chord of the tightest circle that turns by an angle a is 2 r sin(a / 2) long.
    assert (2 * RADIUS * np.sin(0.5 * turned) <= chord * (1 + 1e-6) + 1e-9).all()
    for at in (1, 6, 11):
        *_, alone = driven([fleet[at]])
        assert np.array_equal(np.array(alone)[:, 0], steps[: len(alone), at])


def test_the_way_is_as_long_as_the_shortest_curve() -> None:
    random = np.random.default_rng(8)
    x, y, heading = random.uniform(-3, 3, 8), random.uniform(-3, 3, 8), random.uniform(-3, 3, 8)
    for direction, curve in (("auto", reeds_shepp), ("forward", dubins)):
        sim = world()
        # Each from its own origin: cars do not look out for each other here.
        agents = [car(sim, f"car{at}", fs.Pose((20.0 * at, 0, 0)), None, max_linear_accel=0.5) for at in range(8)]
        for at, agent in enumerate(agents):
            agent.set_goal_pose(fs.Pose.from_yaw(20.0 * at + x[at], y[at], 0.0, heading[at]), direction)
        speeds = []
        rows = [agent.row for agent in agents]
        while sim.world.motion.control[rows].any():
            before = np.abs(sim.world.motion.body_linear[rows, 0])
            sim.step_once()
            speeds.append(0.5 * DT * (before + np.abs(sim.world.motion.body_linear[rows, 0])))
            assert len(speeds) < 4000
        wanted = curve(x / RADIUS, y / RADIUS, heading).totals() * RADIUS
        # Where it stops within a step the mean of two speeds is not quite what it drove.
        assert np.abs(np.sum(speeds, axis=0) - wanted).max() < 0.02


def test_a_blocked_car_waits_and_goes_on_along_its_curve() -> None:
    sim = world(collision_check_frequency=None, ignore_static_collision=False)
    agent = car(sim, "car", fs.Pose((0, 0, 0.1)), collision_shape=BOX, block_on_collision=True)
    wall = sim.spawn(fs.SimObjectSpawnParams(name="wall", collision_shape=BOX, initial_pose=fs.Pose((2.0, 1.3, 0.1))))
    # It ends with a quarter of the tightest circle: for a car beside that, only a whole circle would lead there.
    agent.set_goal_pose(fs.Pose.from_yaw(2.0, RADIUS, 0.1, 0.5 * np.pi), "forward")
    for _ in range(160):
        sim.step_once()
    assert agent.blocked_by is wall and not agent.is_goal_reached()
    wall.set_pose(fs.Pose((9, 9, 0)))
    longest = finish(sim, [agent], 60)
    assert agent.is_goal_reached() and len(longest) < 60


def test_what_a_car_cannot_do_is_refused() -> None:
    sim = world()
    stays = sim.spawn(fs.AgentSpawnParams(name="stays", motion_mode="differential", controller={"avoidance": 1.0}))
    cases = (
        ({"controller": {"avoidance": 1.0}}, "avoids others"),
        ({"controller": {"navigation_2d": False}}, "always in the plane"),
        ({"motion_mode": "differential"}, "steering is for motion_mode: ackermann"),
    )
    for more, reason in cases:
        with pytest.raises(fs.InvalidValueError, match=reason):
            car(sim, "car", fs.Pose((0, 0, 0)), **more)
    with pytest.raises(fs.InvalidValueError, match="avoids others"):
        stays.set_motion_mode("ackermann")
    assert stays.motion_mode == "differential"
    agent = car(sim, "car", fs.Pose((0, 0, 0)))
    for action in (TurnAction(1.0), fs.MoveTo(fs.Pose((1, 0, 0)), route=True)):
        agent.execute_action(action)
        for _ in range(3):
            sim.step_once()
        assert "steered like a car" in str(action.error_message), action


def test_any_robot_becomes_a_car_with_what_cars_have_by_default() -> None:
    sim = world()
    agent = sim.spawn(fs.AgentSpawnParams(name="robot", controller="omni"))
    assert agent.set_motion_mode("ackermann")
    other = sim.spawn(fs.AgentSpawnParams(name="other", controller="ackermann", initial_pose=fs.Pose((5, 0, 0))))
    assert other.feature("ackermann")["min_radius"] == agent.feature("ackermann")["min_radius"] == 1.0
    for robot in (agent, other):
        robot.set_goal_pose(fs.Pose.from_yaw(2.0, 2.0, 0.0, np.pi))
    finish(sim, [agent, other])
    assert agent.is_goal_reached() and other.is_goal_reached()
