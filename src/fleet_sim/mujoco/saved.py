"""Checkpoints of what MuJoCo has besides the columns, in memory and in state files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.core.saving.forms import Form
from fleet_sim.core.world import World
from fleet_sim.errors import StateFileError
from fleet_sim.mujoco.bodies import MujocoBodies
from fleet_sim.mujoco.bound import Bound
from fleet_sim.mujoco.forces import MujocoForces, Push
from fleet_sim.mujoco.module import mujoco_module
from fleet_sim.mujoco.movers import Movers
from fleet_sim.mujoco.resting import ContactTable, RestingContacts
from fleet_sim.mujoco.state import MujocoState, check_state, restore_state, state_of


@dataclass(frozen=True, eq=False)
class MujocoMoment:
    """A state of MuJoCo: its numbers, the contacts of what sleeps, and what is driven, was moved and is pushed."""

    state: MujocoState
    resting: ContactTable
    driven: tuple[int, ...]
    moved: tuple[int, ...]
    pushes: tuple[Push, ...]


@dataclass(frozen=True, eq=False)
class SavedMujoco(MujocoMoment):
    """A state in memory, with the model in use."""

    bound: Bound


@dataclass(frozen=True, eq=False)
class StoredMujoco(MujocoMoment):
    """A state from a file: its version, and the entities in their order."""

    version: str
    ids: Ints


@dataclass(eq=False, repr=False)
class MujocoCheckpoints:
    """Saves and restores MuJoCo with the world, so that a simulation with physics continues bit for bit as before."""

    _world: World
    _bodies: MujocoBodies
    _movers: Movers
    _forces: MujocoForces
    _resting: RestingContacts

    def save(self) -> SavedMujoco | None:
        """Return MuJoCo's state; None if it moves nothing, as the columns then hold the whole state."""
        world, bodies = self._world, self._bodies
        if not (world.physics and world.dynamic.any()):
            return None
        # What was changed from outside is written before the state is read.
        bound = bodies.refresh()
        bodies.write_changed()
        self._movers.settle(bound)
        driven, moved = tuple(sorted(bodies.driven)), tuple(sorted(bodies.fixtures.moved))
        state = state_of(bound)
        if not np.array_equal(bound.model.opt.gravity, bodies.gravity):
            # A model that is compiled where this is loaded has the new gravity, and would not see that it is new.
            state = state._replace(waking=tuple(range(bound.model.ntree)))
        return SavedMujoco(state, self._resting.table, driven, moved, tuple(self._forces.pushes), bound)

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
        bodies.fixtures.moved.update(saved.moved)
        self._forces.pushes.extend(saved.pushes)
        if isinstance(saved, StoredMujoco):
            self._load(saved)
            return
        restore_state(saved.bound, saved.state)
        bodies.take(saved.bound)
        self._movers.settle(saved.bound)
        self._resting.take(saved.bound, saved.resting)

    def _load(self, stored: StoredMujoco) -> None:
        """Take over a state from a file into a model that is compiled anew; raises StateFileError for other bodies."""
        bound = self._bodies.refresh()
        if not np.array_equal(stored.ids, bound.ids):
            raise StateFileError("the engine's state is one of other bodies")
        check_state(bound, stored.state)
        # With other numbers MuJoCo would read beyond its arrays.
        geoms = stored.resting.geoms
        if len(geoms) and not 0 <= int(geoms.min()) <= int(geoms.max()) < bound.model.ngeom:
            raise StateFileError("the engine's state has contacts of other bodies")
        restore_state(bound, stored.state)
        self._movers.settle(bound)
        self._resting.take(bound, stored.resting)

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


def _written(saved: SavedMujoco) -> object:
    """Return the state as plain values."""
    state, pushes = saved.state, [tuple(push) for push in saved.pushes]
    engine = (state.vector, state.asleep, state.accelerations, list(state.waking))
    numbers = list(saved.driven), list(saved.moved)
    return mujoco_module().__version__, saved.bound.ids, engine, tuple(saved.resting), numbers, pushes


def _stored(saved: Any) -> StoredMujoco:
    """Return a state from plain values; raises StateFileError for what was not written by `_written`."""
    try:
        version, ids, (vector, asleep, accelerations, waking), contacts, (driven, moved), pushes = saved
        state = MujocoState(
            _numbers(vector, np.float64, 1),
            _numbers(asleep, np.int64, 1),
            _numbers(accelerations, np.float64, 2),
            tuple(map(int, waking)),
        )
        geoms, distances, positions, frames, forces = contacts
        resting = ContactTable(
            _numbers(geoms, np.int64, 2),
            _numbers(distances, np.float64, 1),
            _numbers(positions, np.float64, 2),
            _numbers(frames, np.float64, 2),
            _numbers(forces, np.float64, 2),
        )
        known = tuple(Push(*push) for push in pushes)
        driven_ids, moved_ids = tuple(map(int, driven)), tuple(map(int, moved))
    except (TypeError, ValueError) as error:
        raise StateFileError("the engine's state is not as it was written") from error
    count = len(resting.geoms)
    if [array.shape for array in resting] != [(count, 2), (count,), (count, 3), (count, 9), (count, 6)]:
        raise StateFileError("the engine's state is not as it was written")
    return StoredMujoco(state, resting, driven_ids, moved_ids, known, str(version), _numbers(ids, np.int64, 1))


def _numbers(array: object, kind: type[np.generic], axes: int) -> Any:
    """Return an array of a file as it was written; raises StateFileError for another one."""
    if not isinstance(array, np.ndarray) or array.ndim != axes or array.dtype != kind:
        raise StateFileError("the engine's state is not as it was written")
    if not np.isfinite(array).all():
        raise StateFileError("the engine's state has numbers that are not finite")
    return array
