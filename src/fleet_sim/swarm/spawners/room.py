"""Free space for discs to spawn: which of them overlap nothing, and where they move when pushed apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.collision.broad import candidate_pairs
from fleet_sim.spatial import trigonometry as trig

MOST_PUSHES = 1000
"""Largest number of rounds of pushing; what overlaps then is left to the world's own separation."""
SLACK = 1e-9
"""Overlaps below this, in m, are rounding."""
EXCESS = 0.05
"""How much further than needed discs are pushed, in radii."""
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


@dataclass(frozen=True)
class Room:
    """Discs that are there already: `centres` (K, 2) and `radii` (K,). `size` (2,) is that of a world with walls."""

    centres: Floats
    radii: Floats
    size: Floats | None = None

    def free_mask(self, drawn: Floats, radius: float) -> Bools:
        """Return which of `drawn` (N, 2) overlap neither these discs nor those drawn before them that are free (N,)."""
        first, second, _, _ = self._overlaps(drawn, radius)
        free_mask = np.ones(len(self.centres) + len(drawn), np.bool_)
        for one, other in zip(first.tolist(), second.tolist(), strict=True):
            # Pairs come sorted, so `one` is decided when a later one is compared with it.
            if free_mask[one]:
                free_mask[other] = False
        return free_mask[len(self.centres) :]

    def pushed_apart(self, drawn: Floats, radius: float) -> Floats:
        """Return `drawn` (N, 2), pushed out of each other, of these discs and of the walls; these discs stay."""
        centres, count = drawn.copy(), len(self.centres)
        for _ in range(MOST_PUSHES):
            first, second, offsets, depths = self._overlaps(centres, radius)
            outside = 0.0 if self.size is None else np.abs(self._inside(centres, radius) - centres).max(initial=0.0)
            if depths.max(initial=0.0) <= SLACK and outside <= SLACK:
                break
            shift = np.zeros((count + len(centres), 2))
            # The one that was there stays, and the other one makes all of the way.
            share = np.where(first < count, 1.0, 0.5)[:, None]
            # A little further than needed, so that the last overlaps vanish instead of halving for ever.
            away = _directions(offsets, second) * (depths + EXCESS * radius)[:, None]
            np.add.at(shift, second, away * share)
            np.add.at(shift, first, away * -0.5)
            # The sum of many pushes would throw discs out of a heap; their mean would take for ever to dissolve it.
            contacts = np.bincount(np.concatenate((first, second)), minlength=len(shift))
            shift /= np.sqrt(np.maximum(contacts, 1))[:, None]
            centres = self._inside(centres + shift[count:], radius)
        return centres

    def _inside(self, centres: Floats, radius: float) -> Floats:
        if self.size is None:
            return centres
        edge = np.minimum(radius, 0.5 * self.size)
        inside: Floats = np.clip(centres, edge, self.size - edge)
        return inside

    def _overlaps(self, drawn: Floats, radius: float) -> tuple[Rows, Rows, Floats, Floats]:
        """Return the pairs (P,), (P,) that overlap, the offsets (P, 2) to the second, and how deep they do (P,).

        Indices count these discs first and then those of `drawn`.
        """
        count = len(self.centres)
        centres = np.concatenate((self.centres, drawn))
        sizes = np.concatenate((self.radii, np.full(len(drawn), radius)))
        lower, upper = np.zeros((len(centres), 3)), np.zeros((len(centres), 3))
        lower[:, :2], upper[:, :2] = centres - sizes[:, None], centres + sizes[:, None]
        static_mask = np.arange(len(centres)) < count
        pairs = candidate_pairs(lower, upper, static_mask=static_mask, ignore_static=False)
        first, second = pairs[:, 0], pairs[:, 1]
        # Two that were there already are nobody's business here.
        offsets = centres[second] - centres[first]
        depths = sizes[first] + sizes[second] - trig.hypot(offsets[:, 0], offsets[:, 1])
        hit = np.flatnonzero((depths > 0.0) & (second >= count))
        return first[hit], second[hit], offsets[hit], depths[hit]


def _directions(offsets: Floats, numbers: Rows) -> Floats:
    """Return the unit vectors of `offsets` (P, 2); where two are in one place, each pair gets its own direction."""
    lengths = trig.hypot(offsets[:, 0], offsets[:, 1])
    angles = np.where(lengths > 0.0, trig.arctan2(offsets[:, 1], offsets[:, 0]), numbers * GOLDEN_ANGLE)
    return np.stack(trig.sin_cos(angles)[::-1], axis=1)
