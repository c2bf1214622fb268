"""What robots do against what they were told: every law of motion, bodies of shapes and of URDF files, every engine.

The expectations are closed forms. Tolerances are those of the table in docs/engines.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs

ENGINES = {"kinematic": "numpy", "bullet": "pybullet", "mujoco": "mujoco"}
SPEED, ACCEL, SPIN, SPIN_ACCEL = 1.1, 2.3, 1.3, 3.1
LIMITS = {"max_linear_vel": SPEED, "max_linear_accel": ACCEL, "max_angular_vel": SPIN, "max_angular_accel": SPIN_ACCEL}
BOX = fs.ShapeParams("box", half_extents=(0.24, 0.17, 0.1))
START = (0.31, -0.42, 0.7)
"""x, y and heading."""
MODELS = {"omnidirectional": "omni_base", "differential": "diff_base"}


class Accuracy(NamedTuple):
    """Tolerances: of mean velocities and of those of single steps (shares), places (m), headings (rad), times (s)."""

    rate: float
    shaking: float
    place: float
    turn: float
    time: float


EXACT = Accuracy(1e-9, 1e-9, 1e-9, 1e-9, 0.0)
ENGINE = Accuracy(0.01, 0.03, 2e-3, 2e-3, 0.1)
DRAGGED = Accuracy(0.01, 0.15, 2e-3, 5e-3, 0.3)
"""A body on wheels that stand still: they drag."""
WHEELS = Accuracy(0.06, 0.25, 0.04, 0.04, 1.5)
"""Driven by the motors of wheels, which is what an engine makes of `differential` where it finds some."""
Make = Callable[..., tuple[fs.MultiRobotSimulationCore, fs.Agent]]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if find_spec(ENGINES[request.param]) is None:
        pytest.skip(f"{ENGINES[request.param]} is not installed")
    return str(request.param)


@pytest.fixture(params=["box", "urdf"])
def body(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[0.05, pytest.param(0.013, marks=pytest.mark.slow)])
def dt(request: pytest.FixtureRequest) -> float:
    return float(request.param)


@pytest.fixture(params=["omnidirectional", "differential"])
def law(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def accuracy(engine: str, body: str, law: str) -> Accuracy:
    if engine == "kinematic":
        return EXACT
    if body == "box":
        return ENGINE
    return WHEELS if law == "differential" else DRAGGED


@pytest.fixture
def make(engine: str, body: str, dt: float) -> Iterator[Make]:
    """Make a world with one robot that stands, settled, at START."""
    sims = []

    def build(law: str, **settings: Any) -> tuple[fs.MultiRobotSimulationCore, fs.Agent]:
        physics = engine != "kinematic"
        world: dict[str, Any] = {"physics": True, "engine": engine} if physics else {}
        sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=dt, target_rtf=0, **world))
        sims.append(sim)
        settings = {**LIMITS, "motion_mode": law, "sensors": [{"type": "odometry"}], **settings}
        settings.setdefault("mass", 7.0 if body == "box" else None)
        if not physics:
            settings["mass"] = 0.0
        x, y, heading = START
        height = 0.1 if body == "box" else 0.0
        place = {"initial_pose": fs.Pose.from_yaw(x, y, height, heading), **settings}
        look = {"collision_shape": BOX, "visual_shape": BOX} if body == "box" else {"urdf_path": MODELS[law]}
        robot: fs.Agent = sim.spawn(fs.AgentSpawnParams(**place, **look))
        for _ in range(round(0.6 / dt) if physics else 2):
            sim.step_once()
        return sim, robot

    yield build
    for sim in sims:
        sim.close()


def plane(robot: fs.Agent) -> np.ndarray[Any, Any]:
    """x, y and heading."""
    pose = robot.get_pose()
    return np.array([pose.x, pose.y, pose.yaw])


def rates(robot: fs.Agent) -> np.ndarray[Any, Any]:
    """The reported velocity (x, y, turn) in the world."""
    return np.array([*robot.velocity[:2], robot.angular_velocity])


def turned(vector: np.ndarray[Any, Any], angle: float) -> np.ndarray[Any, Any]:
    x, y = vector[:2]
    return np.array([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y])


COMMANDS = {"omnidirectional": (0.52, -0.31, 0.43), "differential": (0.52, 0.0, 0.43)}


@holds(
    "api:Agent.velocity",
    "api:Agent.angular_velocity",
    "api:Agent.get_pose",
    "api:OdometryReading.*",
    fault=("robots/motion/system.py: the engine moves again what a law moved; sensing/sensors/imu.py: 1.02"),
)
def test_a_commanded_twist_is_what_happens_and_what_is_told(
    make: Make, law: str, accuracy: Accuracy, dt: float
) -> None:
    sim, robot = make(law)
    twist = np.array(COMMANDS[law])
    odometry = robot.sensor("odometry")
    odometry.subscribe()
    sim.step_once()
    begin = plane(robot)
    robot.set_velocity(twist[0], twist[1], wz=twist[2])
    count = round(2.6 / dt)
    places, told, readings = [begin], [rates(robot)], []
    for _ in range(count):
        sim.step_once()
        places.append(plane(robot))
        told.append(rates(robot))
        readings.append(odometry.latest)
    track, velocities = np.array(places), np.array(told)
    # In steady motion each step is the arc of the twist, and so is what is reported.
    steady = round(1.0 / dt)
    angle = twist[2] * dt
    turn = np.array([[np.sin(angle), np.cos(angle) - 1.0], [1.0 - np.cos(angle), np.sin(angle)]]) / angle
    arc = turn @ twist[:2] * dt
    ways = np.array([turned(b[:2] - a[:2], -a[2]) for a, b in pairwise(track[steady:])])
    size = float(np.hypot(*twist[:2]))
    # Single steps shake a little on wheels; the mean does not.
    assert ways.mean(axis=0) == pytest.approx(arc, abs=accuracy.rate * size * dt)
    assert ways == pytest.approx(np.tile(arc, (len(ways), 1)), abs=accuracy.shaking * size * dt)
    assert np.diff(track[steady:, 2]).mean() == pytest.approx(angle, rel=accuracy.rate)
    # A kinematic robot reports its velocity at the end of a step, that of an engine the mean of the step.
    ago = 0.0 if accuracy == EXACT else 0.5 * angle
    body = np.array([turned(v, ago - p[2]) for v, p in zip(velocities[steady:], track[steady:], strict=True)])
    assert body.mean(axis=0) == pytest.approx(twist[:2], abs=accuracy.rate * size)
    assert velocities[steady:, 2].mean() == pytest.approx(twist[2], rel=accuracy.rate)
    # So the position is the integral of the velocity reported.
    if accuracy != WHEELS:
        heights = 0.5 * (velocities[1:] + velocities[:-1]) if accuracy == EXACT else velocities[1:]
        assert heights.sum(axis=0) * dt == pytest.approx(track[-1] - begin, abs=1e-3)
        assert heights * dt == pytest.approx(np.diff(track, axis=0), abs=0.002 * size * dt + 1e-4)
    # The odometry sensor says the same, seen from where it was mounted.
    last = readings[-1]
    origin = np.array(last.origin_position[:2])
    heading = fs.Pose((0, 0, 0), last.origin_orientation).yaw
    assert last.position[:2] == pytest.approx(turned(track[-1, :2] - origin, -heading), abs=1e-6)
    linear = np.array([reading.linear_velocity[:2] for reading in readings])
    for twist_told, before, now in zip(linear[1:], track[1:-1], track[2:], strict=True):
        # The twist that leads from the one pose to the other: its arc has that chord.
        half = 0.5 * (now[2] - before[2])
        longer = half / np.sin(half) if half else 1.0
        assert twist_told * dt == pytest.approx(longer * turned(now - before, -before[2] - half), abs=1e-5)
    assert linear[steady:].mean(axis=0) == pytest.approx(twist[:2], abs=accuracy.rate * size)
    assert np.mean([r.angular_velocity[2] for r in readings[steady:]]) == pytest.approx(twist[2], rel=accuracy.rate)


def trapezoid(way: float, top: float, accel: float) -> float:
    """The time from rest to rest."""
    if way * accel <= top * top:
        return float(2.0 * np.sqrt(way / accel))
    return way / top + top / accel


def legs(points: list[tuple[float, float]], final: float | None) -> list[float]:
    """The times of a differential robot from START along `points` that turns, drives and stops at each."""
    x, y, heading = START
    times = []
    for to_x, to_y in points:
        wanted = np.arctan2(to_y - y, to_x - x)
        times.append(trapezoid(abs((wanted - heading + np.pi) % (2 * np.pi) - np.pi), SPIN, SPIN_ACCEL))
        times.append(trapezoid(float(np.hypot(to_x - x, to_y - y)), SPEED, ACCEL))
        x, y, heading = to_x, to_y, wanted
    if final is not None:
        times.append(trapezoid(abs((final - heading + np.pi) % (2 * np.pi) - np.pi), SPIN, SPIN_ACCEL))
    return times


def follow(sim: fs.MultiRobotSimulationCore, robot: fs.Agent, action: fs.Action, most: float) -> np.ndarray[Any, Any]:
    """Carry out `action`; return (time, x, y, heading, vx, vy, turning) of each step."""
    robot.add_action(action)
    begin, rows = sim.sim_time, [(0.0, *plane(robot), *rates(robot))]
    while not action.is_complete():
        assert sim.sim_time - begin < most, f"{action.status}: {rows[-1]}"
        sim.step_once()
        rows.append((sim.sim_time - begin, *plane(robot), *rates(robot)))
    assert action.status == "completed", action.error_message
    return np.array(rows)


def within_limits(run: np.ndarray[Any, Any], dt: float, accuracy: Accuracy) -> None:
    """Speeds, and how fast they change, as reported and as the poses say, are within the limits."""
    share = 1.0 + accuracy.shaking
    ways = np.hypot(*np.diff(run[:, 1:3], axis=0).T) / dt
    turns = np.abs((np.diff(run[:, 3]) + np.pi) % (2 * np.pi) - np.pi) / dt
    assert max(ways.max(), np.hypot(*run[:, 4:6].T).max()) < SPEED * share + 1e-9
    assert max(turns.max(), np.abs(run[:, 6]).max()) < SPIN * share + 1e-9
    changes = np.hypot(*np.diff(run[:, 4:6], axis=0).T)
    assert changes.max() < ACCEL * dt * (1.0 + 1e-6) + accuracy.shaking * SPEED
    assert np.abs(np.diff(run[:, 6])).max() < SPIN_ACCEL * dt * (1.0 + 1e-6) + accuracy.shaking * SPIN


@holds(
    "api:MoveTo.status",
    "api:Agent.velocity",
    "api:Agent.max_linear_vel",
    "api:Agent.max_angular_vel",
    fault="robots/motion/system.py: what a law moved is moved by the engine again: it overshoots, or never arrives",
)
def test_a_goal_is_reached_in_the_time_of_its_limits(make: Make, law: str, accuracy: Accuracy, dt: float) -> None:
    sim, robot = make(law)
    x, y, heading = plane(robot)
    goal = np.array([x + 1.7, y + 0.9, heading - 1.4])
    run = follow(sim, robot, fs.MoveTo(fs.Pose.from_yaw(goal[0], goal[1], robot.position[2], goal[2])), 20.0)
    assert run[-1, 1:3] == pytest.approx(goal[:2], abs=accuracy.place)
    assert run[-1, 3] == pytest.approx(goal[2], abs=accuracy.turn)
    line = trapezoid(float(np.hypot(1.7, 0.9)), SPEED, ACCEL)
    turn = trapezoid(1.4, SPIN, SPIN_ACCEL)
    times = legs([tuple(goal[:2])], goal[2]) if law == "differential" else [max(line, turn)]
    # On wheels it begins to drive before it has turned.
    assert accuracy == WHEELS or sum(times) - 1e-9 <= run[-1, 0] + 0.1 * accuracy.time
    assert run[-1, 0] <= sum(times) + len(times) * 3 * dt + accuracy.time
    along = (run[:, 1:3] - [x, y]) @ (goal[:2] - [x, y]) / np.hypot(1.7, 0.9)
    assert along.max() <= np.hypot(1.7, 0.9) + accuracy.place, "it overshot"
    within_limits(run, dt, accuracy)


@pytest.mark.parametrize("body", ["box", pytest.param("urdf", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.parametrize("dt", [0.05], indirect=True)
@holds(
    "api:MoveAction.status",
    "api:Agent.velocity",
    fault="robots/motion/system.py: what a law moved is moved by the engine again: it never got past the first point",
)
def test_a_path_of_several_points_is_driven(make: Make, law: str, accuracy: Accuracy, dt: float) -> None:
    sim, robot = make(law)
    points = [(1.3, -0.1), (1.6, 1.2), (0.2, 1.5)]
    poses = [fs.Pose((x, y, float(robot.position[2]))) for x, y in points]
    run = follow(sim, robot, fs.MoveAction(poses, final_orientation_align=False), 30.0)
    for point in points:
        near = np.hypot(*(run[:, 1:3] - point).T).min()
        assert near < (0.1 if accuracy == WHEELS else SPEED * dt + accuracy.place)
    assert run[-1, 1:3] == pytest.approx(points[-1], abs=accuracy.place)
    x, y, _ = START
    lengths = [float(np.hypot(b[0] - a[0], b[1] - a[1])) for a, b in pairwise([(x, y), *points])]
    if law == "differential":
        least, most = sum(legs(points, None)), sum(legs(points, None)) + 6 * 3 * dt + accuracy.time
    else:
        least = trapezoid(sum(lengths), SPEED, ACCEL)
        # Half of the acceleration is for the change of direction at corners.
        most = sum(trapezoid(length, SPEED, 0.5 * ACCEL) for length in lengths) + 3 * 3 * dt + accuracy.time
    assert accuracy == WHEELS or least - 1e-9 <= run[-1, 0] + 0.1 * accuracy.time
    assert run[-1, 0] <= most
    within_limits(run, dt, accuracy)


@pytest.mark.parametrize(("body", "dt"), [("box", 0.05)], indirect=True)
@pytest.mark.parametrize("accel", [ACCEL, 1e6])
@holds(
    "api:Agent.velocity",
    "api:Agent.stop",
    fault="robots/motion/system.py: what a law moved is moved by the engine again: at the wall it reported -0.8 m/s",
)
def test_at_a_wall_it_stands_and_says_so(make: Make, law: str, accel: float, engine: str, dt: float) -> None:
    if engine == "kinematic":
        pytest.skip("kinematic robots pass through walls unless they block")
    sim, robot = make(law, max_linear_accel=accel)
    wall = fs.ShapeParams("box", half_extents=(0.1, 2.0, 0.5))
    away = turned(np.array([0.9 + 0.1 + 0.24, 0.0]), START[2]) + START[:2]
    sim.spawn(fs.SimObjectSpawnParams(wall, wall, fs.Pose.from_yaw(away[0], away[1], 0.5, START[2])))
    robot.set_velocity(0.8)
    for _ in range(round(2.5 / dt)):
        sim.step_once()
    along = turned(plane(robot)[:2] - START[:2], -START[2])
    assert along == pytest.approx([0.9, 0.0], abs=5e-3)
    for _ in range(20):
        sim.step_once()
        assert np.abs(rates(robot)).max() < 0.03
    robot.stop()
    sim.step_once()
    assert np.abs(rates(robot)).max() < 1e-6
    robot.set_velocity(-0.5)
    for _ in range(round(1.0 / dt)):
        sim.step_once()
    assert turned(rates(robot), -START[2]) == pytest.approx([-0.5, 0.0], abs=0.01), "it drives back at once"


@pytest.mark.parametrize(("body", "dt"), [("box", 0.05)], indirect=True)
@holds(
    "api:SimObject.set_mass",
    "api:Agent.velocity",
    fault="robots/motion/system.py: a robot that gets a mass drives on at twice its speed",
)
def test_a_mass_given_or_taken_while_it_drives_changes_nothing(make: Make, engine: str, dt: float) -> None:
    if engine == "kinematic":
        pytest.skip("needs an engine")
    sim, robot = make("omnidirectional", mass=0.0)
    robot.set_velocity(0.37, -0.21)
    for mass in (0.0, 3.0, 0.0):
        robot.set_mass(mass)
        for _ in range(round(0.5 / dt)):
            sim.step_once()
        begin = plane(robot)
        for _ in range(round(1.0 / dt)):
            sim.step_once()
        way = turned(plane(robot)[:2] - begin[:2], -START[2]) / (round(1.0 / dt) * dt)
        assert way == pytest.approx([0.37, -0.21], abs=0.005), f"mass {mass}"
