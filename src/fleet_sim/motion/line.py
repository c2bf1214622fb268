"""Driving along straight lines from waypoint to waypoint, and turning towards an orientation, one robot at a time.

Both are the same motion, of a point in space and of a rotation vector: towards a target with a trapezoid of speed.
"""

from __future__ import annotations

import math

from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import (
    Quaternion,
    Vector,
    dot,
    from_rotation_vector,
    multiply,
    norm_of,
    to_body,
    to_rotation_vector,
)
from fleet_sim.motion.limits import along as limit_along
from fleet_sim.motion.limits import any_way, limits_along, within_axis_accels
from fleet_sim.motion.path import TOUCH, cross
from fleet_sim.motion.profile import TINY, approach, can_stop, next_speed, stopping_reach
from fleet_sim.motion.rows import (
    BodyArrays,
    PathPoints,
    Steering,
    Twists,
    quaternion_of,
    touch,
    vector_of,
    write_quaternion,
    write_vector,
)

BROKEN, GOING, THERE = -1, 0, 1
"""What becomes of a turn: none, as its numbers are none or infinite; it goes on; it is at its end."""
_STILL = (0.0, 0.0, 0.0)


@inlined
def drive(
    row: int, dt: float, limited: bool, bodies: BodyArrays, steering: Steering, twists: Twists, points: PathPoints
) -> bool:
    """Move a row one step towards its current waypoint; return whether it stopped there.

    A robot at rest has exactly the waypoint's position, or, with a tolerance, is that near to its last one: at the near
    side, unless it was nearer already or cannot brake so early. Waypoints with a pass speed are driven through, the
    rest of the step on the next segment. The row has its orientation of the step's end already.
    """
    headed = steering.path_start[row] + steering.waypoint[row]
    last = steering.path_start[row] + steering.path_length[row] - 1
    position, velocity = vector_of(bodies.position, row), vector_of(bodies.velocity, row)
    goal = vector_of(points.position, headed)
    delta = (goal[0] - position[0], goal[1] - position[1], goal[2] - position[2])
    tolerance = steering.tolerance[row]
    tolerant = tolerance > 0.0 and headed == last
    if tolerant:
        length = math.sqrt(dot(delta, delta))
        # To the nearest point of the disc of the tolerance, a hair within it, so that rounding leaves nobody outside.
        share = 1.0 - tolerance * (1.0 - 1e-9) / (length if length > TINY else TINY)
        share = share if share > 0.0 else 0.0
        delta = (delta[0] * share, delta[1] * share, delta[2] * share)
    distance = math.sqrt(dot(delta, delta))
    least = distance if distance > TINY else TINY
    direction = (delta[0] / least, delta[1] / least, delta[2] / least)
    limit, accel = limits_along(row, direction, bodies, steering, twists)
    if limited and points.speed_limit[headed] < limit:
        limit = points.speed_limit[headed]
    exit_speed, braking = points.pass_speed[headed], points.braking[headed]
    along, square = dot(velocity, direction), dot(velocity, velocity)
    # Off its segment by more than a thousandth, or on the way back: it has to join it first, so it would reach the
    # corner at another angle than planned, and its path is prepared again in the next step.
    if exit_speed > 0.0 and (square - along * along > 1e-6 * square or along < 0.0):
        steering.path_fresh[row] = True
        exit_speed = 0.0
    speed = next_speed(along, distance, exit_speed, limit, accel, dt, braking)
    wx, wy, wz, sx, sy, sz = approach(direction, velocity, speed, accel, dt)
    stopping = accel
    if steering.limits.axis_limited[row]:
        norm_accel, axis_accels = steering.limits.linear_accel[row], vector_of(twists.linear_accels, row)
        frame = quaternion_of(bodies.orientation, row)
        wx, wy, wz = within_axis_accels(frame, velocity, (wx, wy, wz), norm_accel, axis_accels, dt)
        half = 0.5 * dt
        sx, sy, sz = (velocity[0] + wx) * half, (velocity[1] + wy) * half, (velocity[2] + wz) * half
        # Who drifts sideways stops with what its weakest axis can do.
        if square - along * along > 1e-12 * square:
            stopping = min(accel, any_way(norm_accel, axis_accels))
    after, velocity_after = (position[0] + sx, position[1] + sy, position[2] + sz), (wx, wy, wz)
    before = (after[0] - sx, after[1] - sy, after[2] - sz)
    stopped = False
    if exit_speed == 0.0:
        if distance <= stopping_reach(limit, accel, dt) and can_stop(delta, velocity, stopping, dt):
            stopped = True
            if tolerant:
                goal = (before[0] + delta[0], before[1] + delta[1], before[2] + delta[2])
            after, velocity_after = goal, _STILL
    # A robot that cannot brake to the pass speed by then does not pass the waypoint in this step.
    elif 0.5 * dt * (along + speed) + TOUCH >= distance and (
        along - accel * (braking * dt) <= exit_speed * (1.0 + 1e-6)
    ):
        passed, after, velocity_after = cross(
            points, headed, last, before, direction, distance, along, limit, accel, dt
        )
        steering.waypoint[row] += passed
    write_vector(bodies.position, row, after)
    write_vector(bodies.velocity, row, velocity_after)
    write_vector(steering.body_linear, row, to_body(quaternion_of(bodies.orientation, row), velocity_after))
    # Rows that were at their waypoint already have not moved: their boxes and grid cells stay.
    if distance != 0.0 or after != position:
        touch(bodies, row)
    return stopped


@inlined
def turn_to(row: int, goal: Quaternion, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists) -> int:
    """Turn a row one step the shorter way towards an orientation; return BROKEN, GOING or THERE, at rest.

    A row that is there has its goal bit for bit.
    """
    limits = steering.limits
    state, orientation, spin = _turn(
        quaternion_of(bodies.orientation, row),
        vector_of(bodies.angular_velocity, row),
        goal,
        limits.axis_limited[row],
        limits.angular_limit[row],
        vector_of(twists.angular_limits, row),
        limits.angular_accel[row],
        vector_of(twists.angular_accels, row),
        dt,
    )
    if state != BROKEN:
        _write_turn(row, orientation, spin, bodies, steering)
    return state


@compiled_step
def _turn(
    present: Quaternion,
    spin: Vector,
    goal: Quaternion,
    axis_limited: bool,
    limit: float,
    limits: Vector,
    accel: float,
    accels: Vector,
    dt: float,
) -> tuple[int, Quaternion, Vector]:
    """Return what becomes of a robot that turns to `goal`: BROKEN, GOING or THERE, its orientation and its spin."""
    # A rotation vector is the shorter way round, so a turn is a straight line in these vectors.
    delta = to_rotation_vector(multiply(goal, (-present[0], -present[1], -present[2], present[3])))
    angle = math.sqrt(dot(delta, delta))
    least = angle if angle > TINY else TINY
    axis = (delta[0] / least, delta[1] / least, delta[2] / least)
    norm_accel = accel
    if axis_limited:
        inside = to_body(present, axis)
        limit, accel = limit_along(limit, limits, inside), limit_along(accel, accels, inside)
    # The goal is written as it is, not reached by turning: then equality tells who has arrived.
    if angle <= stopping_reach(limit, accel, dt) and can_stop(delta, spin, accel, dt):
        return THERE, goal, _STILL
    speed = next_speed(dot(spin, axis), angle, 0.0, limit, accel, dt, 1.0)
    wx, wy, wz, sx, sy, sz = approach(axis, spin, speed, accel, dt)
    if axis_limited:
        wx, wy, wz = within_axis_accels(present, spin, (wx, wy, wz), norm_accel, accels, dt)
        half = 0.5 * dt
        sx, sy, sz = (spin[0] + wx) * half, (spin[1] + wy) * half, (spin[2] + wz) * half
    moved = multiply(from_rotation_vector((sx, sy, sz)), present)
    norm = norm_of(moved)
    if norm != norm:
        return BROKEN, present, spin
    return GOING, (moved[0] / norm, moved[1] / norm, moved[2] / norm, moved[3] / norm), (wx, wy, wz)


@inlined
def turn_to_rest(row: int, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists) -> int:
    """Brake the rotation of a row for one step; return BROKEN, GOING or THERE: it has stopped rotating."""
    limits = steering.limits
    state, orientation, spin = brake_turn(
        quaternion_of(bodies.orientation, row),
        vector_of(bodies.angular_velocity, row),
        limits.axis_limited[row],
        limits.angular_accel[row],
        vector_of(twists.angular_accels, row),
        dt,
    )
    if state != BROKEN:
        _write_turn(row, orientation, spin, bodies, steering)
    return state


@compiled_step
def brake_turn(
    present: Quaternion, spin: Vector, axis_limited: bool, accel: float, accels: Vector, dt: float
) -> tuple[int, Quaternion, Vector]:
    speed = math.sqrt(dot(spin, spin))
    least = speed if speed > TINY else TINY
    axis = (spin[0] / least, spin[1] / least, spin[2] / least)
    if axis_limited:
        accel = limit_along(accel, accels, to_body(present, axis))
    left = speed - accel * dt
    left = left if left > 0.0 else 0.0
    after = (axis[0] * left, axis[1] * left, axis[2] * left)
    half = 0.5 * dt
    mean = ((spin[0] + after[0]) * half, (spin[1] + after[1]) * half, (spin[2] + after[2]) * half)
    moved = multiply(from_rotation_vector(mean), present)
    norm = norm_of(moved)
    if norm != norm:
        return BROKEN, present, spin
    turned = (moved[0] / norm, moved[1] / norm, moved[2] / norm, moved[3] / norm)
    return THERE if speed <= accel * dt else GOING, turned, after


@inlined
def _write_turn(row: int, orientation: Quaternion, spin: Vector, bodies: BodyArrays, steering: Steering) -> None:
    write_quaternion(bodies.orientation, row, orientation)
    write_vector(bodies.angular_velocity, row, spin)
    write_vector(steering.body_angular, row, to_body(orientation, spin))
    touch(bodies, row)
