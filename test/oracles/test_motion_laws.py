"""Robots that drive to goals, along paths and by commands, against the definition of their laws.

Within a step the velocity changes evenly, by the limit of acceleration at most, so a step moves a robot by the mean of
its velocities before and after times dt. Only the last step of a stretch may speed up and brake within itself.
"""

from __future__ import annotations

import math

import driven
import numpy as np
import pytest
from driven import FORMS, Run, goals, limits, turned
from oracle_rows import holds


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.position", "api:Agent.velocity", "api:Agent.angular_velocity", "api:Agent.set_goal_pose",
    fault="robots/motion/path.py: can_stop allows a ball of 0.5 a dt^2 instead of 0.25",
)  # fmt: skip
def test_an_omnidirectional_robot_drives_and_turns_by_trapezoids(form: driven.Form) -> None:
    run = Run(form, "omnidirectional", limits)
    wanted = goals(run, 1)
    for robot, goal in zip(run.robots, wanted, strict=True):
        robot.set_goal_pose(goal)
    run.until_all_stand()
    for index, goal in enumerate(wanted):
        own = limits(index)
        move = run.of(index)
        driven.check_line(move, np.array(goal.position), own["max_linear_vel"], own["max_linear_accel"], form.dt)
        turn = move.turning()
        driven.check_line(turn, turn.way_to(goal), own["max_angular_vel"], own["max_angular_accel"], form.dt)
        assert tuple(move.positions[-1]) == tuple(goal.position)
        assert tuple(move.orientations[-1]) == tuple(goal.orientation)


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.set_path", "api:Agent.angular_velocity",
    fault="robots/motion/driving.py: a robot that turns to rest turns by 0.51 (w + w') dt",
)  # fmt: skip
def test_a_new_goal_in_motion_keeps_the_limits_and_every_step_is_the_mean_of_its_velocities(form: driven.Form) -> None:
    run = Run(form, "omnidirectional", limits)
    for index, robot in enumerate(run.robots):
        robot.set_velocity(0.4, -0.3 + 0.02 * index, 0.0, wz=0.9 - 0.03 * index)
    run.steps(round(0.7 / form.dt))
    for goal, robot in zip(goals(run, 2, 1.5), run.robots, strict=True):
        robot.set_path([goal], final_orientation_align=False)
    run.steps(round(0.9 / form.dt))
    last = goals(run, 3, 1.5)
    for index, (goal, robot) in enumerate(zip(last, run.robots, strict=True)):
        robot.set_path([goal], final_orientation_align=index % 2 == 0)
    run.until_all_stand()
    for index, goal in enumerate(last):
        own, move = limits(index), run.of(index)
        turn = move.turning()
        # The first part is by command: there it turns while it drives, so that a step is an arc.
        since = round(0.7 / form.dt)
        driven.check_step(move.since(since), own["max_linear_accel"], form.dt, own["max_linear_vel"])
        driven.check_step(turn, own["max_angular_accel"], form.dt, own["max_angular_vel"])
        assert tuple(move.positions[-1]) == tuple(goal.position)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("direction", ["forward", "backward", "auto"])
@holds(
    "api:Agent.set_goal_pose", "api:Agent.orientation",
    fault="robots/motion/driving.py: a robot that leads with its rear turns its front to the goal",
)  # fmt: skip
def test_a_differential_robot_turns_drives_and_turns(form: driven.Form, direction: str) -> None:
    run = Run(form, "differential", limits)
    wanted = goals(run, 4, climb=0.0)
    for robot, goal in zip(run.robots, wanted, strict=True):
        robot.set_goal_pose(goal, direction=direction)
    run.until_all_stand()
    for index, goal in enumerate(wanted):
        own, move, start = limits(index), run.of(index), run.starts[index]
        delta = np.array(goal.position) - start.position
        course = math.atan2(delta[1], delta[0])
        lead = turned(course - start.yaw)
        reverse = direction == "backward" or (direction == "auto" and abs(lead) > 0.5 * math.pi)
        heading = turned(course + math.pi) if reverse else course
        driving = np.flatnonzero(np.linalg.norm(np.diff(move.positions, axis=0), axis=1))
        first, last = driving[0], driving[-1] + 1
        turn = (own["max_angular_vel"], own["max_angular_accel"], form.dt)
        # Before and after it drives, it stands and turns, the shorter way.
        driven.check_line(move.part(0, first).turning(), np.array([0.0, 0.0, turned(heading - start.yaw)]), *turn)
        driven.check_line(
            move.part(first, last), np.array(goal.position), own["max_linear_vel"], own["max_linear_accel"], form.dt
        )
        after = move.part(last, len(move.positions) - 1).turning()
        driven.check_line(after, np.array([0.0, 0.0, turned(goal.yaw - heading)]), *turn)
        yaws = move.yaws()[first : last + 1]
        assert np.abs(turned(yaws - heading)).max() < 1e-9
        assert tuple(move.orientations[-1]) == tuple(goal.orientation)


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.set_velocity", "api:Agent.velocity", "api:Agent.position",
    fault=(
        "robots/motion/driving.py: the change of a velocity is cut on "
        "each axis, so that it bends"
    ),
)  # fmt: skip
def test_a_commanded_velocity_is_reached_straight_and_left_at_its_timeout(form: driven.Form) -> None:
    run = Run(form, "omnidirectional", limits)
    commands = [np.array([0.9 - 0.06 * index, -0.35 + 0.05 * index, 0.6 - 0.05 * index]) for index in range(form.count)]
    for robot, (vx, vy, wz) in zip(run.robots, commands, strict=True):
        robot.set_velocity(vx, vy, wz=wz, timeout=2.0)
    run.steps(round(2.0 / form.dt))
    reached = len(run.states) - 1
    run.until_all_stand()
    for index, command in enumerate(commands):
        own, move = limits(index), run.of(index)
        body, spins = move.body_velocities()[:, :2], move.spins[:, 2]
        for way, values, most, accel in (
            (command[:2], body, own["max_linear_vel"], own["max_linear_accel"]),
            (command[2:], spins[:, None], own["max_angular_vel"], own["max_angular_accel"]),
        ):
            # A limit that is one number is one on the length: it keeps the direction.
            size = np.linalg.norm(way)
            top = min(size, most)
            ideal = np.minimum(accel * form.dt * np.arange(reached + 1), top)
            after = np.maximum(ideal[-1] - accel * form.dt * np.arange(1, len(values) - reached), 0.0)
            expected = np.concatenate((ideal, after))[:, None] * (way / size)
            assert np.abs(values - expected).max() < 1e-9
        driven.check_arcs(move, form.dt)


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.set_velocity", "api:Agent.max_linear_vel",
    fault="robots/motion/rows.py: the limit of an axis counts in one direction only",
)  # fmt: skip
def test_limits_per_axis_are_kept_by_each_axis_for_itself(form: driven.Form) -> None:
    own = {
        "max_linear_vel": [0.9, 0.4, 0.3], "max_linear_accel": [0.8, 0.5, 0.7],
        "max_angular_vel": [0.3, 0.2, 0.6], "max_angular_accel": [0.6, 0.5, 1.1],
    }  # fmt: skip
    run = Run(form, "omnidirectional", lambda index: own)
    command = np.array([-1.3, 0.7, 0.2, 0.0, 0.0, -0.9])
    for robot in run.robots:
        robot.set_velocity(*command)
    run.steps(round(2.5 / form.dt))
    times = form.dt * np.arange(len(run.states))
    for index in range(form.count):
        move = run.of(index)
        twist = np.concatenate((move.body_velocities(), move.spins), axis=1)
        most = np.array(own["max_linear_vel"] + own["max_angular_vel"])
        accel = np.array(own["max_linear_accel"] + own["max_angular_accel"])
        ideal = np.minimum(np.minimum(np.abs(command), most), accel * times[:, None]) * np.sign(command)
        assert np.abs(twist - ideal).max() < 1e-9
        driven.check_arcs(move, form.dt)


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.set_velocity", "api:Agent.position",
    fault="robots/motion/driving.py: a step of an arc is its chord without (1 - cos) / a^2",
)  # fmt: skip
def test_a_differential_robot_drives_arcs_and_never_slips(form: driven.Form) -> None:
    run = Run(form, "differential", limits)
    for index, robot in enumerate(run.robots):
        # What a base of this kind cannot do is left out.
        robot.set_velocity(0.5 - 0.04 * index, 0.3, wz=-0.8 + 0.06 * index, timeout=0.0)
    run.steps(round(1.6 / form.dt))
    for index in range(form.count):
        own, move = limits(index), run.of(index)
        body = move.body_velocities()
        assert np.abs(body[:, 1:]).max() < 1e-12
        for wanted, values, most, accel in (
            (0.5 - 0.04 * index, body[:, 0], own["max_linear_vel"], own["max_linear_accel"]),
            (-0.8 + 0.06 * index, move.spins[:, 2], own["max_angular_vel"], own["max_angular_accel"]),
        ):
            ideal = np.minimum(accel * form.dt * np.arange(len(values)), min(abs(wanted), most)) * np.sign(wanted)
            assert np.abs(values - ideal).max() < 1e-9
        driven.check_arcs(move, form.dt)


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.set_path", "api:Agent.max_linear_accel",
    fault="robots/motion/rows.py: along a slanted direction the limit of an axis is multiplied by its share of it",
)  # fmt: skip
def test_limits_per_axis_give_those_of_a_direction(form: driven.Form) -> None:
    most, accel = np.array([0.9, 0.4, 0.3]), np.array([0.8, 0.5, 0.7])
    run = Run(form, "omnidirectional", lambda index: {"max_linear_vel": [*most], "max_linear_accel": [*accel]})
    wanted = goals(run, 5)
    for robot, goal in zip(run.robots, wanted, strict=True):
        robot.set_path([goal], final_orientation_align=False)
    run.until_all_stand()
    for index, (start, goal) in enumerate(zip(run.starts, wanted, strict=True)):
        way = np.array(goal.position) - start.position
        flat = (way[0] + 1j * way[1]) * np.exp(-1j * start.yaw)
        share = np.abs([flat.real, flat.imag, way[2]]) / np.linalg.norm(way)
        top, rate = (most / share).min(), (accel / share).min()
        driven.check_line(run.of(index), np.array(goal.position), top, rate, form.dt)


def test_stop_stops_at_once() -> None:
    run = Run(FORMS[0], "omnidirectional", limits)
    run.robots[0].set_velocity(0.3, 0.2, wz=0.4)
    run.steps(9)
    run.robots[0].stop()
    before = run.robots[0].get_pose()
    run.steps(3)
    assert run.robots[0].get_pose() == before and not run.robots[0].velocity.any()
