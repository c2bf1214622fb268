"""The set of pairs in contact, and the changes from one update to the next."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Ints, Rows

# A pair is stored as one integer, the smaller row in the high bits: integers sort and compare much faster than rows
# of an array, and keep the order of the pairs.
_SHIFT = 32
_LOW_BITS = 0xFFFFFFFF


class PairSet:
    """The current pairs of rows (i < j), and the differences from one update to the next.

    A pair starts once and ends once, however often it is reported in between. Call `remove_rows` when an entity is
    removed: a new entity in the same row then starts without pairs.
    """

    def __init__(self) -> None:
        self._keys: Ints = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def pairs(self) -> Ints:
        """The current pairs (M, 2), i < j, sorted."""
        return _pairs(self._keys)

    def update(self, pairs: Ints) -> tuple[Ints, Ints]:
        """Make `pairs` (M, 2) the current ones and return (started, ended), sorted, i < j.

        The order of rows in a pair, the order of pairs and repetitions do not matter.
        """
        keys = _keys(pairs)
        old = self._keys
        self._keys = keys
        if len(keys) == len(old) and (keys == old).all():
            return _pairs(keys[:0]), _pairs(keys[:0])
        return _pairs(keys[~_contained_mask(keys, old)]), _pairs(old[~_contained_mask(old, keys)])

    def remove_rows(self, rows: Rows) -> Ints:
        """End every pair with one of `rows` and return those pairs (M, 2), sorted."""
        pairs = _pairs(self._keys)
        gone_mask = np.isin(pairs[:, 0], rows) | np.isin(pairs[:, 1], rows)
        self._keys = self._keys[~gone_mask]
        return pairs[gone_mask]

    def partners(self, row: int) -> Rows:
        """Return the rows (K,) now paired with `row`, sorted."""
        pairs = _pairs(self._keys)
        return np.sort(np.concatenate((pairs[pairs[:, 0] == row, 1], pairs[pairs[:, 1] == row, 0])))

    def clear(self) -> Ints:
        """End every pair and return them (M, 2), sorted."""
        ended, self._keys = _pairs(self._keys), self._keys[:0]
        return ended


def _keys(pairs: Ints) -> Ints:
    """Return pairs as sorted unique integers."""
    low = np.minimum(pairs[:, 0], pairs[:, 1])
    keys = (low << _SHIFT) | np.maximum(pairs[:, 0], pairs[:, 1])
    # The broad phase delivers pairs sorted and once: then there is nothing to sort.
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        keys = np.unique(keys)
    return np.asarray(keys, np.int64)


def _pairs(keys: Ints) -> Ints:
    out = np.empty((len(keys), 2), np.int64)
    # Most often there are none, at each check and in each sample.
    if not len(keys):
        return out
    np.right_shift(keys, _SHIFT, out=out[:, 0])
    np.bitwise_and(keys, _LOW_BITS, out=out[:, 1])
    return out


def _contained_mask(keys: Ints, others: Ints) -> Bools:
    """Return which sorted `keys` are among the sorted `others`."""
    if not len(others):
        return np.zeros(len(keys), bool)
    places = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    return np.asarray(others[places] == keys)
