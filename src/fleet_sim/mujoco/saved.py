"""Checkpoints of what MuJoCo has besides the columns, in memory and in state files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.saving.forms import Form
from fleet_sim.core.world import World
from fleet_sim.errors import StateFileError
from fleet_sim.mujoco.bodies import Bound, MujocoBodies, restore_vector, state_vector
from fleet_sim.mujoco.forces import MujocoForces, Push
from fleet_sim.mujoco.module import mujoco_module
from fleet_sim.mujoco.movers import Movers
from fleet_sim.mujoco.resting import RestingContacts


@dataclass(frozen=True, eq=False)
class SavedMujoco:
    """A state of MuJoCo in memory: the model in use, and the numbers of `state_vector`."""

    bound: Bound
    vector: Floats
    driven: tuple[int, ...]
    pushes: tuple[Push, ...]


@dataclass(frozen=True, eq=False)
class StoredMujoco:
    """A state of MuJoCo from a file: its version, the entities in their order, and the numbers of `state_vector`."""

    version: str
    ids: Ints
    vector: Floats
    driven: tuple[int, ...]
    pushes: tuple[Push, ...]


class MujocoCheckpoints:
    """Saves and restores MuJoCo with the world, so that a simulation with physics continues bit for bit as before."""

    def __init__(
        self, world: World, bodies: MujocoBodies, movers: Movers, forces: MujocoForces, resting: RestingContacts
    ) -> None:
        self._world = world
        self._bodies = bodies
        self._movers = movers
        self._forces = forces
        self._resting = resting

    def save(self) -> SavedMujoco | None:
        """Return MuJoCo's state; None if it moves nothing, as the columns then hold the whole state."""
        world, bodies = self._world, self._bodies
        if not (world.physics and world.dynamic.any()):
            return None
        bound = bodies.refresh()
        bodies.write_changed()
        self._movers.settle(bound)
        driven, pushes = tuple(sorted(bodies.driven)), tuple(self._forces.pushes)
        vector = state_vector(bound)
        # The run that continues and the one that is restored later begin with the same: with nothing asleep.
        restore_vector(bound, vector)
        self._resting.forget()
        return SavedMujoco(bound, vector, driven, pushes)

    def restore(self, saved: SavedMujoco | StoredMujoco | None) -> None:
        """Restore MuJoCo's state; the columns must be restored already."""
        bodies = self._bodies
        bodies.forget()
        self._movers.forget()
        self._forces.clear(None)
        self._resting.forget()
        if saved is None:
            return
        bodies.driven.update(saved.driven)
        self._forces.pushes.extend(saved.pushes)
        if isinstance(saved, StoredMujoco):
            self._load(saved)
            return
        restore_vector(saved.bound, saved.vector)
        bodies.take(saved.bound)
        self._movers.settle(saved.bound)

    def _load(self, stored: StoredMujoco) -> None:
        mujoco = mujoco_module()
        bound = self._bodies.refresh()
        size = mujoco.mj_stateSize(bound.model, mujoco.mjtState.mjSTATE_INTEGRATION)
        fits = np.array_equal(stored.ids, bound.ids) and len(stored.vector) == size
        if not fits:
            raise StateFileError("the engine's state is one of other bodies")
        restore_vector(bound, stored.vector)
        self._movers.settle(bound)

    # ---- state files -------------------------------------------------------------------------------------------------

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how MuJoCo's state is written in state files."""
        yield Form("mujoco", SavedMujoco, _written, _stored)

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError for what is no state of MuJoCo."""
        if saved is None:
            return
        if not isinstance(saved, StoredMujoco):
            raise StateFileError("the state is one of another engine; read it with engine: bullet")
        here = mujoco_module().__version__
        if saved.version != here:
            raise StateFileError(
                f"the state was written with MuJoCo {saved.version}, and here is {here}: it would go on otherwise"
            )


def _written(state: SavedMujoco) -> object:
    """Return the state as plain values."""
    pushes = [tuple(push) for push in state.pushes]
    return mujoco_module().__version__, state.bound.ids, state.vector, list(state.driven), pushes


def _stored(saved: tuple[str, Ints, Floats, list[int], list[tuple[Any, ...]]]) -> StoredMujoco:
    version, ids, vector, driven, pushes = saved
    for array in (ids, vector):
        if not isinstance(array, np.ndarray) or array.ndim != 1:
            raise StateFileError("the engine's state is not as it was written")
    if not np.isfinite(vector).all():
        raise StateFileError("the engine's state has numbers that are not finite")
    known = tuple(Push(*push) for push in pushes)
    return StoredMujoco(str(version), ids, vector.astype(np.float64), tuple(map(int, driven)), known)
