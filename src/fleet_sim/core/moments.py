"""Saved states of a simulation, by name."""

from __future__ import annotations

import re

from fleet_sim.core.checkpoint import Checkpoint
from fleet_sim.errors import InvalidValueError, unknown_name

MOST = 100
"""Maximum number of saved states; each is a copy of all state."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Moments:
    """Checkpoints by name, the newest last.

    They are kept in memory and end with the simulation; `sim.save_state(path)` writes one to a file.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Checkpoint] = {}

    @property
    def names(self) -> list[str]:
        """The names of all saved states."""
        return list(self._kept)

    def check_name(self, name: str) -> None:
        """Raise InvalidValueError if a state cannot be saved as `name`."""
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            allowed = "1 to 64 letters, digits, _, - and ."
            raise InvalidValueError(f"name: expected {allowed}, got {name!r}; moments are kept in memory, not in files")
        if name not in self._kept and len(self._kept) >= MOST:
            raise InvalidValueError(f"{MOST} moments are kept already; save under one of their names to replace it")

    def keep(self, name: str, checkpoint: Checkpoint) -> None:
        """Save `checkpoint` as `name`; raises InvalidValueError."""
        self.check_name(name)
        # Taken out first, so that a replaced state becomes the newest.
        self._kept.pop(name, None)
        self._kept[name] = checkpoint

    def named(self, name: str) -> Checkpoint:
        """Return the state saved as `name`; raises UnknownNameError with the closest name."""
        checkpoint = self._kept.get(name)
        if checkpoint is None:
            raise unknown_name("saved moment", name, self._kept)
        return checkpoint
