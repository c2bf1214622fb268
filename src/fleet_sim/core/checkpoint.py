"""Checkpoints: everything a simulation needs to go on from a moment as if nothing had happened since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError


class Participant(Protocol):
    """A part that keeps state outside the columns."""

    def save(self) -> Any:
        """Return the state as values that later changes do not touch."""

    def restore(self, saved: Any) -> None:
        """Go back to what `save` returned; called after the world is back."""


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
        """Include `part`, which begins now: a checkpoint from before takes it back to the state it is in here."""
        self._beginnings[name] = part.save()
        self.register(name, part)

    def take(self) -> Checkpoint:
        """Return the present moment."""
        parts = {name: part.save() for name, part in self._parts.items()}
        return Checkpoint(self._world, self._world.clock.save(), self._world.save(), parts)

    def check(self, checkpoint: Checkpoint) -> None:
        """Raise InvalidValueError unless `checkpoint` was taken here."""
        if not isinstance(checkpoint, Checkpoint):
            raise InvalidValueError(f"expected what save_state() returned, got {checkpoint!r}")
        if checkpoint.owner is not self._world:
            raise InvalidValueError("the checkpoint was taken in another simulation; it is valid in that one only")

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go back to `checkpoint`: clock, world, then the parts in the order they registered."""
        self.check(checkpoint)
        self._world.clock.restore(checkpoint.clock)
        self._world.restore(checkpoint.world)
        for name, part in self._parts.items():
            part.restore(checkpoint.parts[name] if name in checkpoint.parts else self._beginnings[name])
