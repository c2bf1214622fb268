"""One step of a robot, piece by piece, against what the step has to be: found by search, by matrices, or by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import driven
import numpy as np
import pytest
from driven import YAW, Run
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.robots.motion import driving as line
from fleet_sim.robots.motion import driving as velocity
from fleet_sim.robots.motion import path
from fleet_sim.robots.motion import path as profile
from fleet_sim.robots.motion import rows as limits
from fleet_sim.robots.motion.rows import PathPoints

RNG = np.random.default_rng
DT = 0.13


def most(allowed: Callable[[float], bool], top: float) -> float:
    """The largest number up to `top` that is allowed, where all below it are."""
    low = 0.0
    for _ in range(80):
        middle = 0.5 * (low + top)
        low, top = (middle, top) if allowed(middle) else (low, middle)
    return low


def random_turn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A quaternion and its matrix."""
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    cross = np.array([[0, -q[2], q[1]], [q[2], 0, -q[0]], [-q[1], q[0], 0]])
    return q, np.eye(3) + 2.0 * q[3] * cross + 2.0 * cross @ cross


def fastest(speed: float, way: float, leaving: float, slowing: float, dt: float) -> float:
    """The fastest speed after a step from which the rest of the way brakes to the speed `leaving`."""

    def allowed(after: float) -> bool:
        left = way - 0.5 * (speed + after) * dt
        return left >= 0.0 and after * after - leaving * leaving <= 2.0 * slowing * left

    return most(allowed, 5.0)


def test_the_next_speed_is_the_fastest_from_which_the_rest_of_the_way_brakes_to_the_exit() -> None:
    rng = RNG(1)
    for _ in range(200):
        speed, limit, accel, dt = rng.uniform((-0.4, 0.9, 0.3, 0.01), (0.8, 1.4, 3.0, 0.4))
        way, leaving, share = rng.uniform((0.0, 0.0, 0.4), (1.5, 0.6, 1.0))
        best = min(fastest(speed, way, leaving, share * accel, dt), limit)
        best = max(min(best, speed + accel * dt), speed - accel * dt)
        found = profile.next_speed.in_python(speed, way, leaving, limit, accel, dt, share)
        # Where the way is too short for the exit speed, it only has to be no faster than that.
        if way > 0.5 * (speed + leaving) * dt:
            assert found == pytest.approx(best, abs=1e-9)
    one = np.array([0.3, -0.2]), np.array([0.7, 0.4]), np.array([0.5, 0.6]), np.array([1.1, 0.9])
    alone = [profile.next_speed.in_python(v, s, 0.0, top, a, DT, 1.0) for v, s, top, a in zip(*one, strict=True)]
    assert profile.next_speeds(one[0], one[1], 0.0, one[2], one[3], DT).tolist() == alone


def test_it_stops_within_a_step_where_speeding_up_and_braking_can() -> None:
    for accel, share, over in (
        (1.7, 0.3, 1.02),
        (0.9, -0.6, 1.02),
        (2.3, 0.9, 1.02),
        (1.7, 0.3, 0.98),
        (0.8, 0.5, 0.98),
    ):
        v = share * accel * DT
        # The farthest: up to the speed p, then down, with p - v + p = a dt.
        peak = 0.5 * (accel * DT + v)
        farthest = (2.0 * peak * peak - v * v) / (2.0 * accel)
        way = 0.5 * v * DT + over * (farthest - 0.5 * v * DT)
        turn = np.array([0.48, -0.6, 0.64])
        assert profile.can_stop.in_python(tuple(way * turn), tuple(v * turn), accel, DT) == (over < 1.0)
    assert not profile.can_stop.in_python((0.0, 0.0, 0.0), (0.0, 1.1 * DT, 0.0), 1.0, DT)
    assert profile.stopping_reach.in_python(0.7, 1.3, 0.2) == pytest.approx(0.5 * 1.3 * 0.04, rel=1e-6)
    assert profile.stopping_reach.in_python(0.1, 1.3, 0.2) == pytest.approx(0.1 * 0.2, rel=1e-6)


def test_a_step_towards_a_target_brakes_what_goes_across_within_the_limit() -> None:
    rng = RNG(2)
    for _ in range(50):
        ahead, v, (speed, accel) = rng.normal(size=3), rng.normal(size=3), rng.uniform(0.2, 9.0, 2)
        ahead /= np.linalg.norm(ahead)
        found = np.array(profile.approach.in_python(tuple(ahead), tuple(v), speed, accel, DT))
        change = speed * ahead - v
        change *= min(1.0, accel * DT / np.linalg.norm(change))
        assert found == pytest.approx(np.concatenate((v + change, (v + 0.5 * change) * DT)), abs=1e-9)


def test_limits_of_axes_hold_along_a_direction_and_in_every_way() -> None:
    rng = RNG(3)
    for _ in range(50):
        axes, norm, way = rng.uniform(0.2, 2.0, 3), rng.uniform(0.3, 2.5), rng.normal(size=3)
        way /= np.linalg.norm(way)
        best = most(lambda size: size <= norm and bool((size * abs(way) <= axes).all()), 9.0)  # noqa: B023
        assert limits.along.in_python(norm, tuple(axes), tuple(way)) == pytest.approx(best)
        assert limits.any_way.in_python(norm, tuple(axes)) == min(norm, *axes)
        vector = rng.normal(size=3) * 2.0
        cut = np.clip(vector * min(1.0, norm / np.linalg.norm(vector)), -axes, axes)
        assert limits.clipped.in_python(tuple(vector), norm, tuple(axes)) == pytest.approx(tuple(cut))
        q, matrix = random_turn(rng)
        before, after = rng.normal(size=(2, 3)) * 0.2
        allowed = matrix.T @ (after - before)
        allowed = np.clip(allowed * min(1.0, norm * DT / np.linalg.norm(allowed)), -axes * DT, axes * DT)
        found = limits.within_axis_accels.in_python(tuple(q), tuple(before), tuple(after), norm, tuple(axes), DT)
        assert found == pytest.approx(tuple(before + matrix @ allowed), abs=1e-8)
    # An axis that cannot move holds nobody up, and one that is not used does not count.
    assert limits.any_way.in_python(1.3, (0.9, 0.0, 1.1)) == 0.9
    assert limits.along.in_python(1.3, (0.9, 0.0, 1.1), (1.0, 1e-10, 0.0)) == 0.9


def waypoints(spots: np.ndarray, speed_limits: np.ndarray) -> PathPoints:
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (len(spots), 1))
    return PathPoints(spots, turns, speed_limits, np.zeros(len(spots)), np.ones(len(spots)))


@holds("api:Agent.set_path", fault="robots/motion/path.py: corners may use all of the acceleration, not half of it")
def test_waypoints_are_passed_as_fast_as_the_corner_and_the_way_after_it_allow() -> None:
    rng = RNG(4)
    for cut, limited in ((True, False), (True, True), (False, True)):
        spots = np.cumsum(rng.uniform(-0.7, 0.9, (9, 3)), axis=0) + 5.0
        # Three on one line; two at one place; a short leg between two corners; the first is where the robot is.
        spots[4], spots[6], spots[8] = 0.4 * spots[3] + 0.6 * spots[5], spots[5], spots[7] + [0.004, -0.003, 0.001]
        start, (speed, accel) = spots[1].copy(), (1.1, 0.8)
        tops = rng.uniform(0.1, 0.9, 9)
        points = waypoints(spots, tops)
        headed = path.prepare_path.in_python(points, tuple(start), 1, 8, speed, accel, DT, cut, limited)
        assert headed == 2
        pass_speed, share = points.pass_speed, points.braking
        assert (pass_speed[8], share[8]) == (0.0, 1.0)
        legs = np.diff(np.concatenate((start[None], spots[2:])), axis=0)
        lengths = np.linalg.norm(legs, axis=1)
        for at in range(2, 8):
            here, onward = legs[at - 2], legs[at - 1]
            long, after = lengths[at - 2], lengths[at - 1]
            if at == 5:
                # The one after it is at the same place: the corner is with the leg behind that.
                onward, after = legs[5], lengths[5]
            cap = min(speed, tops[at], tops[at + 1]) if limited else speed
            corner = at not in (4, 6)
            if corner:
                chord = float(np.linalg.norm(here / long - onward / after))
                single = 0.5 * accel * DT / chord
                if min(long, after) < (single + accel * DT) * DT:
                    single = min(0.5 * single, math.sqrt(0.5 * single * min(long, after) / DT))
                cap = min(cap, single) if cut else 0.0
            # Half of the acceleration is for the corner; where none is cut, all of it brakes.
            part = 0.5 if corner else share[at + 1]
            reach = math.sqrt(pass_speed[at + 1] ** 2 + 2.0 * accel * part * lengths[at - 1])
            wanted = min(cap, reach)
            if at == 6:
                wanted = min(wanted, pass_speed[5])
            assert pass_speed[at] == pytest.approx(wanted, abs=1e-12), (cut, at)
            if corner:
                assert share[at] == (0.5 if cut else 1.0)
            else:
                assert share[at] == share[at + 1]


def test_a_step_passes_waypoints_as_far_as_its_speeds_take_it() -> None:
    spots = np.array([[0.0, 0.0, 0.0], [0.03, 0.0, 0.0], [0.03, 0.02, 0.0], [0.0, 0.02, 0.05], [9.0, 1.0, 0.0]])
    points = waypoints(spots, np.full(5, np.inf))
    points.pass_speed[:4], points.braking[:4] = (0.71, 0.66, 0.61, 0.57), 0.5
    passed, at, moves = path.cross.in_python(points, 1, 4, (-0.01, 0.0, 0.0), (1.0, 0.0, 0.0), 0.04, 0.7, 1.2, 0.9, DT)
    way = spots[3] - spots[2]
    length = float(np.linalg.norm(way))

    # It leaves each no faster than it may be passed, can still brake for the next one, and goes on by half of both
    # speeds times the step.
    speed = min(0.61, fastest(0.7, 0.04 + 0.02 + length, 0.57, 0.5 * 0.9, DT))
    left = 0.5 * (0.7 + speed) * DT - 0.04 - 0.02
    assert passed == 2 and 0.57 < speed < 0.61
    assert np.array(at) == pytest.approx(spots[2] + way / length * left)
    assert np.array(moves) == pytest.approx(way / length * speed)


def test_a_twist_moves_along_a_helix() -> None:
    for turn in ((0.4, -0.7, 1.1), (0.006, 0.007, -0.003)):
        shift = np.array([0.3, -0.2, 0.5])
        angle = float(np.linalg.norm(turn))
        axis = np.array(turn) / angle
        # The way is the mean of the shift, turned from 0 to the whole turn: Simpson's rule, with many parts.
        shares = np.linspace(0.0, 1.0, 2001)[:, None] * angle
        along = axis * (axis @ shift)
        turned = along + np.cos(shares) * (shift - along) + np.sin(shares) * np.cross(axis, shift)
        weights = np.ones(2001)
        weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
        mean = (weights[:, None] * turned).sum(axis=0) / 6000.0
        assert velocity.helix.in_python(turn, tuple(shift)) == pytest.approx(tuple(mean), rel=0.0, abs=2e-14)


def test_a_turn_brakes_to_rest_along_its_axis() -> None:
    rng = RNG(6)
    q, matrix = random_turn(rng)
    spin, accels = rng.normal(size=3), np.array([0.7, 2.1, 1.3])
    axis = spin / np.linalg.norm(spin)
    for limited in (False, True):
        accel = min(3.1, *(accels / abs(matrix.T @ axis))) if limited else 3.1
        state, turned, after = line.brake_turn.in_python(tuple(q), tuple(spin), limited, 3.1, tuple(accels), DT)
        left = np.linalg.norm(spin) - accel * DT
        assert (state, after) == (line.GOING, pytest.approx(tuple(axis * left)))
        angle = 0.5 * (np.linalg.norm(spin) + left) * DT
        half = np.concatenate((axis * math.sin(angle / 2), [math.cos(angle / 2)]))
        vector = half[3] * q[:3] + q[3] * half[:3] + np.cross(half[:3], q[:3])
        assert turned == pytest.approx((*vector, half[3] * q[3] - half[:3] @ q[:3]))
    assert line.brake_turn.in_python(tuple(q), (0.0, 0.0, 3.0 * DT), False, 3.1, (9.0,) * 3, DT)[0] == line.THERE


@pytest.mark.parametrize("mode", ["omnidirectional", "differential"])
def test_who_is_at_its_goal_already_arrives_where_it_is(mode: str) -> None:
    run = Run(driven.Form(2, "never", 0.05), mode, driven.limits)
    near, here = run.robots
    goal = np.array(run.starts[0].position) + [0.05, 0.02, 0.0]
    near.add_action(fs.MoveTo(fs.Pose.from_yaw(*goal, YAW), tolerance=0.1, final_orientation_align=False))
    here.set_path([run.starts[1]] * 3, final_orientation_align=False)
    run.steps(3)
    assert not near.is_moving and not here.is_moving
    assert [tuple(robot.get_pose().position) for robot in run.robots] == [tuple(s.position) for s in run.starts]


@holds("api:Agent.velocity", fault="robots/motion/rows.py: the weakest axis does not count while a robot turns")
def test_a_robot_that_turns_as_it_drives_keeps_to_its_weakest_axis() -> None:
    own = {"max_linear_vel": [1.4, 0.5, 0.8], "max_linear_accel": [2.0, 1.1, 1.6], "max_angular_vel": 1.1}
    run = Run(driven.Form(3, "never", 0.05), "omnidirectional", lambda index: {**own, "max_angular_accel": 1.9})
    for robot, start in zip(run.robots, run.starts, strict=True):
        ahead = np.array(start.position) + 6.0 * np.array([math.cos(start.yaw), math.sin(start.yaw), 0.0])
        robot.set_goal_pose(fs.Pose.from_yaw(*ahead, start.yaw + 2.2))
    run.until_all_stand()
    for index in range(3):
        move = run.of(index)
        speeds, spins = np.linalg.norm(move.velocities, axis=1), np.abs(move.spins[:, 2])
        turns = (spins[:-1] > 0.0) & (spins[1:] > 0.0)
        assert speeds[1:][turns].max() == pytest.approx(0.5)
        # Turned, it drives with what its axes allow that way.
        assert speeds.max() == pytest.approx(min(1.4 / abs(math.cos(2.2)), 0.5 / abs(math.sin(2.2))))
        inside = move.body_velocities()
        assert (np.abs(inside) <= np.array(own["max_linear_vel"]) + 1e-9).all()
