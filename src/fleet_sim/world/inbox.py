"""The inbox: the only way to change the world from outside the step or from another thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from math import inf
from time import thread_time
from typing import Any, Protocol

from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.world.clock import Clock
from fleet_sim.world.commands import Command, CommandAck
from fleet_sim.world.user_code import EventBus

SHARE = 0.05
"""How long at once, in s of its own time, the simulation does what others ask for; then it makes a step."""


class Turn:
    """Says whether there is time for one more of what others ask for; for the first there always is."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._end: float | None = None
        self.is_over = False
        """Whether something had to be left."""

    def has_time(self) -> bool:
        """Return whether this thread has worked for less than the share since this was asked first."""
        now = thread_time()
        if self._end is None:
            self._end = now + self._share
            return True
        self.is_over = now >= self._end
        return not self.is_over


class Dispatcher(Protocol):
    """Executes commands and reports for which robots they were accepted."""

    def dispatch(self, command: Command) -> CommandAck:
        """Apply `command` to the world; invalid parts are rejected with reasons."""

    def described(self, command: Command) -> Command:
        """Return `command` with objects replaced by plain values where possible."""


class Inbox:
    """Commands in order of arrival, applied in phase 1 of the next step, or between two steps if required.

    A command that must be applied between steps keeps its place in the order: earlier commands are applied before it,
    later ones after it. `put` may be called from any thread. Its future completes when the command was applied, with
    the acknowledgement, or with the exception of a malformed command. Where commands of other processes take longer
    than `share` s at once, the rest waits for the next step, but for those that were put ahead.
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
        self.postpone: Callable[[Command, Future[CommandAck]], bool] | None = None
        """Takes over, with its future, a command that reaches its robots later; returns False for all others."""
        self.share = SHARE
        """Infinite where a recorded run is repeated: there each command comes in the step that it came in."""
        self._ahead = 0
        """How many of the first commands were put ahead."""

    def put(self, command: Command) -> Future[CommandAck]:
        """Add `command`; raises InvalidValueError if it is not a command."""
        entry = _entry(command)
        self._waiting.append(entry)
        self.on_put()
        return entry[1]

    def put_ahead(self, commands: Sequence[Command]) -> list[Future[CommandAck]]:
        """Add `commands`, in order, before all waiting ones but those that were put ahead earlier.

        For commands that are received at the beginning of a step but were sent earlier: all of them are for this step.
        Call it in the simulation's thread.
        """
        entries = [_entry(command) for command in commands]
        # An older command after a newer one would be the one that counts.
        older = [self._waiting.popleft() for _ in range(self._ahead)]
        # extendleft adds one by one and so turns the order round.
        self._waiting.extendleft(reversed(older + entries))
        self._ahead += len(entries)
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
        turn = Turn(self.share)
        # Counted before the first is applied: a command that puts another one must not keep this loop going.
        count = len(self._waiting) if count is None else min(count, len(self._waiting))
        for done in range(count):
            if (in_step and self._waiting[0][0].between_steps) or not self._may_apply(turn):
                return done
            self._apply_first(dispatcher)
        return count

    def drain_between_steps(self, dispatcher: Dispatcher) -> None:
        """Apply commands that must be applied between steps, up to the first other command."""
        turn = Turn(self.share)
        while self._waiting and self._waiting[0][0].between_steps:
            if not self._may_apply(turn):
                return
            self._apply_first(dispatcher)

    def _may_apply(self, turn: Turn) -> bool:
        """Return whether the oldest command is applied in this turn; what was put ahead always is."""
        return self._ahead > 0 or not self._waiting[0][0].remote or turn.has_time()

    def _apply_first(self, dispatcher: Dispatcher) -> None:
        """Apply the oldest command; its acknowledgement, or its exception, goes to whoever sent it."""
        # Popped one by one: after an interrupt, the remaining commands are still in the inbox.
        command, future = self._waiting.popleft()
        self._ahead = max(self._ahead - 1, 0)
        # The sender may have cancelled it; from here on this is no longer possible.
        if not future.set_running_or_notify_cancel():
            return
        for listener in self.on_apply:
            listener(command)
        if self.postpone is not None and self.postpone(command, future):
            return
        try:
            acknowledgement = dispatcher.dispatch(command)
        except Exception as error:
            # A command may run the sender's code, so its exceptions are reported to the sender.
            future.set_exception(error)
        else:
            future.set_result(acknowledgement)


def _entry(command: Command) -> tuple[Command, Future[CommandAck]]:
    if not isinstance(command, Command):
        raise InvalidValueError(f"expected a command, got {command!r}; see fleet_sim.world.commands")
    return command, Future()


# A log of commands: records the commands given to a simulation, to replay them later. A run is determined by its
# scenario, its seed and its commands, so the same commands at the same ticks give the same run. Calls of handles and
# managers in Python are not commands and are not logged.


class Recordable(Protocol):
    """The parts of a simulation that recording and repeating a run use."""

    clock: Clock
    inbox: Inbox
    world: Any
    population: Any

    @property
    def dispatcher(self) -> Dispatcher: ...

    @property
    def events(self) -> EventBus: ...

    @property
    def is_paused(self) -> bool: ...

    def step_once(self) -> object: ...

    def state_hash(self) -> str: ...


@dataclass(frozen=True)
class LoggedCommand:
    """A command and the time of its application: in the step that began at `tick`, or before that step."""

    tick: int
    in_step: bool
    command: Command


class CommandLog:
    """The commands taken from the inbox of one simulation, in the order of application.

    Rejected commands are included: a replay rejects them again. `timestep` (s) is that of the simulation.
    """

    def __init__(self, timestep: float, entries: Iterable[LoggedCommand] = ()) -> None:
        self.timestep = timestep
        self.entries: list[LoggedCommand] = list(entries)
        self._inbox: Inbox | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def record(self, sim: Recordable) -> None:
        """Add the commands that `sim` applies from now on."""

        def add(command: Command) -> None:
            # Converted to values right away, as an action changes while it runs.
            self.entries.append(LoggedCommand(sim.clock.tick, sim.world.in_step, sim.dispatcher.described(command)))

        # A log listens to one inbox only.
        self.stop()
        self._inbox, self._listener = sim.inbox, add
        # When applied, not when put: a replay has to repeat the tick at which a command took effect.
        sim.inbox.on_apply.append(add)

    def stop(self) -> None:
        """Stop recording."""
        if self._inbox is not None:
            self._inbox.on_apply.remove(self._listener)
            self._inbox = None


def record_commands(sim: Recordable) -> CommandLog:
    """Return a log that records the commands taken from the inbox of `sim` until its `stop` is called."""
    log = CommandLog(sim.clock.dt)
    log.record(sim)
    return log


def replay_commands(sim: Recordable, log: CommandLog) -> list[Future[CommandAck]]:
    """Step `sim` through `log` and apply every command at its tick; return their completed futures.

    `sim` must be in the state of the recorded one when recording began: same scenario and seed, same tick. Ends with
    the step of the last command. Raises InvalidValueError for a log with another time step, and StateError if `sim` is
    paused.
    """
    if log.timestep != sim.clock.dt:
        raise InvalidValueError(f"the log has steps of {log.timestep:g} s, this simulation of {sim.clock.dt:g} s")
    if sim.is_paused:
        raise StateError("the simulation is paused and would not step; call resume() first")
    answers = []
    sim.inbox.share = inf
    for entry in log.entries:
        while sim.clock.tick < entry.tick:
            sim.step_once()
        if sim.clock.tick != entry.tick:
            raise InvalidValueError(
                f"a command was applied at tick {entry.tick}, but this simulation is at {sim.clock.tick}; start with "
                "one in the state of the recorded simulation when recording began"
            )
        answers.append(sim.inbox.put(entry.command))
        # Applied right now, as it was when recorded; the others wait for their turn inside the next step.
        if not entry.in_step:
            sim.inbox.drain(sim.dispatcher)
    # The commands of the last tick are still waiting: the step that applies them is part of the log.
    if len(sim.inbox):
        sim.step_once()
    return answers
