"""Where filters hand on what they let through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class SimpleFilter:
    """Calls what was registered with each output, in order of registration."""

    def __init__(self) -> None:
        self.callbacks: dict[int, tuple[Callable[..., Any], tuple[Any, ...]]] = {}

    def registerCallback(self, cb: Callable[..., Any], *args: Any) -> int:
        """Have `cb` called with each output and then `args`; the number of the registration.

        Raises TypeError for what cannot be called.
        """
        if not callable(cb):
            raise TypeError(f"a callback must be callable, got {type(cb).__name__}")
        connection = len(self.callbacks)
        self.callbacks[connection] = (cb, args)
        return connection

    def signalMessage(self, *msg: Any) -> None:
        """Hand an output on."""
        for callback, args in list(self.callbacks.values()):
            callback(*msg, *args)
