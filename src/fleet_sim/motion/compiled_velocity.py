"""Velocity commands of one robot by compiled code, with the bits of `velocity`."""

from __future__ import annotations

import math

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ControllerMode
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
from fleet_sim.motion.compiled_rows import (
    BodyArrays,
    Steering,
    Twists,
    quaternion_of,
    touch,
    vector_of,
    write_quaternion,
    write_vector,
)

_IDLE = ControllerMode.IDLE.code


@inlined
def follow_velocity(
    row: int, tick: int, sideways: bool, dt: float, bodies: BodyArrays, steering: Steering, twists: Twists
) -> bool:
    """Do what `velocity.follow_velocities` does with a row; False, with the row as it was, for broken numbers."""
    linear, angular = vector_of(twists.command_linear, row), vector_of(twists.command_angular, row)
    expiry = twists.command_expiry[row]
    expired = 0 <= expiry <= tick
    if expired:
        linear, angular = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if not sideways:
        linear, angular = (linear[0], 0.0, 0.0), (0.0, 0.0, angular[2])
    frame = quaternion_of(bodies.orientation, row)
    old_linear, old_angular = vector_of(steering.body_linear, row), vector_of(steering.body_angular, row)
    limits = steering.limits
    new_linear = _next_twist(
        row, old_linear, linear, dt, limits.linear_limit, twists.linear_limits, limits.linear_accel,
        twists.linear_accels,
    )  # fmt: skip
    new_angular = _next_twist(
        row, old_angular, angular, dt, limits.angular_limit, twists.angular_limits, limits.angular_accel,
        twists.angular_accels,
    )  # fmt: skip
    turns, shift = _mean(old_angular, new_angular, dt), _mean(old_linear, new_linear, dt)
    shift = to_world(frame, _helix(turns, shift))
    turned = multiply(frame, from_rotation_vector(turns))
    norm = norm_of(turned)
    if norm != norm or not abs(shift[0]) + abs(shift[1]) + abs(shift[2]) < math.inf:
        return False
    position = vector_of(bodies.position, row)
    write_vector(bodies.position, row, (position[0] + shift[0], position[1] + shift[1], position[2] + shift[2]))
    frame = (turned[0] / norm, turned[1] / norm, turned[2] / norm, turned[3] / norm)
    write_quaternion(bodies.orientation, row, frame)
    write_vector(steering.body_linear, row, new_linear)
    write_vector(steering.body_angular, row, new_angular)
    write_vector(bodies.velocity, row, to_world(frame, new_linear))
    write_vector(bodies.angular_velocity, row, to_world(frame, new_angular))
    if not (_is_zero(turns) and _is_zero(shift)):
        touch(bodies, row)
    _settle(row, expired, _is_zero(linear) and _is_zero(angular), new_linear, new_angular, steering, twists)
    return True


@inlined
def _settle(
    row: int, expired: bool, commanded_rest: bool, linear: Vector, angular: Vector, steering: Steering, twists: Twists
) -> None:
    """Forget an expired command; a robot at rest that is to rest becomes idle."""
    if expired:
        write_vector(twists.command_linear, row, (0.0, 0.0, 0.0))
        write_vector(twists.command_angular, row, (0.0, 0.0, 0.0))
        twists.command_expiry[row] = -1
    if commanded_rest and _is_zero(linear) and _is_zero(angular):
        steering.control[row] = _IDLE
        twists.command_expiry[row] = -1


@compiled_step
def _is_zero(vector: Vector) -> bool:
    return vector[0] == 0.0 and vector[1] == 0.0 and vector[2] == 0.0


@compiled_step
def _mean(old: Vector, new: Vector, dt: float) -> Vector:
    half = 0.5 * dt
    return (old[0] + new[0]) * half, (old[1] + new[1]) * half, (old[2] + new[2]) * half


@inlined
def _next_twist(
    row: int,
    old: Vector,
    wanted: Vector,
    dt: float,
    norm_limits: Floats,
    axis_limits: Floats,
    norm_accels: Floats,
    axis_accels: Floats,
) -> Vector:
    """Return the twist after one step, as `velocity.towards` of what `limits.clipped` leaves of the command."""
    goal = _clipped(wanted, norm_limits[row], vector_of(axis_limits, row))
    change = (goal[0] - old[0], goal[1] - old[1], goal[2] - old[2])
    x, y, z = vector_of(axis_accels, row)
    allowed = _clipped(change, norm_accels[row] * dt, (x * dt, y * dt, z * dt))
    # Where nothing was cut, the goal itself: old + (goal - old) may be another number.
    return (
        goal[0] if allowed[0] == change[0] else old[0] + allowed[0],
        goal[1] if allowed[1] == change[1] else old[1] + allowed[1],
        goal[2] if allowed[2] == change[2] else old[2] + allowed[2],
    )


@compiled_step
def _clipped(vector: Vector, norm_limit: float, axis_limits: Vector) -> Vector:
    """Return what `limits.clipped` does for one vector."""
    x, y, z = vector
    size = math.sqrt(x * x + y * y + z * z)
    if size > norm_limit:
        x, y, z = x / size * norm_limit, y / size * norm_limit, z / size * norm_limit
    return _within(x, axis_limits[0]), _within(y, axis_limits[1]), _within(z, axis_limits[2])


@compiled_step
def _within(number: float, limit: float) -> float:
    # Of numbers that are equal the second is taken, as NumPy does: it may be a zero of the other sign.
    number = number if number > -limit else -limit
    return number if number < limit else limit


@compiled_step
def _helix(turns: Vector, shifts: Vector) -> Vector:
    """Return what `velocity._helix` does for one body."""
    square = dot(turns, turns)
    angle = math.sqrt(square)
    # By series where the formulas below lose their digits.
    if angle < 1e-2:
        first = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        second = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    else:
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
