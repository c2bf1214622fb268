"""The collision shapes and AABBs of a world's rows."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Rows
from fleet_sim.collision.compiled_bounds import write_bounds
from fleet_sim.core.world import World
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

# Comparing a column with a plain number is several times faster than with an enum member.
_NO_SHAPE = int(ShapeKind.NONE)
# Computing a contiguous span of rows costs about a third of indexing its rows.
_SPAN_GAIN = 3


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


def refresh_by_kernels(world: World) -> None:
    """Do what `refresh_bounds` does, by compiled code."""
    world.bounds_behind[world.links.refresh_boxes()] = True
    written = write_bounds(
        world.bounds_behind,
        world.shape_kind,
        world.position,
        world.orientation,
        world.half_extents,
        world.radius,
        world.shape_centred,
        world.shape_position,
        world.shape_orientation,
        world.aabb_lower,
        world.aabb_upper,
    )
    world.bounds_version += written > 0


def refresh_bounds(world: World, *, boxes: bool = True) -> Rows:
    """Recompute the AABBs of all rows whose pose or shape changed; return those rows.

    The boxes of robots whose joints moved are updated first, unless `boxes` is False.
    """
    if boxes:
        world.bounds_behind[world.links.refresh_boxes()] = True
    rows = np.flatnonzero(world.bounds_behind)
    if not len(rows):
        return rows
    # If many rows changed, recomputing the whole span is faster than indexing; unchanged rows get the same values.
    span = slice(int(rows[0]), int(rows[-1]) + 1)
    chosen = span if span.stop - span.start <= _SPAN_GAIN * len(rows) else rows
    world.aabb_lower[chosen], world.aabb_upper[chosen] = world_aabbs(*shape_arrays(world, chosen))
    world.bounds_behind[chosen] = False
    world.bounds_version += 1
    return rows
