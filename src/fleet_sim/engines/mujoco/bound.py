"""A compiled model of MuJoCo for certain rows of a world, with its own data, and the contacts of its last substep."""

from __future__ import annotations

import ctypes
import importlib
import logging
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows, span_of
from fleet_sim.base.errors import StateError, StateFileError, of_extra
from fleet_sim.base.registry import saved
from fleet_sim.world.ports import Contact, Vector
from fleet_sim.world.world import World

# A compiled model of MuJoCo, and what its parts stand for.


DAMPING = 0.04
"""Linear and angular damping of bodies (1/s) where a material gives none: PyBullet's."""


@dataclass(eq=False)
class Compiled:
    """A compiled model and what its parts stand for; places are those in the plan, links those of robot models.

    `body_place` and `body_link` (B,) of all bodies, -1 and -2 for the world. `free` (F, 3): place, first position and
    first velocity of dynamic bodies. `seats` (S, 2): place and mocap number of dynamic robots with a fixed base.
    `pieces` (P, 5): place, link, mocap number or -1, first position and velocity or -1, of kinematic bodies. `joints`
    (J, 4): place, number among the movable joints, position and velocity. `surface` (G, 4): `ContactSurface` of geoms.
    """

    model: Any
    body_place: Ints
    body_link: Ints
    base: Ints
    free: Ints
    seats: Ints
    pieces: Ints
    joints: Ints
    surface: Floats
    substep: float = 0.0
    """Length in s of the substeps for which the model's contacts are set, 0 before the first one."""
    gravity: tuple[float, ...] = field(init=False)
    """The gravity that the model has, in m/s2."""

    def __post_init__(self) -> None:
        self.gravity = tuple(self.model.opt.gravity.tolist())


def table_of(values: Sequence[tuple[int, ...]], width: int) -> Ints:
    """Return the rows of a table (N, width), which may have none."""
    return np.array(values, np.int64).reshape(-1, width)


# The mujoco module, loaded when it is first needed.


log = logging.getLogger("fleet_sim.engines.mujoco")
MOST_KINDS = 100
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
_warned: set[str] = set()


def mujoco_module() -> Any:
    """Import mujoco and return it; raises MissingDependencyError naming the extra that installs it."""
    loaded = sys.modules.get("mujoco")
    if loaded is not None:
        return loaded
    with of_extra("mujoco", "mujoco", "Physics with engine: mujoco"):
        module = importlib.import_module("mujoco")
    # Otherwise it prints each warning, and writes a file into the working folder.
    module.set_mju_user_warning(_warn)
    return module


def is_lack_of_memory(error: Exception) -> bool:
    """Return whether a FatalError of MuJoCo says that its memory is too small; it has one class for all errors."""
    return any(word in str(error) for word in ("memory", "arena"))


def return_free_memory() -> None:
    """Return memory that the C library keeps for later to the system, where its C library can do that (glibc)."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


def _warn(text: str) -> None:
    """Log a warning of MuJoCo, the first of each kind."""
    kind = _NUMBER.sub("", text)
    if kind not in _warned and len(_warned) < MOST_KINDS:
        _warned.add(kind)
        log.warning("%s; further ones of this kind are not logged", text.strip())


class _Spans(NamedTuple):
    """Indices as slices where they can be: rows of free bodies and of seats, and of joints their slots and places."""

    free: Ints | slice
    seats: Ints | slice
    slots: Ints | slice
    joint_q: Ints | slice
    joint_v: Ints | slice


class Bound:
    """A compiled model whose places are `rows` (N,) of the world, with data of its own.

    All index arrays are of rows: `free` (F,), `seats` (S,) and `slots` (J,) of joints in the table of joints.
    """

    def __init__(self, world: World, compiled: Compiled, rows: Rows) -> None:
        self.compiled = compiled
        self.model = compiled.model
        self.data = mujoco_module().MjData(compiled.model)
        self.rows = rows
        self.ids: Ints = world.object_id[rows]
        place = compiled.free[:, 0]
        self.free: Rows = rows[place]
        self.free_q: Ints = compiled.free[:, 1][:, None] + np.arange(7)
        self.free_v: Ints = compiled.free[:, 2][:, None] + np.arange(6)
        # Mostly they follow each other: slices give views, which are cheaper than copies.
        self.free_span = span_of(self.free_v.ravel())
        self.free_q_span = span_of(self.free_q.ravel())
        self.free_inertia: Floats = _inertias(compiled)
        """Masses and inertias (F, 6) that their velocities have."""
        self.free_damping: Floats = self.model.dof_damping[self.free_span].reshape(-1, 2, 3)
        """The damping (F, 2, 3) of their linear and angular velocities."""
        self.drag_rate = float((self.free_damping.reshape(-1, 6) / self.free_inertia).max(initial=0.0))
        """The largest part of a velocity, at a speed of 1, that their drag takes away in a second."""
        self.links, self.link_damping = _links(world, compiled, rows)
        """Bodies (L,) of the links of dynamic robots, without bases, and their linear and angular damping (L, 2)."""
        model, data = self.model, self.data
        self.drag_columns = (
            *(self.links, model.body_rootid[self.links].astype(np.int64), self.link_damping),
            *(model.body_mass, model.body_inertia, data.cvel, data.xipos, data.subtree_com, data.ximat),
            data.xfrc_applied,
        )
        """What their drag follows from, and where it is written: views, which see what MuJoCo computes."""
        self.seats: Rows = rows[compiled.seats[:, 0]]
        self.slots: Ints = world.robots.joint_start[rows[compiled.joints[:, 0]]] + compiled.joints[:, 1]
        self.joint_q, self.joint_v = compiled.joints[:, 2], compiled.joints[:, 3]
        self.spans = _Spans(*map(span_of, (self.free, self.seats, self.slots, self.joint_q, self.joint_v)))
        self.dynamic: Rows = np.unique(np.concatenate((self.free, self.seats)))
        robots: Rows = rows[compiled.joints[:, 0]]
        self.with_joints: Rows = np.unique(robots)
        self.joint_row: Rows = robots
        self.warnings: Ints = self.data.warning.number
        """How often MuJoCo has warned of each kind."""
        self.waking: set[int] = set()
        """Trees of bodies that wake up in the next substep, should they sleep."""

    def wake(self, trees: Ints | range) -> None:
        """Wake up `trees` in the next substep; what is written, pushed or touched wakes up by itself."""
        self.waking.update(trees if isinstance(trees, range) else trees.tolist())

    def take_waking(self) -> Ints:
        """Return the first velocity (K,) of each tree that is to wake up, which then need not be told again."""
        if not self.waking:
            return NO_ROWS
        # What is awake needs no waking.
        trees = [tree for tree in self.waking if self.data.tree_asleep[tree] >= 0]
        self.waking.clear()
        return np.asarray(self.model.tree_dofadr[trees], np.int64)

    def rows_of_bodies(self, world: World, bodies: Ints) -> Rows:
        """Return the rows (any shape) of bodies; -1 for the floor, -2 for entities that are gone."""
        places = self.compiled.body_place[bodies]
        rows = np.where(places >= 0, self.rows[places], -1)
        # The row may be of another entity by now.
        gone_mask = (places >= 0) & ((world.object_id[rows] != self.ids[places]) | ~world.alive[rows])
        return np.where(gone_mask, -2, rows)


def _links(world: World, compiled: Compiled, rows: Rows) -> tuple[Ints, Floats]:
    linked = np.flatnonzero(compiled.body_link >= 0)
    linked = linked[world.dynamic[rows[compiled.body_place[linked]]]]
    owners, material = rows[compiled.body_place[linked]], world.material
    given = np.stack((material.linear_damping[owners], material.angular_damping[owners]), axis=1)
    return linked, np.where(given >= 0.0, given, DAMPING)


def _inertias(compiled: Compiled) -> Floats:
    model, bodies = compiled.model, compiled.base[compiled.free[:, 0]]
    masses = np.repeat(model.body_subtreemass[bodies][:, None], 3, axis=1)
    return np.concatenate((masses, model.body_inertia[bodies]), axis=1)


# The state of MuJoCo from which a run goes on bit for bit, with what sleeps still asleep. MuJoCo's own states leave
# out what sleeps: it would wake up, and the run would be another one.


@saved
class MujocoState(NamedTuple):
    """All that the next step depends on."""

    vector: Floats
    """MuJoCo's own state: mjSTATE_INTEGRATION."""
    asleep: Ints
    """By tree of bodies: below 0 awake, how long it must still lie still; else the next one that sleeps with it."""
    accelerations: Floats
    """(2, V) of the joints, with contacts and without: of what sleeps, they are not computed any more."""
    waking: tuple[int, ...]
    """Trees that are to wake up in the next substep."""


def state_of(bound: Bound) -> MujocoState:
    """Return the state, as copies."""
    mujoco, data, kind = mujoco_module(), bound.data, _integration()
    vector = np.empty(mujoco.mj_stateSize(bound.model, kind))
    mujoco.mj_getState(bound.model, data, vector, kind)
    accelerations = np.empty((2, bound.model.nv))
    accelerations[0], accelerations[1] = data.qacc, data.qacc_smooth
    return MujocoState(vector, data.tree_asleep.astype(np.int64), accelerations, tuple(sorted(bound.waking)))


@cache
def _integration() -> int:
    """Return MuJoCo's number of the state from which a step begins."""
    return int(mujoco_module().mjtState.mjSTATE_INTEGRATION)


def restore_state(bound: Bound, state: MujocoState) -> None:
    """Go to a state, with the contacts of what is awake found; the same whatever was before."""
    mujoco = mujoco_module()
    _place(bound, state)
    try:
        mujoco.mj_forward(bound.model, bound.data)
    except mujoco.FatalError as error:
        if not is_lack_of_memory(error):
            raise StateError(f"MuJoCo cannot go to this state: {error}") from error
        # Too little memory for so many contacts, which the next step sees to; until then there are none.
        _place(bound, state)
    # Again, as computing contacts has changed where the solver starts, and woken up what a force acts on.
    _set(bound, state)


def let_sleep(bound: Bound, trees: Ints, standing: Ints) -> None:
    """Let `trees` (K,) of bodies sleep from now on, at rest; what wakes up one of them wakes up all.

    With them sleeps what carries them, of the `standing` ones (M,), and what they touch that sleeps already.
    """
    model, data = bound.model, bound.data
    if not len(trees):
        return
    group = _touching(bound, trees, standing)
    data.qvel[np.isin(model.dof_treeid, group)] = 0.0
    # Where they are now: what sleeps at another place than MuJoCo computed last was put there, and wakes up.
    _compute_places(bound)
    state = state_of(bound)
    state.asleep[group] = np.roll(group, -1)
    _set(bound, state)


def _touching(bound: Bound, trees: Ints, standing: Ints) -> Ints:
    """Return `trees`, the `standing` and the sleeping ones that they touch, and those that these touch, sorted.

    MuJoCo stops at a contact between what wakes up and what sleeps on: they belong together.
    """
    asleep = bound.data.tree_asleep
    touching = bound.model.body_treeid[bound.model.geom_bodyid[bound.data.contact.geom]].reshape(-1, 2)
    pairs = np.unique(touching[(touching >= 0).all(axis=1)], axis=0)
    sleepers = np.flatnonzero(asleep >= 0)
    # What sleeps together is a circle, in which each is followed by the next.
    links = np.concatenate((pairs, pairs[:, ::-1], np.stack((sleepers, asleep[sleepers]), axis=1)))
    links = links[np.isin(links[:, 1], np.concatenate((trees, standing, sleepers)))]
    group = np.unique(trees)
    while True:
        wider = np.union1d(group, links[np.isin(links[:, 0], group), 1])
        if len(wider) == len(group):
            return np.asarray(group, np.int64)
        group = wider


def check_state(bound: Bound, state: MujocoState) -> None:
    """Raise StateFileError for what is no state of the model: MuJoCo believes the numbers of trees in it."""
    mujoco, model, asleep = mujoco_module(), bound.model, state.asleep
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
    if len(state.vector) != size or state.accelerations.shape != (2, model.nv) or asleep.shape != (model.ntree,):
        raise StateFileError("the engine's state is one of other bodies")
    sleeping = np.flatnonzero(asleep >= 0)
    # Each is followed by one that sleeps, and follows one.
    in_circles = np.array_equal(np.sort(asleep[sleeping]), sleeping)
    counts = (asleep >= -(1 + int(mujoco.mjMINAWAKE))).all()
    if not (in_circles and counts and all(0 <= tree < model.ntree for tree in state.waking)):
        raise StateFileError("what sleeps in the engine's state is not as it was written")


def _place(bound: Bound, state: MujocoState) -> None:
    """Set everything but contacts: also poses of what sleeps, which MuJoCo computes only of what is awake."""
    mujoco, model, data = mujoco_module(), bound.model, bound.data
    mujoco.mj_resetData(model, data)
    mujoco.mj_setState(model, data, state.vector, mujoco.mjtState.mjSTATE_INTEGRATION)
    # After a reset all are awake, but for those that a model lets begin asleep: ours has none.
    _compute_places(bound)
    _set(bound, state)


def _compute_places(bound: Bound) -> None:
    mujoco = mujoco_module()
    for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_makeM, mujoco.mj_factorM):
        compute(bound.model, bound.data)


def _set(bound: Bound, state: MujocoState) -> None:
    """Write a state into MuJoCo's data, with all that it derives when something falls asleep or wakes up."""
    mujoco, model, data = mujoco_module(), bound.model, bound.data
    mujoco.mj_setState(model, data, state.vector, mujoco.mjtState.mjSTATE_INTEGRATION)
    data.qacc[:], data.qacc_smooth[:] = state.accelerations
    data.tree_asleep[:] = state.asleep
    bound.waking = set(state.waking)
    # What MuJoCo derives from it when something falls asleep or wakes up.
    data.tree_awake[:] = state.asleep < 0
    trees = model.body_treeid
    moving = trees >= 0
    data.body_awake[moving] = np.where(
        data.tree_awake[trees[moving]], mujoco.mjtSleepState.mjS_AWAKE, mujoco.mjtSleepState.mjS_ASLEEP
    )
    awake_mask = data.body_awake != mujoco.mjtSleepState.mjS_ASLEEP
    bodies, dofs = np.flatnonzero(awake_mask), np.flatnonzero(data.tree_awake[model.dof_treeid])
    # The world has no parent.
    children = 1 + np.flatnonzero(awake_mask[model.body_parentid[1:]])
    data.body_awake_ind[: len(bodies)], data.nbody_awake = bodies, len(bodies)
    data.parent_awake_ind[: len(children)], data.nparent_awake = children, len(children)
    data.dof_awake_ind[: len(dofs)], data.nv_awake = dofs, len(dofs)
    data.ntree_awake = int(data.tree_awake.sum())


# Contacts of the last substep: what their surfaces are like, which rows they are of, and with which forces.


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
        # The next one begins where this one ended, and so does the substep.
        data.qacc_warmstart[:] = data.qacc
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
