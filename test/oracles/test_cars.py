"""Cars and wheels, against a bicycle: the curvature is the tangent of the steering angle over the wheelbase."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import driven
import numpy as np
import pytest
from driven import FORMS, Move, Run, steps_of, turned
from oracle_rows import holds

import fleet_sim as fs

BASE, RADIUS, RATE = 0.62, 1.15, 0.9
STEERED = {"ackermann": {"wheelbase": BASE, "min_turning_radius": RADIUS, "max_steering_rate": RATE}}


def limits(index: int) -> dict[str, float]:
    return {
        "max_linear_vel": 0.8 + 0.07 * (index % 9), "max_linear_accel": 0.7 + 0.2 * (index % 5),
        "max_angular_vel": 0.5 + 0.04 * (index % 7), "max_angular_accel": 0.45 + 0.09 * (index % 4),
    }  # fmt: skip


def on_arc(index: int, bend: float) -> tuple[float, float]:
    """Return the limits of speed and acceleration on an arc: those of turning hold too."""
    own = limits(index)
    if bend == 0.0:
        return own["max_linear_vel"], own["max_linear_accel"]
    return (
        min(own["max_linear_vel"], own["max_angular_vel"] / abs(bend)),
        min(own["max_linear_accel"], own["max_angular_accel"] / abs(bend)),
    )


def steering_steps(dt: float, *angles: float) -> int:
    """Return the steps for turning the wheels from angle to angle, at rest."""
    return sum(math.ceil(abs(b - a) / (RATE * dt) - 1e-9) for a, b in itertools.pairwise(angles))


def check_bicycle(move: Move, dt: float) -> np.ndarray:
    """Each step is an arc of the mean speed, no tighter than it can steer; return the signed ways (T,)."""
    speeds = move.body_velocities()
    assert np.abs(speeds[:, 1:]).max() < 1e-12
    ways = 0.5 * dt * (speeds[1:, 0] + speeds[:-1, 0])
    turns = turned(np.diff(move.yaws()))
    assert (np.abs(turns) <= np.abs(ways) / RADIUS + 1e-6).all()
    halves = 0.5 * turns
    chords = ways * np.sinc(halves / np.pi)
    ahead = move.yaws()[:-1] + halves
    flat = np.diff(move.positions[:, 0] + 1j * move.positions[:, 1])
    # Of a stop within a step only the arrival is known.
    free = speeds[1:, 0] != 0.0
    assert np.abs(flat - chords * np.exp(1j * ahead))[free].max() < 1e-9
    return np.asarray(ways)


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.set_velocity", "api:Agent.angular_velocity",
    fault="robots/motion/cars.py: steering is the arc tangent of the curvature alone",
)  # fmt: skip
def test_a_commanded_car_steers_and_drives_arcs(form: driven.Form) -> None:
    run = Run(form, "ackermann", limits, STEERED)
    commands = [(0.7 - 0.23 * (index % 6), 0.5 - 0.11 * (index % 8)) for index in range(form.count)]
    for robot, (vx, wz) in zip(run.robots, commands, strict=True):
        robot.set_velocity(vx, wz=wz)
    run.steps(round(2.2 / form.dt))
    for robot, (vx, wz) in zip(run.robots, commands, strict=True):
        robot.set_velocity(vx, wz=-wz)
    run.steps(round(0.8 / form.dt))
    count = round(2.2 / form.dt)
    for index, (vx, wz) in enumerate(commands):
        move = run.of(index)
        check_bicycle(move, form.dt)
        bend = max(min(wz / vx, 1.0 / RADIUS), -1.0 / RADIUS)
        angle = math.atan(BASE * bend)
        # At rest until it is steered, then as on a straight line.
        waits = max(steering_steps(form.dt, 0.0, angle) - 1, 0)
        top, accel = on_arc(index, bend)
        times = form.dt * np.maximum(np.arange(count + 1) - waits, 0)
        ideal = np.minimum(accel * times, min(top, abs(vx))) * math.copysign(1.0, vx)
        part = move.part(0, count)
        assert np.abs(part.body_velocities()[:, 0] - ideal).max() < 1e-9
        assert np.abs(part.spins[:, 2] - ideal * bend).max() < 1e-9
        # Then it is steered the other way as it drives.
        after = move.since(count)
        with np.errstate(divide="ignore", invalid="ignore"):
            bends = after.spins[:, 2] / after.body_velocities()[:, 0]
        wanted = [angle]
        while len(wanted) < len(bends):
            wanted.append(wanted[-1] + max(min(-angle - wanted[-1], RATE * form.dt), -RATE * form.dt))
        assert np.abs(np.arctan(BASE * bends) - wanted).max() < 1e-7


def goal_of(start: fs.Pose, bend: float, angle: float, line: float) -> tuple[float, float, float]:
    """Return x, y, yaw after an arc that turns by `angle`, and a straight line."""
    here = start.x + 1j * start.y
    here += np.exp(1j * start.yaw) * (np.exp(1j * angle) - 1.0) / (1j * bend)
    here += line * np.exp(1j * (start.yaw + angle))
    return here.real, here.imag, start.yaw + angle


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize(("direction", "aligned"), [("forward", True), ("forward", False), ("backward", False)])
@holds(
    "api:Agent.set_goal_pose", "api:Agent.position",
    fault="robots/motion/cars.py: on an arc the limit of turning is multiplied by the curvature",
)  # fmt: skip
def test_a_goal_behind_an_arc_and_a_line_takes_the_sum_of_their_trapezoids(
    form: driven.Form, direction: str, aligned: bool
) -> None:
    run = Run(form, "ackermann", limits, STEERED)
    sign = 1.0 if direction == "forward" else -1.0
    parts = [(0.35 + 0.06 * (index % 9), 0.4 + 0.1 * (index % 7), (-1.0) ** index) for index in range(form.count)]
    goals = []
    for start, (angle, line, side) in zip(run.starts, parts, strict=True):
        x, y, yaw = goal_of(start, sign * side / RADIUS, side * angle, sign * line)
        goals.append((x, y, turned(yaw)))
    for robot, start, (x, y, yaw) in zip(run.robots, run.starts, goals, strict=True):
        goal = fs.Pose.from_yaw(x, y, start.z, yaw if aligned else yaw + 0.4)
        robot.set_path([goal], final_orientation_align=aligned, direction=direction)
    run.until_all_stand()
    for index, (angle, line, side) in enumerate(parts):
        move = run.of(index)
        ways = check_bicycle(move, form.dt)
        bend = side * sign / RADIUS
        ideal = steps_of(RADIUS * angle, *on_arc(index, bend), form.dt) + steps_of(line, *on_arc(index, 0.0), form.dt)
        steering = steering_steps(form.dt, 0.0, math.atan(BASE * bend), 0.0)
        assert ideal <= len(ways) - steering <= ideal + 4
        assert abs(ways.sum() - sign * (RADIUS * angle + line)) < 4e-3
        x, y, yaw = goals[index]
        assert abs(move.positions[-1, 0] - x) < 1e-9 and abs(move.positions[-1, 1] - y) < 1e-9
        assert abs(turned(move.yaws()[-1] - yaw)) < 1e-9
        speeds = np.abs(move.body_velocities()[:, 0])
        on = np.abs(move.spins[:, 2]) > 0.0
        for mask, curve in ((on, bend), (~on, 0.0)):
            top, accel = on_arc(index, curve)
            assert speeds[mask].max() <= top * (1.0 + 1e-9)
            both = mask[1:] & mask[:-1]
            assert np.abs(np.diff(speeds))[both].max() <= accel * form.dt * (1.0 + 1e-7)


MODELS = {
    # Radius, and by wheel what it rolls per m ahead, m to the left and rad to the left.
    "diff_base": (0.09, [("left_wheel_joint", 1.0, 0.0, -0.205), ("right_wheel_joint", 1.0, 0.0, 0.205)]),
    "omni_base": (0.1, [
        ("front_left_wheel_joint", 1.0, -1.0, -0.47), ("front_right_wheel_joint", 1.0, 1.0, 0.47),
        ("rear_left_wheel_joint", 1.0, 1.0, -0.47), ("rear_right_wheel_joint", 1.0, -1.0, 0.47),
    ]),
}  # fmt: skip
# Wheels that are no mecanum wheels roll ahead alone.
MODELS["plain"] = (
    0.1,
    [(name, 1.0, 0.0, math.copysign(0.24, around)) for name, _, _, around in MODELS["omni_base"][1]],
)


@pytest.mark.parametrize(("dt", "compiled"), [(0.05, "never"), (0.013, "always")])
@pytest.mark.parametrize("name", MODELS)
@holds(
    "ros:sensor_msgs/JointState.position", "ros:sensor_msgs/JointState.velocity", "api:Agent.joint_positions",
    fault="robots/motion/rolling.py: the arc is as long as its chord",
)  # fmt: skip
def test_wheels_roll_by_the_way_of_each(name: str, dt: float, compiled: str) -> None:
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=dt, compiled_code=compiled)
    sim = fs.MultiRobotSimulationCore(params)
    mode = "differential" if name == "diff_base" else "omnidirectional"
    features = {"wheels": {"mecanum": False}} if name == "plain" else {}
    start = fs.Pose.from_yaw(1.3, -0.4, 0.0, 0.7)
    robot: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(
            urdf_path="omni_base" if name == "plain" else name,
            name="r",
            features=features,
            mass=0.0,
            motion_mode=mode,
            initial_pose=start,
            max_linear_accel=0.8,
            max_angular_accel=1.7,
        )
    )
    radius, wheels = MODELS[name]
    robot.set_velocity(0.6, -0.4, wz=1.1)
    last = np.zeros(3)
    turns = dict.fromkeys((wheel[0] for wheel in wheels), 0.0)
    tell: Callable[[], complex] = lambda: complex(robot.velocity[0], robot.velocity[1])  # noqa: E731
    for _ in range(round(1.6 / dt)):
        sim.step_once()
        flat = tell() * np.exp(-1j * robot.get_pose().yaw)
        twist = np.array([flat.real, flat.imag, robot.angular_velocity])
        way = 0.5 * (twist + last) * dt
        state = robot.get_all_joints_state_by_name()
        for wheel, ahead, left, around in wheels:
            rolled = (way @ [ahead, left, around]) / radius
            turns[wheel] += rolled
            assert state[wheel][0] == pytest.approx(turns[wheel], abs=1e-9)
            assert state[wheel][1] == pytest.approx(rolled / dt, abs=1e-7)
        last = twist
