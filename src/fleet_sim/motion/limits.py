"""Speed and acceleration limits along directions.

A limit applies to the norm, to each body axis, or to both. Components of a direction below `NEGLIGIBLE` are ignored, so
that a robot that cannot move sideways is not stopped by rounding.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.schema import MotionColumns
from fleet_sim.core.world import World
from fleet_sim.spatial.components import gather, gather_quaternions, to_body, to_world, vector_index

NEGLIGIBLE = 1e-9
UNLIMITED = 1e12


def along(norm_limits: Floats, axis_limits: Floats, directions: Floats) -> Floats:
    """Return the largest factors (N,) of unit `directions` (3, N) that meet limits (N,) and (3, N)."""
    sizes = np.abs(directions)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        per_axis = np.where(sizes > NEGLIGIBLE, axis_limits / sizes, np.inf)
    return np.minimum(np.minimum(per_axis[0], per_axis[1]), np.minimum(per_axis[2], norm_limits))


def any_way(norm_limits: Floats, axis_limits: Floats) -> Floats:
    """Return limits (N,) that hold in every direction; axes that cannot move (limit 0) are ignored."""
    usable = np.where(axis_limits > 0.0, axis_limits, np.inf)
    return np.minimum(np.minimum(usable[0], usable[1]), np.minimum(usable[2], norm_limits))


def linear_any_way(motion: MotionColumns, rows: Rows) -> tuple[Floats, Floats]:
    """Return linear speed and acceleration limits (N,) that hold in every direction."""
    index = vector_index(rows)
    return (
        any_way(motion.linear_limit[rows], gather(motion.linear_limits, index)),
        any_way(motion.linear_accel[rows], gather(motion.linear_accels, index)),
    )


def angular_any_way(motion: MotionColumns, rows: Rows) -> tuple[Floats, Floats]:
    """Return angular speed and acceleration limits (N,) that hold about every axis."""
    index = vector_index(rows)
    return (
        any_way(motion.angular_limit[rows], gather(motion.angular_limits, index)),
        any_way(motion.angular_accel[rows], gather(motion.angular_accels, index)),
    )


def linear(world: World, rows: Rows, directions: Floats) -> tuple[Floats, Floats]:
    """Return linear speed and acceleration limits (N,) of `rows` along unit world `directions` (3, N).

    While a robot turns as it drives, the limit of its weakest axis applies too, as its body axes rotate in the step.
    """
    motion = world.motion
    speed, accel = motion.linear_limit.take(rows), motion.linear_accel.take(rows)
    limited_mask = motion.axis_limited.take(rows)
    if not np.count_nonzero(limited_mask):
        return speed, accel
    at = np.flatnonzero(limited_mask)
    some = rows[at]
    body = to_body(gather_quaternions(world.orientation, some), directions[:, at])
    index = vector_index(some)
    straight_speed = along(speed[at], gather(motion.linear_limits, index), body)
    straight_accel = along(accel[at], gather(motion.linear_accels, index), body)
    turning_mask = motion.turning[some]
    any_speed, any_accel = linear_any_way(motion, some)
    speed[at] = np.where(turning_mask, np.minimum(any_speed, straight_speed), straight_speed)
    accel[at] = np.where(turning_mask, np.minimum(any_accel, straight_accel), straight_accel)
    return speed, accel


def angular(world: World, rows: Rows, axes: Floats) -> tuple[Floats, Floats]:
    """Return angular speed and acceleration limits (N,) of `rows` about unit world `axes` (3, N)."""
    motion = world.motion
    speed, accel = motion.angular_limit.take(rows), motion.angular_accel.take(rows)
    limited_mask = motion.axis_limited.take(rows)
    if not np.count_nonzero(limited_mask):
        return speed, accel
    at = np.flatnonzero(limited_mask)
    some = rows[at]
    body = to_body(gather_quaternions(world.orientation, some), axes[:, at])
    index = vector_index(some)
    speed[at] = along(speed[at], gather(motion.angular_limits, index), body)
    accel[at] = along(accel[at], gather(motion.angular_accels, index), body)
    return speed, accel


def clipped(vectors: Floats, norm_limits: Floats, axis_limits: Floats) -> Floats:
    """Return body `vectors` (3, N) clipped to the limits: first each axis, then the norm."""
    out = np.minimum(np.maximum(vectors, -axis_limits), axis_limits)
    squares = out * out
    sizes = np.sqrt(squares[0] + squares[1] + squares[2])
    over_mask = sizes > norm_limits
    factors = np.where(over_mask, norm_limits, 1.0) / np.where(over_mask, sizes, 1.0)
    return np.where(over_mask, out * factors, out)


def within_axis_accels(
    world: World,
    rows: Rows,
    before: Floats,
    after: Floats,
    norm_accels: Floats,
    axis_accels: Floats,
    dt: float,
) -> Floats:
    """Return world velocities `after` (3, N) of `rows`, moved back towards `before` where an axis changes too fast."""
    frames = gather_quaternions(world.orientation, rows)
    # The tiny excess accepts changes at the limit despite the rounding of the rotation.
    change = to_body(frames, after - before)
    allowed = clipped(change, norm_accels * (dt * (1.0 + 1e-9)), axis_accels * (dt * (1.0 + 1e-9)))
    cut_mask = (allowed[0] != change[0]) | (allowed[1] != change[1]) | (allowed[2] != change[2])
    return np.where(cut_mask, before + to_world(frames, allowed), after)
