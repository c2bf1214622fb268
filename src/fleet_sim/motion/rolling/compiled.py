"""How far robots drove in a step, by compiled code: the bits of `ways_driven`, one robot at a time."""

from __future__ import annotations

import math

from fleet_sim.arrays import Floats, Rows
from fleet_sim.kernels import compiled_step
from fleet_sim.kernels.turns import atan2, multiply, norm_of, rotate

TINY = 1e-9
"""Angle in rad below which an arc is as long as its chord, in all digits."""


@compiled_step
def write_ways(
    rows: Rows, before: Floats, turned: Floats, positions: Floats, orientations: Floats, ways: Floats
) -> None:
    """Write to `ways` (N, 3) how far `rows` (N,) drove since they were at `before` (N, 3) and `turned` (N, 4).

    `positions` and `orientations` are those of the world, of all rows.
    """
    for place in range(len(rows)):
        row = rows[place]
        x, y, z = before[place, 0], before[place, 1], before[place, 2]
        qx, qy, qz, qw = turned[place, 0], turned[place, 1], turned[place, 2], turned[place, 3]
        to_x, to_y, to_z = positions[row, 0], positions[row, 1], positions[row, 2]
        ox, oy, oz, ow = orientations[row, 0], orientations[row, 1], orientations[row, 2], orientations[row, 3]
        stood = x == to_x and y == to_y and z == to_z
        if stood and qx == ox and qy == oy and qz == oz and qw == ow:
            ways[place, 0], ways[place, 1], ways[place, 2] = 0.0, 0.0, 0.0
            continue
        between = multiply((-qx, -qy, -qz, qw), (ox, oy, oz, ow))
        # Two quaternions are one orientation; the shorter way round is meant.
        sign = -1.0 if between[3] < 0.0 else 1.0
        up, real = between[2] * sign, between[3] * sign
        half = atan2(up, real)
        mx, my, mz, mw = qx + sign * ox, qy + sign * oy, qz + sign * oz, qw + sign * ow
        norm = norm_of((mx, my, mz, mw))
        ahead, aside, _ = rotate((-mx / norm, -my / norm, -mz / norm, mw / norm), (to_x - x, to_y - y, to_z - z))
        # Half an angle over its sine: an arc over its chord.
        longer = half * math.sqrt(up * up + real * real) / up if abs(half) > TINY else 1.0
        ways[place, 0], ways[place, 1], ways[place, 2] = ahead * longer, aside * longer, 2.0 * half
