"""Curves of cars: up to five pieces, each an arc of the smallest radius or a straight line, ahead or back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.spatial import trigonometry as trig

PIECES = 5
"""Most pieces of a shortest curve."""
LEFT, STRAIGHT, RIGHT = 1.0, 0.0, -1.0
ROUNDING = 1e-9
"""Pieces this much (in radii) on the wrong side of zero are zero: rounding must not send a car once round."""

_TURN = 2.0 * np.pi


class Curves(NamedTuple):
    """Curves of N cars, in units of the smallest radius: `lengths` (N, 5), negative where driven back, and `turns`.

    `turns` (N, 5) are 1 to the left, -1 to the right, 0 straight on. Pieces that are not used have length 0.
    """

    lengths: Floats
    turns: Floats

    def totals(self) -> Floats:
        """Return the lengths (N,) of the whole curves."""
        sizes = np.abs(self.lengths)
        # Added piece by piece: a sum over an axis would depend on the number of rows.
        return np.asarray(sizes[:, 0] + sizes[:, 1] + sizes[:, 2] + sizes[:, 3] + sizes[:, 4])


class Word(NamedTuple):
    """One kind of curve for N cars: where there is one, the lengths, an array or number for each piece, and turns."""

    mask: Bools
    lengths: Sequence[Floats | float]
    turns: Sequence[float]


def shortest(words: Sequence[Word], count: int) -> Curves:
    """Return the shortest of `words` for each of `count` cars, the first listed among equals."""
    tables = np.zeros((PIECES, len(words), count))
    turns = np.zeros((len(words), PIECES))
    totals = np.zeros((len(words), count))
    for number, word in enumerate(words):
        turns[number, : len(word.turns)] = word.turns
        for piece, lengths in enumerate(word.lengths):
            tables[piece, number] = lengths
            totals[number] += np.abs(lengths)
        totals[number][~word.mask] = np.inf
    best = np.argmin(totals, axis=0)
    lengths = np.ascontiguousarray(tables[:, best, np.arange(count)].T)
    return Curves(lengths, turns[best])


def once_round(angles: Floats) -> Floats:
    """Return `angles` wrapped to [0, 2 pi), with 0 for what only rounding keeps from it."""
    angles = angles - _TURN * np.floor(angles / _TURN)
    return np.where((angles > _TURN - ROUNDING) | (angles < 0.0), 0.0, angles)


def half_round(angles: Floats) -> Floats:
    """Return `angles` wrapped to [-pi, pi]."""
    return angles - _TURN * np.rint(angles / _TURN)


def polar(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return lengths and angles (N,) of vectors."""
    return np.sqrt(x * x + y * y), trig.arctan2(y, x)
