"""Which entities may collide with each other: one set of rules for all users.

Collision detection, blocking, avoidance, swarms and the physics engine all use it. They find the shapes that are near
each other; these rules decide whether such a pair counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Bools, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import CollisionMode
from fleet_sim.world.schema import NO_ROW, BodyColumns
from fleet_sim.world.state_files import Stateful

# Comparing a column with a plain number is several times faster than with an enum member.
_STATIC, _DISABLED = CollisionMode.STATIC.code, CollisionMode.DISABLED.code
NO_PAIRS: Ints = np.empty((0, 2), np.int64)
LinkPairs: TypeAlias = Callable[[int], Sequence[tuple[int, int]]]
"""Returns the pairs of links of the robot in a row that do not push each other, though no joint joins them."""


def no_links(row: int) -> list[tuple[int, int]]:
    """Return no pairs of links: all of a robot push each other."""
    return []


class CollisionRule:
    """A reason why two entities do not collide, besides their collision modes. Subclass it and add it to the rules."""

    def allows(self, first: Rows, second: Rows) -> Bools | None:
        """Return which pairs of rows (M,), (M,) may collide; None if the rule now allows all pairs.

        Called with the near pairs in each check, so it must work on arrays. The order within a pair has no meaning.
        """
        raise NotImplementedError

    def exempt_pairs(self) -> Ints:
        """Return the pairs (K, 2) that must not collide, if the rule can list them; the engine uses only these."""
        return NO_PAIRS


class CollisionRules:
    """Decides which pairs of rows may collide: both alive, not both static, none disabled, and allowed by all rules.

    A simulation's rules are `World.collision_rules`. A feature keeps its own state (a table, a set of pairs) and adds
    one rule: `world.collision_rules.add(MyRule(...))`.
    """

    def __init__(self, bodies: BodyColumns) -> None:
        self._bodies = bodies
        self._rules: list[CollisionRule] = [Carrying(bodies), Parting(bodies)]
        self.version = 0
        """Increases with every change of the rules; caches of results compare it."""

    def add(self, rule: CollisionRule) -> None:
        """Apply `rule` from now on."""
        self._rules.append(rule)
        self.changed()

    def changed(self) -> None:
        """Invalidate cached results. Call it after changing the state that an added rule depends on."""
        self.version += 1

    # ---- rows --------------------------------------------------------------------------------------------------------

    def active_mask(self) -> Bools:
        """Return which rows (N,) take part in collisions."""
        mask: Bools = self._bodies.alive & (self._bodies.collision_mode != _DISABLED)
        return mask

    def static_mask(self) -> Bools:
        """Return which rows (N,) are static, and so never collide with each other."""
        mask: Bools = self._bodies.collision_mode == _STATIC
        return mask

    # ---- pairs -------------------------------------------------------------------------------------------------------

    def may_collide(self, pairs: Ints, *, ignore_static: bool = False) -> Bools:
        """Return which of `pairs` (M, 2) of rows may collide; with `ignore_static` none with a static row."""
        bodies, first, second = self._bodies, pairs[:, 0], pairs[:, 1]
        mode_a, mode_b = bodies.collision_mode.take(first), bodies.collision_mode.take(second)
        # The two columns separately: NumPy is several times slower along an axis of length two.
        mask: Bools = bodies.alive.take(first) & bodies.alive.take(second) & (first != second)
        mask &= (mode_a != _DISABLED) & (mode_b != _DISABLED)
        if ignore_static:
            mask &= (mode_a != _STATIC) & (mode_b != _STATIC)
        else:
            mask &= (mode_a != _STATIC) | (mode_b != _STATIC)
        allowed_mask = self._allowed_mask(first, second)
        return mask if allowed_mask is None else mask & allowed_mask

    def permitted(self, pairs: Ints) -> Ints:
        """Return those of `pairs` (M, 2) that may collide, all of different rows that `active_mask` holds.

        For callers that exclude other rows before forming pairs, which is faster if most rows are near nothing.
        """
        if not len(pairs):
            return pairs
        mask = self._allowed_mask(pairs[:, 0], pairs[:, 1])
        return pairs if mask is None else pairs[mask]

    def exempt_pairs(self) -> Ints:
        """Return the pairs (K, 2) listed by the rules, smaller row first, sorted, each once."""
        listed = [pairs for rule in self._rules if len(pairs := rule.exempt_pairs())]
        return np.unique(np.sort(np.concatenate(listed), axis=1), axis=0) if listed else NO_PAIRS

    def _allowed_mask(self, first: Rows, second: Rows) -> Bools | None:
        mask: Bools | None = None
        for rule in self._rules:
            allowed_mask = rule.allows(first, second)
            if allowed_mask is not None:
                mask = allowed_mask if mask is None else mask & allowed_mask
        return mask


class Carrying(CollisionRule):
    """An entity never collides with what it carries, directly or through other entities.

    Two objects carried by the same robot may collide: an arm can hit the tray with the object it holds.
    """

    def __init__(self, bodies: BodyColumns) -> None:
        self._bodies = bodies

    def allows(self, first: Rows, second: Rows) -> Bools | None:
        """Return which pairs are not a carrier and its load."""
        if not np.count_nonzero(self._bodies.parent != NO_ROW):
            return None
        held_mask = self._bodies.parent != NO_ROW
        # Only pairs with something carried can be exempt, usually few of many.
        held = np.flatnonzero(held_mask.take(first) | held_mask.take(second))
        allowed_mask = np.ones(len(first), np.bool_)
        first, second = first.take(held), second.take(held)
        allowed_mask[held] = ~(self._carries(first, second) | self._carries(second, first))
        return allowed_mask

    def exempt_pairs(self) -> Ints:
        """Return each carried row, paired with every row that carries it, directly or through others."""
        bodies = self._bodies
        below = (bodies.parent != NO_ROW).nonzero()[0]
        below = below[bodies.alive[below]] if len(below) else below
        if not len(below):
            return NO_PAIRS
        above = bodies.parent[below]
        # Every carrier up the chain is listed: the engine knows pairs, not chains.
        pairs = [NO_PAIRS]
        while len(below):
            pairs.append(np.stack((above, below), axis=1))
            above = bodies.parent[above]
            held_mask = above != NO_ROW
            above, below = above[held_mask], below[held_mask]
        return np.concatenate(pairs)

    def _carries(self, upper: Rows, lower: Rows) -> Bools:
        """Return where (M,) `upper` carries `lower`, directly or through others."""
        mask = np.zeros(len(upper), np.bool_)
        # One carrier up per round, for all pairs at once. It ends because `attach` refuses cycles.
        places, above = np.arange(len(upper)), lower
        while len(places):
            above = self._bodies.parent.take(above)
            held = np.flatnonzero(above != NO_ROW)
            places, above = places.take(held), above.take(held)
            mask[places] |= above == upper.take(places)
        return mask


class Parting(CollisionRule):
    """What was put down into its carrier does not collide with it until they are apart; an engine would throw both."""

    def __init__(self, bodies: BodyColumns) -> None:
        self._bodies = bodies

    def allows(self, first: Rows, second: Rows) -> Bools | None:
        """Return which pairs are not on their way apart."""
        bodies = self._bodies
        if not bodies.owns("parting_from") or not np.count_nonzero(bodies.parting_from != NO_ROW):
            return None
        return np.asarray((bodies.parting_from[first] != second) & (bodies.parting_from[second] != first))

    def exempt_pairs(self) -> Ints:
        """Return what was put down, paired with what it has to leave."""
        bodies = self._bodies
        if not bodies.owns("parting_from"):
            return NO_PAIRS
        rows = np.flatnonzero((bodies.parting_from != NO_ROW) & bodies.alive)
        return np.stack((bodies.parting_from[rows], rows), axis=1)


# Collision groups, masks and single pairs: who passes through whom because the user says so.


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


class CollisionFilters(Stateful, CollisionRule):
    """Two entities may collide if each is in a group of the other's mask, unless their pair was set.

    What was set for a pair counts in place of groups and masks. It ends with one of the two, is saved in checkpoints,
    and goes back with `reset`; a rebuilt engine gets it again.
    """

    STATE = ("_set",)

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

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; called after the columns."""
        super().restore(saved)
        self._index()
        self._rules.changed()


def _keys_of(low: Rows, high: Rows) -> Ints:
    keys: Ints = (low << 32) | high
    return keys
