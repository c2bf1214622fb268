"""Which entities may collide with each other: one set of rules for all users.

Collision detection, blocking, avoidance, swarms and the physics engine all use it. They find the shapes that are near
each other; these rules decide whether such a pair counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Ints, Rows
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.schema import NO_ROW, BodyColumns

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
