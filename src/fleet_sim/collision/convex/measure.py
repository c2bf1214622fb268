"""The signed distance of two pieces, as PyBullet's `getClosestPoints` has it."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.collision.convex.penetration import penetration
from fleet_sim.collision.convex.separation import FAR, OVERLAP, separation
from fleet_sim.collision.convex.simplex import SHARE
from fleet_sim.collision.convex.supports import farthest
from fleet_sim.collision.convex.tables import BOX, COUNT, INNER, KIND, OUTER, PLANE, START, Pieces, Scratch
from fleet_sim.kernels import compiled

# Of the size of boxes: they may be so much nearer than rounding says.
_SLACK = 1e-12


@compiled
def place_second(p: Floats, q: Floats, relative: Floats) -> None:
    """Set `relative` to the pose q (12,), seen from the pose p."""
    # The inverse of a pose is its transpose: columns of `p` by columns of `q`.
    x, y, z = q[9] - p[9], q[10] - p[10], q[11] - p[11]
    for line in range(3):
        a, b, c = p[line], p[3 + line], p[6 + line]
        for column in range(3):
            relative[3 * line + column] = a * q[column] + b * q[3 + column] + c * q[6 + column]
        relative[9 + line] = a * x + b * y + c * z


@compiled
def boxes_apart(boxes: Floats, one: int, two: int, limit: float, r: Floats) -> bool:
    """Return whether the boxes of two pieces, the second at `r` (12,), are farther apart than `limit` along a side."""
    ax, ay, az, hx, hy, hz = boxes[one, 0], boxes[one, 1], boxes[one, 2], boxes[one, 3], boxes[one, 4], boxes[one, 5]
    bx, by, bz, gx, gy, gz = boxes[two, 0], boxes[two, 1], boxes[two, 2], boxes[two, 3], boxes[two, 4], boxes[two, 5]
    x = r[0] * bx + r[1] * by + r[2] * bz + r[9] - ax
    y = r[3] * bx + r[4] * by + r[5] * bz + r[10] - ay
    z = r[6] * bx + r[7] * by + r[8] * bz + r[11] - az
    reach = max(limit, 0.0) + _SLACK * (abs(x) + abs(y) + abs(z) + hx + hy + hz + gx + gy + gz)
    # The three axes of the first box, then those of the second.
    if abs(x) - hx - (abs(r[0]) * gx + abs(r[1]) * gy + abs(r[2]) * gz) > reach:
        return True
    if abs(y) - hy - (abs(r[3]) * gx + abs(r[4]) * gy + abs(r[5]) * gz) > reach:
        return True
    if abs(z) - hz - (abs(r[6]) * gx + abs(r[7]) * gy + abs(r[8]) * gz) > reach:
        return True
    if abs(r[0] * x + r[3] * y + r[6] * z) - gx - (abs(r[0]) * hx + abs(r[3]) * hy + abs(r[6]) * hz) > reach:
        return True
    if abs(r[1] * x + r[4] * y + r[7] * z) - gy - (abs(r[1]) * hx + abs(r[4]) * hy + abs(r[7]) * hz) > reach:
        return True
    return bool(abs(r[2] * x + r[5] * y + r[8] * z) - gz - (abs(r[2]) * hx + abs(r[5]) * hy + abs(r[8]) * hz) > reach)


@compiled
def piece_distance(pieces: Pieces, one: int, two: int, limit: float, touch: bool, scratch: Scratch) -> float:
    """Return the signed distance of two convex pieces or planes, the second at `scratch.relative`; inf above `limit`.

    Writes the nearest points of both and the normal, from the second to the first, to `scratch.found[1:]`, in the frame
    of the first. With `touch`, and a limit of at least 0, what is returned is any number of at most `limit` where the
    distance is that, which is faster, and nothing is written.
    """
    codes, sizes = pieces.codes, pieces.sizes
    if codes[one, KIND] == PLANE or codes[two, KIND] == PLANE:
        return _plane_distance(codes, sizes, pieces.corners, one, two, limit, scratch.relative, scratch.found)
    if boxes_apart(pieces.boxes, one, two, limit, scratch.relative):
        return np.inf
    # Cores are measured, and the margins around them taken off.
    margin, other = sizes[one, INNER] + sizes[one, OUTER], sizes[two, INNER] + sizes[two, OUTER]
    reach = limit + (margin + other)
    enough = reach if touch else 0.0
    s = scratch.simplex
    distance = separation(codes, sizes, pieces.corners, one, two, max(reach, 0.0), enough, scratch.relative, s)
    if distance == FAR or distance > reach:
        return np.inf
    if touch:
        return limit
    if distance == OVERLAP:
        distance = -penetration(pieces, one, two, scratch)
        if distance > reach:
            return np.inf
        _note_overlap(scratch.found, margin, other)
    else:
        _note_apart(s, scratch.found, distance, margin, other)
    # Not above the limit by rounding: it has to be decided alike with `touch`.
    return min(distance - (margin + other), limit)


@compiled
def _note_apart(s: Floats, found: Floats, distance: float, margin: float, other: float) -> None:
    """Write nearest points and normal of two pieces with margins whose cores are `distance` apart."""
    for axis in range(3):
        point, away = 0.0, 0.0
        for corner in range(4):
            if s[corner, SHARE] > 0.0:
                # Shares of corners give the point; what is left is the way to the other one.
                point += s[corner, SHARE] * s[corner, 3 + axis]
                away += s[corner, SHARE] * s[corner, axis]
        normal = away / distance
        found[1 + axis] = point - margin * normal
        found[4 + axis] = point - away + other * normal
        found[7 + axis] = normal


@compiled
def _note_overlap(found: Floats, margin: float, other: float) -> None:
    """Add the margins to what `penetration` found, and let the normal point from the second to the first."""
    for axis in range(3):
        normal = -found[7 + axis]
        found[1 + axis] -= margin * normal
        found[4 + axis] += other * normal
        found[7 + axis] = normal


@compiled
def _plane_distance(
    codes: Ints, sizes: Floats, corners: Floats, one: int, two: int, limit: float, r: Floats, found: Floats
) -> float:
    """Return how far a convex piece is above a plane, whose frame has the solid side at negative z."""
    below = codes[one, KIND] == PLANE
    piece = two if below else one
    if codes[piece, KIND] == PLANE:
        return np.inf
    # Against a plane PyBullet takes boxes with sharp edges, but cylinders with round ones.
    sharp = sizes[piece, INNER] if codes[piece, KIND] == BOX else 0.0
    margin = sizes[piece, INNER] - sharp + sizes[piece, OUTER]
    # The plane's normal in the frame of the piece.
    nx, ny, nz = (r[6], r[7], r[8]) if below else (r[2], r[5], r[8])
    a, b, c = sizes[piece, 0] + sharp, sizes[piece, 1] + sharp, sizes[piece, 2] + sharp
    x, y, z = farthest(codes[piece, KIND], a, b, c, corners, codes[piece, START], codes[piece, COUNT], -nx, -ny, -nz)
    if below:
        x, y, z = (
            r[0] * x + r[1] * y + r[2] * z + r[9],
            r[3] * x + r[4] * y + r[5] * z + r[10],
            r[6] * x + r[7] * y + r[8] * z + r[11],
        )
        found[1], found[2], found[3], found[4], found[5], found[6] = x, y, 0.0, x, y, z - margin
        found[7], found[8], found[9] = 0.0, 0.0, -1.0
        return z - margin if z - margin <= limit else np.inf
    height = nx * (x - r[9]) + ny * (y - r[10]) + nz * (z - r[11])
    found[1], found[2], found[3] = x - margin * nx, y - margin * ny, z - margin * nz
    found[4], found[5], found[6] = x - height * nx, y - height * ny, z - height * nz
    found[7], found[8], found[9] = nx, ny, nz
    return height - margin if height - margin <= limit else np.inf
