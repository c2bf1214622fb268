"""The omnidirectional and the differential law as one pass over all rows, with the bits of the laws on arrays.

Rows that are not of the usual kind stay as they were, and are listed for the laws on arrays. Other lists say who came
to the end of its path, and who goes on to another waypoint.
"""

from __future__ import annotations

from fleet_sim.arrays import Rows
from fleet_sim.config.modes import ControllerMode, PosePhase
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import Quaternion, Vector, atan2, heading, multiply, norm_of, sin_cos
from fleet_sim.motion.compiled_line import plan_line, plan_turn, write_line, write_turn
from fleet_sim.motion.compiled_rows import (
    LEFT,
    THERE,
    BodyArrays,
    Lists,
    MotionArrays,
    PathPoints,
    Steering,
    is_aligned,
    quaternion_of,
    vector_of,
)
from fleet_sim.motion.compiled_velocity import follow_velocity
from fleet_sim.motion.differential import AHEAD

_IDLE, _VELOCITY = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code
_FORWARD = PosePhase.FORWARD.code
_ENDED, _LEFT, _ONWARD = 0, 1, 2


@compiled_step
def advance_rows(
    omni: int,
    differential: int,
    tick: int,
    dt: float,
    limited: bool,
    arrays: MotionArrays,
    lists: Lists,
) -> int:
    """Move all rows that may move by one step, and list those that are not done with it; return how many are listed.

    `omni` and `differential` are the indices of these laws. Rows of another law, and those that need more than the
    usual, are in `lists.left` and as they were.
    """
    bodies, steering, twists, points = arrays
    lists.counts[:] = 0
    for row in range(len(steering.control)):
        control = steering.control[row]
        if control == _IDLE or not bodies.alive[row] or bodies.parent[row] >= 0:
            continue
        law = steering.law[row]
        if law == 0:
            continue
        if control == _VELOCITY and (law in (omni, differential)):
            done = follow_velocity(row, tick, law == omni, dt, bodies, steering, twists)
        elif steering.path_fresh[row]:
            done = False
        elif law == omni:
            done = _drive_omni(row, dt, limited, bodies, steering, points, lists)
        elif law == differential:
            done = _drive_differential(row, dt, limited, bodies, steering, points, lists)
        else:
            done = False
        if not done:
            _list(lists.left, lists, _LEFT, row)
    return int(lists.counts[0] + lists.counts[1] + lists.counts[2])


@inlined
def _list(where: Rows, lists: Lists, which: int, row: int) -> None:
    where[lists.counts[which]] = row
    lists.counts[which] += 1


@inlined
def _drive_omni(
    row: int, dt: float, limited: bool, bodies: BodyArrays, steering: Steering, points: PathPoints, lists: Lists
) -> bool:
    """Do what `omni.follow_poses` does; return False, with the row as it was, where this is not for compiled code."""
    state, position, velocity, moves = plan_line(row, dt, bodies, steering, points, limited)
    if state == LEFT:
        return False
    last = steering.waypoint[row] == steering.path_length[row] - 1
    goal = steering.path_start[row] + steering.path_length[row] - 1
    if steering.turning[row]:
        if not (last and steering.align_final[row]):
            return False
        turned, orientation, spin = _turn(row, quaternion_of(points.orientation, goal), dt, bodies, steering)
        if turned == LEFT:
            return False
        write_turn(row, orientation, spin, bodies, steering)
        steering.turning[row] = turned != THERE
    write_line(row, position, velocity, moves, bodies, steering)
    if state == THERE:
        if not last:
            steering.waypoint[row] += 1
        elif not steering.turning[row]:
            # Who still turns stays at the goal and arrives when both are done.
            _end_or_turn(row, goal, bodies, steering, points, lists)
    return True


@inlined
def _drive_differential(
    row: int, dt: float, limited: bool, bodies: BodyArrays, steering: Steering, points: PathPoints, lists: Lists
) -> bool:
    """Do what `differential.follow_poses` does; return False, with the row as it was, where it is not for this."""
    goal = steering.path_start[row] + steering.path_length[row] - 1
    if steering.turning[row]:
        turned, orientation, spin = _turn(row, quaternion_of(points.orientation, goal), dt, bodies, steering)
        if turned == LEFT:
            return False
        write_turn(row, orientation, spin, bodies, steering)
        if turned == THERE:
            steering.turning[row] = False
            _list(lists.ended, lists, _ENDED, row)
        return True
    # A robot that is not driving forward yet stands, and turns to its waypoint.
    if steering.phase[row] != _FORWARD:
        return bool(_rotate(row, dt, bodies, steering, points))
    state, position, velocity, moves = plan_line(row, dt, bodies, steering, points, limited)
    if state == LEFT:
        return False
    write_line(row, position, velocity, moves, bodies, steering)
    if state == THERE:
        if steering.waypoint[row] != steering.path_length[row] - 1:
            steering.waypoint[row] += 1
            _list(lists.onward, lists, _ONWARD, row)
        else:
            _end_or_turn(row, goal, bodies, steering, points, lists)
    return True


@inlined
def _end_or_turn(row: int, goal: int, bodies: BodyArrays, steering: Steering, points: PathPoints, lists: Lists) -> None:
    """Let a robot that came to its goal arrive, or begin to turn there."""
    if not steering.align_final[row] or is_aligned(bodies, points, row, goal):
        _list(lists.ended, lists, _ENDED, row)
    else:
        steering.turning[row] = True


@inlined
def _turn(
    row: int, goal: Quaternion, dt: float, bodies: BodyArrays, steering: Steering
) -> tuple[int, Quaternion, Vector]:
    present, spin = quaternion_of(bodies.orientation, row), vector_of(bodies.angular_velocity, row)
    if steering.limits.axis_limited[row]:
        return LEFT, present, spin
    return plan_turn(present, spin, goal, steering.limits.angular_limit[row], steering.limits.angular_accel[row], dt)


@inlined
def _rotate(row: int, dt: float, bodies: BodyArrays, steering: Steering, points: PathPoints) -> bool:
    """Do what `differential._rotate` does with a robot that has stopped; return False where it has not."""
    for axis in range(3):
        if steering.body_linear[row, axis] != 0.0:
            return False
    present = quaternion_of(bodies.orientation, row)
    # Half the angle, about the vertical axis of the world.
    sine, cosine = sin_cos(0.5 * _heading_error(row, present, bodies, steering, points))
    turned = multiply((0.0, 0.0, sine, cosine), present)
    norm = norm_of(turned)
    if norm != norm:
        # No number: the law on arrays has to deal with it.
        return False
    goal = (turned[0] / norm, turned[1] / norm, turned[2] / norm, turned[3] / norm)
    state, orientation, spin = _turn(row, goal, dt, bodies, steering)
    if state == LEFT:
        return False
    write_turn(row, orientation, spin, bodies, steering)
    if state == THERE:
        steering.phase[row] = _FORWARD
    return True


@inlined
def _heading_error(row: int, present: Quaternion, bodies: BodyArrays, steering: Steering, points: PathPoints) -> float:
    """Return the angle by which the leading end has to turn to point at the current waypoint."""
    headed = steering.path_start[row] + steering.waypoint[row]
    x = points.position[headed, 0] - bodies.position[row, 0]
    y = points.position[headed, 1] - bodies.position[row, 1]
    z = points.position[headed, 2] - bodies.position[row, 2]
    flat, tolerance = x * x + y * y, steering.tolerance[row]
    last = steering.waypoint[row] == steering.path_length[row] - 1
    # Above or below the robot, or near enough: there is no direction to turn to.
    if flat <= AHEAD * AHEAD or (tolerance != 0.0 and last and flat + z * z <= tolerance * tolerance):
        return 0.0
    # The leading end is the rear if it drives backward.
    sign = -1.0 if steering.reverse[row] else 1.0
    sine, cosine = sin_cos(heading(present))
    sine, cosine = sine * sign, cosine * sign
    return float(atan2(cosine * y - sine * x, cosine * x + sine * y))
