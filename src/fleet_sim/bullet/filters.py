"""Collision filters of the engine: pairs of bodies that must not collide."""

from __future__ import annotations

from itertools import product, starmap
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.bullet.client import NO_BODY


class _Pair(NamedTuple):
    """Two bodies, and when each was made.

    The engine keeps a filter for the ids of removed bodies, which it reuses, but evaluates it only when it is written
    or when the bodies approach each other: for a new body with a reused id it must be written again.
    """

    first: int
    second: int
    first_made: int
    second_made: int


class CollisionFilters:
    """Stops pairs of bodies that collision rules exempt from pushing each other.

    Without it a dynamic robot is pushed away violently by the object it carries, which is kinematic while carried.
    """

    def __init__(self, bodies: BulletBodies) -> None:
        self._bodies = bodies
        self._epoch = bodies.client.epoch
        self._written = False
        self._joints: dict[_Pair, tuple[int, int]] = {}
        """The pairs filtered at present, with the number of joints of both."""

    def refresh(self) -> None:
        """Update the engine's filters to the rules; rows without bodies are skipped."""
        pairs = self._bodies.world.collision_rules.exempt_pairs()
        if not len(pairs) and not self._joints:
            return
        self._forget_epochs()
        wanted = self._wanted(pairs)
        # Only changes are written: writing a filter makes the engine drop the contacts of both bodies.
        for gone in sorted(self._joints.keys() - wanted.keys()):
            self._write(gone, self._joints[gone], collide=True)
        for new in sorted(wanted.keys() - self._joints.keys()):
            self._write(new, wanted[new], collide=False)
        self._joints = wanted

    def renumber(self) -> None:
        """Restore the engine's order of bodies: by their ids.

        The engine solves contacts in the order in which bodies entered its broad phase, and writing a filter makes both
        bodies enter it again. Does nothing if no filter was written.
        """
        self._forget_epochs()
        if not self._written:
            return
        client = self._bodies.client
        for body in sorted(client.getBodyUniqueId(index) for index in range(client.getNumBodies())):
            # A filter of a body with itself has no effect but makes the body enter the broad phase again.
            client.setCollisionFilterPair(body, body, -1, -1, 1)

    def _forget_epochs(self) -> None:
        """Forget all filters if the client's world was emptied, as its filters are gone with its bodies."""
        if self._epoch != self._bodies.client.epoch:
            self._epoch, self._written, self._joints = self._bodies.client.epoch, False, {}

    def _wanted(self, pairs: Ints) -> dict[_Pair, tuple[int, int]]:
        """Return the pairs of bodies with at least one dynamic body: others never push each other."""
        bodies = self._bodies
        table, count = bodies.table, bodies.client.getNumJoints
        pairs = pairs[bodies.world.dynamic[pairs].any(axis=1) & (table.body[pairs] != NO_BODY).all(axis=1)]
        found = starmap(_Pair, np.concatenate((table.body[pairs], table.made[pairs]), axis=1).tolist())
        return {pair: self._joints.get(pair) or (count(pair.first), count(pair.second)) for pair in found}

    def _write(self, pair: _Pair, joints: tuple[int, int], *, collide: bool) -> None:
        self._written = True
        links = (range(-1, count) for count in joints)
        for first, second in product(*links):
            self._bodies.client.setCollisionFilterPair(pair.first, pair.second, first, second, int(collide))
