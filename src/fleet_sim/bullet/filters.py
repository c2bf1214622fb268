"""Collision filters of the engine: its groups and masks, and pairs of bodies that must or must not collide."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Ints
from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.bullet.client import NO_BODY
from fleet_sim.core.collision_rules import LinkPairs
from fleet_sim.core.columns import ColumnTable, column

_UNWRITTEN = -2
"""In place of a group: the body has the one that the engine gave it."""
_MATCH_BOTH_WAYS = 0
"""Value of `collisionFilterMode`: each must be in a group of the other's mask. The engine begins with either."""


class FilterColumns(ColumnTable):
    """The group and mask last written to the body of each row, and which body that was."""

    transient = True
    on_demand = True

    group: Ints = column(np.int64, default=_UNWRITTEN, writer="filters", hashed=False)
    mask: Ints = column(np.int64, writer="filters", hashed=False)
    made: Ints = column(np.int64, default=-1, writer="filters", doc="of the body", hashed=False)
    linked: Ints = column(np.int64, default=-1, writer="filters", doc="as `made`, of links", hashed=False)
    dynamic: Bools = column(bool, writer="filters", doc="had a mass", hashed=False)


class _Written(NamedTuple):
    """What was last written for a pair of bodies, and when each of them was made."""

    made: tuple[int, int]
    collide: bool


_Pair = tuple[int, int]


class EngineFilters:
    """Lets the engine's bodies collide as `World.collision_rules` say.

    Without it a dynamic robot is pushed away violently by the object it carries, which is kinematic while carried.
    """

    def __init__(self, bodies: BulletBodies, exempt_links: LinkPairs) -> None:
        """`exempt_links` returns the pairs of links of a row that do not push each other."""
        self._bodies = bodies
        self._exempt_links = exempt_links
        self._world = bodies.world
        self._table = bodies.world.add_table("bullet_filters", FilterColumns)
        self._epoch = bodies.client.epoch
        self._written = False
        self._grouped = False
        self._seen: tuple[int, int, int] | None = None
        self._exempt = np.empty((0, 2), np.int64)
        # By body ids: the engine keeps a filter for the ids of removed bodies, which it reuses, and cannot forget it.
        self._pairs: dict[_Pair, _Written] = {}

    def refresh(self) -> None:
        """Update the engine's filters to the rules; rows without bodies are skipped."""
        world, rules = self._world, self._world.collision_rules
        exempt = rules.exempt_pairs()
        seen = rules.version, world.version, self._bodies.version
        if self._epoch == self._bodies.client.epoch and seen == self._seen and np.array_equal(exempt, self._exempt):
            return
        self._forget_epochs()
        self._seen, self._exempt = seen, exempt
        # Groups first: what is written for a pair counts in their place.
        self._refresh_groups()
        self._refresh_links()
        self._refresh_pairs(np.concatenate((exempt, world.collision_filters.enabled_pairs())))

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
            self._epoch, self._seen, self._pairs = self._bodies.client.epoch, None, {}
            self._written = self._grouped = False
            self._table.clear_rows(np.arange(self._table.capacity))

    # ---- groups ------------------------------------------------------------------------------------------------------

    def _refresh_groups(self) -> None:
        """Write the groups and masks of bodies; disabled ones are in none, so that they meet nothing but the floor."""
        world, table, bodies = self._world, self._table, self._bodies.table
        rows = world.rows[bodies.body[world.rows] != NO_BODY]
        disabled_mask = ~world.collision_rules.active_mask()[rows]
        grouped = world.collision_filters.grouped
        if not (self._written or grouped or disabled_mask.any()):
            return
        table.use()
        groups = np.where(disabled_mask, 0, world.collision_group[rows])
        masks = np.where(disabled_mask, 0, world.collision_mask[rows])
        dynamic = bodies.mass[rows] > 0.0
        # A body that was made again, or got or lost its mass, has the engine's group again.
        anew_mask = (table.made[rows] != bodies.made[rows]) | (table.dynamic[rows] != dynamic)
        table.group[rows[anew_mask]] = _UNWRITTEN
        table.made[rows], table.dynamic[rows] = bodies.made[rows], dynamic
        if grouped and not self._grouped:
            self._bodies.client.set_engine_parameters({"collisionFilterMode": _MATCH_BOTH_WAYS})
        self._grouped = self._grouped or grouped
        changed_mask = (table.group[rows] != groups) | (table.mask[rows] != masks)
        # While all have the same group, that of the engine does: only those that were disabled differ.
        changed_mask &= self._grouped | disabled_mask | (table.group[rows] != _UNWRITTEN)
        for row, group, mask in zip(*(a[changed_mask].tolist() for a in (rows, groups, masks)), strict=True):
            self._write_group(row, group, mask)
        table.group[rows[changed_mask]], table.mask[rows[changed_mask]] = groups[changed_mask], masks[changed_mask]

    def _write_group(self, row: int, group: int, mask: int) -> None:
        self._written = True
        client, body = self._bodies.client, int(self._bodies.table.body[row])
        for link in range(-1, client.getNumJoints(body)):
            client.setCollisionFilterGroupMask(body, link, group, mask)
            if client.floor_id != NO_BODY and self._world.dynamic[row]:
                # The floor is in the engine's group of static bodies, whose number means nothing to users.
                client.setCollisionFilterPair(client.floor_id, body, -1, link, 1)

    # ---- links of one robot ------------------------------------------------------------------------------------------

    def _refresh_links(self) -> None:
        """Stop links of a robot from pushing each other that are in contact at rest, once for each body."""
        world, table, bodies = self._world, self._table, self._bodies.table
        rows = world.rows[world.robots.self_collision[world.rows] & world.dynamic[world.rows]]
        for row in rows[(bodies.body[rows] != NO_BODY) & (table.linked[rows] != bodies.made[rows])].tolist():
            table.use()
            body, table.linked[row] = int(bodies.body[row]), bodies.made[row]
            for one, other in self._exempt_links(row):
                self._written = True
                self._bodies.client.setCollisionFilterPair(body, body, one, other, 0)

    # ---- pairs -------------------------------------------------------------------------------------------------------

    def _refresh_pairs(self, listed: Ints) -> None:
        """Write the `listed` pairs (K, 2) of rows, and those that were written before, where they differ.

        Pairs of bodies without mass are left out: they never push each other.
        """
        table, client = self._bodies.table, self._bodies.client
        listed = listed[self._world.dynamic[listed].any(axis=1) & (table.body[listed] != NO_BODY).all(axis=1)]
        pairs = np.concatenate((table.body[listed], np.array(list(self._pairs), np.int64).reshape(-1, 2)))
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        rows = self._bodies.rows_of_bodies(pairs)
        held_mask = (rows >= 0).all(axis=1)
        pairs, rows = pairs[held_mask], rows[held_mask]
        collide_mask = self._world.collision_rules.may_collide(rows)
        # Only changes are written: writing a filter makes the engine drop the contacts of both bodies.
        for (first, second), (one, other), collide in zip(
            pairs.tolist(), table.made[rows].tolist(), collide_mask.tolist(), strict=True
        ):
            known = self._pairs.get((first, second))
            if known is None or known.made != (one, other) or known.collide != collide:
                self._written = True
                self._pairs[first, second] = _Written((one, other), collide)
                for links in product(*(range(-1, client.getNumJoints(body)) for body in (first, second))):
                    client.setCollisionFilterPair(first, second, *links, int(collide))
