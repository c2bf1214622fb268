"""The distance of two convex cores that do not overlap (Gilbert, Johnson and Keerthi's algorithm).

The two overlap where the difference of their points holds the origin. Corners of that difference are added to a
simplex, always the one farthest towards the origin, until none is nearer; the nearest point of the simplex is the
distance.
"""

from __future__ import annotations

from math import sqrt

from fleet_sim.arrays import Floats, Ints
from fleet_sim.collision.convex.simplex import SHARE, nearest_on_simplex
from fleet_sim.collision.convex.supports import Point, farthest
from fleet_sim.collision.convex.tables import COUNT, KIND, START
from fleet_sim.kernels import compiled

OVERLAP = -1.0
"""What `separation` returns for cores that overlap or touch."""
FAR = -2.0
"""What it returns for cores that are farther apart than asked."""
_MOST_ROUNDS = 128
_SPARE = 7
# Shares of the squared distance, and of the squared size of the simplex, that count as nothing.
_CLOSE, _NOTHING = 1e-10, 1e-30


@compiled
def separation(
    codes: Ints,
    sizes: Floats,
    corners: Floats,
    one: int,
    two: int,
    limit: float,
    enough: float,
    relative: Floats,
    s: Floats,
) -> float:
    """Return the distance between the cores of two pieces; OVERLAP where they touch, or FAR above `limit`.

    Less than `enough` is not measured to the end. The second piece is at `relative` (12,), seen from the first. `s` (4,
    8) gets the simplex of the difference nearest to the origin, see `Scratch`; corners that do not count have no share.
    """
    kind, start, many = codes[one, KIND], codes[one, START], codes[one, COUNT]
    a, b, c = sizes[one, 0], sizes[one, 1], sizes[one, 2]
    other, begin, number = codes[two, KIND], codes[two, START], codes[two, COUNT]
    d, e, f = sizes[two, 0], sizes[two, 1], sizes[two, 2]
    r0, r1, r2, r3, r4, r5 = relative[0], relative[1], relative[2], relative[3], relative[4], relative[5]
    r6, r7, r8, t0, t1, t2 = relative[6], relative[7], relative[8], relative[9], relative[10], relative[11]
    # Any direction will do at first; that between the two is near already.
    x, y, z = -t0, -t1, -t2
    if x * x + y * y + z * z == 0.0:
        x = 1.0
    count, square, size = 0, 0.0, 0.0
    for _ in range(_MOST_ROUNDS):
        ax, ay, az = farthest(kind, a, b, c, corners, start, many, -x, -y, -z)
        # The direction in the frame of the second piece: its own corners are there.
        u, v, w = r0 * x + r3 * y + r6 * z, r1 * x + r4 * y + r7 * z, r2 * x + r5 * y + r8 * z
        u, v, w = farthest(other, d, e, f, corners, begin, number, u, v, w)
        wx = ax - (r0 * u + r1 * v + r2 * w + t0)
        wy = ay - (r3 * u + r4 * v + r5 * w + t1)
        wz = az - (r6 * u + r7 * v + r8 * w + t2)
        length, along = x * x + y * y + z * z, x * wx + y * wy + z * wz
        # A plane across the direction, so far from the origin, has all of the difference on its other side.
        if along > 0.0 and along * along > limit * limit * length:
            return FAR
        # Nothing nearer is left, or the same corner comes again.
        if count > 0 and (length - along <= _CLOSE * (length + sqrt(length * size)) or _has(s, count, wx, wy, wz)):
            break
        _add(s, count, (wx, wy, wz), (ax, ay, az))
        size = max(size, wx * wx + wy * wy + wz * wz)
        now = nearest_on_simplex(s, count + 1)
        if count > 0 and now >= square:
            # Where rounding lets the distance grow, the simplex before stays.
            for corner in range(4):
                s[corner, SHARE] = s[corner, _SPARE]
            break
        count, square = _packed(s, count + 1), now
        # The origin is within the simplex: they overlap.
        if square <= _NOTHING * size:
            return OVERLAP
        # Nearer than anybody wants to know exactly.
        if square <= enough * enough:
            break
        x, y, z = _nearest(s, count)
    return sqrt(square)


@compiled
def _add(s: Floats, count: int, corner: Point, point: Point) -> None:
    """Add a corner of the difference, which comes from a point of the first core; keep the shares of the others."""
    for axis in range(3):
        s[count, axis], s[count, 3 + axis] = corner[axis], point[axis]
    for place in range(4):
        s[place, _SPARE] = s[place, SHARE]


@compiled
def _nearest(s: Floats, count: int) -> Point:
    x, y, z = 0.0, 0.0, 0.0
    for corner in range(count):
        share = s[corner, SHARE]
        x += share * s[corner, 0]
        y += share * s[corner, 1]
        z += share * s[corner, 2]
    return x, y, z


@compiled
def _has(s: Floats, count: int, x: float, y: float, z: float) -> bool:
    found = False
    for corner in range(count):
        found = found or (s[corner, 0] == x and s[corner, 1] == y and s[corner, 2] == z)
    return found


@compiled
def _packed(s: Floats, count: int) -> int:
    """Drop the corners without a share; return how many are left."""
    kept = 0
    for corner in range(count):
        if s[corner, SHARE] > 0.0:
            if kept < corner:
                for column in range(_SPARE):
                    s[kept, column] = s[corner, column]
            kept += 1
    for corner in range(kept, 4):
        s[corner, SHARE] = 0.0
    return kept
