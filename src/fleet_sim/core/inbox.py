"""The inbox: the only way to change the world from outside the step or from another thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.commands import Command
from fleet_sim.errors import InvalidValueError


class Dispatcher(Protocol):
    """Executes commands and reports for which robots they were accepted."""

    def dispatch(self, command: Command) -> CommandAck:
        """Apply `command` to the world; invalid parts are rejected with reasons."""


class Inbox:
    """Commands in order of arrival, applied in phase 1 of the next step, or between two steps if required.

    A command that must be applied between steps keeps its place in the order: earlier commands are applied before it,
    later ones after it. `put` may be called from any thread. Its future completes when the command was applied, with
    the acknowledgement, or with the exception of a malformed command.
    """

    def __init__(self) -> None:
        # Appending and popping at a deque's ends is atomic, so no lock is needed.
        self._waiting: deque[tuple[Command, Future[CommandAck]]] = deque()
        self.asking: Callable[[], int] = self._waiting.__len__
        """Returns how many commands wait, for who asks in every step."""
        self.on_put: Callable[[], object] = lambda: None
        """Called after each `put`, in the thread that called it."""
        self.on_apply: list[Callable[[Command], object]] = []
        """Called with each command, in the simulation's thread, immediately before it is applied."""

    def put(self, command: Command) -> Future[CommandAck]:
        """Add `command`; raises InvalidValueError if it is not a command."""
        entry = _entry(command)
        self._waiting.append(entry)
        self.on_put()
        return entry[1]

    def put_ahead(self, commands: Sequence[Command]) -> list[Future[CommandAck]]:
        """Add `commands`, in order, before all waiting ones.

        For commands that are received at the beginning of a step but were sent earlier. Call it in the simulation's
        thread.
        """
        entries = [_entry(command) for command in commands]
        # extendleft adds one by one and so turns the order round.
        self._waiting.extendleft(reversed(entries))
        return [future for _, future in entries]

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_due_between_steps(self) -> bool:
        """Whether the next command must be applied between steps."""
        return bool(self._waiting) and self._waiting[0][0].between_steps

    def runs_code(self, count: int) -> bool:
        """Return whether some of the first `count` commands may run user code."""
        # By index, as only this thread takes commands away: no other may append while somebody iterates over a deque.
        return any(self._waiting[index][0].runs_code for index in range(min(count, len(self._waiting))))

    def drain(self, dispatcher: Dispatcher, count: int | None = None, *, in_step: bool = False) -> int:
        """Apply the first `count` commands (None: all added before this call); return the number applied.

        With `in_step`, stop before the first that must be applied between steps.
        """
        # Counted before the first is applied: a command that puts another one must not keep this loop going.
        count = len(self._waiting) if count is None else min(count, len(self._waiting))
        for done in range(count):
            if in_step and self._waiting[0][0].between_steps:
                return done
            self._apply_first(dispatcher)
        return count

    def drain_between_steps(self, dispatcher: Dispatcher) -> None:
        """Apply commands that must be applied between steps, up to the first other command."""
        while self._waiting and self._waiting[0][0].between_steps:
            self._apply_first(dispatcher)

    def _apply_first(self, dispatcher: Dispatcher) -> None:
        """Apply the oldest command; its acknowledgement, or its exception, goes to whoever sent it."""
        # Popped one by one: after an interrupt, the remaining commands are still in the inbox.
        command, future = self._waiting.popleft()
        # The sender may have cancelled it; from here on this is no longer possible.
        if not future.set_running_or_notify_cancel():
            return
        for listener in self.on_apply:
            listener(command)
        try:
            acknowledgement = dispatcher.dispatch(command)
        except Exception as error:
            # A command may run the sender's code, so its exceptions are reported to the sender.
            future.set_exception(error)
        else:
            future.set_result(acknowledgement)


def _entry(command: Command) -> tuple[Command, Future[CommandAck]]:
    if not isinstance(command, Command):
        raise InvalidValueError(f"expected a command, got {command!r}; see fleet_sim.core.commands")
    return command, Future()
