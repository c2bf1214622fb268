"""Velocity commands: the body twist follows the commanded one within the limits; arcs are exact."""

from __future__ import annotations

import math

from fleet_sim.arrays import Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.world import World
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import (
    Vector,
    cross,
    dot,
    from_rotation_vector,
    multiply,
    norm_of,
    sin_cos,
    to_world,
)
from fleet_sim.motion.limits import clipped
from fleet_sim.motion.rows import (
    BodyArrays,
    Steering,
    Twists,
    is_zero,
    quaternion_of,
    touch,
    vector_of,
    write_quaternion,
    write_vector,
)

_IDLE = ControllerMode.IDLE.code
_NOTHING = (0.0, 0.0, 0.0)


def expire_commands(world: World, rows: Rows) -> None:
    """Set expired velocity commands of `rows` to zero."""
    motion = world.motion
    expiry = motion.command_expiry.take(rows)
    expired = rows[(expiry >= 0) & (world.clock.tick >= expiry)]
    if len(expired):
        motion.command_linear[expired] = 0.0
        motion.command_angular[expired] = 0.0
        motion.command_expiry[expired] = -1


@inlined
def follow_velocity(
    row: int, tick: int, sideways: bool, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists
) -> bool:
    """Move a row one step by its velocity command; without `sideways` only linear x and angular z are used.

    An expired command counts as zero. A robot at rest with a zero command becomes idle. Returns False, with the pose as
    it was, for numbers that are none or infinite.
    """
    expiry = twists.command_expiry[row]
    if 0 <= expiry <= tick:
        write_vector(twists.command_linear, row, _NOTHING)
        write_vector(twists.command_angular, row, _NOTHING)
        twists.command_expiry[row] = -1
    linear, angular = vector_of(twists.command_linear, row), vector_of(twists.command_angular, row)
    if not sideways:
        linear, angular = (linear[0], 0.0, 0.0), (0.0, 0.0, angular[2])
    if not move_by_twist(row, linear, angular, dt, bodies, steering, twists):
        return False
    stands = is_zero(vector_of(steering.body_linear, row)) and is_zero(vector_of(steering.body_angular, row))
    if stands and is_zero(linear) and is_zero(angular):
        steering.control[row] = _IDLE
        twists.command_expiry[row] = -1
    return True


@inlined
def move_by_twist(
    row: int, linear: Vector, angular: Vector, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists
) -> bool:
    """Change the body twist of a row towards `linear` and `angular`, and move it by the mean over the step.

    A constant twist moves a body along an exact helix. Returns False, with the row as it was, for broken numbers.
    """
    limits = steering.limits
    old_linear, old_angular = vector_of(steering.body_linear, row), vector_of(steering.body_angular, row)
    new_linear = _next_twist(
        old_linear, linear, dt, limits.linear_limit[row], vector_of(twists.linear_limits, row),
        limits.linear_accel[row], vector_of(twists.linear_accels, row),
    )  # fmt: skip
    new_angular = _next_twist(
        old_angular, angular, dt, limits.angular_limit[row], vector_of(twists.angular_limits, row),
        limits.angular_accel[row], vector_of(twists.angular_accels, row),
    )  # fmt: skip
    frame = quaternion_of(bodies.orientation, row)
    # The mean of both ends, as the twist changes evenly within a step.
    turns, shift = _mean(old_angular, new_angular, dt), _mean(old_linear, new_linear, dt)
    shift = to_world(frame, helix(turns, shift))
    turned = multiply(frame, from_rotation_vector(turns))
    norm = norm_of(turned)
    if norm != norm:
        return False
    position = vector_of(bodies.position, row)
    write_vector(bodies.position, row, (position[0] + shift[0], position[1] + shift[1], position[2] + shift[2]))
    frame = (turned[0] / norm, turned[1] / norm, turned[2] / norm, turned[3] / norm)
    write_quaternion(bodies.orientation, row, frame)
    write_vector(steering.body_linear, row, new_linear)
    write_vector(steering.body_angular, row, new_angular)
    write_vector(bodies.velocity, row, to_world(frame, new_linear))
    write_vector(bodies.angular_velocity, row, to_world(frame, new_angular))
    if not (is_zero(turns) and is_zero(shift)):
        touch(bodies, row)
    return True


@compiled_step
def _mean(old: Vector, new: Vector, dt: float) -> Vector:
    half = 0.5 * dt
    return (old[0] + new[0]) * half, (old[1] + new[1]) * half, (old[2] + new[2]) * half


@compiled_step
def _next_twist(
    old: Vector, wanted: Vector, dt: float, limit: float, limits: Vector, accel: float, accels: Vector
) -> Vector:
    """Return a part of the twist after one step from `old` towards what the limits leave of `wanted`."""
    goal = clipped(wanted, limit, limits)
    change = (goal[0] - old[0], goal[1] - old[1], goal[2] - old[2])
    allowed = clipped(change, accel * dt, (accels[0] * dt, accels[1] * dt, accels[2] * dt))
    # Where nothing was cut, the goal itself: old + (goal - old) may be another number.
    return (
        goal[0] if allowed[0] == change[0] else old[0] + allowed[0],
        goal[1] if allowed[1] == change[1] else old[1] + allowed[1],
        goal[2] if allowed[2] == change[2] else old[2] + allowed[2],
    )


@compiled_step
def helix(turns: Vector, shifts: Vector) -> Vector:
    """Return the displacement, in the starting frame, of a body that moves `shifts` while turning `turns`."""
    # The translation of the exponential map of SE(3): with w the rotation vector, a its angle and s the shift,
    # s + (1 - cos a) / a^2 w x s + (a - sin a) / a^3 w x (w x s). Small angles use the Taylor series.
    square = dot(turns, turns)
    angle = math.sqrt(square)
    if angle < 1e-2:
        first = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        second = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    else:
        # 1 - cos a is computed as 2 sin^2(a / 2), which does not cancel for small angles.
        half_sine, _ = sin_cos(0.5 * angle)
        first = 2.0 * half_sine * half_sine / (angle * angle)
        sine, _ = sin_cos(angle)
        second = (angle - sine) / (angle * angle * angle)
    across = cross(turns, shifts)
    again = cross(turns, across)
    return (
        shifts[0] + first * across[0] + second * again[0],
        shifts[1] + first * across[1] + second * again[1],
        shifts[2] + first * across[2] + second * again[2],
    )
