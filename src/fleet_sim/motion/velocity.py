"""Velocity commands: the body twist follows the commanded one within the limits; arcs are exact."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.world import World
from fleet_sim.motion.limits import clipped
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.components import (
    cross,
    dot,
    gather,
    gather_quaternions,
    scatter,
    to_world,
    vector_index,
)

IDLE = ControllerMode.IDLE.code


def follow_velocities(world: World, rows: Rows, dt: float, *, sideways: bool) -> None:
    """Move `rows` one step by their velocity commands; without `sideways` only linear x and angular z are used.

    An expired command counts as zero. A robot at rest with a zero command becomes idle.
    """
    motion = world.motion
    expire_commands(world, rows)
    index = vector_index(rows)
    linear = gather(motion.command_linear, index)
    angular = gather(motion.command_angular, index)
    if not sideways:
        linear[1:] = 0.0
        angular[:2] = 0.0
    move_by_twist(world, rows, linear, angular, dt)
    twist = (linear, angular, gather(motion.body_linear, index), gather(motion.body_angular, index))
    resting_mask = (np.concatenate(twist) == 0.0).all(axis=0)
    resting = rows[resting_mask]
    motion.control[resting] = IDLE
    motion.command_expiry[resting] = -1


def expire_commands(world: World, rows: Rows) -> None:
    """Set expired velocity commands of `rows` to zero."""
    motion = world.motion
    expiry = motion.command_expiry.take(rows)
    expired_mask = (expiry >= 0) & (world.clock.tick >= expiry)
    if not np.count_nonzero(expired_mask):
        return
    expired = rows[expired_mask]
    motion.command_linear[expired] = 0.0
    motion.command_angular[expired] = 0.0
    motion.command_expiry[expired] = -1


def move_by_twist(world: World, rows: Rows, linear: Floats, angular: Floats, dt: float) -> None:
    """Change the body twists of `rows` towards `linear` and `angular` (3, N) and move by their mean over the step.

    A constant twist moves a body along an exact helix. Writes poses, world velocities and body twists.
    """
    motion = world.motion
    index = vector_index(rows)
    frames = gather_quaternions(world.orientation, rows)
    old_linear, old_angular = gather(motion.body_linear, index), gather(motion.body_angular, index)
    wanted = clipped(linear, motion.linear_limit[rows], gather(motion.linear_limits, index))
    accels = motion.linear_accel[rows] * dt, gather(motion.linear_accels, index) * dt
    new_linear = towards(old_linear, wanted, *accels)
    wanted = clipped(angular, motion.angular_limit[rows], gather(motion.angular_limits, index))
    accels = motion.angular_accel[rows] * dt, gather(motion.angular_accels, index) * dt
    new_angular = towards(old_angular, wanted, *accels)
    # The mean of both ends, as the twist changes evenly within a step.
    turns = (old_angular + new_angular) * (0.5 * dt)
    shift = to_world(frames, _helix(turns, (old_linear + new_linear) * (0.5 * dt)))
    scatter(world.position, index, gather(world.position, index) + shift)
    turned = quaternions.multiply(
        world.orientation[rows], quaternions.from_rotation_vectors(np.ascontiguousarray(turns.T))
    )
    world.orientation[rows] = quaternions.normalized(turned)
    frames = gather_quaternions(world.orientation, rows)
    scatter(motion.body_linear, index, new_linear)
    scatter(motion.body_angular, index, new_angular)
    scatter(world.velocity, index, to_world(frames, new_linear))
    scatter(world.angular_velocity, index, to_world(frames, new_angular))
    moved_mask = (turns != 0.0).any(axis=0) | (shift != 0.0).any(axis=0)
    world.touch(rows[moved_mask])


def towards(old: Floats, wanted: Floats, norm_changes: Floats, axis_changes: Floats) -> Floats:
    """Return vectors (3, N) moved from `old` towards `wanted`, as far as the allowed changes permit."""
    change = wanted - old
    allowed = clipped(change, norm_changes, axis_changes)
    # Not `old + change`, which would miss `wanted` by rounding.
    return np.where(allowed == change, wanted, old + allowed)


def _helix(turns: Floats, shifts: Floats) -> Floats:
    """Return the displacements (3, N), in the starting frame, of bodies that move `shifts` while turning `turns`."""
    # The translation of the exponential map of SE(3): with w the rotation vector, a its angle and s the shift,
    # s + (1 - cos a) / a^2 w x s + (a - sin a) / a^3 w x (w x s). Small angles use the Taylor series.
    squares = dot(turns, turns)
    angles = np.sqrt(squares)
    small_mask = angles < 1e-2
    safe = np.where(small_mask, 1.0, angles)
    # 1 - cos a is computed as 2 sin^2(a / 2), which does not cancel for small angles.
    half_sines = trig.sin(0.5 * safe)
    first = np.where(
        small_mask,
        0.5 - squares * (1.0 / 24.0 - squares / 720.0),
        2.0 * half_sines * half_sines / (safe * safe),
    )
    second = np.where(
        small_mask,
        1.0 / 6.0 - squares * (1.0 / 120.0 - squares / 5040.0),
        (safe - trig.sin(safe)) / (safe * safe * safe),
    )
    across = cross(turns, shifts)
    moved: Floats = shifts + first * across + second * cross(turns, across)
    return moved
