"""The collision shapes and AABBs of a world's rows."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Rows
from fleet_sim.core.world import World
from fleet_sim.modes import CollisionMode
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

_DISABLED = CollisionMode.DISABLED.code


def active_mask(world: World) -> Bools:
    """Return which rows take part in collision checks at all."""
    mask: Bools = world.alive & (world.collision_mode != _DISABLED) & (world.shape_kind != ShapeKind.NONE)
    return mask


def shape_arrays(world: World, rows: Rows | slice) -> ShapeArrays:
    """Return the collision shapes of `rows` at their world poses."""
    positions, orientations = world.position[rows], world.orientation[rows]
    centred_mask = world.shape_centred[rows]
    if not centred_mask.all():
        positions, orientations = positions.copy(), orientations.copy()
        off = np.flatnonzero(~centred_mask)
        turn = orientations[off]
        positions[off] += quaternions.rotate(turn, world.shape_position[rows][off])
        orientations[off] = quaternions.multiply(turn, world.shape_orientation[rows][off])
    return ShapeArrays(world.shape_kind[rows], positions, orientations, world.half_extents[rows], world.radius[rows])


def refresh_bounds(world: World) -> Rows:
    """Compute the AABBs of every row whose pose or shape changed; returns those rows."""
    rows = np.flatnonzero(world.bounds_behind)
    if len(rows):
        world.aabb_lower[rows], world.aabb_upper[rows] = world_aabbs(*shape_arrays(world, rows))
        world.bounds_behind[rows] = False
    return rows
