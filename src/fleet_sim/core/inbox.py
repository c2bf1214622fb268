"""The inbox: the only way into the world from outside the step or from another thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import islice
from typing import Protocol

from fleet_sim.core.commands import Command, CommandAck
from fleet_sim.errors import InvalidValueError


class Dispatcher(Protocol):
    """Carries a command out and says for whom it was accepted."""

    def dispatch(self, command: Command) -> CommandAck:
        """Apply `command` to the world; rejects, with reasons, what is wrong in it."""


class Inbox:
    """Commands in order of arrival, applied in phase 1 of the next step, or between two steps where they have to be.

    A command for between steps keeps its place in the order: what came before it is applied first, and what came after
    it later. `put` may be called from any thread. The future it returns is done when the command was applied, with the
    acknowledgement, or with the exception a malformed command raised.
    """

    def __init__(self) -> None:
        # Appending and taking from a deque's ends is atomic.
        self._waiting: deque[tuple[Command, Future[CommandAck]]] = deque()
        self.on_put: Callable[[], object] = lambda: None
        """Called, in the thread that handed something in, after each `put`."""
        self.on_apply: list[Callable[[Command], object]] = []
        """Called with each command, in the simulation's thread, right before it is applied."""

    def put(self, command: Command) -> Future[CommandAck]:
        """Hand `command` in; raises InvalidValueError for what is no command."""
        entry = _entry(command)
        self._waiting.append(entry)
        self.on_put()
        return entry[1]

    def put_ahead(self, commands: Sequence[Command]) -> list[Future[CommandAck]]:
        """Hand `commands` in, in order, before everything that waits.

        For what is fetched at the beginning of a step but was sent before. To be called in the simulation's thread.
        """
        entries = [_entry(command) for command in commands]
        self._waiting.extendleft(reversed(entries))
        return [future for _, future in entries]

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_due_between_steps(self) -> bool:
        """Whether the next command is one for between steps."""
        return bool(self._waiting) and self._waiting[0][0].between_steps

    def runs_code(self, count: int) -> bool:
        """Return whether some of the first `count` commands may run code that is not ours."""
        return any(command.runs_code for command, _ in islice(self._waiting, count))

    def drain(self, dispatcher: Dispatcher, count: int | None = None, *, in_step: bool = False) -> int:
        """Apply the first `count` commands (None: what was handed in before this call); returns how many that were.

        With `in_step`, stop before the first that must be applied between steps.
        """
        count = len(self._waiting) if count is None else min(count, len(self._waiting))
        for done in range(count):
            if in_step and self._waiting[0][0].between_steps:
                return done
            self._apply_first(dispatcher)
        return count

    def drain_between_steps(self, dispatcher: Dispatcher) -> None:
        """Apply the commands that must be applied between steps and have no other before them."""
        while self.is_due_between_steps:
            self._apply_first(dispatcher)

    def _apply_first(self, dispatcher: Dispatcher) -> None:
        # One by one: what an interrupt breaks off keeps the commands that were not reached.
        command, future = self._waiting.popleft()
        if not future.set_running_or_notify_cancel():
            return
        for listener in self.on_apply:
            listener(command)
        try:
            acknowledgement = dispatcher.dispatch(command)
        except Exception as error:
            # A command may run code of whoever handed it in; that is who hears of its faults.
            future.set_exception(error)
        else:
            future.set_result(acknowledgement)


def _entry(command: Command) -> tuple[Command, Future[CommandAck]]:
    if not isinstance(command, Command):
        raise InvalidValueError(f"expected a command, got {command!r}; see fleet_sim.core.commands")
    return command, Future()
