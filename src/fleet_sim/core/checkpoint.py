"""Checkpoints: the complete state from which a simulation can continue as if nothing had happened since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from fleet_sim.core.saving.alike import check_alike
from fleet_sim.core.saving.forms import Form, Forms
from fleet_sim.core.world import World
from fleet_sim.core.world_state import restore_world, save_world
from fleet_sim.errors import InvalidValueError, StateFileError


class Participant(Protocol):
    """A part that keeps state outside the columns."""

    def save(self) -> Any:
        """Return the state as copies, which later changes do not affect.

        State files hold it too: numbers, texts, arrays, the usual containers, objects of classes marked with `saved`,
        and what the part has a `Form` for.
        """

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; called after the world was restored."""


@runtime_checkable
class CheckedParticipant(Protocol):
    """A part that checks by itself what is read from a state file."""

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError for what `save` never returns; errors of other kinds are reported, too."""


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

        self.forms = Forms()
        """How state files write what is not a plain value."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts that registered, in order."""
        return tuple(self._parts)

    def register(self, name: str, part: Participant, forms: Iterable[Form[Any]] = ()) -> None:
        """Include `part` in checkpoints from now on; `forms` are of the objects in what it saves."""
        self._parts[name] = part
        for form in forms:
            self.forms.add(form)

    def register_late(self, name: str, part: Participant, forms: Iterable[Form[Any]] = ()) -> None:
        """Include `part`, which was created late: older checkpoints restore it to the state it has now."""
        self._beginnings[name] = part.save()
        self.register(name, part, forms)

    def check_parts(self, parts: Any) -> None:
        """Raise StateFileError unless `parts` are those that registered here; late ones may be missing."""
        unknown = sorted(set(parts) - set(self._parts))
        missing = sorted(set(self._parts) - set(parts) - set(self._beginnings))
        if unknown or missing:
            shown = ", ".join(map(str, unknown)) or "none"
            raise StateFileError(
                f"it is of a simulation with other parts: {shown} are in the file and not here"
                + (f"; {', '.join(missing)} are here and not in the file" if missing else "")
            )
        for name, saved in parts.items():
            part = self._parts[name]
            # What it holds is compared only where asking for it changes nothing.
            if isinstance(part, CheckedParticipant):
                part.check_saved(saved)
            else:
                check_alike(part.save(), saved, name)

    def made(self, clock: Any, world: dict[str, Any], parts: dict[str, Any]) -> Checkpoint:
        """Return a checkpoint of this world made of what a state file holds."""
        return Checkpoint(self._world, clock, world, parts)

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
        # After the world, as the parts look at its rows.
        for name, part in self._parts.items():
            part.restore(checkpoint.parts[name] if name in checkpoint.parts else self._beginnings[name])
