"""The engine is told which bodies leave each other alone."""

from __future__ import annotations

from itertools import product, starmap
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.bullet.client import NO_BODY


class _Pair(NamedTuple):
    """Two bodies, and when each was made.

    The engine keeps a filter for the ids of removed bodies, which it uses again, but looks at it only when it is
    written or the bodies come near: a body made anew in its place needs it written again.
    """

    first: int
    second: int
    first_made: int
    second_made: int


class CollisionFilters:
    """Keeps bodies that may not collide by a rule that lists its pairs from pushing each other.

    Without it a robot that the engine moves is shot away by what it carries, which is kinematic while it is carried.
    """

    def __init__(self, bodies: BulletBodies) -> None:
        self._bodies = bodies
        self._epoch = bodies.client.epoch
        self._written = False
        self._joints: dict[_Pair, tuple[int, int]] = {}
        """The pairs filtered at present, with the number of joints of both."""

    def refresh(self) -> None:
        """Bring the engine's filters up to date with the rules; bodies that are missing are left out."""
        pairs = self._bodies.world.collision_rules.exempt_pairs()
        if not len(pairs) and not self._joints:
            return
        self._forget_epochs()
        wanted = self._wanted(pairs)
        # Only what changes is written: a filter that is written anew makes the engine forget the contacts of both.
        for gone in sorted(self._joints.keys() - wanted.keys()):
            self._write(gone, self._joints[gone], collide=True)
        for new in sorted(wanted.keys() - self._joints.keys()):
            self._write(new, wanted[new], collide=False)
        self._joints = wanted

    def renumber(self) -> None:
        """Let the engine look at its bodies in the order of their ids again.

        It solves contacts in the order in which bodies entered its broad phase, and a filter that is written lets both
        enter anew. Does nothing where none was.
        """
        self._forget_epochs()
        if not self._written:
            return
        client = self._bodies.client
        for body in sorted(client.getBodyUniqueId(index) for index in range(client.getNumBodies())):
            # A filter of a body and itself means nothing; writing it is what makes the body enter anew.
            client.setCollisionFilterPair(body, body, -1, -1, 1)

    def _forget_epochs(self) -> None:
        """Begin anew where the client's world was emptied: with its bodies its filters went."""
        if self._epoch != self._bodies.client.epoch:
            self._epoch, self._written, self._joints = self._bodies.client.epoch, False, {}

    def _wanted(self, pairs: Ints) -> dict[_Pair, tuple[int, int]]:
        """Return the pairs of bodies of which the engine moves one: others never push each other."""
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
