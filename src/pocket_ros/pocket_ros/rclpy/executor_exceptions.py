"""How waits of executors end other than with work."""

from __future__ import annotations

from typing import Any


class ExternalShutdownException(Exception):
    """Raised by spin functions when the context was shut down while they waited."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)


class TimeoutException(Exception):
    """Raised when nothing was ready in time."""


class ShutdownException(Exception):
    """Raised when the executor was shut down while it waited."""


class ConditionReachedException(Exception):
    """Raised when what was waited for has happened."""


class TimeoutObject:
    """A timeout that can be changed while it is waited for."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
