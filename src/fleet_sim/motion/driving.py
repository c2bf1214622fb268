"""The omnidirectional and the differential law, for one robot after the other: by machine code, or in Python.

An omnidirectional robot drives straight to its goal in any direction and turns on the way. A differential one turns
towards its waypoint, drives straight to it, and at the end turns to the final orientation.
"""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import NO_ROWS, Rows
from fleet_sim.config.modes import ControllerMode, MotionMode, MovementDirection, PosePhase
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import Quaternion, Vector, atan2, dot, heading, multiply, norm_of, sin_cos
from fleet_sim.motion.limits import any_way
from fleet_sim.motion.line import BROKEN, THERE, drive, turn_to, turn_to_rest
from fleet_sim.motion.path import prepare_path
from fleet_sim.motion.rows import (
    BodyArrays,
    Lists,
    MotionArrays,
    PathPoints,
    Steering,
    Twists,
    append,
    is_aligned,
    is_zero,
    law_columns,
    quaternion_of,
    vector_of,
)
from fleet_sim.motion.velocity import follow_velocity, move_by_twist

IDLE, VELOCITY = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code
ROTATE, FORWARD = PosePhase.ROTATE.code, PosePhase.FORWARD.code
BACKWARD, AUTO = MovementDirection.BACKWARD.code, MovementDirection.AUTO.code
OMNI, DIFFERENTIAL = 1, 2
"""The indices of these laws: `laws.py` registers them first."""
NO_LAW = 0

AHEAD = 1e-9
"""A waypoint less than this (rad) off the heading is straight ahead; nearer than this (m) it has no direction."""
_ENDED, _LEFT, _BROKEN = 0, 1, 2
_AT_REST = (0.0, 0.0, 0.0)


class OmnidirectionalLaw:
    """Drives and turns in any direction at the same time."""

    name = MotionMode.OMNIDIRECTIONAL.value

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        return advance(world, rows, dt, omni=_law_of(world, rows))[0]


class DifferentialLaw:
    """Drives along its heading and turns about its vertical axis."""

    name = MotionMode.DIFFERENTIAL.value

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        return follow_poses(world, rows, dt)


def follow_poses(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows`, all of one law, as a differential base; return those that arrived."""
    return advance(world, rows, dt, differential=_law_of(world, rows))[0]


def _law_of(world: World, rows: Rows) -> int:
    """Return the law of `rows`, which is that of each."""
    return int(world.motion.law[rows[0]]) if len(rows) else NO_LAW


def advance(
    world: World, rows: Rows, dt: float, *, omni: int = NO_LAW, differential: int = NO_LAW
) -> tuple[Rows, Rows]:
    """Move those of `rows` that may move and have one of the laws `omni` and `differential` by one step.

    Returns those at the ends of their paths, and those of another law, which are as they were.
    """
    arrays, lists = law_columns(world)
    limited = world.waypoints.limited
    if world.compiled:
        listed = advance_rows(rows, omni, differential, world.clock.tick, dt, limited, arrays, lists)
    else:
        each = rows.tolist()
        listed = advance_rows.in_python(each, omni, differential, world.clock.tick, dt, limited, arrays, lists)
    if not world.in_step and world.parts.bodies is not None:
        # Inside a step the engine's view is updated once, later.
        world.touch(rows[world.moved[rows]])
    if not listed:
        return NO_ROWS, NO_ROWS
    ended, left, broken = list(lists.counts)
    if broken:
        row = lists.broken[0]
        turn, spin = world.orientation[row].tolist(), world.angular_velocity[row].tolist()
        raise InvalidValueError(f"{world.label(row)} cannot turn: its orientation is {turn}, its spin {spin}")
    return np.array(lists.ended[:ended]), np.array(lists.left[:left])


@compiled_step
def advance_rows(
    rows: Rows,
    omni: int,
    differential: int,
    tick: int,
    dt: float,
    limited: bool,
    arrays: MotionArrays,
    lists: Lists,
) -> int:
    """Do what `advance` does, and list who ended, who is of another law, and whose numbers are none.

    Returns how many are listed. `limited` says whether lines may have limits of speed of their own.
    """
    bodies, steering, twists, points = arrays
    for which in range(3):
        lists.counts[which] = 0
    for row in rows:
        control, law = steering.control[row], steering.law[row]
        if control == IDLE or law == NO_LAW or not bodies.alive[row] or bodies.parent[row] >= 0:
            continue
        if law != omni and law != differential:
            append(lists.left, lists.counts, _LEFT, row)
            continue
        if control == VELOCITY:
            whole = follow_velocity(row, tick, law == omni, dt, bodies, steering, twists)
        elif law == omni:
            whole = _drive_omni(row, dt, limited, bodies, steering, twists, points, lists)
        else:
            whole = _drive_differential(row, dt, limited, bodies, steering, twists, points, lists)
        if not whole:
            append(lists.broken, lists.counts, _BROKEN, row)
    return int(lists.counts[_ENDED] + lists.counts[_LEFT] + lists.counts[_BROKEN])


@inlined
def _drive_omni(
    row: int,
    dt: float,
    limited: bool,
    bodies: BodyArrays,
    steering: Steering,
    twists: Twists,
    points: PathPoints,
    lists: Lists,
) -> bool:
    """Move a row one step along its path; returns False for numbers that are none or infinite.

    Where `align_final` is set, it turns to the last waypoint's orientation on the way to it; orientations of earlier
    waypoints are ignored. On arrival it has exactly the position and orientation of the goal.
    """
    goal = steering.path_start[row] + steering.path_length[row] - 1
    if steering.path_fresh[row]:
        _prepare(row, dt, True, limited, bodies, steering, twists, points)
        # A robot that still turns from before has to come to rest, whatever it heads for.
        spins = not is_zero(vector_of(bodies.angular_velocity, row))
        steering.turning[row] = spins or (steering.align_final[row] and not is_aligned(bodies, points, row, goal))
    last = steering.waypoint[row] == steering.path_length[row] - 1
    # Turned before it drives: `drive` expects the orientation of the end of the step.
    if steering.turning[row]:
        # Only robots that are slow enough on the last stretch aim at the orientation.
        if last and steering.align_final[row] and _is_slow(row, bodies, steering, twists):
            turned = turn_to(row, quaternion_of(points.orientation, goal), dt, bodies, steering, twists)
            if turned == THERE:
                steering.turning[row] = False
        else:
            turned = turn_to_rest(row, dt, bodies, steering, twists)
            # Without a wanted orientation it is done with that.
            if turned == THERE and not steering.align_final[row]:
                steering.turning[row] = False
        if turned == BROKEN:
            return False
    if drive(row, dt, limited, bodies, steering, twists, points):
        if not last:
            steering.waypoint[row] += 1
        elif not steering.turning[row]:
            # Who still turns stays at the goal and arrives when both are done.
            _end_or_turn(row, goal, bodies, steering, points, lists)
    return True


@inlined
def _drive_differential(
    row: int,
    dt: float,
    limited: bool,
    bodies: BodyArrays,
    steering: Steering,
    twists: Twists,
    points: PathPoints,
    lists: Lists,
) -> bool:
    """Move a row one step along its path; returns False for numbers that are none or infinite.

    Lines may climb. The heading is the yaw; roll and pitch do not change until the turn to the final orientation.
    On arrival it has exactly the position of the goal, and its orientation where `align_final` is set.
    """
    goal = steering.path_start[row] + steering.path_length[row] - 1
    if steering.path_fresh[row]:
        # It cannot change direction while driving, so it stops at every corner.
        _prepare(row, dt, False, limited, bodies, steering, twists, points)
        steering.turning[row] = False
        _begin_segment(row, bodies, steering, points)
    # Who ends one phase begins the next one in the next step.
    if steering.turning[row]:
        turned = turn_to(row, quaternion_of(points.orientation, goal), dt, bodies, steering, twists)
        if turned == THERE:
            steering.turning[row] = False
            append(lists.ended, lists.counts, _ENDED, row)
        return turned != BROKEN
    if steering.phase[row] != FORWARD:
        return _rotate(row, dt, bodies, steering, twists, points)
    if drive(row, dt, limited, bodies, steering, twists, points):
        if steering.waypoint[row] != steering.path_length[row] - 1:
            steering.waypoint[row] += 1
            _begin_segment(row, bodies, steering, points)
        else:
            _end_or_turn(row, goal, bodies, steering, points, lists)
    return True


@inlined
def _prepare(
    row: int,
    dt: float,
    cut_corners: bool,
    limited: bool,
    bodies: BodyArrays,
    steering: Steering,
    twists: Twists,
    points: PathPoints,
) -> None:
    """Set the pass speeds of a fresh path, from where the robot is."""
    steering.path_fresh[row] = False
    start, length = steering.path_start[row], steering.path_length[row]
    # A path of one waypoint has no corners.
    if length > 1:
        speed = any_way(steering.limits.linear_limit[row], vector_of(twists.linear_limits, row))
        accel = any_way(steering.limits.linear_accel[row], vector_of(twists.linear_accels, row))
        position, first, last = vector_of(bodies.position, row), start + steering.waypoint[row], start + length - 1
        headed = prepare_path(points, position, first, last, speed, accel, dt, cut_corners, limited)
        steering.waypoint[row] = headed - start


@inlined
def _is_slow(row: int, bodies: BodyArrays, steering: Steering, twists: Twists) -> bool:
    """Return whether a row may turn: with axis limits, only if it is slow enough for every orientation."""
    if not steering.limits.axis_limited[row]:
        return True
    velocity = vector_of(bodies.velocity, row)
    fastest = any_way(steering.limits.linear_limit[row], vector_of(twists.linear_limits, row)) * (1.0 + 1e-9)
    return dot(velocity, velocity) <= fastest * fastest


@inlined
def _end_or_turn(row: int, goal: int, bodies: BodyArrays, steering: Steering, points: PathPoints, lists: Lists) -> None:
    """Let a robot that came to its goal arrive, or begin to turn there."""
    # Compared bit for bit: a turn ends by writing the goal itself.
    if not steering.align_final[row] or is_aligned(bodies, points, row, goal):
        append(lists.ended, lists.counts, _ENDED, row)
    else:
        steering.turning[row] = True


@inlined
def _rotate(row: int, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists, points: PathPoints) -> bool:
    """Brake on the present course to a stop, then turn towards the waypoint; False for numbers that are none."""
    if not is_zero(vector_of(steering.body_linear, row)):
        if not move_by_twist(row, _AT_REST, _AT_REST, dt, bodies, steering, twists):
            return False
        if is_zero(vector_of(steering.body_linear, row)) and is_zero(vector_of(steering.body_angular, row)):
            # Forward or backward is chosen again, as braking moved it.
            _begin_segment(row, bodies, steering, points)
        return True
    present = quaternion_of(bodies.orientation, row)
    headed = steering.path_start[row] + steering.waypoint[row]
    error = _heading_error(
        vector_of(bodies.position, row),
        present,
        vector_of(points.position, headed),
        steering.reverse[row],
        _last_tolerance(row, steering),
    )
    sine, cosine = sin_cos(0.5 * error)
    # Turned about the vertical axis of the world: roll and pitch stay as they are.
    goal = multiply((0.0, 0.0, sine, cosine), present)
    norm = norm_of(goal)
    if norm != norm:
        return False
    goal = (goal[0] / norm, goal[1] / norm, goal[2] / norm, goal[3] / norm)
    turned = turn_to(row, goal, dt, bodies, steering, twists)
    if turned == THERE:
        steering.phase[row] = FORWARD
    return turned != BROKEN


@inlined
def _last_tolerance(row: int, steering: Steering) -> float:
    """Return how near to its waypoint a robot is at it: 0 but at the last one."""
    return steering.tolerance[row] if steering.waypoint[row] == steering.path_length[row] - 1 else 0.0


@inlined
def _begin_segment(row: int, bodies: BodyArrays, steering: Steering, points: PathPoints) -> None:
    """Choose forward or backward, and whether to turn before driving to the current waypoint."""
    steering.reverse[row], ahead = _choose_direction(
        vector_of(bodies.position, row),
        quaternion_of(bodies.orientation, row),
        vector_of(bodies.velocity, row),
        vector_of(bodies.angular_velocity, row),
        vector_of(points.position, steering.path_start[row] + steering.waypoint[row]),
        steering.direction[row],
        _last_tolerance(row, steering),
    )
    steering.phase[row] = FORWARD if ahead else ROTATE


@compiled_step
def _choose_direction(
    position: Vector,
    orientation: Quaternion,
    velocity: Vector,
    spin: Vector,
    goal: Vector,
    direction: int,
    tolerance: float,
) -> tuple[bool, bool]:
    """Return whether a robot goes backward to `goal`, and whether it may drive there without turning first."""
    reverse = direction == BACKWARD
    error = _heading_error(position, orientation, goal, reverse, tolerance)
    if direction == AUTO and abs(error) > 0.5 * math.pi:
        # Now the rear end leads, so the error is measured again.
        reverse = True
        error = _heading_error(position, orientation, goal, reverse, tolerance)
    # It is in line if it is at rest, or drives exactly towards its waypoint without turning.
    delta = (goal[0] - position[0], goal[1] - position[1], goal[2] - position[2])
    speed, distance = math.sqrt(dot(velocity, velocity)), math.sqrt(dot(delta, delta))
    # |v . d| = |v| |d| only where both are parallel.
    off_line = abs(dot(velocity, delta)) < speed * distance * (1.0 - 1e-12)
    return reverse, abs(error) <= AHEAD and is_zero(spin) and not off_line


@compiled_step
def _heading_error(position: Vector, orientation: Quaternion, goal: Vector, reverse: bool, tolerance: float) -> float:
    """Return the angle (rad) by which the leading end of a robot has to turn to point at `goal`."""
    x, y, z = goal[0] - position[0], goal[1] - position[1], goal[2] - position[2]
    flat = x * x + y * y
    # Above or below it, or as near as it was asked for: there is no need to turn.
    if flat <= AHEAD * AHEAD or (tolerance != 0.0 and flat + z * z <= tolerance * tolerance):
        return 0.0
    # The leading end is the rear if it drives backward.
    sign = -1.0 if reverse else 1.0
    sine, cosine = sin_cos(heading(orientation))
    sine, cosine = sine * sign, cosine * sign
    return float(atan2(cosine * y - sine * x, cosine * x + sine * y))
