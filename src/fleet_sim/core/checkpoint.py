"""Checkpoints: the complete state from which a simulation can continue as if nothing had happened since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from fleet_sim.core.world import World
from fleet_sim.core.world_state import restore_world, save_world
from fleet_sim.errors import InvalidValueError


class Participant(Protocol):
    """A part that keeps state outside the columns."""

    def save(self) -> Any:
        """Return the state as copies, which later changes do not affect."""

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; called after the world was restored."""


@dataclass(frozen=True, eq=False, repr=False)
class Checkpoint:
    """A saved moment of one simulation; valid as long as that simulation lives, and in no other."""

    owner: World
    clock: Any
    world: dict[str, Any]
    parts: dict[str, Any]


class Checkpoints:
    """Takes and restores checkpoints of a world and of the parts that registered."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._parts: dict[str, Participant] = {}
        self._beginnings: dict[str, Any] = {}

    def register(self, name: str, part: Participant) -> None:
        """Include `part` in checkpoints from now on."""
        self._parts[name] = part

    def register_late(self, name: str, part: Participant) -> None:
        """Include `part`, which was created late: older checkpoints restore it to the state it has now."""
        self._beginnings[name] = part.save()
        self.register(name, part)

    def take(self) -> Checkpoint:
        """Return a checkpoint of the present state."""
        parts = {name: part.save() for name, part in self._parts.items()}
        return Checkpoint(self._world, self._world.clock.save(), save_world(self._world), parts)

    def check(self, checkpoint: Checkpoint) -> None:
        """Raise InvalidValueError unless `checkpoint` was taken here."""
        if not isinstance(checkpoint, Checkpoint):
            raise InvalidValueError(f"expected what save_state() returned, got {checkpoint!r}")
        if checkpoint.owner is not self._world:
            raise InvalidValueError("the checkpoint was taken in another simulation; it is valid only there")

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore `checkpoint`: clock, world, then the parts in the order of registration."""
        self.check(checkpoint)
        self._world.clock.restore(checkpoint.clock)
        restore_world(self._world, checkpoint.world)
        for name, part in self._parts.items():
            part.restore(checkpoint.parts[name] if name in checkpoint.parts else self._beginnings[name])
