"""Series: what adds up over time, in stretches that grow with the run: a day takes as much memory as a minute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.saved_classes import saved

MOST = 600
"""Stretches that are kept; even, as two become one when there are more."""


@saved
class Series:
    """Sums of the quantities `names` in stretches of `period` s, which double whenever MOST of them are full."""

    def __init__(self, names: Sequence[str], period: float = 1.0) -> None:
        self.names = tuple(names)
        self._period = period
        self._sums = np.zeros((MOST, len(self.names)))
        self._lengths = np.zeros(MOST)
        self._count = 0
        self._open = np.zeros(len(self.names))
        self._open_length = 0.0

    def add(self, dt: float, amounts: Floats) -> None:
        """Add what `amounts` (K,) were in the last `dt` s."""
        # Added up here first: most steps only add to the stretch under way.
        self._open += amounts
        self._open_length += dt
        # Steps need not divide a stretch, and their sum is not exact.
        if self._open_length >= self._period - 1e-9:
            self._close()

    def _close(self) -> None:
        """End the stretch under way; when MOST are full, join neighbors, so that a run of any length fits."""
        self._sums[self._count] = self._open
        self._lengths[self._count] = self._open_length
        self._count += 1
        self._open[:] = 0.0
        self._open_length = 0.0
        if self._count == MOST:
            # Two neighbours become one, so all stretches stay equally long.
            half = MOST // 2
            self._sums[:half] = self._sums[::2] + self._sums[1::2]
            self._lengths[:half] = self._lengths[::2] + self._lengths[1::2]
            self._count = half
            self._period *= 2.0

    def table(self) -> tuple[Floats, Floats]:
        """Return the ends (B,) of the stretches in s, and the sums (B, K) of each; the last may be a shorter one."""
        sums, lengths = self._sums[: self._count], self._lengths[: self._count]
        # The stretch under way counts, or the sums would miss the end of a run.
        if self._open_length > 0.0:
            sums, lengths = np.vstack((sums, self._open)), np.append(lengths, self._open_length)
        return np.cumsum(lengths), sums.copy()
