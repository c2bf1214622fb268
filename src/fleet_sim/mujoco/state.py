"""The state of MuJoCo from which a run goes on bit for bit, with what sleeps still asleep.

MuJoCo's own states leave out what sleeps: it would wake up, and the run would be another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.errors import StateFileError
from fleet_sim.mujoco.module import mujoco_module

if TYPE_CHECKING:
    from fleet_sim.mujoco.bodies import Bound


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
    mujoco, data = mujoco_module(), bound.data
    vector = np.empty(mujoco.mj_stateSize(bound.model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(bound.model, data, vector, mujoco.mjtState.mjSTATE_INTEGRATION)
    accelerations = np.array((data.qacc, data.qacc_smooth))
    return MujocoState(vector, data.tree_asleep.astype(np.int64), accelerations, tuple(sorted(bound.waking)))


def restore_state(bound: Bound, state: MujocoState) -> None:
    """Go to a state, with the contacts of what is awake found; the same whatever was before."""
    mujoco = mujoco_module()
    _place(bound, state)
    try:
        mujoco.mj_forward(bound.model, bound.data)
    except mujoco.FatalError:
        # Too little memory for so many contacts, which the next step sees to; until then there are none.
        _place(bound, state)
    # Again, as computing contacts has changed where the solver starts, and woken up what a force acts on.
    _set(bound, state)


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
    for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_makeM, mujoco.mj_factorM):
        compute(model, data)
    _set(bound, state)


def _set(bound: Bound, state: MujocoState) -> None:
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
