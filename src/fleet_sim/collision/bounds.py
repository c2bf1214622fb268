"""The collision shapes and AABBs of a world's rows."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Bytes, Floats, Rows
from fleet_sim.collision.compiled_bounds import write_bounds
from fleet_sim.core.world import World
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

# Comparing a column with a plain number is several times faster than with an enum member.
_NO_SHAPE = int(ShapeKind.NONE)


def active_mask(world: World) -> Bools:
    """Return the mask (N,) of rows that take part in collisions and have a collision shape."""
    mask: Bools = world.collision_rules.active_mask() & (world.shape_kind != _NO_SHAPE)
    return mask


def shape_arrays(world: World, rows: Rows | slice) -> ShapeArrays:
    """Return the collision shapes of `rows` at their world poses."""
    positions, orientations = _pick(world.position, rows), _pick(world.orientation, rows)
    centred_mask = _pick(world.shape_centred, rows)
    if not centred_mask.all():
        positions, orientations = positions.copy(), orientations.copy()
        off = np.flatnonzero(~centred_mask)
        turn = orientations[off]
        positions[off] += quaternions.rotate(turn, world.shape_position[rows][off])
        orientations[off] = quaternions.multiply(turn, world.shape_orientation[rows][off])
    return ShapeArrays(
        _pick(world.shape_kind, rows),
        positions,
        orientations,
        _pick(world.half_extents, rows),
        _pick(world.radius, rows),
    )


def _pick(column: AnyArray, rows: Rows | slice) -> AnyArray:
    """Return `column[rows]`; for rows of vectors `take` is several times faster."""
    return column[rows] if isinstance(rows, slice) else column.take(rows, axis=0)


def world_aabbs(
    kinds: Bytes,
    positions: Floats,
    orientations: Floats,
    half_extents: Floats,
    radii: Floats,
    *,
    compiled: bool = False,
) -> tuple[Floats, Floats]:
    """Return the corners (lower, upper), (N, 3) each, of the world boxes around N shapes, given as in `ShapeArrays`."""
    count = len(kinds)
    lower, upper = np.empty((count, 3)), np.empty((count, 3))
    all_mask = np.ones(count, np.bool_)
    own = all_mask.copy(), np.empty((0, 3)), np.empty((0, 4))
    kernel = write_bounds if compiled else write_bounds.in_python
    kernel(all_mask, kinds, positions, orientations, half_extents, radii, *own, lower, upper)
    return lower, upper


def refresh_bounds(world: World) -> None:
    """Recompute the AABBs of all rows whose pose or shape changed, those of robots whose joints moved among them."""
    behind = world.bounds_behind
    behind[world.links.refresh_boxes()] = True
    kernel = write_bounds if world.compiled else write_bounds.in_python
    shapes = world.shape_kind, world.position, world.orientation, world.half_extents, world.radius
    own = world.shape_centred, world.shape_position, world.shape_orientation
    world.bounds_version += kernel(behind, *shapes, *own, world.aabb_lower, world.aabb_upper) > 0
