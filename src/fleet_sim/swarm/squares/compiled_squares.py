"""Looks at all squares of a board by compiled code; what they find is then done on arrays."""

from __future__ import annotations

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.kernels import compiled_step


@compiled_step
def is_tame(positions: Floats, orientations: Floats, capacity: int, top: int, largest: float) -> bool:
    """Return whether no square can hold a broken pose among its first `top` rows of `capacity`; False says nothing.

    Sizes of positions are added, so that the order of the sum cannot matter: of half the largest, it is far off.
    """
    for begin in range(0, len(positions), capacity):
        total = 0.0
        for row in range(begin, begin + top):
            total += abs(positions[row, 0]) + abs(positions[row, 1]) + abs(positions[row, 2])
            for axis in range(4):
                # Written so that NaN is not tame.
                if not orientations[row, axis] <= 2.0:
                    return False
        if not total <= 0.5 * largest:
            return False
    return True


@compiled_step
def mark_near(positions: Floats, rows: Rows, first: Ints, second: Ints, reach: Floats, busy_mask: Bools) -> int:
    """Set `busy_mask` (S,) where a pair (first, second) (P,) of `rows` (S, C) is within `reach` (S, C'), squared.

    All others are set to False. Returns how many were found.
    """
    found = 0
    for square in range(len(rows)):
        busy_mask[square] = False
        for pair in range(len(first)):
            one, other = rows[square, first[pair]], rows[square, second[pair]]
            x, y = positions[one, 0] - positions[other, 0], positions[one, 1] - positions[other, 1]
            if x * x + y * y <= reach[square, pair]:
                busy_mask[square] = True
                found += 1
                break
    return found


@compiled_step
def mark_outside(positions: Floats, rows: Rows, ones: Ints, low: Floats, high: Floats, busy_mask: Bools) -> int:
    """Set `busy_mask` (S,) where one of `ones` (C,) of `rows` (S, B) is outside `low` to `high`, (2, S, B) of x and y.

    Others are left as they are. Returns how many are set now.
    """
    found = 0
    for square in range(len(rows)):
        for one in ones:
            row = rows[square, one]
            for axis in range(2):
                if positions[row, axis] < low[axis, square, one] or positions[row, axis] > high[axis, square, one]:
                    busy_mask[square] = True
        found += busy_mask[square]
    return found
