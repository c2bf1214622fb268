"""The action behind an event of a process, as far as events and what answers them know it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ...launch_context import LaunchContext


class ProcessAction(Protocol):
    """What `ExecuteLocal` is to events. It emits them, so it is above them and they cannot name it."""

    @property
    def process_details(self) -> dict[str, Any] | None:
        """`name`, `cmd`, `cwd`, `env` and, once started, `pid`; None before the action is visited."""

    @property
    def return_code(self) -> int | None:
        """The return code, negative for a signal, or None while there is none."""

    def describe(self) -> str: ...

    def request_shutdown(self, context: LaunchContext) -> None:
        """End the process, and do not start it again."""

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process; False when it does not run."""

    def write_stdin(self, data: bytes) -> None:
        """Write to the standard input of the process, if it runs."""
