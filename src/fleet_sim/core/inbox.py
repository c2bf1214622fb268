"""The inbox: the only way into the world from outside the step or from another thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Protocol

from fleet_sim.core.commands import Command, CommandAck


class Dispatcher(Protocol):
    """Carries a command out and says for whom it was accepted."""

    def dispatch(self, command: Command) -> CommandAck:
        """Apply `command` to the world; refuses, with reasons, what is wrong in it."""


class Inbox:
    """Commands in order of arrival, applied in phase 1 of the next step.

    `put` may be called from any thread. The future it returns is done when the command was applied, with the
    acknowledgement, or with the exception a malformed command raised.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: deque[tuple[Command, Future[CommandAck]]] = deque()
        self.on_put: Callable[[], object] = lambda: None
        """Called, in the thread that handed something in, after each `put`."""

    def put(self, command: Command) -> Future[CommandAck]:
        """Hand `command` in."""
        future: Future[CommandAck] = Future()
        with self._lock:
            self._waiting.append((command, future))
        self.on_put()
        return future

    def __len__(self) -> int:
        return len(self._waiting)

    def drain(self, dispatcher: Dispatcher) -> int:
        """Apply what was handed in before this call; returns how many commands that were."""
        if not self._waiting:
            return 0
        with self._lock:
            batch = list(self._waiting)
            self._waiting.clear()
        for command, future in batch:
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(dispatcher.dispatch(command))
            except (ValueError, LookupError, TypeError, RuntimeError) as error:
                future.set_exception(error)
        return len(batch)
