"""The point of a simplex that is nearest to the origin."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.kernels import compiled

SHARE = 6
"""The column of a corner's share in the nearest point; its place is in the first three."""
# A tetrahedron of less volume than this share of its sides' product is flat: the origin is not inside.
_FLAT = 1e-14


@compiled
def _clear(s: Floats) -> None:
    s[0, SHARE], s[1, SHARE], s[2, SHARE], s[3, SHARE] = 0.0, 0.0, 0.0, 0.0


@compiled
def nearest_on_segment(s: Floats, i: int, j: int) -> float:
    """Set the shares of corners i and j of `s` (4, 8) for the point nearest to 0; return its squared distance."""
    x, y, z = s[j, 0] - s[i, 0], s[j, 1] - s[i, 1], s[j, 2] - s[i, 2]
    square = x * x + y * y + z * z
    share = -(s[i, 0] * x + s[i, 1] * y + s[i, 2] * z)
    share = 0.0 if share <= 0.0 or square == 0.0 else 1.0 if share >= square else share / square
    _clear(s)
    s[i, SHARE], s[j, SHARE] = 1.0 - share, share
    x, y, z = s[i, 0] + share * x, s[i, 1] + share * y, s[i, 2] + share * z
    return x * x + y * y + z * z


@compiled
def nearest_on_triangle(s: Floats, i: int, j: int, k: int) -> float:
    """Set the shares of corners i, j and k of `s` (4, 8) for the point nearest to 0; return its squared distance."""
    # Barycentric coordinates by areas seen along the normal; where one is negative, the nearest point is on an edge.
    ax, ay, az = s[j, 0] - s[i, 0], s[j, 1] - s[i, 1], s[j, 2] - s[i, 2]
    bx, by, bz = s[k, 0] - s[i, 0], s[k, 1] - s[i, 1], s[k, 2] - s[i, 2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    square = nx * nx + ny * ny + nz * nz
    u = _area(s, j, k, nx, ny, nz)
    v = _area(s, k, i, nx, ny, nz)
    w = _area(s, i, j, nx, ny, nz)
    if square > 0.0 and u > 0.0 and v > 0.0 and w > 0.0:
        total = u + v + w
        _clear(s)
        s[i, SHARE], s[j, SHARE], s[k, SHARE] = u / total, v / total, w / total
        height = s[i, 0] * nx + s[i, 1] * ny + s[i, 2] * nz
        return height * height / square
    # All edges where areas say so or say nothing, as for a triangle without area.
    best = nearest_on_segment(s, i, j)
    first, second, third = s[i, SHARE], s[j, SHARE], 0.0
    square = nearest_on_segment(s, j, k)
    if square < best:
        best, first, second, third = square, 0.0, s[j, SHARE], s[k, SHARE]
    square = nearest_on_segment(s, k, i)
    if square < best:
        best, first, second, third = square, s[i, SHARE], 0.0, s[k, SHARE]
    _clear(s)
    s[i, SHARE], s[j, SHARE], s[k, SHARE] = first, second, third
    return best


@compiled
def _area(s: Floats, i: int, j: int, nx: float, ny: float, nz: float) -> float:
    """Return twice the area of 0 and corners i and j along a normal, times the length of the normal."""
    return float(
        nx * (s[i, 1] * s[j, 2] - s[i, 2] * s[j, 1])
        + ny * (s[i, 2] * s[j, 0] - s[i, 0] * s[j, 2])
        + nz * (s[i, 0] * s[j, 1] - s[i, 1] * s[j, 0])
    )


@compiled
def _is_beyond(s: Floats, i: int, j: int, k: int, fourth: int) -> bool:
    """Return whether 0 is on the other side of the face i, j, k of a tetrahedron than its fourth corner."""
    ax, ay, az = s[j, 0] - s[i, 0], s[j, 1] - s[i, 1], s[j, 2] - s[i, 2]
    bx, by, bz = s[k, 0] - s[i, 0], s[k, 1] - s[i, 1], s[k, 2] - s[i, 2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    cx, cy, cz = s[fourth, 0] - s[i, 0], s[fourth, 1] - s[i, 1], s[fourth, 2] - s[i, 2]
    inside = nx * cx + ny * cy + nz * cz
    here = -(nx * s[i, 0] + ny * s[i, 1] + nz * s[i, 2])
    # Of all three sides, not of the normal and the third: four corners on one line have a normal made of rounding.
    sides = (ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz) * (cx * cx + cy * cy + cz * cz)
    if inside * inside <= _FLAT * _FLAT * sides:
        return True
    return bool(here * inside < 0.0)


@compiled
def nearest_on_simplex(s: Floats, count: int) -> float:
    """Set the shares of the first `count` corners of `s` (4, 8) for the point nearest to 0.

    Returns its squared distance, -1 where 0 is inside a tetrahedron or on its surface.
    """
    if count == 1:
        _clear(s)
        s[0, SHARE] = 1.0
        return float(s[0, 0] * s[0, 0] + s[0, 1] * s[0, 1] + s[0, 2] * s[0, 2])
    if count == 2:
        return nearest_on_segment(s, 0, 1)
    if count == 3:
        return nearest_on_triangle(s, 0, 1, 2)
    best = -1.0
    a, b, c, d = 0.25, 0.25, 0.25, 0.25
    for fourth in range(4):
        i, j, k = (fourth + 1) % 4, (fourth + 2) % 4, (fourth + 3) % 4
        if _is_beyond(s, i, j, k, fourth):
            square = nearest_on_triangle(s, i, j, k)
            if best < 0.0 or square < best:
                best = square
                a, b, c, d = s[0, SHARE], s[1, SHARE], s[2, SHARE], s[3, SHARE]
    s[0, SHARE], s[1, SHARE], s[2, SHARE], s[3, SHARE] = a, b, c, d
    return best
