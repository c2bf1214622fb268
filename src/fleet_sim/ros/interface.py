"""The base class of interfaces, and the parts they share."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import takewhile
from math import inf
from threading import Event
from typing import Any, ClassVar, TypeVar

import numpy as np
from rclpy._rclpy_pybind11 import RCLError
from rclpy.callback_groups import CallbackGroup
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from std_srvs.srv import SetBool

from fleet_sim.base.arrays import NO_ROWS, Bools, Rows
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, StateError, brief
from fleet_sim.base.scenario import RosParams
from fleet_sim.ros import messages as qos
from fleet_sim.ros.commands import CommandGateway, Mailbox
from fleet_sim.ros.messages import MessageTemplate, Roster, Throttle, TopicNode, decode, time_to_msg
from fleet_sim.ros.transforms import Transforms
from fleet_sim.ros.waiting_messages import SUBSCRIPTION, Arrivals
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.clock import RosTime
from fleet_sim.world.commands import Command, CommandAck, Frames, NamedRows, is_ros_name
from fleet_sim.world.inbox import SHARE, Turn
from fleet_sim.world.world import World

MOST_UNNAMED = 10_000
MOST_BYTES = 100_000_000
"""Of requests and messages that are being answered, in all; further ones are refused."""


def require_packages(packages: Sequence[str], path: str) -> None:
    """Raise ConfigError at the setting `path` where message packages that it needs are not installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ConfigError(
            f"needs the packages {', '.join(packages)}; there is no {' and no '.join(missing)}", path=path
        )


Result = TypeVar("Result")

Diagnosis = tuple[str, Mapping[str, object]]
"""What is wrong with a part of the simulation, empty where nothing is, and figures of it by name."""


class OpenRequests:
    """Counts the requests to a service that are being answered."""

    def __init__(self) -> None:
        self._count = 0
        self._then: Callable[[], object] | None = None

    def __enter__(self) -> None:
        self._count += 1

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count and self._then is not None:
            self._then()

    def when_answered(self, now: Callable[[], object], later: Callable[[], object]) -> None:
        """Call `now` where there are none, else `later` after the last of them."""
        if self._count:
            self._then = later
        else:
            now()


class OpenBytes:
    """Counts the bytes of what is being answered."""

    def __init__(self) -> None:
        self._count = 0

    @contextmanager
    def more(self, count: int) -> Iterator[None]:
        """Count so many more meanwhile; raises StateError where they would be too many."""
        if self._count + count > MOST_BYTES:
            raise StateError(f"more than {MOST_BYTES:,} bytes of requests would wait; ask again when they are done")
        self._count += count
        try:
            yield
        finally:
            self._count -= count


class Lacking:
    """What robots lack since the middleware refused it: by interface the robots, and why the first of them."""

    def __init__(self) -> None:
        self._robots: dict[str, set[str]] = {}
        self._reasons: dict[str, str] = {}
        self._told = 0

    def make(self, what: str, robot: str, make: Callable[[], Any]) -> Any:
        """Return what `make()` returns, or None where the middleware refuses it."""
        try:
            return make()
        # rclpy has raised either for an endpoint of an action.
        except (RCLError, ValueError) as error:
            self._robots.setdefault(what, set()).add(robot)
            self._reasons.setdefault(what, " ".join(str(error).split())[:200])
            return None

    def news(self, sim: MultiRobotSimulationCore) -> str:
        """Return a sentence for each interface that some of the robots lack; empty where none is new since the last."""
        count = sum(map(len, self._robots.values()))
        if count == self._told:
            return ""
        self._told = count
        robots = len(sim.agents)
        each = (
            f"{len(names)} of {robots} robots lack {what} ({brief(sorted(names)[0])} first): {self._reasons[what]}"
            for what, names in self._robots.items()
        )
        return "the middleware refuses endpoints: " + "; ".join(each)


@dataclass(frozen=True)
class Bridge:
    """The shared objects that interfaces are created with.

    What the executor runs for `node`, services, actions and fleet topics, is in the reentrant `group`, so that a
    callback that waits for the simulation does not block others. Topics of robots are polled by the step.
    """

    sim: MultiRobotSimulationCore
    node: TopicNode
    params: RosParams
    frames: Frames
    transforms: Transforms
    time: RosTime
    group: CallbackGroup
    mailbox: Mailbox
    gateway: CommandGateway
    refusals: Throttle
    record_folder: str
    """Where messages may have recordings written; empty: nowhere."""
    record_sensors: tuple[str, ...]
    """Kinds of sensors whose readings are in recordings."""
    resting: set[str] = field(default_factory=set)
    """Robots whose navigation was deactivated: their servers of Nav2 reject goals."""
    served: dict[Any, OpenRequests] = field(default_factory=dict)
    """What the services of `serve` have not answered yet."""
    open_bytes: OpenBytes = field(default_factory=OpenBytes)
    unfinished: Event = field(default_factory=Event)
    """Set where endpoints of robots are still to be made, in the next step: those of thousands would take a minute."""
    lacking: Lacking = field(default_factory=Lacking)
    """What the middleware has refused."""
    diagnostics: dict[str, Callable[[], Diagnosis | None]] = field(default_factory=dict)
    """Further parts that /diagnostics has a status of, by name; None while a part has none."""
    unnamed: set[str] = field(default_factory=set)
    """Robots without interfaces, since ROS does not allow their names; each was logged once."""

    def tell_no_ros_name(self, robot: str) -> None:
        """Log, once, that a robot has no topics and actions because of its name."""
        # Every interface asks, and asks again whenever the fleet changes.
        if robot not in self.unnamed:
            # Messages may spawn thousands of them, again and again with other names.
            if len(self.unnamed) >= MOST_UNNAMED:
                self.unnamed.clear()
            self.unnamed.add(robot)
            self.refusals.tell(
                f"robot {robot!r} has no topics or actions, only those of the fleet: a ROS name consists of letters, "
                "digits and _, and begins with a letter. Rename the robot"
            )

    def serve(self, kind: Any, name: str, callback: Callable[[Any, Any], Awaitable[object]]) -> Any:
        """Serve `callback(request, response)`, which fills in the response. What it raises is caught and logged.

        Where responses of `kind` have these fields, `message` is what a FleetSimError says, `stamp` the simulated time
        afterwards, and `success` is true unless it raised something, or says otherwise. Without a `success`, nothing
        else is in the response to what was refused.

        Returns the service, for `end_service`.
        """
        requests = OpenRequests()

        async def answer(request: Any, response: Any) -> Any:
            reason, tells_success = "", hasattr(response, "success")
            if tells_success:
                response.success = True
            try:
                with requests, self.open_bytes.more(len(serialize_message(request))):
                    await self.gateway.in_line(name, callback(request, response))
            except FleetSimError as error:
                self.reject(name, error)
                reason = str(error)
            except Exception as error:
                self.refusals.tell(f"{name}: fault\n{traceback.format_exc()}")
                reason = f"internal error: {type(error).__name__}: {str(error)[:200]}; see the log of the simulation"
            if reason and tells_success:
                response.success = False
            elif reason:
                response = kind.Response()
            if reason and hasattr(response, "message"):
                response.message = reason
            if hasattr(response, "stamp"):
                response.stamp = time_to_msg(self.time.last)
            return response

        # With the default depth of 10, the eleventh request in a burst would be lost.
        service = self.node.create_service(kind, name, answer, qos_profile=qos.REQUESTS, callback_group=self.group)
        self.served[service] = requests
        return service

    async def carry_out(self, make: Callable[[], Command]) -> CommandAck:
        """Return what became of the command that `make()` returns between two steps; raises what it raises."""
        return await self.gateway.wait(self.gateway.send(make))

    async def read(self, function: Callable[[], Result], line: str | None = None) -> Result:
        """Return what `function()` returns between two steps, where the world may be read; raises what it raises.

        It waits in the `line` of its service, or in that of COMMANDS: see `CommandGateway.between_steps`.
        """
        return await self.gateway.wait(self.gateway.between_steps(function, line))

    def end_service(self, service: Any) -> None:
        """Destroy a service of `serve`, after the answers to what it was asked; to be called in the executor."""
        destroy = partial(self.node.destroy_service, service)
        # rclpy sends an answer after the callback has returned, but in the same turn of the executor.
        self.served.pop(service).when_answered(destroy, lambda: self.mailbox.post(destroy))

    def subscribe(self, kind: Any, name: str, callback: Callable[[Any], Awaitable[None]], profile: QoSProfile) -> None:
        """Subscribe `callback(message)` to a topic of the fleet. An exception in it is logged; the node continues."""

        async def hear(data: bytes) -> None:
            try:
                message = decode(data, kind)
                with self.open_bytes.more(len(data)):
                    await callback(message)
            except FleetSimError as error:
                self.reject(name, error)
            except Exception:
                self.refusals.tell(f"{name}: fault\n{traceback.format_exc()}")

        # Invalid bytes, decoded by rclpy, could become a message of defaults, or raise in the executor and end it.
        self.node.create_subscription(kind, name, hear, profile, callback_group=self.group, raw=True)

    def reject(self, what: str, reason: object) -> None:
        """Log that something sent to the simulation was rejected; once in a while, however often it happens."""
        self.gateway.reject(what, reason)

    def send_from(self, row: int, channel: str, send: Callable[[], object], *, resent: bool = False) -> None:
        """Call `send()`, which publishes what a robot says, when its radio brings it: mostly now. See RobotRadio."""
        radio = self.sim.world.radio
        if radio is None:
            send()
        else:
            radio.send(row, channel, send, resent=resent)

    def disturbed(self, rows: Rows) -> Bools | None:
        """Return which of `rows` (N,) have a disturbed radio; None where none of them has."""
        radio = self.sim.world.radio
        mask = None if radio is None else radio.disturbed(rows)
        return mask if mask is not None and mask.any() else None


class Interface:
    """One kind of topic, service or action. Its methods are called in the simulation's thread.

    `rate` is the name of a field of RateParams, the rate at which `publish` is called; "" for each step.
    """

    rate = ""
    own_rate: float | None = None
    """Rate in Hz if `rate` is not a field of RateParams, as for interfaces of features; None: each step."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    def on_fleet_changed(self, roster: Roster) -> None:
        """Robots were spawned, removed or renamed, or sensors were added or removed."""

    def has_work(self) -> bool:
        """Return whether `receive` and `publish` have something to do with the present fleet.

        Asked after `on_fleet_changed`: an interface without work costs nothing until the fleet changes again.
        """
        return True

    def receive(self) -> None:
        """Poll the subscriptions and pass commands to `gateway.take`: called at the beginning of each step."""

    def publish(self, now: int) -> None:
        """Publish the state at `now` ns: called at the end of steps in which it is due."""

    def end_step(self) -> None:
        """Called at the end of each step, after `publish`."""

    def on_reset(self) -> None:
        """Called after the simulation was reset or restored; `on_fleet_changed` and `publish` come next."""


def speaks_rmf(bridge: Bridge) -> bool:
    """Return whether the node speaks to Open-RMF."""
    enabled = bridge.params.rmf.enabled
    return "slotcar" in bridge.sim.features.used if enabled is None else enabled


# Per-robot endpoints: created and destroyed as robots are spawned and removed.


class Endpoints:
    """One endpoint for each robot that has per-robot interfaces in `group`, unless the middleware refuses it.

    `items` and `rows` are aligned with `names`, the robots in order of spawning. `what` is its name in errors.
    """

    def __init__(
        self, bridge: Bridge, group: str, make: Callable[[str], Any], destroy: Callable[[Any], object], what: str = ""
    ) -> None:
        self.names: list[str] = []
        self.rows: Rows = NO_ROWS
        self.version = -1
        """Version of the world for which `rows` are the rows of `names`."""
        self.items: list[Any] = []
        self._bridge = bridge
        self._group = group
        self._make = make
        self._destroy = destroy
        self._what = what or group
        self._by_name: dict[str, Any] = {}
        self._refused: dict[str, int] = {}
        """The version of the world in which the middleware last refused an endpoint, by robot."""
        self._goes_on = False
        """Whether `follow` goes on by itself."""

    def on_fleet_changed(self, roster: Roster) -> list[str]:
        """Create and destroy endpoints as needed; returns the new robots.

        While the simulation runs only as many as there is time for in a step.
        """
        turn = self._turn(SHARE / 10)
        new = self._change(roster, turn)
        if turn.is_over:
            self._bridge.unfinished.set()
        return new

    def follow(self, roster: Roster) -> None:
        """Do so in the executor, which answers others after as many as there is time for, and then goes on."""
        self._roster = roster
        # Asked in each step meanwhile; each going on by itself, they would leave no time for others.
        if not self._goes_on:
            self._follow_on()

    def _follow_on(self) -> None:
        turn, self._goes_on = self._turn(SHARE), False
        self._change(self._roster, turn)
        if turn.is_over:
            self._goes_on = True
            self._bridge.mailbox.post(self._follow_on)

    def _turn(self, share: float) -> Turn:
        return Turn(share if self._bridge.sim.is_running else inf)

    def _change(self, roster: Roster, turn: Turn) -> list[str]:
        wanted = [name for name in roster.names if self._wants(name)]
        make, refused, version = self._bridge.lacking.make, self._refused, roster.version
        # What is refused is tried again when the fleet has changed, and after all others: it must not take their time.
        missing = [name for name in wanted if name not in self._by_name and refused.get(name) != version]
        missing.sort(key=refused.__contains__)
        # Removed first: a new robot may have the name of one that has gone.
        for name in takewhile(lambda _: turn.has_time(), self._by_name.keys() - set(wanted)):
            self._destroy(self._by_name.pop(name))
        # Kept across changes of the fleet: making an endpoint takes discovery all over the network.
        soon = takewhile(lambda _: turn.has_time(), missing)
        made = {name: make(self._what, name, partial(self._make, name)) for name in soon}
        new = {name: item for name, item in made.items() if item is not None}
        self._by_name |= new
        # Of those that are still wanted and have none, however long ago they were tried.
        refused |= dict.fromkeys(made.keys() - new.keys(), version)
        self._refused = {name: refused[name] for name in wanted if name in refused and name not in self._by_name}
        self.names = names = [name for name in wanted if name in self._by_name]
        self.items = [self._by_name[name] for name in names]
        self.rows = roster.rows_of(names) if names else np.empty(0, np.int64)
        self.version = roster.version
        return list(new)

    def __getitem__(self, name: str) -> Any:
        return self._by_name[name]

    def _wants(self, name: str) -> bool:
        if not self._bridge.params.has_own(name, self._group):
            return False
        if not is_ros_name(name):
            self._bridge.tell_no_ros_name(name)
            return False
        return True


def publishers(bridge: Bridge, group: str, kind: Any, topic: str, profile: Any) -> Endpoints:
    """Return one publisher for each robot on <robot>/<topic>."""
    node = bridge.node

    def make(name: str) -> Any:
        return node.with_room(lambda one: one.create_publisher(kind, f"{name}/{topic}", profile))

    return Endpoints(bridge, group, make, node.destroy_publisher, topic)


# Per-robot subscriptions, polled at the beginning of each step instead of being spun. An executor would check all of
# them at each wake-up. Polling also makes sure that messages are applied in phase 1.


MANY = 8
"""Subscriptions from which on a poll set is worth while."""


class PolledTopic:
    """One subscription per robot on <robot>/<topic>; of several messages only the last is used."""

    def __init__(self, bridge: Bridge, kind: Any, topic: str, profile: QoSProfile) -> None:
        node = bridge.node

        def make(name: str) -> Any:
            subscription = node.with_room(lambda one: one.poll(kind, f"{name}/{topic}", profile))
            self._is_watched &= self._arrivals.watch(subscription, subscription.handle, SUBSCRIPTION)
            return subscription

        def destroy(subscription: Any) -> None:
            self._arrivals.forget(subscription)
            node.destroy_subscription(subscription)

        self.kind = kind
        self._bridge = bridge
        self._name = topic
        self._endpoints = Endpoints(bridge, "commands", make, destroy, topic)
        self._takes: list[Any] = []
        self._arrivals = Arrivals()
        self._is_watched = True
        """Whether every subscription is one of `_arrivals`, as it is with rclpy."""
        self._indices: dict[Any, int] = {}
        self._poll_set: Any = None

    def on_fleet_changed(self, roster: Roster) -> None:
        """Update the subscriptions to the robots of the fleet."""
        self._endpoints.on_fleet_changed(roster)
        # Kept as bound functions, as a thousand topics may be polled in each step.
        self._takes = [subscription.handle.take_message for subscription in self._endpoints.items]
        self._indices = {subscription: index for index, subscription in enumerate(self._endpoints.items)}
        if self._poll_set is not None:
            self._poll_set.close()
        self._poll_set = poll_set_of([subscription.handle for subscription in self._endpoints.items])

    @property
    def names(self) -> list[str]:
        """The robots that have the topic."""
        return self._endpoints.names

    def take(self) -> list[tuple[int, Any]]:
        """Return (index of the robot in `names`, message) for each robot that received one.

        Bytes that cannot be decoded are rejected.
        """
        return [(index, message) for index, data in self.take_bytes() for message in self._decoded(index, data)]

    def take_bytes(self) -> list[tuple[int, bytes]]:
        """Return (index of the robot in `names`, bytes of its message) for each robot that received one."""
        kind = self.kind
        # True: raw bytes. They are decoded for the whole fleet at once, or one by one by a decoder that rejects invalid
        # ones.
        takes = self._takes
        where: Iterable[int] = range(len(takes))
        if self._poll_set is not None:
            where = self._poll_set.ready()
        elif self._is_watched:
            where = sorted(self._indices[subscription] for subscription in self._arrivals.take())
        return [(index, taken[0]) for index in where if (taken := takes[index](kind, True))]

    def names_of(self, indices: Sequence[int]) -> NamedRows:
        """Return the robots at `indices`, for a command: their rows are known here and are not looked up again."""
        of = self._endpoints
        return NamedRows(self._bridge.sim.world, [of.names[index] for index in indices], of.rows[indices], of.version)

    def _decoded(self, index: int, data: bytes) -> list[Any]:
        """Return the message in `data`, or nothing.

        rclpy itself may decode invalid bytes to a message of defaults; here they are rejected.
        """
        try:
            return [decode(data, self.kind)]
        except InvalidValueError as error:
            self._bridge.reject(f"{self._endpoints.names[index]}/{self._name}", error)
            return []


def poll_set_of(handles: Sequence[Any]) -> Any:
    """Return what finds which of `handles` have a message for less than asking each of them, as pocket_ros has it.

    None where there are few, or where the client library has none.
    """
    first, *others = handles or [None]
    make = getattr(first, "poll_set", None)
    poll_set: Any = make(others) if make is not None and len(handles) >= MANY else None
    return poll_set


class RobotCommandTopic(Interface):
    """Gives each robot the commands that it is sent on <robot>/<topic>."""

    message_type: ClassVar[type[Any]]
    topic: str

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._topic = PolledTopic(bridge, self.message_type, self.topic, qos.COMMAND)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._topic.on_fleet_changed(roster)

    def has_work(self) -> bool:
        return bool(self._topic.names)

    def receive(self) -> None:
        """Make a command of the newest message of each robot; those that cannot be are rejected in the log."""
        for index, message in self._topic.take():
            name = self._topic.names[index]
            self.bridge.gateway.take(f"{name}/{self.topic}", partial(self.command, name, message))

    def command(self, name: str, message: Any) -> Command:
        """Return the command of a message to the robot `name`; raises FleetSimError, which rejects the message."""
        raise NotImplementedError


# Topics of entities with a feature: robots and objects alike, below their names.


def having(world: World, feature: str) -> Roster:
    """Return the entities with a feature, in order of spawning."""
    table: Any = world.tables.get(feature)
    rows = np.empty(0, np.int64) if table is None else table.among(world.rows)
    names = tuple(world.label(row) for row in rows.tolist())
    return Roster(world.version, rows, names, frozenset(names))


def serve_switch(bridge: Bridge, name: str, command: Callable[[bool], Command]) -> Any:
    """Serve `name`, a SetBool: it answers once what `command(data)` made is carried out, or refused with the reason."""

    async def switch(request: Any, response: Any) -> None:
        wanted = command(request.data)
        ack = await bridge.carry_out(lambda: wanted)
        response.success, response.message = ack.ok, ", ".join(ack.rejected.values())

    return bridge.serve(SetBool, name, switch)


class FeatureCommandTopic(RobotCommandTopic):
    """Gives each entity with a feature the commands that it is sent on <name>/<topic>."""

    feature: ClassVar[str]

    def on_fleet_changed(self, roster: Roster) -> None:
        super().on_fleet_changed(having(self.bridge.sim.world, self.feature))


class FeatureStateTopic(Interface):
    """Publishes what each entity with a feature does on <name>/<topic>: latched, whenever that changes."""

    feature: ClassVar[str]
    message_type: ClassVar[type[Any]]
    topic: ClassVar[str]

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "state", self.message_type, self.topic, qos.LATCHED)
        self._told: dict[str, Any] = {}

    def on_fleet_changed(self, roster: Roster) -> None:
        """Publish to new entities' topics at the next step, whatever one of the same name has published."""
        for name in self._publishers.on_fleet_changed(having(self.bridge.sim.world, self.feature)):
            self._told.pop(name, None)

    def has_work(self) -> bool:
        return bool(self._publishers.names)

    def publish(self, now: int) -> None:
        """Publish the values that are not those published last."""
        of = self._publishers
        for name, row, publisher, value in zip(of.names, of.rows.tolist(), of.items, self.values(of.rows), strict=True):
            if self._told.get(name) != value:
                self._told[name] = value
                self.bridge.send_from(row, self.topic, partial(publisher.publish, self.message(value)), resent=True)

    def values(self, rows: Rows) -> Sequence[Any]:
        """Return what each of `rows` does, as values that can be compared."""
        raise NotImplementedError

    def message(self, value: Any) -> Any:
        """Return the message that tells `value`."""
        raise NotImplementedError


# Base of topics with the state of one robot each, in messages of a fixed layout.


def publish_function(publishers: Sequence[Any], template: MessageTemplate) -> Callable[[], None]:
    """Return a function that publishes the messages of `template`, one through each of `publishers`."""
    first, *others = publishers or [None]
    if hasattr(first, "publish_each"):
        # Of pocket_ros, whose loop over publishers is in C.
        return partial(first.publish_each, others, template.views())
    # Bound once: looking methods up for each of thousands of messages takes as long as publishing some of them. Handles
    # of rclpy have one for bytes, which is what `publish` calls after checks that take as long.
    if hasattr(getattr(first, "handle", None), "publish_raw"):
        functions = [publisher.handle.publish_raw for publisher in publishers]
    else:
        functions = [publisher.publish for publisher in publishers]

    def publish() -> None:
        for function, piece in zip(functions, template.pieces(), strict=True):
            function(piece)

    return publish


class StateTopic(Interface):
    """Publishes a message of `message_type` on <robot>/`topic` for each robot that has topics of its own state."""

    message_type: ClassVar[Any] = None
    topic: str = ""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "state", self.message_type, self.topic, qos.STATE)

    def robots_of(self, roster: Roster) -> Roster:
        """Return the robots that have the topic."""
        return roster

    def template_of(self, names: list[str], rows: Rows) -> MessageTemplate:
        """Return the template of one message for each robot; its groups are sec, nanosec, and what `write` sets."""
        raise NotImplementedError

    def write(self, template: MessageTemplate, rows: Rows) -> None:
        """Write the present state of the robots in `rows`, those of `template_of`, to the template."""
        raise NotImplementedError

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow the robots that have this topic, and lay their messages out anew."""
        self._publishers.on_fleet_changed(self.robots_of(roster))
        self._template = self.template_of(self._publishers.names, self._publishers.rows)
        self._publish = publish_function(self._publishers.items, self._template)

    def has_work(self) -> bool:
        return bool(self._publishers.names)

    def publish(self, now: int) -> None:
        """Write the values of all robots into their messages in one go, and publish each."""
        of = self._publishers
        self._template.write_stamp(now)
        self.write(self._template, of.rows)
        if self.bridge.disturbed(of.rows) is None:
            self._publish()
            return
        for row, publisher, piece in zip(of.rows.tolist(), of.items, self._template.pieces(), strict=True):
            self.bridge.send_from(row, self.topic, partial(publisher.publish, piece))


# Base of the services of the whole simulation.


Handler = Callable[[Any, Any], Awaitable[None]]
"""Fills in a response to a request."""


class SimulationServices(Interface):
    """Serves sim/<name> for each of its `services`."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        for name, (kind, answer) in self.services().items():
            bridge.serve(kind, f"sim/{name}", answer)

    def services(self) -> dict[str, tuple[Any, Handler]]:
        """Return the types and handlers of the services by name."""
        raise NotImplementedError
