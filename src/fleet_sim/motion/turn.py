"""Rotation on the spot or while driving: towards an orientation, or until at rest."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.core.world import World
from fleet_sim.motion import limits
from fleet_sim.motion.profile import approach, can_stop, stopping_reach, units
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.components import gather, gather_quaternions, scatter, to_body, vector_index


def turn_to(world: World, rows: Rows, orientations: Floats, dt: float) -> Bools:
    """Turn `rows` one step the shorter way towards `orientations` (N, 4); return which have arrived and are at rest.

    An arrived row has its goal bit for bit. Writes orientation, angular_velocity and body_angular.
    """
    present = world.orientation[rows]
    turns = quaternions.to_rotation_vectors(quaternions.multiply(orientations, quaternions.conjugate(present)))
    deltas = np.ascontiguousarray(turns.T)
    # A rotation vector is the shorter way round, so a turn is a straight line in these vectors.
    axes, angles = units(deltas)
    speed_limits, accels = limits.angular(world, rows, axes)
    index = vector_index(rows)
    velocities = gather(world.angular_velocity, index)
    step = approach(axes, angles, velocities, 0.0, speed_limits, accels, dt)
    limits.respect_axes(world, rows, velocities, step, world.motion.angular_accel, world.motion.angular_accels, dt)
    # The goal is written as it is, not reached by turning: then equality tells who has arrived.
    there_mask = angles <= stopping_reach(speed_limits, accels, dt)
    there_mask &= can_stop(deltas, velocities, accels, dt)
    step.velocities[:, there_mask] = 0.0
    moved = quaternions.multiply(quaternions.from_rotation_vectors(np.ascontiguousarray(step.displacements.T)), present)
    world.orientation[rows] = np.where(there_mask[:, None], orientations, quaternions.normalized(moved))
    _write_velocities(world, rows, step.velocities)
    return there_mask


def turn_to_rest(world: World, rows: Rows, dt: float) -> Bools:
    """Brake the rotation of `rows` for one step; return which rows stopped rotating."""
    index = vector_index(rows)
    velocities = gather(world.angular_velocity, index)
    axes, speeds = units(velocities)
    accels = limits.angular(world, rows, axes)[1]
    after = axes * np.maximum(speeds - accels * dt, 0.0)
    means = np.ascontiguousarray((velocities + after).T) * (0.5 * dt)
    moved = quaternions.multiply(quaternions.from_rotation_vectors(means), world.orientation[rows])
    world.orientation[rows] = quaternions.normalized(moved)
    _write_velocities(world, rows, after)
    return np.asarray(speeds <= accels * dt)


def _write_velocities(world: World, rows: Rows, velocities: Floats) -> None:
    index = vector_index(rows)
    scatter(world.angular_velocity, index, velocities)
    scatter(world.motion.body_angular, index, to_body(gather_quaternions(world.orientation, rows), velocities))
    world.touch(rows)
