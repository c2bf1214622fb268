"""Speed and acceleration limits along directions.

A limit applies to the norm, to each body axis, or to both. Components of a direction below `NEGLIGIBLE` are ignored, so
that a robot that cannot move sideways is not stopped by rounding.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Ints, Rows
from fleet_sim.core.schema import MotionColumns
from fleet_sim.core.world import World
from fleet_sim.motion.profile import Approach
from fleet_sim.spatial.components import gather, gather_quaternions, to_body, to_world, vector_index

# A direction with a smaller component does not use that axis: rounding must not make its limit count.
NEGLIGIBLE = 1e-9
UNLIMITED = 1e12


def axis_limited(motion: MotionColumns, rows: Rows) -> Ints:
    """Return the places in `rows` of those with limits per axis: mostly none, so that the others cost one look."""
    limited_mask = motion.axis_limited.take(rows)
    return np.flatnonzero(limited_mask) if np.count_nonzero(limited_mask) else NO_ROWS


def along(norm_limits: Floats, axis_limits: Floats, directions: Floats) -> Floats:
    """Return the largest factors (N,) of unit `directions` (3, N) that meet limits (N,) and (3, N)."""
    sizes = np.abs(directions)
    # Both branches of `where` are computed, also where the component is 0 or the limit infinite.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        per_axis = np.where(sizes > NEGLIGIBLE, axis_limits / sizes, np.inf)
    return np.minimum(np.minimum(per_axis[0], per_axis[1]), np.minimum(per_axis[2], norm_limits))


def any_way(norm_limits: Floats, axis_limits: Floats) -> Floats:
    """Return limits (N,) that hold in every direction; axes that cannot move (limit 0) are ignored."""
    # A differential base has a lateral limit of 0, which must not stop it along its heading.
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
    at = axis_limited(motion, rows)
    if not len(at):
        return speed, accel
    some = rows[at]
    straight_speed, straight_accel = _per_axis(
        world, some, directions[:, at], (speed[at], motion.linear_limits), (accel[at], motion.linear_accels)
    )
    turning_mask = motion.turning[some]
    any_speed, any_accel = linear_any_way(motion, some)
    speed[at] = np.where(turning_mask, np.minimum(any_speed, straight_speed), straight_speed)
    accel[at] = np.where(turning_mask, np.minimum(any_accel, straight_accel), straight_accel)
    return speed, accel


def angular(world: World, rows: Rows, axes: Floats) -> tuple[Floats, Floats]:
    """Return angular speed and acceleration limits (N,) of `rows` about unit world `axes` (3, N)."""
    motion = world.motion
    speed, accel = motion.angular_limit.take(rows), motion.angular_accel.take(rows)
    at = axis_limited(motion, rows)
    if not len(at):
        return speed, accel
    speed[at], accel[at] = _per_axis(
        world, rows[at], axes[:, at], (speed[at], motion.angular_limits), (accel[at], motion.angular_accels)
    )
    return speed, accel


def _per_axis(world: World, rows: Rows, directions: Floats, *limits: tuple[Floats, Floats]) -> list[Floats]:
    """Return limits (N,) along world `directions` (3, N): each from one on the norm (N,) and the column per axis."""
    body = to_body(gather_quaternions(world.orientation, rows), directions)
    index = vector_index(rows)
    return [along(norm, gather(per_axis, index), body) for norm, per_axis in limits]


def clipped(vectors: Floats, norm_limits: Floats, axis_limits: Floats) -> Floats:
    """Return body `vectors` (3, N) clipped to the limits: first the norm, which keeps the direction, then each axis."""
    squares = vectors * vectors
    # Added by component: a sum over an axis would depend on the number of rows.
    sizes = np.sqrt(squares[0] + squares[1] + squares[2])
    over_mask = sizes > norm_limits
    # Divided first: along an axis that gives the limit itself.
    shorter = vectors / np.where(over_mask, sizes, 1.0) * np.where(over_mask, norm_limits, 1.0)
    return np.minimum(np.maximum(np.where(over_mask, shorter, vectors), -axis_limits), axis_limits)


def respect_axes(
    world: World, rows: Rows, before: Floats, step: Approach, norm_accels: Floats, axis_accels: Floats, dt: float
) -> None:
    """Change `step` of `rows`, which begins with velocities `before` (3, N), where an axis would change too fast.

    `norm_accels` and `axis_accels` are columns: the acceleration limits of all rows.
    """
    at = axis_limited(world.motion, rows)
    if not len(at):
        return
    some = rows[at]
    was = before[:, at]
    accels = norm_accels[some], gather(axis_accels, vector_index(some))
    after = _within_axis_accels(world, some, was, step.velocities[:, at], *accels, dt)
    step.velocities[:, at] = after
    step.displacements[:, at] = (was + after) * (0.5 * dt)


def _within_axis_accels(
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
