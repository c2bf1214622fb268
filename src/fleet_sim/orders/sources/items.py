"""ItemDraws: the lines of orders that come at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core import random
from fleet_sim.errors import InvalidValueError, unknown_name

_LANE = 7
"""Of random numbers: others of the same stream are drawn in the first one."""
_LINES = 0
_PER_ORDER = 1_000_000


class ItemDraws:
    """Draws lines of different skus. What is drawn depends on the key and on the number of the draw alone."""

    def __init__(
        self,
        skus: Sequence[str],
        weights: Mapping[str, float],
        lines: tuple[int, int],
        quantity: tuple[int, int],
        key: int,
    ) -> None:
        """Raises UnknownNameError for an unknown sku, InvalidValueError for numbers that do not fit together."""
        for sku in weights:
            if sku not in skus:
                raise unknown_name("sku", sku, skus)
        self._skus = list(weights) if weights else list(skus)
        self._weights: Floats = np.array(list(weights.values())) if weights else np.ones(len(skus))
        for name, (low, high) in (("lines", lines), ("quantity", quantity)):
            if high < low:
                raise InvalidValueError(f"{name}: expected the smaller number first, got {[low, high]}")
        if np.count_nonzero(self._weights) < lines[1]:
            most = np.count_nonzero(self._weights)
            raise InvalidValueError(f"lines: {lines[1]} of different skus are asked for, of {most} that there are")
        self._lines, self._quantity, self._key = lines, quantity, key

    def draw(self, number: int) -> tuple[tuple[str, int], ...]:
        """Return the lines of the draw `number`: pairs of sku and items."""
        left, found = self._weights.copy(), []
        for line in range(self._between(self._lines, number, _LINES)):
            bounds = np.cumsum(left)
            at = int(np.searchsorted(bounds, self._uniform(number, 1 + 2 * line) * bounds[-1], side="right"))
            sku = min(at, int(np.flatnonzero(left)[-1]))
            left[sku] = 0.0
            found.append((self._skus[sku], self._between(self._quantity, number, 2 + 2 * line)))
        return tuple(found)

    def _between(self, bounds: tuple[int, int], number: int, place: int) -> int:
        low, high = bounds
        return min(low + int(self._uniform(number, place) * (high - low + 1)), high)

    def _uniform(self, number: int, place: int) -> float:
        counts = np.array([_PER_ORDER * number + place])
        return float(random.uniforms(self._key, np.zeros(1, np.int64), counts, _LANE)[0])
