"""What other processes may do here: all, all but spawning, or looking only."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet_sim.core.commands import Command, Spawn
from fleet_sim.entities.world_command import LoadWorld
from fleet_sim.errors import StateError
from fleet_sim.gate.folders import OperatorFolder

NO_FOLDER = (
    "no file is written or read for messages: the operator has named no folder for them (the node's parameter "
    "state_folder); without a file, states are kept in memory by name"
)


def state_folder(folder: str = "") -> OperatorFolder:
    """Return the folder of the files that messages may name for saved states; raises InvalidValueError."""
    return OperatorFolder(folder, ".state", NO_FOLDER)


@dataclass(frozen=True)
class Permissions:
    """What other processes may do; checked for each command, and for each change that is made without a command."""

    read_only: bool = False
    remote_spawn: bool = True
    states: OperatorFolder = field(default_factory=state_folder)
    """Where files of saved states may be written and read."""

    def check_change(self) -> None:
        """Raise StateError where nothing may be changed."""
        if self.read_only:
            raise StateError("the node is read only (its parameter read_only); nothing that arrives changes anything")

    def check(self, command: Command) -> None:
        """Raise StateError where `command` is not allowed."""
        self.check_change()
        if isinstance(command, (Spawn, LoadWorld)) and not self.remote_spawn:
            raise StateError("messages may not spawn here (the node's parameter remote_spawn is false)")
