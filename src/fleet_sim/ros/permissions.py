"""What other processes may do here: all, all but spawning, or looking only."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.core.commands import Command, Spawn
from fleet_sim.errors import StateError


@dataclass(frozen=True)
class Permissions:
    """What other processes may do; checked for each command, and for each change that is made without a command."""

    read_only: bool = False
    remote_spawn: bool = True

    def check_change(self) -> None:
        """Raise StateError where nothing may be changed."""
        if self.read_only:
            raise StateError("the node is read only (its parameter read_only); nothing that arrives changes anything")

    def check(self, command: Command) -> None:
        """Raise StateError where `command` is not allowed."""
        self.check_change()
        if isinstance(command, Spawn) and not self.remote_spawn:
            raise StateError("messages may not spawn here (the node's parameter remote_spawn is false)")
