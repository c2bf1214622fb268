"""Speed and acceleration limits along directions.

A limit applies to the norm, to each body axis, or to both. Components of a direction below `NEGLIGIBLE` are ignored, so
that a robot that cannot move sideways is not stopped by rounding.
"""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.schema import MotionColumns
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import Quaternion, Vector, to_body, to_world
from fleet_sim.motion.rows import BodyArrays, Steering, Twists, quaternion_of, vector_of
from fleet_sim.spatial.components import gather, vector_index

# A direction with a smaller component does not use that axis: rounding must not make its limit count.
NEGLIGIBLE = 1e-9
UNLIMITED = 1e12


@compiled_step
def along(norm_limit: float, axis_limits: Vector, direction: Vector) -> float:
    """Return the largest factor of a unit `direction` in the body's frame that meets the limits."""
    least = norm_limit
    for axis in range(3):
        size = abs(direction[axis])
        if size > NEGLIGIBLE:
            least = min(least, axis_limits[axis] / size)
    return least


@compiled_step
def any_way(norm_limit: float, axis_limits: Vector) -> float:
    """Return the limit that holds in every direction; axes that cannot move (limit 0) are ignored."""
    # A differential base has a lateral limit of 0, which must not stop it along its heading.
    least = norm_limit
    for axis in range(3):
        if axis_limits[axis] > 0.0:
            least = min(least, axis_limits[axis])
    return least


@inlined
def limits_along(
    row: int, direction: Vector, bodies: BodyArrays, steering: Steering, twists: Twists
) -> tuple[float, float]:
    """Return the limits of speed and acceleration of a row along a unit `direction` in the world.

    While a robot turns as it drives, the limit of its weakest axis applies too, as its body axes rotate in the step.
    """
    speed, accel = steering.limits.linear_limit[row], steering.limits.linear_accel[row]
    if steering.limits.axis_limited[row]:
        speeds, accels = vector_of(twists.linear_limits, row), vector_of(twists.linear_accels, row)
        inside = to_body(quaternion_of(bodies.orientation, row), direction)
        weakest_speed, weakest_accel = any_way(speed, speeds), any_way(accel, accels)
        speed, accel = along(speed, speeds, inside), along(accel, accels, inside)
        if steering.turning[row]:
            speed, accel = min(speed, weakest_speed), min(accel, weakest_accel)
    return speed, accel


@compiled_step
def clipped(vector: Vector, norm_limit: float, axis_limits: Vector) -> Vector:
    """Return a body `vector` clipped to the limits: first the norm, which keeps the direction, then each axis."""
    x, y, z = vector
    size = math.sqrt(x * x + y * y + z * z)
    if size > norm_limit:
        # Divided first: along an axis that gives the limit itself.
        x, y, z = x / size * norm_limit, y / size * norm_limit, z / size * norm_limit
    return within(x, axis_limits[0]), within(y, axis_limits[1]), within(z, axis_limits[2])


@compiled_step
def within(number: float, limit: float) -> float:
    """Return a number cut to at most `limit` either way."""
    # Of numbers that are equal the second is taken, as NumPy does: it may be a zero of the other sign.
    number = number if number > -limit else -limit
    return number if number < limit else limit


@compiled_step
def within_axis_accels(
    frame: Quaternion, before: Vector, after: Vector, norm_accel: float, axis_accels: Vector, dt: float
) -> Vector:
    """Return a world velocity `after`, moved back towards `before` where an axis of `frame` changes too fast."""
    # The tiny excess accepts changes at the limit despite the rounding of the rotation.
    room = dt * (1.0 + 1e-9)
    change = to_body(frame, (after[0] - before[0], after[1] - before[1], after[2] - before[2]))
    most = (axis_accels[0] * room, axis_accels[1] * room, axis_accels[2] * room)
    allowed = clipped(change, norm_accel * room, most)
    if allowed[0] == change[0] and allowed[1] == change[1] and allowed[2] == change[2]:
        return after
    back = to_world(frame, allowed)
    return before[0] + back[0], before[1] + back[1], before[2] + back[2]


def _any_way(norm_limits: Floats, axis_limits: Floats) -> Floats:
    """Return limits (N,) that hold in every direction; axes that cannot move (limit 0) are ignored."""
    # A differential base has a lateral limit of 0, which must not stop it along its heading.
    usable = np.where(axis_limits > 0.0, axis_limits, np.inf)
    return np.minimum(np.minimum(usable[0], usable[1]), np.minimum(usable[2], norm_limits))


def linear_any_way(motion: MotionColumns, rows: Rows) -> tuple[Floats, Floats]:
    """Return linear speed and acceleration limits (N,) that hold in every direction."""
    index = vector_index(rows)
    return (
        _any_way(motion.linear_limit[rows], gather(motion.linear_limits, index)),
        _any_way(motion.linear_accel[rows], gather(motion.linear_accels, index)),
    )


def angular_any_way(motion: MotionColumns, rows: Rows) -> tuple[Floats, Floats]:
    """Return angular speed and acceleration limits (N,) that hold about every axis."""
    index = vector_index(rows)
    return (
        _any_way(motion.angular_limit[rows], gather(motion.angular_limits, index)),
        _any_way(motion.angular_accel[rows], gather(motion.angular_accels, index)),
    )
