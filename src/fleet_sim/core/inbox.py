"""The inbox: the only way into the world from outside the step or from another thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from fleet_sim.core.commands import Command, CommandAck
from fleet_sim.errors import InvalidValueError


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
        # Appending and taking from a deque's ends is atomic.
        self._waiting: deque[tuple[Command, Future[CommandAck]]] = deque()
        self.on_put: Callable[[], object] = lambda: None
        """Called, in the thread that handed something in, after each `put`."""

    def put(self, command: Command) -> Future[CommandAck]:
        """Hand `command` in; raises InvalidValueError for what is no command."""
        if not isinstance(command, Command):
            raise InvalidValueError(f"expected a command, got {command!r}; see fleet_sim.core.commands")
        future: Future[CommandAck] = Future()
        self._waiting.append((command, future))
        self.on_put()
        return future

    def __len__(self) -> int:
        return len(self._waiting)

    def drain(self, dispatcher: Dispatcher, count: int | None = None) -> int:
        """Apply the first `count` commands (None: what was handed in before this call); returns how many that were."""
        count = len(self._waiting) if count is None else min(count, len(self._waiting))
        for _ in range(count):
            # One by one: what an interrupt breaks off keeps the commands that were not reached.
            command, future = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                acknowledgement = dispatcher.dispatch(command)
            except Exception as error:
                # A command may run code of whoever handed it in; that is who hears of its faults.
                future.set_exception(error)
            else:
                future.set_result(acknowledgement)
        return count
