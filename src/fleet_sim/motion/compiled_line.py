"""Driving and turning of one robot by compiled code, with the bits of `line`, `turn` and `profile`.

Each function works out what becomes of a row before anything is written. Where a row is not of the usual kind, such as
with limits per axis or at a corner it drives through, it says LEFT, and the law written on arrays moves it.
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
from fleet_sim.motion.compiled_rows import (
    GOING,
    LEFT,
    THERE,
    BodyArrays,
    PathPoints,
    Steering,
    quaternion_of,
    touch,
    vector_of,
    write_quaternion,
    write_vector,
)
from fleet_sim.motion.path import TOUCH
from fleet_sim.motion.profile import ROUNDING, SLACK, TINY

_NOWHERE = (0.0, 0.0, 0.0)
_NO_TURN = (0.0, 0.0, 0.0, 1.0)


@compiled_step
def next_speed(
    speed: float, distance: float, exit_speed: float, limit: float, accel: float, dt: float, braking: float
) -> float:
    """Return what `profile.next_speeds` does for one robot."""
    # Step by step as on arrays: sums in another order have other bits.
    slowing = accel * braking
    ahead = 2.0 * distance
    ahead -= speed * dt
    if exit_speed != 0.0:
        ahead += exit_speed * exit_speed / slowing
    ahead = ahead if ahead > 0.0 else 0.0
    root = ahead / slowing
    root += 0.25 * dt * dt
    root = math.sqrt(root)
    root += 0.5 * dt
    ahead /= root
    change = accel * dt
    ahead = ahead if ahead < limit else limit
    ahead = ahead if ahead < speed + change else speed + change
    return ahead if ahead > speed - change else speed - change


@compiled_step
def approach_one(
    direction: Vector, velocity: Vector, speed: float, accel: float, dt: float
) -> tuple[float, float, float, float, float, float]:
    """Return the velocity and the displacement of `profile.approach` for one robot with its next `speed`."""
    wx, wy, wz = direction[0] * speed, direction[1] * speed, direction[2] * speed
    cx, cy, cz = wx - velocity[0], wy - velocity[1], wz - velocity[2]
    size = cx * cx + cy * cy + cz * cz
    most = accel * dt
    # Cut to what the acceleration permits; a little more is rounding.
    if size > most * most * SLACK:
        share = most / math.sqrt(size)
        wx, wy, wz = velocity[0] + cx * share, velocity[1] + cy * share, velocity[2] + cz * share
    half = 0.5 * dt
    return wx, wy, wz, (velocity[0] + wx) * half, (velocity[1] + wy) * half, (velocity[2] + wz) * half


@compiled_step
def _can_stop(delta: Vector, velocity: Vector, distance: float, limit: float, accel: float, dt: float) -> bool:
    """Return whether a robot is within `profile.stopping_reach`, and can stop there by `profile.can_stop`."""
    by_accel, by_limit = accel * (0.5 * dt * dt * SLACK), limit * (dt * SLACK)
    # Not `>`, which is false for what is no number.
    if not distance <= (by_accel if by_accel < by_limit else by_limit):
        return False
    most = accel * dt
    square = most * most
    rates = dot(velocity, velocity) / (square if square > TINY else TINY)
    half = 0.5 * dt
    # Where it would be after half a step at this speed: what is left has to be made by the change.
    offset = (delta[0] - velocity[0] * half, delta[1] - velocity[1] * half, delta[2] - velocity[2] * half)
    rest = 1.0 - rates
    spare = 0.25 * dt * most * (rest if rest > 0.0 else 0.0) + ROUNDING * dt * (most if most < 1.0 else 1.0)
    return rates <= SLACK and dot(offset, offset) <= spare * spare


@inlined
def plan_line(
    row: int, dt: float, bodies: BodyArrays, steering: Steering, points: PathPoints, limited: bool
) -> tuple[int, Vector, Vector, bool]:
    """Return what becomes of a row that drives as `line.drive` says: LEFT, GOING or THERE, its new position and
    velocity, and whether it moves.
    """
    headed = steering.path_start[row] + steering.waypoint[row]
    position, velocity = vector_of(bodies.position, row), vector_of(bodies.velocity, row)
    goal = vector_of(points.position, headed)
    delta = (goal[0] - position[0], goal[1] - position[1], goal[2] - position[2])
    tolerance = steering.tolerance[row]
    tolerant = tolerance > 0.0 and steering.waypoint[row] == steering.path_length[row] - 1
    if tolerant:
        length = math.sqrt(dot(delta, delta))
        # To the nearest point of the disc of the tolerance, a hair within it.
        share = 1.0 - tolerance * (1.0 - 1e-9) / (length if length > TINY else TINY)
        share = share if share > 0.0 else 0.0
        delta = (delta[0] * share, delta[1] * share, delta[2] * share)
    distance = math.sqrt(dot(delta, delta))
    least = distance if distance > TINY else TINY
    direction = (delta[0] / least, delta[1] / least, delta[2] / least)
    limit, accel = steering.limits.linear_limit[row], steering.limits.linear_accel[row]
    if limited and points.speed_limit[headed] < limit:
        limit = points.speed_limit[headed]
    exit_speed, braking = points.pass_speed[headed], points.braking[headed]
    along, square = dot(velocity, direction), dot(velocity, velocity)
    # Numbers that are none, or too large, are the array's affair; so is a waypoint that is passed with another brake.
    if steering.limits.axis_limited[row] or not (accel > 0.0 and distance < math.inf and square < math.inf):
        return LEFT, position, velocity, False
    if exit_speed == 0.0:
        if braking != 1.0:
            return LEFT, position, velocity, False
    elif square - along * along > 1e-6 * square or along < 0.0:
        return LEFT, position, velocity, False
    speed = next_speed(along, distance, exit_speed, limit, accel, dt, braking)
    # Who passes a waypoint in this step begins another line in it, which the code on arrays does.
    passes = exit_speed > 0.0 and 0.5 * dt * (along + speed) + TOUCH >= distance
    if passes and along - accel * (braking * dt) <= exit_speed * (1.0 + 1e-6):
        return LEFT, position, velocity, False
    wx, wy, wz, sx, sy, sz = approach_one(direction, velocity, speed, accel, dt)
    after = (position[0] + sx, position[1] + sy, position[2] + sz)
    if exit_speed == 0.0 and _can_stop(delta, velocity, distance, limit, accel, dt):
        if tolerant:
            goal = (after[0] - sx + delta[0], after[1] - sy + delta[1], after[2] - sz + delta[2])
        shift = (goal[0] - (after[0] - sx), goal[1] - (after[1] - sy), goal[2] - (after[2] - sz))
        return THERE, goal, _NOWHERE, distance != 0.0 or dot(shift, shift) > 0.0
    moves = distance != 0.0 or dot((sx, sy, sz), (sx, sy, sz)) > 0.0
    return GOING, after, (wx, wy, wz), moves


@inlined
def write_line(
    row: int, position: Vector, velocity: Vector, moves: bool, bodies: BodyArrays, steering: Steering
) -> None:
    """Write what `plan_line` returned; the row has its orientation of the step's end already."""
    write_vector(bodies.position, row, position)
    write_vector(bodies.velocity, row, velocity)
    write_vector(steering.body_linear, row, to_body(quaternion_of(bodies.orientation, row), velocity))
    if moves:
        touch(bodies, row)


@compiled_step
def plan_turn(
    present: Quaternion, spin: Vector, goal: Quaternion, limit: float, accel: float, dt: float
) -> tuple[int, Quaternion, Vector]:
    """Return what becomes of a robot that turns as `turn.turn_to` says: LEFT, GOING or THERE, orientation and spin."""
    # The turn that is left, as a vector along its axis.
    delta = to_rotation_vector(multiply(goal, (-present[0], -present[1], -present[2], present[3])))
    angle = math.sqrt(dot(delta, delta))
    least = angle if angle > TINY else TINY
    axis = (delta[0] / least, delta[1] / least, delta[2] / least)
    if not (accel > 0.0 and angle < math.inf and dot(spin, spin) < math.inf):
        return LEFT, _NO_TURN, _NOWHERE
    if _can_stop(delta, spin, angle, limit, accel, dt):
        return THERE, goal, _NOWHERE
    speed = next_speed(dot(spin, axis), angle, 0.0, limit, accel, dt, 1.0)
    wx, wy, wz, sx, sy, sz = approach_one(axis, spin, speed, accel, dt)
    moved = multiply(from_rotation_vector((sx, sy, sz)), present)
    norm = norm_of(moved)
    # It is no number.
    if norm != norm:
        return LEFT, _NO_TURN, _NOWHERE
    return GOING, (moved[0] / norm, moved[1] / norm, moved[2] / norm, moved[3] / norm), (wx, wy, wz)


@inlined
def write_turn(row: int, orientation: Quaternion, spin: Vector, bodies: BodyArrays, steering: Steering) -> None:
    """Write what `plan_turn` returned."""
    write_quaternion(bodies.orientation, row, orientation)
    write_vector(bodies.angular_velocity, row, spin)
    write_vector(steering.body_angular, row, to_body(orientation, spin))
    touch(bodies, row)
