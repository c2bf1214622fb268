"""Contacts of what sleeps, which MuJoCo does not compute any more: kept from the step in which it fell asleep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.mujoco.bound import Bound
from fleet_sim.mujoco.module import mujoco_module


class ContactTable(NamedTuple):
    """Contacts (K,): geoms (K, 2), distances (K,) in m, positions (K, 3), frames (K, 9), and forces (K, 6) in these.

    The first axis of a frame is the normal, from the first geom to the second; forces act on the second.
    """

    geoms: Ints
    distances: Floats
    positions: Floats
    frames: Floats
    forces: Floats

    def take(self, chosen: Ints | Bools) -> ContactTable:
        """Return the `chosen` contacts."""
        geoms, distances, positions, frames, forces = self
        return ContactTable(geoms[chosen], distances[chosen], positions[chosen], frames[chosen], forces[chosen])


NO_CONTACTS = ContactTable(
    np.empty((0, 2), np.int64), np.empty(0), np.empty((0, 3)), np.empty((0, 9)), np.empty((0, 6))
)


class RestingContacts:
    """The contacts between bodies all of which sleep."""

    def __init__(self) -> None:
        self.table = NO_CONTACTS
        self._asleep: Bools = np.empty(0, np.bool_)
        self._seen = b""
        """The bytes of `_asleep`."""

    def update(self, bound: Bound) -> None:
        """Take in the contacts of what fell asleep in this step, and drop those of what woke up."""
        asleep: Bools = bound.data.tree_asleep >= 0
        seen = asleep.tobytes()
        if seen == self._seen:
            return
        before = self._asleep if len(self._asleep) == len(asleep) else np.zeros(len(asleep), np.bool_)
        self._asleep, self._seen = asleep, seen
        kept = self.table.take(self._sleeping_mask(bound, self.table.geoms))
        new = computed(bound, self._sleeping_mask(bound, bound.data.contact.geom) & (asleep & ~before).any())
        self.table = ContactTable(*(np.concatenate(parts) for parts in zip(kept, new, strict=True)))

    def forget(self) -> None:
        """Forget all of them, as with another model."""
        self.table, self._asleep, self._seen = NO_CONTACTS, np.empty(0, np.bool_), b""

    def take(self, bound: Bound, table: ContactTable) -> None:
        """Go on with the contacts that were there when the state of `bound` was saved."""
        self.table, self._asleep = table, bound.data.tree_asleep >= 0
        self._seen = self._asleep.tobytes()

    def _sleeping_mask(self, bound: Bound, geoms: Ints) -> Bools:
        """Return which pairs of geoms (K, 2) are of bodies that sleep, or of one that does and one that never moves."""
        trees = bound.model.body_treeid[bound.model.geom_bodyid[geoms]].reshape(-1, 2)
        sleeping = (trees < 0) | self._asleep[np.maximum(trees, 0)]
        return np.asarray(sleeping.all(axis=1) & (trees >= 0).any(axis=1))


def computed(bound: Bound, mask: Bools | None = None) -> ContactTable:
    """Return the contacts that MuJoCo computed in the last substep, those of `mask` (K,)."""
    contact = bound.data.contact
    chosen = np.arange(len(contact.geom)) if mask is None else np.flatnonzero(mask)
    if not len(chosen):
        return NO_CONTACTS
    forces = np.zeros((len(chosen), 6))
    ask = mujoco_module().mj_contactForce
    for index, number in enumerate(chosen.tolist()):
        ask(bound.model, bound.data, number, forces[index])
    geoms = contact.geom[chosen].astype(np.int64)
    return ContactTable(geoms, contact.dist[chosen], contact.pos[chosen], contact.frame[chosen].reshape(-1, 9), forces)
