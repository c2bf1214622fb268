"""Values as messages of ROS 2 and back, messages as bytes, QoS profiles of topics, and the node that has the topics."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Quaternion, Twist, Vector3
from geometry_msgs.msg import Pose as PoseMsg
from rclpy._rclpy_pybind11 import RCLError
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.subscription import Subscription

from fleet_sim.base.arrays import Bools, Floats, Rows
from fleet_sim.base.cdr import HEADER_SIZE, STAMP, ByteTemplate, MessagePart
from fleet_sim.base.errors import LONGEST_SHOWN, InvalidValueError, UnknownNameError
from fleet_sim.base.geometry import Pose
from fleet_sim.world.commands import CommandAck
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.world import World
from fleet_sim_msgs.msg import CommandResult

PADDING = 3
"""Bytes that may follow a message: writers fill up to a multiple of four."""


def is_plain(data: bytes) -> bool:
    """Return whether the encapsulation says plain CDR, big or little endian: what all ROS 2 middlewares write."""
    return len(data) >= 4 and data[0] == 0 and data[1] <= 1


def decode(data: bytes, kind: Any) -> Any:
    """Return the message of type `kind` in `data`; raises InvalidValueError for bytes that are not one, whole.

    Decoders take other encapsulations for plain CDR and leave what follows a message alone. Such bytes are of another
    type, and the numbers in them would move a robot.
    """
    if not is_plain(data):
        raise InvalidValueError(f"what arrived is not plain CDR but begins with {data[:4].hex(' ')}")
    try:
        message = deserialize_message(data, kind)
        whole = len(serialize_message(message))
    # What decoders raise for invalid bytes: rclpy's in C and the generated setters do not agree on one class.
    except (RuntimeError, ValueError, AssertionError, RecursionError) as error:
        raise InvalidValueError(str(error)[:200]) from error
    if len(data) > whole + PADDING:
        raise InvalidValueError(f"{len(data)} bytes arrived for a message of {whole}; its type is another one")
    return message


_NUMBERS = {"boolean": "?", "octet": "S1", "float": "<f4", "double": "<f8"}
_NUMBERS |= {f"{sign}int{size}": f"<{sign or 'i'}{size // 8}" for sign in ("u", "") for size in (8, 16, 32, 64)}


def to_cdr(message: Any) -> bytes:
    """Return a message as plain CDR, little endian, with zeros between the numbers and nothing behind them.

    Fast DDS, the middleware that ROS 2 has by default, leaves in both places what was in memory. So templates, which
    find numbers by what differs between two messages, cannot be made with its bytes.
    """
    data = bytearray(b"\0\1\0\0")
    _append(data, message)
    return bytes(data)


@cache
def _fields(kind: Any) -> list[tuple[str, str, str]]:
    """Return the name of each field, its type or that of its elements, and "s" for sequences, "[" for arrays."""
    fields = []
    for name, text in kind.get_fields_and_field_types().items():
        of = re.match(r"(?:sequence<)?([\w/]+)", text)
        assert of is not None, text
        fields.append((name, of[1], "s" if text.startswith("sequence<") else "[" if text.endswith("]") else ""))
    return fields


def _append(data: bytearray, message: Any) -> None:
    kind_of_message: Any = type(message)
    for name, kind, many in _fields(kind_of_message):
        value = getattr(message, name)
        values = value if many else (value,)
        if many == "s":
            _append_numbers(data, [len(value)], "<u4")
        if kind in _NUMBERS:
            _append_numbers(data, values, _NUMBERS[kind])
        elif kind == "string":
            for text in values:
                encoded = text.encode() + b"\0"
                _append_numbers(data, [len(encoded)], "<u4")
                data += encoded
        else:
            for one in values:
                _append(data, one)
    if not _fields(kind_of_message):
        # A message without fields is one byte.
        data.append(0)


def _append_numbers(data: bytearray, values: Any, kind: str) -> None:
    # Where there are none, nothing is aligned for them.
    if len(values):
        numbers = np.asarray(values, kind)
        data += bytes(-(len(data) - HEADER_SIZE) % numbers.itemsize) + numbers.tobytes()


class MessageTemplate(ByteTemplate):
    """Messages of rclpy that keep their layout: names and frames stay, numbers change."""

    def __init__(self, messages: Sequence[Any], parts: Sequence[MessagePart]) -> None:
        super().__init__(messages, parts, to_cdr)


def stamped_template(messages: Sequence[Any], fields: Mapping[str, Sequence[str]]) -> MessageTemplate:
    """Return the template of messages with a header: groups sec, nanosec, and those of `fields`, float64 by path."""
    numbers = {name: ("f8", paths) for name, paths in fields.items()}
    return MessageTemplate(messages, [MessagePart({**STAMP, **numbers})])


# QoS profiles of each kind of topic.


COMMAND = QoSProfile(depth=1)
"""Commands to one robot: reliable, depth 1, because only the last one is used."""

FLEET_COMMAND = QoSProfile(depth=100)
"""Commands to the fleet: reliable, because each one is used."""

STATE = QoSProfile(depth=10)
"""State of one robot or of the fleet."""

TF = QoSProfile(depth=100)
"""As tf2 has it."""

STATIC_TF = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""As tf2 has it, of several publishers."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Latched: late joiners get the last message at once."""

ORDERS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Orders: late joiners get what was told last, a thousand may be new at once, and none may be lost."""

SENSOR = qos_profile_sensor_data
"""Sensor readings: best effort, as usual, because a newer reading replaces an old one."""

CLOCK = QoSProfile(depth=1)
"""Only the latest time is needed; reliable, so that reliable and best-effort subscribers get it."""

REQUESTS = QoSProfile(depth=10_000)
"""Goals and result requests: thousands may arrive at once, and none may be lost.

Not all are kept: a writer that keeps all waits for clients that are stopped, ten seconds each time.
"""
GOALS: dict[str, Any] = dict.fromkeys(
    ("goal_service_qos_profile", "result_service_qos_profile", "cancel_service_qos_profile"), REQUESTS
)
GOALS["result_timeout"] = 900
"""Options of an action server. Depths of the defaults are 10: the eleventh of many goals sent at once would be lost.

Results are kept for so many s, as Jazzy does by default; Kilted does for ten.
"""


# Values of the simulation as messages and back: `x_to_msg` and `x_from_msg` in pairs.


NS_PER_S = 1_000_000_000
LONGEST_DURATION = 2**31 - 1
"""Seconds that a Duration can tell."""


def time_to_msg(nanoseconds: int) -> Time:
    """Return a time in ns as a message."""
    sec, nanosec = divmod(nanoseconds, NS_PER_S)
    return Time(sec=sec, nanosec=nanosec)


def time_from_msg(msg: Time) -> int:
    """Return the time of a message in ns."""
    return int(msg.sec) * NS_PER_S + int(msg.nanosec)


def duration_to_msg(seconds: float) -> Duration:
    """Return a time span in s as a message; one that is longer than a message can tell is cut."""
    sec, nanosec = divmod(round(min(seconds, LONGEST_DURATION) * NS_PER_S), NS_PER_S)
    return Duration(sec=sec, nanosec=nanosec)


def duration_from_msg(msg: Duration) -> float:
    """Return the time span of a message in s."""
    return float(msg.sec) + float(msg.nanosec) / NS_PER_S


def ack_to_msg(ack: CommandAck, nanoseconds: int, error: str = "") -> CommandResult:
    """Return what became of a command as a message of a time in ns; `error` is why all of it was refused."""
    return CommandResult(
        command_id=ack.command_id,
        source=ack.source,
        stamp=time_to_msg(nanoseconds),
        accepted=list(ack.accepted_names),
        # No entity has such a name: an answer need not be as long as what was sent.
        rejected=[name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}..." for name in ack.rejected],
        reasons=list(ack.rejected.values()),
        error=error,
    )


def pose_to_msg(pose: Pose) -> PoseMsg:
    """Return a pose as a message."""
    return row_to_pose_msg(pose.position, pose.orientation)


def pose_from_msg(msg: PoseMsg) -> Pose:
    """Return the pose of a message; raises InvalidValueError if it is not finite or has a zero quaternion."""
    p, q = msg.position, msg.orientation
    return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def row_to_pose_msg(position: Sequence[float] | Floats, orientation: Sequence[float] | Floats) -> PoseMsg:
    """Return a pose given as (3,) and (4,) as a message."""
    x, y, z = map(float, position)
    qx, qy, qz, qw = map(float, orientation)
    return PoseMsg(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def poses_from_msgs(msgs: Sequence[PoseMsg]) -> tuple[Floats, Floats]:
    """Return the poses of messages unchecked, (N, 3) and (N, 4): they may be not finite or have zero quaternions."""
    points = [(m.position.x, m.position.y, m.position.z) for m in msgs]
    orientations = [(m.orientation.x, m.orientation.y, m.orientation.z, m.orientation.w) for m in msgs]
    return np.array(points, np.float64).reshape(-1, 3), np.array(orientations, np.float64).reshape(-1, 4)


def poses_to_msgs(positions: Floats, orientations: Floats) -> list[PoseMsg]:
    """Return poses (N, 3), (N, 4) as messages."""
    return [row_to_pose_msg(p, q) for p, q in zip(positions.tolist(), orientations.tolist(), strict=True)]


def twists_from_msgs(msgs: Sequence[Twist]) -> tuple[Floats, Floats]:
    """Return the linear (N, 3) and angular (N, 3) parts of messages, unchecked."""
    linear = [(m.linear.x, m.linear.y, m.linear.z) for m in msgs]
    angular = [(m.angular.x, m.angular.y, m.angular.z) for m in msgs]
    return np.array(linear, np.float64).reshape(-1, 3), np.array(angular, np.float64).reshape(-1, 3)


def twists_to_msgs(linear: Floats, angular: Floats) -> list[Twist]:
    """Return twists (N, 3), (N, 3) as messages."""
    return [
        Twist(linear=Vector3(x=v[0], y=v[1], z=v[2]), angular=Vector3(x=w[0], y=w[1], z=w[2]))
        for v, w in zip(linear.tolist(), angular.tolist(), strict=True)
    ]


# A node with topics by the thousand.


class Polled(CallbackGroup):
    """Of subscriptions that are polled: an executor can run none of their callbacks, so it waits for none of them."""

    def can_execute(self, entity: object) -> bool:
        return False

    def beginning_execution(self, entity: object) -> bool:
        return False

    def ending_execution(self, entity: object) -> None:
        pass


Made = TypeVar("Made")


class TopicNode(Node):
    """A node of which an executor sees a few subscriptions, however many topics it has.

    rclpy's looks at every subscription at each wake-up, and at the handlers of events that each topic has by default.
    Where the middleware has no more room in its context, a further node in another one takes what comes.
    """

    def __init__(self, name: str, arguments: Sequence[str] | None = None, **more: Any) -> None:
        # First: the base class makes topics of its own.
        self.arguments = arguments
        """Those of the context, where it was not given the command line: no context tells its own."""
        self._spun: list[Subscription] = []
        self._polled = Polled()
        self._further: list[FurtherNode] = []
        self._is_full = False
        """Whether a further node was refused, or refused the same."""
        self._making = Lock()
        super().__init__(name, **more)

    def with_room(self, make: Callable[[TopicNode], Made]) -> Made:
        """Return `make(node)`, of this node, or of a further one where the middleware refuses it here."""
        node = [self, *self._further][-1]
        try:
            return make(node)
        except (RCLError, ValueError):
            # One thread at a time; another one may have made a further node meanwhile.
            with self._making:
                if self._is_full:
                    raise
                if [self, *self._further][-1] is not node:
                    return make(self._further[-1])
                # Until it is made: where it is refused itself, or refuses the same, no other one is tried.
                self._is_full = True
                further = FurtherNode(self, len(self._further) + 2)
                try:
                    further.executor = self.executor
                    made = make(further)
                except BaseException:
                    further.close()
                    raise
                self._further.append(further)
                self._is_full = False
                return made

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, **more: Any) -> Publisher:
        more.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(msg_type, topic, qos_profile, **more)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **more: Any
    ) -> Subscription:
        made = super().create_subscription(msg_type, topic, callback, qos_profile, **more)
        if made.callback_group is not self._polled:
            self._spun.append(made)
        return made

    def poll(self, kind: Any, topic: str, profile: QoSProfile) -> Subscription:
        """Subscribe to a topic whose messages are taken by `handle.take_message`, and never by an executor."""
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        more = {"callback_group": self._polled, "event_callbacks": quiet}
        return self.create_subscription(kind, topic, _never_called, profile, **more)

    def destroy_publisher(self, publisher: Publisher) -> bool:
        return super().destroy_publisher(publisher) or any(node.destroy_publisher(publisher) for node in self._further)

    def destroy_subscription(self, subscription: Subscription) -> bool:
        if subscription in self._spun:
            self._spun.remove(subscription)
        return super().destroy_subscription(subscription) or any(
            node.destroy_subscription(subscription) for node in self._further
        )

    def destroy_node(self) -> None:
        for node in self._further:
            node.close()
        super().destroy_node()

    @property
    def executor(self) -> Any:
        """The executor that runs this node and the further ones."""
        return super().executor

    @executor.setter
    def executor(self, executor: Any) -> None:
        Node.executor.fset(self, executor)
        for node in self._further:
            node.executor = executor

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Those that an executor looks at."""
        yield from self._spun

    @property
    def topic_count(self) -> int:
        """The number of topics that are published or subscribed, polled ones too."""
        own = sum(1 for kind in (self.publishers, super().subscriptions) for _ in kind)
        return own + sum(node.topic_count for node in self._further)


class FurtherNode(TopicNode):
    """A node in a context of its own, for what the middleware refused another one; that one's name, and a number."""

    def __init__(self, first: TopicNode, number: int) -> None:
        self._first = first
        context = Context()
        arguments = None if first.arguments is None else list(first.arguments)
        rclpy.init(args=arguments, context=context, domain_id=first.context.get_domain_id())
        name, namespace = f"{first.get_name()}_{number}", first.get_namespace()
        given = ["--ros-args", "-r", f"__node:={name}", "-r", f"__ns:={namespace}"]
        try:
            super().__init__(name, context=context, cli_args=given, enable_rosout=False, start_parameter_services=False)
        except BaseException:
            context.try_shutdown()
            raise

    def add_waitable(self, waitable: Any) -> None:
        self._first.add_waitable(waitable)

    def remove_waitable(self, waitable: Any) -> None:
        self._first.remove_waitable(waitable)

    def close(self) -> None:
        """Leave ROS."""
        self.executor = None
        self.destroy_node()
        self.context.try_shutdown()


def _never_called(message: object) -> None:
    """A subscription must have a callback."""


# The roster of the fleet: a frozen snapshot that is replaced when robots are spawned or removed.


@dataclass(frozen=True)
class Roster:
    """The robots, in order of spawning. May be read from any thread."""

    version: int
    rows: Rows
    names: tuple[str, ...]
    known: frozenset[str]

    def rows_of(self, names: list[str]) -> Rows:
        """Return the rows of the robots called `names`."""
        index = dict(zip(self.names, self.rows.tolist(), strict=True))
        return np.array([index[name] for name in names], np.int64)

    def where(self, mask: Bools) -> Roster:
        """Return the part of the roster in `mask`, aligned with `rows`."""
        names = tuple(name for name, has in zip(self.names, mask.tolist(), strict=True) if has)
        return Roster(self.version, self.rows[mask], names, frozenset(names))


def take_roster(world: World) -> Roster:
    """Return the current robots of `world`."""
    rows = world.rows[world.kind[world.rows] == KIND_AGENT]
    names = tuple(world.label(row) for row in rows.tolist())
    return Roster(world.version, rows, names, frozenset(names))


def with_joints(roster: Roster, world: World) -> Roster:
    """Return the part of `roster` that has joints."""
    return roster.where(world.robots.joint_count[roster.rows] > 0)


def has_joints(world: World, robot: str) -> bool:
    """Return whether there is a robot of that name, with joints. May be asked from any thread."""
    try:
        return bool(world.robots.joint_count[world.index.row_named(robot)])
    except UnknownNameError:
        return False


# Limits the rate of repeated log lines.


PERIOD = 2.0
"""The same line is not logged again within this time, in s."""

MOST_LINES = 256

MOST_PER_PERIOD = 20
"""Different lines within PERIOD; what sends nonsense can make each one different."""

LONGEST_LINE = 4000
"""In characters: lines quote what was sent."""


class Throttle:
    """Logs each line at most once per PERIOD, and at most MOST_PER_PERIOD; then their number. For any thread.

    It keeps what goes wrong in every step from filling the log.
    """

    def __init__(self, log: Callable[[str], object]) -> None:
        self.count = 0
        """Number of lines, logged or not."""
        self._log = log
        self._begin = -PERIOD
        self._in_period = 0
        self._held = 0
        self._logged: OrderedDict[str, float] = OrderedDict()

    def tell(self, line: str) -> None:
        """Log `line`, cut to LONGEST_LINE, unless it or too many others were logged within PERIOD."""
        self.count += 1
        line = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."
        now = time.monotonic()
        if now - self._begin >= PERIOD:
            held, self._held, self._begin, self._in_period = self._held, 0, now, 0
            if held:
                self._log(f"{held} more lines like these were not logged")
        if now - self._logged.get(line, -PERIOD) < PERIOD:
            return
        if self._in_period >= MOST_PER_PERIOD:
            self._held += 1
            return
        self._in_period += 1
        self._logged[line] = now
        # So that the line logged longest ago is the first to be forgotten.
        self._logged.move_to_end(line)
        while len(self._logged) > MOST_LINES:
            self._logged.popitem(last=False)
        self._log(line)
