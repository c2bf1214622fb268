"""Distances and contacts of pairs of entities, piece by piece, in one call.

Boxes around pieces are compared first, as most pieces are far apart. Surfaces go down a tree of boxes to their
triangles; all other pieces are convex.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.collision.convex.measure import piece_distance, place_second
from fleet_sim.collision.convex.tables import (
    BALL,
    KIND,
    LEAF,
    NODES,
    OUTER,
    PLANE,
    ROOT,
    START,
    SURFACE,
    Pieces,
    Placed,
    Scratch,
)
from fleet_sim.kernels import compiled

# Of the size of boxes' coordinates: boxes may be so much nearer than rounding says.
_SLACK = 1e-12


@compiled
def pair_distances(
    pieces: Pieces, placed: Placed, pairs: Ints, limit: float, touch: bool, scratch: Scratch, out: Floats
) -> None:
    """Write to `out` (M,) the signed distances of `pairs` (M, 2) of entities, infinite above `limit`.

    With `touch`, and a limit of at least 0, any number of at most `limit` stands for a distance that is that.
    """
    for index in range(len(pairs)):
        one, other, within, best = pairs[index, 0], pairs[index, 1], limit, np.inf
        for mine in range(placed.begins[one], placed.begins[one + 1]):
            # Most pieces of a robot are far from all of another one.
            if (touch and best <= limit) or not _are_near(placed.boxes[mine], placed.around[other], within):
                continue
            for yours in range(placed.begins[other], placed.begins[other + 1]):
                if _are_near(placed.boxes[mine], placed.boxes[yours], within):
                    best = min(best, _distance(pieces, placed, mine, yours, within, touch, scratch))
                    # Only what is nearer is of interest from now on.
                    within = min(within, best)
                    if touch and best <= limit:
                        break
        out[index] = best


@compiled
def touching_places(pieces: Pieces, placed: Placed, which: Ints, limit: float, scratch: Scratch, out: Bools) -> None:
    """Write to `out` (M,) which pairs of places `which` (M, 2) have pieces that are at most `limit` >= 0 apart."""
    for index in range(len(which)):
        mine, yours = which[index, 0], which[index, 1]
        near = _are_near(placed.boxes[mine], placed.boxes[yours], limit)
        out[index] = near and _distance(pieces, placed, mine, yours, limit, True, scratch) <= limit


@compiled
def near_points(
    pieces: Pieces, placed: Placed, one: int, other: int, limit: float, scratch: Scratch, found: Floats, which: Ints
) -> int:
    """Write distance, nearest points and normal (10,) of the pieces of two entities that are at most `limit` apart.

    In the world, the normal from the second to the first. `which` (K, 2) are the places of the pieces. Returns how many
    there are; those for which `found` (K, 10) has no room are left out.
    """
    count = 0
    for mine in range(placed.begins[one], placed.begins[one + 1]):
        for yours in range(placed.begins[other], placed.begins[other + 1]):
            if not _are_near(placed.boxes[mine], placed.boxes[yours], limit):
                continue
            distance = _distance(pieces, placed, mine, yours, limit, False, scratch)
            if distance <= limit:
                if count < len(found):
                    which[count, 0], which[count, 1] = mine, yours
                    found[count, 0] = distance
                    _write_world(placed.poses[mine], scratch.found, found[count])
                count += 1
    return count


@compiled
def _write_world(pose: Floats, found: Floats, out: Floats) -> None:
    """Write points and normal, found in a frame at `pose`, as they are in the world."""
    for part in range(3):
        x, y, z = found[1 + 3 * part], found[2 + 3 * part], found[3 + 3 * part]
        for line in range(3):
            turned = pose[3 * line] * x + pose[3 * line + 1] * y + pose[3 * line + 2] * z
            out[1 + 3 * part + line] = turned if part == 2 else turned + pose[9 + line]


@compiled
def _are_near(box: Floats, other: Floats, limit: float) -> bool:
    """Return whether boxes (6,) may be at most `limit` apart; what is inside of them is not nearer."""
    square, size = 0.0, 0.0
    for axis in range(3):
        gap = max(box[axis] - other[3 + axis], other[axis] - box[3 + axis])
        if gap > 0.0:
            square += gap * gap
            # Rounding is relative to the coordinates.
            size = max(size, abs(box[axis]), abs(other[axis]))
    reach = max(limit, 0.0) + _SLACK * size
    return bool(square <= reach * reach)


@compiled
def _distance(
    pieces: Pieces, placed: Placed, mine: int, yours: int, limit: float, touch: bool, scratch: Scratch
) -> float:
    """Return the distance of two placed pieces, as `piece_distance` does; none of a surface from another or a plane."""
    first, second = placed.numbers[mine], placed.numbers[yours]
    kind, other = pieces.codes[first, KIND], pieces.codes[second, KIND]
    if kind != SURFACE and other != SURFACE:
        place_second(placed.poses[mine], placed.poses[yours], scratch.relative)
        return piece_distance(pieces, first, second, limit, touch, scratch)
    if kind >= PLANE and other >= PLANE:
        return np.inf
    if kind != SURFACE:
        # The surface goes first: its triangles are taken one by one.
        mine, yours, first, second = yours, mine, second, first
    place_second(placed.poses[mine], placed.poses[yours], scratch.relative)
    distance = _surface_distance(pieces, first, second, limit, touch, scratch)
    # Found in the frame of the surface, as if that were the first.
    if kind != SURFACE and not touch:
        place_second(placed.poses[yours], placed.poses[mine], scratch.relative)
        _exchange(scratch)
    return distance


@compiled
def _exchange(scratch: Scratch) -> None:
    """Exchange first and second in what was found, now in the frame of the other one."""
    found, r, kept = scratch.found, scratch.relative, scratch.kept
    for column in range(1, 10):
        kept[column] = found[column]
    for part in range(3):
        x, y, z = kept[1 + 3 * part], kept[2 + 3 * part], kept[3 + 3 * part]
        for line in range(3):
            turned = r[3 * line] * x + r[3 * line + 1] * y + r[3 * line + 2] * z
            # It points from the second to the first, so it turns round.
            if part == 2:
                found[7 + line] = -turned
            else:
                found[4 - 3 * part + line] = turned + r[9 + line]


@compiled
def _surface_distance(pieces: Pieces, surface: int, other: int, limit: float, touch: bool, scratch: Scratch) -> float:
    """Return the least distance of the triangles of a surface from a convex piece at `scratch.relative`."""
    codes, r, box, around = pieces.codes, scratch.relative, pieces.boxes[other], scratch.box
    for line in range(3):
        a, b, c = r[3 * line], r[3 * line + 1], r[3 * line + 2]
        centre = a * box[0] + b * box[1] + c * box[2] + r[9 + line]
        half = abs(a) * box[3] + abs(b) * box[4] + abs(c) * box[5]
        around[line], around[3 + line] = centre - half, centre + half
    # PyBullet gives no margin to triangles that it measures from spheres.
    margin = 0.0 if codes[other, KIND] == BALL else pieces.sizes[surface, OUTER]
    pieces.sizes[0, OUTER] = margin
    best, leaf, root, inner = np.inf, codes[surface, LEAF], codes[surface, ROOT], codes[surface, NODES] // 2
    stack, height = scratch.stack, 1
    stack[0] = 0
    while height > 0:
        height -= 1
        node = stack[height]
        if not _are_near(pieces.trees[root + node], around, max(limit, 0.0) + margin):
            continue
        if node < inner:
            stack[height], stack[height + 1] = 2 * node + 2, 2 * node + 1
            height += 2
            continue
        for triangle in range(leaf):
            _take_triangle(pieces, codes[surface, START] + 3 * (leaf * (node - inner) + triangle))
            distance = piece_distance(pieces, 0, other, limit, touch, scratch)
            if distance <= limit and touch:
                return distance
            if distance < best:
                # Only what is nearer is looked at from now on.
                best = limit = distance
                for column in range(1, 10):
                    scratch.kept[column] = scratch.found[column]
    for column in range(1, 10):
        scratch.found[column] = scratch.kept[column]
    return best


@compiled
def _take_triangle(pieces: Pieces, start: int) -> None:
    """Let piece 0 be the triangle whose corners begin at `start`."""
    pieces.codes[0, START] = start
    for axis in range(3):
        a, b, c = (
            pieces.corners[start, axis],
            pieces.corners[start + 1, axis],
            pieces.corners[start + 2, axis],
        )
        low, high = min(a, b, c), max(a, b, c)
        pieces.boxes[0, axis], pieces.boxes[0, 3 + axis] = (
            0.5 * (low + high),
            0.5 * (high - low) + pieces.sizes[0, OUTER],
        )
