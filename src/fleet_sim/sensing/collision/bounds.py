"""The collision shapes and AABBs of a world's rows."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Bytes, Floats, Rows
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.rotations import Quaternion, Vector, multiply, rotate
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.world.world import World

# World AABBs of posed shapes. The boxes are tight for boxes, spheres, cylinders and capsules; for meshes and
# compounds they contain the rotated bounding box of the shape. A level plane is infinite sideways and below and ends
# at its own height; a tilted plane is infinite in all directions. A row without a shape is a point at its position.
# Only additions, products, square roots and comparisons are used, so the result of a row is the same bit for bit,
# whatever rows are computed with it.


# Numbers of kinds, as compiled code knows no enumerations.
_NONE, _SPHERE, _CYLINDER, _CAPSULE, _PLANE = (
    int(kind) for kind in (ShapeKind.NONE, ShapeKind.SPHERE, ShapeKind.CYLINDER, ShapeKind.CAPSULE, ShapeKind.PLANE)
)


@compiled_step
def write_bounds(
    behind_mask: Bools,
    kinds: Bytes,
    positions: Floats,
    orientations: Floats,
    half_extents: Floats,
    radii: Floats,
    centred_mask: Bools,
    shape_positions: Floats,
    shape_orientations: Floats,
    lower: Floats,
    upper: Floats,
) -> int:
    """Write the corners (N, 3) of the rows in `behind_mask` (N,), and clear it; return how many these are.

    The arguments between are columns of the world: `positions` and `orientations` those of the bodies, in which the
    shapes outside of `centred_mask` have poses of their own.
    """
    count = 0
    for row in range(len(behind_mask)):
        if not behind_mask[row]:
            continue
        behind_mask[row] = False
        count += 1
        kind = kinds[row]
        turn = orientations[row, 0], orientations[row, 1], orientations[row, 2], orientations[row, 3]
        place = positions[row, 0], positions[row, 1], positions[row, 2]
        if not centred_mask[row]:
            place, turn = _placed(place, turn, shape_positions, shape_orientations, row)
        x, y, z, w = turn
        hx, hy, hz = half_extents[row, 0], half_extents[row, 1], half_extents[row, 2]
        if kind in (_CYLINDER, _CAPSULE):
            reach = _round_reach(kind == _CYLINDER, x, y, z, w, hz, radii[row])
        elif kind == _SPHERE:
            reach = (radii[row], radii[row], radii[row])
        elif kind == _PLANE:
            reach = (np.inf, np.inf, np.inf)
        elif kind == _NONE:
            reach = (0.0, 0.0, 0.0)
        else:
            reach = _box_reach(x, y, z, w, hx, hy, hz)
        for axis in range(3):
            lower[row, axis] = place[axis] - reach[axis]
            upper[row, axis] = place[axis] + reach[axis]
        # A level plane ends at its own height: what is above does not touch it.
        if kind == _PLANE and x == 0.0 and y == 0.0:
            upper[row, 2] = place[2]
    return count


@inlined
def _placed(
    place: Vector, turn: Quaternion, shape_positions: Floats, shape_orientations: Floats, row: int
) -> tuple[Vector, Quaternion]:
    """Return the pose in the world of a shape that has its own in its body."""
    offset = shape_positions[row, 0], shape_positions[row, 1], shape_positions[row, 2]
    own = (
        shape_orientations[row, 0],
        shape_orientations[row, 1],
        shape_orientations[row, 2],
        shape_orientations[row, 3],
    )
    x, y, z = rotate(turn, offset)
    return (place[0] + x, place[1] + y, place[2] + z), multiply(turn, own)


@compiled_step
def _box_reach(x: float, y: float, z: float, w: float, hx: float, hy: float, hz: float) -> tuple[float, float, float]:
    # |R| times the half extents, by the rows of the rotation.
    return (
        abs(1.0 - 2.0 * (y * y + z * z)) * hx + abs(2.0 * (x * y - z * w)) * hy + abs(2.0 * (x * z + y * w)) * hz,
        abs(2.0 * (x * y + z * w)) * hx + abs(1.0 - 2.0 * (x * x + z * z)) * hy + abs(2.0 * (y * z - x * w)) * hz,
        abs(2.0 * (x * z - y * w)) * hx + abs(2.0 * (y * z + x * w)) * hy + abs(1.0 - 2.0 * (x * x + y * y)) * hz,
    )


@compiled_step
def _round_reach(
    cylinder: bool, x: float, y: float, z: float, w: float, half_height: float, radius: float
) -> tuple[float, float, float]:
    """Return how far a cylinder or a capsule reaches from its middle along the axes of the world, in m.

    The quaternion (x, y, z, w) turns its own axis, which is z.
    """
    # The axis of the body in the world, of which only the size counts.
    along = (abs(2.0 * (x * z + y * w)), abs(2.0 * (y * z - x * w)), abs(1.0 - 2.0 * (x * x + y * y)))
    # The axis times half of its length, and the disc at its end: radius times the sine of its tilt.
    if cylinder:
        return (
            along[0] * half_height + np.sqrt(max(1.0 - along[0] * along[0], 0.0)) * radius,
            along[1] * half_height + np.sqrt(max(1.0 - along[1] * along[1], 0.0)) * radius,
            along[2] * half_height + np.sqrt(max(1.0 - along[2] * along[2], 0.0)) * radius,
        )
    # A capsule is a ball moved along its core.
    core = half_height - radius
    return (along[0] * core + radius, along[1] * core + radius, along[2] * core + radius)


# Comparing a column with a plain number is several times faster than with an enum member.
_NO_SHAPE = int(ShapeKind.NONE)


def active_mask(world: World) -> Bools:
    """Return the mask (N,) of rows that take part in collisions and have a collision shape."""
    mask: Bools = world.collision_rules.active_mask() & (world.shape_kind != _NO_SHAPE)
    return mask


def shape_arrays(
    world: World, rows: Rows | slice, positions: Floats | None = None, orientations: Floats | None = None
) -> ShapeArrays:
    """Return the collision shapes of `rows` at their world poses, or with their bases at other poses."""
    positions = _pick(world.position, rows) if positions is None else positions
    orientations = _pick(world.orientation, rows) if orientations is None else orientations
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
    if not np.count_nonzero(behind):
        return
    kernel = write_bounds if world.compiled else write_bounds.in_python
    shapes = world.shape_kind, world.position, world.orientation, world.half_extents, world.radius
    own = world.shape_centred, world.shape_position, world.shape_orientation
    world.bounds_version += kernel(behind, *shapes, *own, world.aabb_lower, world.aabb_upper) > 0
