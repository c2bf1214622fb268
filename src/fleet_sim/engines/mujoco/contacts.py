"""Contacts of the last substep: what their surfaces are like, which rows they are of, and with which forces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.registry import saved
from fleet_sim.engines.mujoco.bound import Bound, mujoco_module
from fleet_sim.world.ports import Contact, Vector
from fleet_sim.world.world import World

# Contacts of what sleeps, which MuJoCo does not compute any more: kept from the step in which it fell asleep.


@saved
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


_LEAST = 1e-5
"""Friction below which MuJoCo's cones are too thin for its solver."""
IMPEDANCE = 0.99
"""How hard contacts are: the part of what they should do that they do in a substep."""
SLIDING = 0.02
"""Speed (m/s) above which a contact slides; slower ones lift nothing by more than 0.01 mm."""
ROUNDS, LIFTING = 4, 0.001
"""How often accelerations are computed to find how much a contact is pushed apart, and how exactly, in m/s."""
NO_PAIRS: Rows = np.empty((0, 2), np.int64)


def contact_law(erp: float, dt: float) -> tuple[float, float]:
    """Return the stiffness and damping, as MuJoCo takes them, of contacts that correct the part `erp` of an overlap.

    As in PyBullet, a substep ends with the velocity that takes `erp` of the overlap away in the next one.
    """
    return -erp / dt**2 * IMPEDANCE**2, -IMPEDANCE / dt


def mix_surfaces(bound: Bound) -> bool:
    """Give the contacts found just now the friction and restitution of both their surfaces; return whether any is.

    As in PyBullet, friction and restitution are products; MuJoCo by itself takes the larger friction.
    """
    contact = bound.data.contact
    geoms = contact.geom
    if not len(geoms):
        return False
    one, other = bound.compiled.surface[geoms[:, 0]], bound.compiled.surface[geoms[:, 1]]
    friction = np.maximum(one[:, 0] * other[:, 0], _LEAST)
    rolling = one[:, 1] * other[:, 0] + other[:, 1] * one[:, 0]
    spinning = one[:, 2] * other[:, 0] + other[:, 2] * one[:, 0]
    mixed = np.stack((friction, friction, *(np.maximum(part, _LEAST) for part in (spinning, rolling, rolling))), axis=1)
    contact.friction[:] = mixed
    bouncing = np.flatnonzero(one[:, 3] * other[:, 3] > 0.0)
    if len(bouncing):
        # What is stopped in a substep is sent back by as much more.
        contact.solref[bouncing, 1] *= 1.0 + one[bouncing, 3] * other[bouncing, 3]
    return True


def keep_down(bound: Bound, dt: float) -> None:
    """Keep what slides from being lifted by its own friction; called before the accelerations of a substep of `dt` s.

    MuJoCo's contacts are convex: one whose friction cannot stop the sliding is pushed apart by the friction coefficient
    times the velocity that is left of it. That is taken from what each contact shall do, and as the force of friction
    depends on it in turn, the accelerations are computed until both agree.
    """
    mujoco, model, data = mujoco_module(), bound.model, bound.data
    rows, friction = data.contact.efc_address, data.contact.friction[:, 0]
    # Contacts that are left out have no row.
    chosen = np.flatnonzero(rows >= 0)
    chosen = chosen[_lengths(data.efc_vel[rows[chosen, None] + (1, 2)]) > SLIDING]
    if not len(chosen):
        return
    rows, friction = rows[chosen], friction[chosen]
    aside = rows[:, None] + (1, 2)
    wanted = data.efc_aref[rows]
    left = found = slopes = step = np.zeros(len(rows))
    mujoco.mj_fwdActuation(model, data)
    mujoco.mj_fwdAcceleration(model, data)
    accelerations = np.empty(len(data.efc_aref))
    for number in range(ROUNDS):
        mujoco.mj_fwdConstraint(model, data)
        mujoco.mj_mulJacVec(model, data, accelerations, data.qacc)
        before, found = found, _lengths(accelerations[aside] - data.efc_aref[aside])
        error = found - left
        if float((friction * np.abs(error)).max()) * dt < LIFTING:
            return
        if number:
            # By secants, one for each contact: between that of one body, and of those whose load goes to others.
            slopes = np.clip((found - before) / np.where(step == 0.0, 1.0, step), -1.0, 0.5)
        step = np.maximum(left + error / (1.0 - slopes), 0.0) - left
        left = left + step
        data.efc_aref[rows] = wanted - friction * left


def _lengths(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt(vectors[:, 0] * vectors[:, 0] + vectors[:, 1] * vectors[:, 1])
    return lengths


def pairs_in_contact(world: World, bound: Bound, resting: ContactTable, limit: float) -> Rows:
    """Return the pairs of rows (M, 2) at most `limit` m apart: smaller row first, sorted, each once."""
    contact = bound.data.contact
    geoms = np.concatenate((contact.geom[contact.dist <= limit], resting.geoms[resting.distances <= limit]))
    if not len(geoms):
        return NO_PAIRS
    rows = np.sort(bound.rows_of_bodies(world, bound.model.geom_bodyid[geoms]), axis=1)
    return np.unique(rows[(rows[:, 0] >= 0) & (rows[:, 0] != rows[:, 1])], axis=0)


def contacts_of(world: World, bound: Bound, resting: ContactTable, row: int) -> list[Contact]:
    """Return the contacts of the entity in `row`, in the engine's order; those of sleeping bodies last."""
    geoms = bound.data.contact.geom
    # What fell asleep in the last substep is still among the computed ones.
    trees = bound.model.body_treeid[bound.model.geom_bodyid[geoms]].reshape(-1, 2)
    awake_mask = ((trees >= 0) & (bound.data.tree_asleep[np.maximum(trees, 0)] < 0)).any(axis=1)
    table = computed(bound, (_rows(world, bound, geoms) == row).any(axis=1) & awake_mask)
    found: list[Contact] = []
    for part in (table, resting):
        rows = _rows(world, bound, part.geoms)
        links = bound.compiled.body_link[bound.model.geom_bodyid[part.geoms]]
        for index in np.flatnonzero((rows == row).any(axis=1) & (rows >= -1).all(axis=1)).tolist():
            side = 0 if rows[index, 0] == row else 1
            other = int(rows[index, 1 - side])
            found.append(_contact(part, index, side, None if other < 0 else world.handles[other], links[index]))
    return found


def _rows(world: World, bound: Bound, geoms: Ints) -> Rows:
    return bound.rows_of_bodies(world, bound.model.geom_bodyid[geoms]).reshape(-1, 2)


def _contact(table: ContactTable, index: int, side: int, other: object, links: Ints) -> Contact:
    """Return a contact as the entity on `side` sees it: the normal points at it, the force is that on it."""
    distance, force = float(table.distances[index]), table.forces[index]
    axes = table.frames[index].reshape(3, 3)
    # MuJoCo's normal points from the first to the second, and the force is that on the second.
    sign = 1.0 if side == 1 else -1.0
    normal = sign * axes[0]
    slide = sign * (force[1] * axes[1] + force[2] * axes[2])
    # Its position is in the middle of the overlap; the surface of the other is half of it away.
    place = table.positions[index] - 0.5 * distance * normal
    other_link = int(links[1 - side]) if other is not None else -1
    return Contact(
        other, int(links[side]), other_link, _vector(place), _vector(normal), distance, float(force[0]), _vector(slide)
    )


def _vector(values: Floats) -> Vector:
    x, y, z = values.tolist()
    return x, y, z
