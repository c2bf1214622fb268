"""Going back: the initial state, checkpoints, an empty world; and the hash of a state."""

from __future__ import annotations

from fleet_sim.core.checkpoint import Checkpoint
from fleet_sim.core.hashing import state_hash
from fleet_sim.entities.spawning import emit_spawned, remove
from fleet_sim.facade.base import SimulationParts


class StateFacade(SimulationParts):
    """The state of a simulation as a whole."""

    def initialize_simulation(self) -> None:
        """Remember the present moment as the one `reset` goes back to; done by itself at the first step."""
        self._initial = self.checkpoints.take()

    def save_state(self) -> Checkpoint:
        """Return the present moment, to go back to with `restore_state`: poses, motion, actions, random streams."""
        self._require_between_steps("save_state")
        return self.checkpoints.take()

    def restore_state(self, checkpoint: Checkpoint) -> None:
        """Go back to a saved moment of this simulation. Entities spawned since are removed, removed ones live again.

        Callbacks, plugins, managers and event handlers stay as they are, except that entities that live again have
        theirs again. Raises StateError inside a step and InvalidValueError for a checkpoint of another simulation.
        """
        self._require_between_steps("restore_state")
        self.checkpoints.check(checkpoint)
        world = self.world
        remove(world, world.spawned_since(checkpoint.world))
        living_mask = world.alive.copy()
        self.checkpoints.restore(checkpoint)
        emit_spawned(world, [world.handles[row] for row in world.rows.tolist() if not living_mask[row]])
        self.world.hooks.reset()
        self._plugins.reset()
        world.events.emit("reset")

    def reset(self) -> None:
        """Go back to the initial state: the moment before the first step, with all its robots and their plans.

        Callbacks, plugins and event handlers stay; random streams start anew. See `clear` for an empty world. Raises
        StateError inside a step; `between_steps` calls it from there.
        """
        self._require_between_steps("reset")
        if self._initial is None:
            self.initialize_simulation()
        assert self._initial is not None
        self.restore_state(self._initial)

    restore_initial = reset

    def clear(self) -> None:
        """Remove every entity and go back to time 0, ids and random streams included, as in a new simulation.

        Callbacks, plugins, managers and event handlers of the simulation stay.
        """
        self._require_between_steps("clear")
        remove(self.world, self.world.rows)
        self.sensors.clear()
        self.clock.restart()
        self.world.renew()
        self.collisions.count = 0
        self._initial = None
        self._mirror.reset()
        self.world.hooks.reset()
        self._plugins.reset()
        self.world.events.emit("cleared")

    def rebuild_engine(self) -> None:
        """Empty PyBullet's world and make it anew from the columns, as at the start of a run.

        What the engine remembers of contacts is forgotten, so that equal columns go on equally whatever came before.
        Raises StateError inside a step.
        """
        self._require_between_steps("rebuild_engine")
        self._mirror.reset()

    def state_hash(self) -> str:
        """Return a hash of all state, equal for equal runs whatever the order of rows."""
        return state_hash(self.world)
