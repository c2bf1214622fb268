"""CommandGateway: the way from topics, services and actions into the simulation."""

from __future__ import annotations

import re
import traceback
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future as ConcurrentFuture
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from types import coroutine
from typing import Any, TypeVar

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from fleet_sim.base.errors import FleetSimError, StateError
from fleet_sim.base.limits import OperatorFolder
from fleet_sim.robots.dispatch import LoadWorld
from fleet_sim.ros.messages import Throttle
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.commands import Command, CommandAck, Spawn

# What other processes may do here: all, all but spawning, or looking only.


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


# RefusalCounts: how often what came over ROS was refused, by the reason.


MOST_REASONS = 100
"""Reasons that are told apart; further ones are counted together."""
LONGEST_REASON = 100
"""Characters of a reason that count."""
OTHERS = "other reasons"
_DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|[-+]?\b\d[\w.+-]*")


class RefusalCounts:
    """Counts refusals by the reason, without the names and numbers in it. For any thread.

    /diagnostics shows them, so that rejected commands are seen by whoever does not read the log.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, reason: object) -> None:
        """Count one refusal."""
        # What is quoted may be of any length: it is cut first, and names that the cut leaves open stay as they are.
        kind = _DETAILS.sub("_", str(reason)[: 4 * LONGEST_REASON])[:LONGEST_REASON]
        with self._lock:
            if kind not in self._counts and len(self._counts) >= MOST_REASONS:
                kind = OTHERS
            self._counts[kind] += 1

    def most_common(self, count: int) -> list[tuple[str, int]]:
        """Return the `count` most frequent reasons with their numbers."""
        with self._lock:
            return self._counts.most_common(count)


class Mailbox:
    """Runs functions in the executor that spins the node, in the order they were posted.

    Services, actions and parameters belong to the executor's thread; the simulation posts calls to them here.
    """

    def __init__(self, node: Node) -> None:
        # Appending and popping at a deque's ends is atomic, and only the executor pops.
        self._waiting: deque[Callable[[], object]] = deque()
        # In a group of its own: callbacks of the default group that wait for the simulation must not block it.
        self._guard = node.create_guard_condition(self._run, callback_group=MutuallyExclusiveCallbackGroup())
        self._closed = False

    def post(self, function: Callable[[], object]) -> None:
        """Queue a call of `function()`; from any thread. Does nothing after `close`."""
        if not self._closed:
            self._waiting.append(function)
            self._guard.trigger()

    def close(self) -> None:
        """Drop the queued calls and accept no more."""
        self._closed = True
        self._waiting.clear()

    def _run(self) -> None:
        # Only the calls queued now: calls posted by these functions run in the next turn, so that this one ends.
        for _ in range(len(self._waiting)):
            self._waiting.popleft()()


Result = TypeVar("Result")
Answer = ConcurrentFuture[CommandAck]

MOST_WAITING = 10_000
"""Requests to one service that wait for the simulation, and commands; further ones are refused."""
COMMANDS = "commands"
"""The line of all that changes something."""


class CommandGateway:
    """Puts commands in the simulation's inbox, the only way from ROS to the world, so that every input can be recorded.

    `take` and `hand_in` are for topics of robots, in the simulation's thread; the rest is for any thread.
    """

    def __init__(
        self, sim: MultiRobotSimulationCore, mailbox: Mailbox, refusals: Throttle, permissions: Permissions
    ) -> None:
        self.permissions = permissions
        self.unattended_goals = 0
        """Goals whose client is gone, for /diagnostics."""
        self.refused = RefusalCounts()
        """Refusals by reason, for /diagnostics."""
        self._sim = sim
        self._mailbox = mailbox
        self._refusals = refusals
        self._taken: list[tuple[str, Command]] = []
        self._line = ""
        """The service whose request is being answered."""

    # ---- topics of robots --------------------------------------------------------------------------------------------

    def take(self, what: str, make: Callable[[], Command]) -> None:
        """Apply the command returned by `make()` in this step. Errors are logged with `what` as their subject."""
        try:
            self._taken.append((what, self._admitted(make())))
        except FleetSimError as error:
            self.reject(what, error)
        except Exception:
            # One message that cannot be read must not cost those that came with it.
            self._refusals.tell(f"{what}: fault\n{traceback.format_exc()}")

    def hand_in(self) -> None:
        """Put the polled commands in the inbox, before all others: they were sent before this step began."""
        taken, self._taken = self._taken, []
        # Both lists are in the same order, so each answer finds its subject.
        for (what, _), answer in zip(taken, self._sim.inbox.put_ahead([one for _, one in taken]), strict=True):
            answer.add_done_callback(partial(self._log, what))

    def reject(self, what: str, reason: object) -> None:
        """Log that something sent to the simulation was rejected; once in a while, however often it happens."""
        self.refused.add(reason)
        self._refusals.tell(f"{what}: refused: {reason}")

    def _log(self, what: str, answer: Answer) -> None:
        """Log what was refused of a command, as a whole or robot by robot, and why."""
        error = answer.exception()
        if isinstance(error, FleetSimError):
            self.reject(what, error)
        elif error is not None:
            self._refusals.tell(f"{what}: fault\n{''.join(traceback.format_exception(error))}")
        else:
            ack = answer.result()
            # Part of a command may be rejected, robot by robot.
            for name, reason in ack.rejected.items():
                self.reject(f"{name}/{ack.source}", reason)

    def _admitted(self, command: Command) -> Command:
        """Return `command` marked as what other processes asked for; raises StateError where it is not allowed."""
        self.permissions.check(command)
        return command.from_outside()

    # ---- services and actions ----------------------------------------------------------------------------------------

    def send(self, make: Callable[[], Command]) -> Answer:
        """Apply the command `make()` returns. It is made between two steps, where the world may be read.

        Commands are applied in the order in which they were sent. The future raises what `make` raises.
        """
        answer: Answer = ConcurrentFuture()
        # Two waits in one: until the command could be made, and until it was carried out.
        put = self._queue(lambda: self._sim.inbox.put(self._admitted(make())), COMMANDS, len(self._sim.inbox))
        put.add_done_callback(partial(_pass_on, answer))
        return answer

    def between_steps(self, function: Callable[[], Result], line: str | None = None) -> ConcurrentFuture[Result]:
        """Call `function()` while no step is being made: for what reads the world, or makes steps.

        Without a `line` it waits in that of its service: in COMMANDS nothing comes before what was sent earlier.
        """
        return self._queue(function, self._line if line is None else line)

    def _queue(self, function: Callable[[], Result], line: str, more: int = 0) -> ConcurrentFuture[Result]:
        """Have `function()` called when its `line` is next; StateError in the future where too many are before it."""
        control = self._sim.control

        def call() -> Result:
            if control.is_running and control.is_stopping:
                raise StateError("the simulation ends")
            return function()

        if control.waiting(line) + more < MOST_WAITING:
            return control.between_steps(call, line)
        full: ConcurrentFuture[Result] = ConcurrentFuture()
        full.set_exception(StateError(f"{MOST_WAITING:,} requests wait already ({line}); ask again when they are done"))
        return full

    @coroutine
    def in_line(self, line: str, work: Awaitable[Result]) -> Generator[Any, Any, Result]:
        """Await `work`; what it asks for between steps waits in `line`."""
        parts = work.__await__()
        while True:
            self._line = line
            try:
                asked = next(parts)
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                self._line = ""
            yield asked

    async def wait(self, answer: ConcurrentFuture[Result]) -> Result:
        """Return the result of `answer`, or raise its exception; to be awaited in the executor."""
        done: Future = Future()
        # Set in the executor's thread, which then goes on with the coroutine at once.
        answer.add_done_callback(lambda _: self._mailbox.post(lambda: done.set_result(None)))
        await done
        return answer.result()


def _pass_on(answer: Answer, put: ConcurrentFuture[Answer]) -> None:
    """Let `answer` end as the command that was put in the inbox does, or as putting it there failed."""
    error = put.exception()
    if error is not None:
        answer.set_exception(error)
    else:
        put.result().add_done_callback(partial(_settle, answer))


def _settle(answer: Answer, applied: Answer) -> None:
    error = applied.exception()
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(applied.result())
