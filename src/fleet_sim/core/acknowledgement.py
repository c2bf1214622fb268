"""CommandAck: the answer to a command."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CommandAck:
    """The robots a command was accepted for, and the reasons for rejecting others.

    `value` is the return value of a Call; for ExecuteAction, the accepted actions by name.
    """

    command_id: str = ""
    source: str = ""
    sim_time: float = 0.0
    accepted_names: tuple[str, ...] = ()
    rejected: dict[str, str] = field(default_factory=dict)
    value: Any = None

    @property
    def ok(self) -> bool:
        """Whether nothing was rejected."""
        return not self.rejected
