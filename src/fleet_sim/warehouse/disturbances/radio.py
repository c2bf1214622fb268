"""Radio: messages to and from robots come late, twice, in another order or not at all.

One queue carries them all: commands that other processes send to a robot, by ROS or MQTT, and what the robot sends.
Its times are simulated ones. What becomes of a message is a function of the robot, the direction, the channel and the
number of the message on it, so runs repeat bit for bit.
"""

from __future__ import annotations

import heapq
import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from fleet_sim.base.arrays import Bools, Rows
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.params import Mode
from fleet_sim.base.settings import setting, time_setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.disturbances.kind import NO_EFFECT, DisturbanceKind, Disturbed, Effect, Event
from fleet_sim.world.clock import Distribution, Duration, duration_setting, purpose_key, uniforms
from fleet_sim.world.commands import Attach, Command, CommandAck, Remove, SetPoses, Stop
from fleet_sim.world.conditions import CONDITIONS, conditions_of
from fleet_sim.world.pipeline import Phase, System, each_step
from fleet_sim.world.schema import KIND_AGENT

logger = logging.getLogger(__name__)


class Direction(Mode):
    """Which messages are disturbed."""

    BOTH = "both"
    TO_ROBOT = "to_robot"
    FROM_ROBOT = "from_robot"


@dataclass
class RadioTrouble(DisturbanceKind):
    """The radio of a robot is bad: messages are late, lost, doubled or overtaken, or none comes through."""

    follows_area: ClassVar[bool] = True

    direction: Direction = setting(Direction.BOTH, doc="Messages to the robot, from the robot, or both.")
    latency: Duration = duration_setting(0.0, doc="How late each message comes: seconds, or by distribution.")
    jitter: float = time_setting(0.0, doc="Added to that: uniform from 0 to so much.")
    loss: float = setting(0.0, low=0.0, high=1.0, doc="Share of messages that never come; goals of actions are resent.")
    duplicates: float = setting(0.0, low=0.0, high=1.0, doc="Share of messages that come twice.")
    reordering: float = setting(0.0, low=0.0, high=1.0, doc="Share of messages that the next one overtakes.")
    outage: bool = setting(False, doc="Nothing comes through, either way; an MQTT broker gets no signs of life.")

    def check(self, sim: MultiRobotSimulationCore) -> None:
        radio_of(sim)

    def effect(self, event: Event) -> Effect:
        return Effect(silent=True) if self.outage else NO_EFFECT

    def begin(self, at: Disturbed) -> None:
        radio_of(at.sim).add(at, self)

    def end(self, at: Disturbed) -> None:
        radio_of(at.sim).remove(at)


RESEND = 0.1
"""Time in s after which what must not get lost is sent again."""
MOST_RESENT = 50
OVERTAKEN = 1.0
"""Time in s after which a message that the next one should overtake comes without one."""
LOSS, LATENESS, JITTER, TWICE, ORDER, AGAIN = 0, 1, 3, 4, 5, 16
"""Sequences of random numbers, one for each question; those of a second copy come `SECOND` after them."""
SECOND = 8
NOT_BY_RADIO = (SetPoses, Attach, Remove)
"""Commands that change the world itself: nobody sends them to a robot."""
TO_ROBOT, FROM_ROBOT = str(Direction.TO_ROBOT.value), str(Direction.FROM_ROBOT.value)
COMMANDS = "commands"
"""The channel of commands: a robot gets them in the order in which they were sent."""


class Channel(NamedTuple):
    """Messages that keep their order among each other; `robot` is an object id."""

    robot: int
    direction: str
    name: str


class Copy(NamedTuple):
    """One copy of a message: the tick in which it comes, and whether it lets the next message pass."""

    due: int
    passed: bool = False


@dataclass(eq=False)
class Waiting:
    """A message under way: `carry` is called when it comes, once. `command` is what saved states have of it."""

    carry: Callable[[], object]
    command: Command | None = None
    done: bool = False


@dataclass(eq=False)
class Sent:
    """A command whose sender waits: for its last part, or not at all where a part was carried out at once."""

    future: Future[CommandAck]
    command: Command
    left: int = 0
    accepted: tuple[str, ...] = ()
    rejected: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    value: Any = None


class Radio:
    """Carries the messages of the robots of one simulation; its `world.radio`, and a participant in checkpoints.

    It is there from the first disturbance of a radio on, and costs a look at nothing while none is under way.
    """

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim, self._world = sim, sim.world
        self._known: dict[int, dict[str, tuple[int, RadioTrouble]]] | None = {}
        """By row, by id of the event: the key to draw with, and the settings; None: to be looked up."""
        self._counts: Counter[Channel] = Counter()
        self._last: dict[Channel, int] = {}
        """The tick in which the newest message of a channel comes that has not come yet."""
        self._passed: dict[Channel, Waiting] = {}
        self._queue: list[tuple[int, int, Waiting]] = []
        self._numbers = count()
        self._held: list[tuple[int, Waiting]] = []
        """Of silent robots, by row: what must not get lost."""

    # ---- troubles ----------------------------------------------------------------------------------------------------

    def add(self, at: Disturbed, trouble: RadioTrouble) -> None:
        """Disturb the radio of a robot from now on."""
        self._troubles.setdefault(at.row, {})[at.event.id] = at.key, trouble

    @property
    def _troubles(self) -> dict[int, dict[str, tuple[int, RadioTrouble]]]:
        if self._known is None:
            # A saved state was restored, and with it who is disturbed.
            self._known = {}
            for at, trouble in self._sim.features.use(CONDITIONS).active_of(RadioTrouble):
                self.add(at, trouble)
        return self._known

    def remove(self, at: Disturbed) -> None:
        """End what `add` began."""
        of_row = self._troubles.get(at.row, {})
        of_row.pop(at.event.id, None)
        if not of_row:
            self._troubles.pop(at.row, None)

    def silent(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) send nothing and get nothing."""
        conditions = conditions_of(self._world)
        return np.zeros(len(rows), np.bool_) if conditions is None else conditions.silent[rows]

    def is_disturbed(self, row: int, direction: str = FROM_ROBOT) -> bool:
        """Return whether a message of a robot may come otherwise than at once now, or must wait for one before it."""
        if self._last and (int(self._world.object_id[row]), direction) in self._pending():
            return True
        return self._is_troubled(row, direction) or bool(self.silent(np.array([row]))[0])

    def _is_troubled(self, row: int, direction: str) -> bool:
        troubles = self._troubles.get(row, {}).values()
        return any(trouble.direction in (Direction.BOTH, direction) for _, trouble in troubles)

    def _pending(self) -> set[tuple[int, str]]:
        """Return of whom something is under way that what comes after it must wait for."""
        tick = self._world.clock.tick
        return {(on.robot, on.direction) for on, due in self._last.items() if due > tick}

    def disturbed(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) send messages that may come otherwise than at once."""
        mask = self.silent(rows)
        if self._troubles or self._last:
            pending = {robot for robot, direction in self._pending() if direction == FROM_ROBOT}
            one_by_one = [
                id in pending or self._is_troubled(row, FROM_ROBOT)
                for row, id in zip(rows.tolist(), self._world.object_id[rows].tolist(), strict=True)
            ]
            mask = mask | np.array(one_by_one, np.bool_)
        return mask

    # ---- what becomes of a message -----------------------------------------------------------------------------------

    def send(self, row: int, channel: str, carry: Callable[[], object], *, resent: bool = False) -> None:
        """Call `carry()` when a message of a robot comes: now, later, twice or never. One that is `resent` comes."""
        if not self.is_disturbed(row):
            carry()
        elif resent and self.silent(np.array([row]))[0]:
            self._held.append((row, Waiting(carry)))
        else:
            self.carry(row, FROM_ROBOT, channel, self.copies(row, FROM_ROBOT, channel, resent=resent), carry)

    def copies(self, row: int, direction: str, channel: str, *, resent: bool = False) -> list[Copy]:
        """Count a message of a robot, and return when it comes: never, once or twice."""
        robot, clock = int(self._world.object_id[row]), self._world.clock
        on = Channel(robot, direction, channel)
        number = self._counts[on]
        self._counts[on] += 1
        if not resent and self.silent(np.array([row]))[0]:
            return []
        # Of a channel of its own: the numbers of one do not depend on how much is sent on another.
        purpose = purpose_key(0, f"{direction} {channel}")
        first = second = 0.0
        twice = passed = False
        for key, trouble in self._troubles.get(row, {}).values():
            if trouble.direction not in (Direction.BOTH, direction):
                continue
            key ^= purpose
            share = partial(_share, key, robot, number)
            lost = 0
            while share(LOSS if not lost else AGAIN + lost) < trouble.loss:
                lost += 1
                if not resent:
                    return []
                if lost == MOST_RESENT:
                    break
            first += lost * RESEND + _latency(trouble, key, robot, number) + trouble.jitter * share(JITTER)
            if not resent and share(TWICE) < trouble.duplicates:
                twice = True
            second += _latency(trouble, key, robot, number, SECOND) + trouble.jitter * share(SECOND + JITTER)
            passed |= share(ORDER) < trouble.reordering
        copies = [Copy(clock.tick + clock.ticks(first), passed)]
        return [*copies, Copy(clock.tick + clock.ticks(second))] if twice else copies

    def carry(
        self, row: int, direction: str, channel: str, copies: Sequence[Copy], carry: Callable[[], object], **more: Any
    ) -> None:
        """Call `carry()` for each of `copies` when it comes; one that comes at once is called here."""
        on = Channel(int(self._world.object_id[row]), direction, channel)
        tick = self._world.clock.tick
        for due, passed in copies:
            waiting = Waiting(carry, **more)
            if passed:
                # Back in the queue as soon as the next message is known.
                self._push(max(due, tick + self._world.clock.ticks(OVERTAKEN)), waiting)
                self._passed[on] = waiting
                continue
            # In order: what is late keeps those behind it waiting.
            due = max(due, self._last.get(on, tick))
            if due > tick:
                self._last[on] = due
                self._push(due, waiting)
            else:
                carry()
            if (overtaken := self._passed.pop(on, None)) is not None and not overtaken.done:
                if due > tick:
                    self._push(due, overtaken)
                else:
                    _come(overtaken)

    def _push(self, due: int, waiting: Waiting) -> None:
        heapq.heappush(self._queue, (due, next(self._numbers), waiting))

    def deliver(self) -> None:
        """Carry what comes by now, in its order."""
        tick, queue = self._world.clock.tick, self._queue
        if self._held:
            self._let_go()
        while queue and queue[0][0] <= tick:
            _come(heapq.heappop(queue)[2])
        if self._last:
            self._last = {on: due for on, due in self._last.items() if due > tick}

    def _let_go(self) -> None:
        """Carry what was held for robots that are not silent any more."""
        rows = np.array([row for row, _ in self._held])
        kept_mask = self.silent(rows)
        freed = [one for one, kept in zip(self._held, kept_mask.tolist(), strict=True) if not kept]
        self._held = [one for one, kept in zip(self._held, kept_mask.tolist(), strict=True) if kept]
        for _, waiting in freed:
            self._push(self._world.clock.tick, waiting)

    @property
    def has_work(self) -> bool:
        """Whether something is under way."""
        return bool(self._queue or self._held)

    # ---- commands to robots ------------------------------------------------------------------------------------------

    def postpone(self, command: Command, future: Future[CommandAck]) -> bool:
        """Take over a command that reaches some of its robots otherwise than at once; else return False.

        The answer waits for the last part, as far as one comes. Where some robots get it at once, it comes at once and
        says of the others that they accept: nobody knows better.
        """
        if not command.remote or isinstance(command, NOT_BY_RADIO) or not (self._troubles or self._may_disturb()):
            return False
        names = _names_of(command, self._world)
        rows = {name: self._world.index.row_named(name) for name in names if self._world.index.has_name(name)}
        late = {name for name, row in rows.items() if self.is_disturbed(row, TO_ROBOT)}
        if not late:
            return False
        sent = Sent(future, command)
        at_once = [index for index, name in enumerate(names) if name not in late]
        if at_once:
            self._apply(_part(command, names, at_once), sent, last=False)
        for index in (index for index, name in enumerate(names) if name in late):
            self._transmit(rows[names[index]], _part(command, names, [index]), sent, answered=bool(at_once))
        if not sent.left and not future.done():
            accepted = (*sent.accepted, *(name for name in names if name in late))
            future.set_result(_answer(sent, self._world.clock.time, accepted))
        return True

    def _may_disturb(self) -> bool:
        return bool(self._last) or bool((conditions := conditions_of(self._world)) and conditions.silent.any())

    def _transmit(self, row: int, command: Command, sent: Sent, *, answered: bool) -> None:
        """Send one robot its part of a command."""
        resent = not command.once
        carry = partial(self._apply, command, None if answered else sent, last=True)
        if resent and self.silent(np.array([row]))[0]:
            sent.left += not answered
            self._held.append((row, Waiting(carry, command)))
            return
        copies = self.copies(row, TO_ROBOT, COMMANDS, resent=resent)
        sent.left += not answered and bool(copies)
        for index, one in enumerate(copies):
            again = partial(self._apply, command, None, last=False)
            self.carry(row, TO_ROBOT, COMMANDS, [one], again if index else carry, command=command)

    def _apply(self, command: Command, sent: Sent | None, *, last: bool) -> None:
        """Carry out a command, or a part of one; what is refused goes to its sender, or to the log."""
        try:
            ack = self._sim.dispatcher.dispatch(command)
        except Exception as error:
            # As in the inbox: it may run the sender's code.
            if sent is None:
                logger.warning(
                    "%s, which came by radio, is refused: %s", command.source or type(command).__name__, error
                )
            elif not sent.future.done():
                sent.future.set_exception(error)
            return
        if sent is None:
            return
        sent.accepted += ack.accepted_names
        sent.rejected |= ack.rejected
        sent.value = {**(sent.value or {}), **ack.value} if isinstance(ack.value, dict) else ack.value
        if last:
            sent.left -= 1
            if not sent.left and not sent.future.done():
                sent.future.set_result(_answer(sent, self._world.clock.time, sent.accepted))

    # ---- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the counts, and the commands under way that can be written; what robots sent is not kept."""
        passed = {waiting: on.robot for on, waiting in self._passed.items()}
        commands, known = [], set[Waiting]()
        for due, _, waiting in sorted(self._queue, key=lambda entry: entry[:2]):
            # One that was overtaken is in the queue twice: it comes the first time.
            if waiting.command is not None and not waiting.done and waiting not in known:
                known.add(waiting)
                commands.append((due, passed.get(waiting, -1), self._written(waiting.command)))
        held = [(-1, -1, self._written(waiting.command)) for _, waiting in self._held if waiting.command is not None]
        return {
            "counts": [(*on, number) for on, number in sorted(self._counts.items())],
            "last": [(*on, due) for on, due in sorted(self._last.items())],
            "commands": [item for item in [*commands, *held] if item[-1]],
        }

    def _written(self, command: Command) -> str:
        try:
            return json.dumps(self._sim.dispatcher.described(command).to_dict())
        except FleetSimError:
            return ""

    def restore(self, state: Any) -> None:
        """Restore what `save` returned; who waits for an answer gets none."""
        self._known, self._passed, self._queue, self._held = None, {}, [], []
        self._counts = Counter({Channel(*on): number for *on, number in state["counts"]})
        self._last = {Channel(*on): due for *on, due in state["last"]}
        for due, passed, text in state["commands"]:
            command = Command.from_dict(json.loads(text))
            waiting = Waiting(partial(self._apply, command, None, last=False), command)
            if passed >= 0:
                self._passed[Channel(passed, TO_ROBOT, COMMANDS)] = waiting
            if due >= 0:
                self._push(due, waiting)
            else:
                (name,) = _names_of(command, self._world)
                self._held.append((self._world.index.row_named(name), waiting))


def radio_of(sim: MultiRobotSimulationCore) -> Radio:
    """Return the radio of a simulation; it is made at the first call."""
    if sim.world.radio is None:
        radio = Radio(sim)
        sim.world.radio, sim.inbox.postpone = radio, radio.postpone
        sim.checkpoints.register_late("radio", radio)
        wanted = lambda: radio.has_work  # noqa: E731
        # Before new ones: what comes now was sent earlier.
        sim.pipeline.add(System("radio_in", Phase.UPDATE, each_step(radio.deliver), wanted), before="inbox")
        sim.pipeline.add(System("radio_out", Phase.OBSERVE, each_step(radio.deliver), wanted))
    return cast(Radio, sim.world.radio)


def _come(waiting: Waiting) -> None:
    if not waiting.done:
        waiting.done = True
        waiting.carry()


def _share(key: int, robot: int, number: int, lane: int) -> float:
    return float(uniforms(key, np.array([robot], np.int64), number, lane)[0])


def _latency(trouble: RadioTrouble, key: int, robot: int, number: int, lane: int = 0) -> float:
    if not isinstance(trouble.latency, Distribution):
        return trouble.latency
    return float(trouble.latency.draw(key, robot, np.array([number]), lane + LATENESS)[0])


def _names_of(command: Command, world: Any) -> tuple[str, ...]:
    """Return the robots that a command is for; Stop without names is for all."""
    for key in ("names", "name", "robot"):
        if hasattr(command, key):
            named = getattr(command, key)
            if named == () and isinstance(command, Stop):
                return tuple(world.label(row) for row in world.rows[world.kind[world.rows] == KIND_AGENT].tolist())
            return (named,) if isinstance(named, str) else tuple(named)
    return ()


def _part(command: Command, names: Sequence[str], chosen: Sequence[int]) -> Command:
    """Return a command for the `chosen` of its robots alone."""
    if len(chosen) == len(names) or not hasattr(command, "names"):
        return command
    part = copy(command)
    for name, given in vars(command).items():
        # Arrays and lists with an entry of each robot; names of joints are for all of them.
        if name == "names":
            object.__setattr__(part, name, tuple(names[index] for index in chosen))
        elif isinstance(given, np.ndarray) and len(given) == len(names):
            object.__setattr__(part, name, given[list(chosen)])
        elif name == "actions" and len(given) == len(names):
            object.__setattr__(part, name, tuple(given[index] for index in chosen))
    return part


def _answer(sent: Sent, time: float, accepted: Sequence[str]) -> CommandAck:
    return replace(sent.command.ack(time, accepted, sent.rejected), value=sent.value)
