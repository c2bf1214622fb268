"""The state of MuJoCo from which a run goes on bit for bit, with what sleeps still asleep.

MuJoCo's own states leave out what sleeps: it would wake up, and the run would be another one.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.errors import StateError, StateFileError
from fleet_sim.mujoco.module import is_lack_of_memory, mujoco_module


class WithData(Protocol):
    """A model of MuJoCo with its data, and the trees that are to wake up."""

    model: Any
    data: Any
    waking: set[int]


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


def state_of(bound: WithData) -> MujocoState:
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


def restore_state(bound: WithData, state: MujocoState) -> None:
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


def let_sleep(bound: WithData, trees: Ints, standing: Ints) -> None:
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


def _touching(bound: WithData, trees: Ints, standing: Ints) -> Ints:
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


def check_state(bound: WithData, state: MujocoState) -> None:
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


def _place(bound: WithData, state: MujocoState) -> None:
    """Set everything but contacts: also poses of what sleeps, which MuJoCo computes only of what is awake."""
    mujoco, model, data = mujoco_module(), bound.model, bound.data
    mujoco.mj_resetData(model, data)
    mujoco.mj_setState(model, data, state.vector, mujoco.mjtState.mjSTATE_INTEGRATION)
    # After a reset all are awake, but for those that a model lets begin asleep: ours has none.
    _compute_places(bound)
    _set(bound, state)


def _compute_places(bound: WithData) -> None:
    mujoco = mujoco_module()
    for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_makeM, mujoco.mj_factorM):
        compute(bound.model, bound.data)


def _set(bound: WithData, state: MujocoState) -> None:
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
