"""Collision groups, masks and single pairs: who passes through whom because the user says so."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Ints, Rows
from fleet_sim.core.collision_rules import NO_PAIRS, CollisionRule, CollisionRules
from fleet_sim.core.schema import BodyColumns
from fleet_sim.errors import InvalidValueError

LARGEST_GROUP = 2**31 - 1
"""Groups and masks are numbers of 31 bits, as PyBullet takes them."""

DEFAULT_GROUP, DEFAULT_MASK = 1, -1


def checked_group(group: object) -> int:
    """Return the groups of an entity, as bits; raises InvalidValueError."""
    return _checked(group, "collision_group", 0)


def checked_mask(mask: object) -> int:
    """Return the groups that an entity collides with, as bits, -1 for all; raises InvalidValueError."""
    return _checked(mask, "collision_mask", -1)


def _checked(value: object, name: str, low: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= LARGEST_GROUP:
        raise InvalidValueError(f"{name}: expected a whole number from {low} to {LARGEST_GROUP}, got {value!r}")
    return int(value)


class CollisionFilters(CollisionRule):
    """Two entities may collide if each is in a group of the other's mask, unless their pair was set.

    What was set for a pair counts in place of groups and masks. It ends with one of the two, is saved in checkpoints,
    and goes back with `reset`; a rebuilt engine gets it again.
    """

    def __init__(self, bodies: BodyColumns, rules: CollisionRules) -> None:
        """Become one of the `rules` of the world with these `bodies`."""
        self._bodies = bodies
        self._rules = rules
        self._version = -1
        self._grouped = False
        self._set: dict[tuple[int, int], tuple[int, int, bool]] = {}
        """By pair of rows, smaller first: the generations of both, and whether they may collide."""
        self._pairs, self._generations = NO_PAIRS, NO_PAIRS
        self._keys: Ints = np.empty(0, np.int64)
        self._enabled: Bools = np.empty(0, np.bool_)
        rules.add(self)

    # ---- setting -----------------------------------------------------------------------------------------------------

    def set_pair(self, first: int, second: int, enabled: bool | None) -> None:
        """Let two rows collide or not, whatever their groups and masks; None: as groups and masks say."""
        low, high = sorted((first, second))
        self._forget_gone()
        if enabled is None:
            self._set.pop((low, high), None)
        else:
            generation = self._bodies.generation
            self._set[low, high] = int(generation[low]), int(generation[high]), enabled
        self._index()
        self._rules.changed()

    def _forget_gone(self) -> None:
        """Forget pairs of which one was removed: rows are reused."""
        for pair, gone in zip(self._pairs.tolist(), (~self._present_mask()).tolist(), strict=True):
            if gone:
                del self._set[pair[0], pair[1]]

    def _index(self) -> None:
        """Sort the pairs by key, so that pairs are looked up in arrays."""
        pairs = sorted(self._set)
        values = [self._set[pair] for pair in pairs]
        self._pairs = np.array(pairs, np.int64).reshape(-1, 2)
        # Sorted by pair is sorted by key, which is what `searchsorted` needs.
        self._keys = _keys_of(self._pairs[:, 0], self._pairs[:, 1])
        self._generations = np.array([value[:2] for value in values], np.int64).reshape(-1, 2)
        self._enabled = np.array([value[2] for value in values], np.bool_)

    # ---- asking ------------------------------------------------------------------------------------------------------

    @property
    def grouped(self) -> bool:
        """Whether some entity has a group or mask of its own."""
        # Both only increase, so their sum tells of any change: looking at the columns each time would cost.
        version = self._rules.version + self._bodies.version
        if version != self._version:
            bodies, self._version = self._bodies, version
            own_mask = (bodies.collision_group != DEFAULT_GROUP) | (bodies.collision_mask != DEFAULT_MASK)
            self._grouped = bool((own_mask & bodies.alive).any())
        return self._grouped

    def allows(self, first: Rows, second: Rows) -> Bools | None:
        """Return which pairs their groups and masks allow, or what was set for them."""
        grouped = self.grouped
        if not grouped and not self._set:
            return None
        allowed_mask = self._groups_allow(first, second) if grouped else np.ones(len(first), np.bool_)
        if self._set:
            keys = _keys_of(np.minimum(first, second), np.maximum(first, second))
            # Past the last key: any place does, as the comparison below finds another key there.
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            found = np.flatnonzero((self._keys[places] == keys) & self._present_mask()[places])
            allowed_mask[found] = self._enabled[places[found]]
        return allowed_mask

    def exempt_pairs(self) -> Ints:
        """Return the pairs that were set never to collide; those of groups and masks are not listed."""
        return self._pairs[~self._enabled & self._present_mask()] if self._set else NO_PAIRS

    def enabled_pairs(self) -> Ints:
        """Return the pairs (K, 2) that were set to collide whatever their groups and masks."""
        return self._pairs[self._enabled & self._present_mask()] if self._set else NO_PAIRS

    def _groups_allow(self, first: Rows, second: Rows) -> Bools:
        group, mask = self._bodies.collision_group, self._bodies.collision_mask
        there = (group.take(first) & mask.take(second)) != 0
        back = (group.take(second) & mask.take(first)) != 0
        return np.asarray(there & back)

    def _present_mask(self) -> Bools:
        """Return which of the pairs are of entities that live: generations change when rows are freed."""
        mask: Bools = (self._bodies.generation[self._pairs] == self._generations).all(axis=1)
        return mask & self._bodies.alive[self._pairs].all(axis=1)

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return what was set for pairs."""
        return dict(self._set)

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; called after the columns."""
        self._set = dict(saved)
        self._index()
        self._rules.changed()


def _keys_of(low: Rows, high: Rows) -> Ints:
    keys: Ints = (low << 32) | high
    return keys
