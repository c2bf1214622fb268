"""Saving and restoring state: the initial state, checkpoints, an empty world; and the state hash."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from fleet_sim.bullet.adopted import count_own
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.collision.system import CollisionSystem
from fleet_sim.core.checkpoint import Checkpoint, Checkpoints
from fleet_sim.core.hashing import state_hash
from fleet_sim.core.physics_engine import PhysicsEngine
from fleet_sim.core.snapshot_board import SnapshotBoard
from fleet_sim.core.world import World
from fleet_sim.core.world_state import spawned_since
from fleet_sim.entities.spawning import SPAWNED, emit_spawned, remove
from fleet_sim.errors import StateError
from fleet_sim.facade.control import RunControl
from fleet_sim.facade.extensions import Extensions
from fleet_sim.sensors.system import SensorSystem

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class State:
    """The state of a simulation as a whole. Methods that change it raise StateError inside a step."""

    _world: World
    _checkpoints: Checkpoints
    _control: RunControl
    _mirror: BulletMirror
    _engine: PhysicsEngine
    _collisions: CollisionSystem
    _sensors: SensorSystem
    _extensions: Extensions
    _snapshots: SnapshotBoard
    _initial: Checkpoint | None = field(default=None, init=False)

    @property
    def has_initial(self) -> bool:
        """Whether an initial state for `reset` was saved."""
        return self._initial is not None

    @property
    def initial(self) -> Checkpoint | None:
        """The state that `reset` goes back to; None before it was saved."""
        return self._initial

    @initial.setter
    def initial(self, checkpoint: Checkpoint) -> None:
        self._checkpoints.check(checkpoint)
        self._initial = checkpoint

    def remember_initial(self) -> None:
        """Save the present state as the initial state for `reset`."""
        self._initial = self._checkpoints.take()

    def save(self) -> Checkpoint:
        """Return a checkpoint of the present state: poses, motion, actions, random streams."""
        self._control.require_between_steps("save_state")
        return self._checkpoints.take()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore a saved state. Entities spawned since are removed, removed ones live again.

        Raises InvalidValueError for a checkpoint of another simulation.
        """
        self._control.require_between_steps("restore_state")
        self._checkpoints.check(checkpoint)
        world = self._world
        # The world would remove them too, but without events for users.
        remove(world, spawned_since(world, checkpoint.world))
        # To find those that live again: users are told of them as of new ones.
        living_mask = world.alive.copy()
        self._checkpoints.restore(checkpoint)
        if any(map(world.events.has_handlers, SPAWNED)):
            emit_spawned(world, world.handles.of(world.rows[~living_mask[world.rows]]))
        self._tell_reset("reset")

    def reset(self) -> None:
        """Restore the initial state; the present one if none was saved yet."""
        self._control.require_between_steps("reset")
        if self._initial is None:
            self.remember_initial()
        assert self._initial is not None
        self.restore(self._initial)

    def clear(self) -> None:
        """Remove every entity and go back to time 0, ids and random streams included, as in a new simulation."""
        self._control.require_between_steps("clear")
        world = self._world
        remove(world, world.rows)
        self._sensors.clear()
        world.clock.restart()
        world.renew()
        self._collisions.restart_count()
        self._initial = None
        self._engine.reset()
        self._tell_reset("cleared")

    def rebuild_engine(self) -> None:
        """Empty the engine's world and build it again from the columns, with what `sim.bullet.changeDynamics` set.

        Bodies and constraints of the user's own are gone, and a warning says so.

        Raises StateError while entities stand for such bodies: there is nothing to build those from.
        """
        self._control.require_between_steps("rebuild_engine")
        world, adopted = self._world, self._mirror.bodies.table.adopted
        labels = [world.label(row) for row in world.rows[adopted[world.rows]].tolist()]
        if labels:
            shown = ", ".join(labels[:4]) + (", ..." if len(labels) > 4 else "")
            raise StateError(
                f"rebuild_engine: {shown} stand for PyBullet bodies made by you, which it would remove for good; "
                "remove those entities first"
            )
        bodies, constraints = count_own(self._mirror)
        if bodies or constraints:
            log.warning(
                "rebuild_engine: what was made with PyBullet's own functions is gone (bodies: %d, constraints: %d); "
                "make it again: the bodies of entities may have other numbers now",
                bodies,
                constraints,
            )
        self._engine.reset()

    def hash(self) -> str:
        """Return a hash of all state; it does not depend on the order of rows."""
        return state_hash(self._world)

    def _tell_reset(self, event: str) -> None:
        """Notify user code: plugins of entities, then plugins of the simulation, then event handlers."""
        self._snapshots.refresh()
        self._world.guard.revive()
        self._world.hooks.reset()
        self._extensions.reset()
        self._world.events.emit(event)
