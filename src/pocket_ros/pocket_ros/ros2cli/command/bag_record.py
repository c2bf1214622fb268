"""`ros2 bag record` and `ros2 bag play`."""

from __future__ import annotations

import argparse
import contextlib
import re
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader, ReaderError, Writer

from ... import rclpy
from ...interfaces import catalog as hashing
from ...interfaces.catalog import UnknownInterfaceError
from ...interfaces.classes import message_class, service_class
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rclpy.qos import QoSProfile
from ...rclpy.subscription import Subscription
from ...rclpy.task import Future
from ...rclpy.time import Duration
from ..listing import absolute_name, profile_for_publishers
from ..node import cli_node, is_hidden
from ..verbs import (
    Verbs,
    add_verb,
    interface_class,
    nonnegative_float,
    nonnegative_int,
    positive_float,
    positive_int,
    refuse,
)
from . import bag_files

QUEUE_DEPTH = 1000
_CHOICES = ("all", "all_topics", "all_services", "topics", "topics_by_position", "services")


def add_record(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(verbs, "record", _record, "Record ROS data to a bag")
    flag = parser.add_argument
    _add_choices(parser)
    flag("-o", "--output", help="Folder to write to (default: rosbag2_ and the date and time)")
    flag("-s", "--storage", choices=tuple(bag_files.STORAGES), default="mcap", help="Storage (default: mcap)")
    flag("-f", "--serialization-format", choices=("", "cdr"), help="Accepted; it is always cdr")
    flag("--compression-mode", choices=("none", "file", "message"), default="none", help="What to compress")
    flag("--compression-format", choices=("", "zstd"), default="", help="How to compress")
    for name, kind in (("queue-size", nonnegative_int), ("threads", int), ("threads-priority", int)):
        flag(f"--compression-{name}", type=kind, help="Accepted; nothing waits to be compressed")
    flag("--custom-data", nargs="*", default=[], metavar="KEY=VALUE", help="What to add to the metadata")
    flag("--max-cache-size", type=int, help="Accepted; messages are written as they come")
    flag("--no-discovery", action="store_true", help="Record only topics present at the start")
    flag("-p", "--polling-interval", type=positive_int, default=100, help="Milliseconds between searches")
    flag("-d", "--max-bag-duration", type=int, default=0, help=argparse.SUPPRESS)
    flag("-b", "--max-bag-size", type=int, default=0, help=argparse.SUPPRESS)
    flag("--use-sim-time", action="store_true", help="Use simulation time for the times of messages")
    bag_files.add_bag_arguments(parser, "rosbag2_recorder")
    refuse(parser, "--start-paused", reason="a full ROS 2 starts recording when it is resumed")
    refuse(parser, "--snapshot-mode", reason="a full ROS 2 writes the last messages when it is asked to")
    refuse(parser, "--storage-preset-profile", reason=bag_files.STORED, takes_value=True)


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """Which topics and services to record."""
    flag = parser.add_argument
    flag("topics_by_position", metavar="topic", nargs="*", help="Topics to record")
    flag("--topics", nargs="+", default=[], help="Topics to record")
    flag("--services", nargs="+", default=[], help="Services to record, by their introspection events")
    flag("-a", "--all", action="store_true", help="Record all topics and services")
    flag("--all-topics", action="store_true", help="Record all topics")
    flag("--all-services", action="store_true", help="Record all services")
    flag("-e", "--regex", default="", help="Record topics and services matching this regular expression")
    flag("--exclude-regex", default="", help="Exclude topics and services matching this regular expression")
    flag("--exclude-topics", nargs="+", default=[], help="Topics not to record")
    flag("--exclude-services", nargs="+", default=[], help="Services not to record")
    flag("--topic-types", nargs="+", default=[], help="Types of topics to record")
    flag("--exclude-topic-types", nargs="+", default=[], help="Types of topics not to record")
    flag("--include-hidden-topics", action="store_true", help="Record also hidden topics")
    flag("--include-unpublished-topics", action="store_true", help="Record also topics without publishers")
    flag("--ignore-leaf-topics", action="store_true", help="Record no topics without subscriptions")


class Recorder:
    """Subscribes to topics as they appear and writes what they carry, undecoded."""

    def __init__(
        self,
        node: Node,
        writer: Writer,
        args: argparse.Namespace,
        choice: bag_files.OutputBag,
        overrides: dict[str, QoSProfile],
    ) -> None:
        self._node = node
        self._writer = writer
        self._args = args
        self._topics = set(choice.topics)
        self._choice = choice
        self._overrides = overrides
        self._refused: set[str] = set()
        self._subscribed: set[str] = set()
        self._subscriptions: list[tuple[Subscription, Callable[[bytes, Any], None]]] = []

    def _is_wanted(self, topic: str, type_name: str) -> bool:
        if bag_files.is_event_topic(topic, type_name):
            return topic in self._topics or self._choice.takes(topic, type_name)
        if is_hidden(topic) and not self._args.include_hidden_topics and topic not in self._topics:
            return False
        return self._choice.takes(topic, type_name)

    def discover(self) -> None:
        """Subscribe to wanted topics that are published by now."""
        for topic, types in self._node.get_topic_names_and_types():
            if topic in self._subscribed or topic in self._refused or not self._is_wanted(topic, types[0]):
                continue
            publishers = self._node.get_publishers_info_by_topic(topic)
            if not publishers and not self._args.include_unpublished_topics:
                continue
            if self._args.ignore_leaf_topics and not self._node.get_subscriptions_info_by_topic(topic):
                continue
            try:
                self._subscribe(topic, types[0], [info.qos_profile for info in publishers], publishers)
            except UnknownInterfaceError as error:
                self._refused.add(topic)
                self._node.get_logger().warning(f"Not recording '{topic}': {error}")

    def _subscribe(
        self, topic: str, type_name: str, profiles: list[QoSProfile], publishers: list[Any]
    ) -> None:
        message_class = interface_class(type_name, "msg")
        connection = self._writer.add_connection(
            topic,
            type_name,
            msgdef=bag_files.full_definition(type_name),
            rihs01=hashing.type_hash(type_name),
            offered_qos_profiles=[bag_files.qos_to_bag(profile) for profile in profiles],
        )

        def write(data: bytes, info: Any) -> None:
            simulated = self._args.use_sim_time
            stamp = self._node.get_clock().now().nanoseconds if simulated else time.time_ns()
            self._writer.write(connection, stamp, data)

        profile = self._overrides.get(topic)
        if profile is None:
            profile = profile_for_publishers(QoSProfile(depth=QUEUE_DEPTH), publishers, topic)
        subscription = self._node.create_subscription(message_class, topic, write, profile, raw=True)
        self._subscribed.add(topic)
        self._subscriptions.append((subscription, write))
        self._node.get_logger().info(f"Subscribed to topic '{topic}'")

    def write_rest(self) -> None:
        """Write what has arrived and was not taken before the end."""
        for subscription, write in self._subscriptions:
            while (taken := subscription.handle.take_sample()) is not None:
                write(*taken)


def _choice(args: argparse.Namespace) -> bag_files.OutputBag:
    """What to record. Raises ValueError for a wrong regular expression."""
    return bag_files.OutputBag(
        uri="recorded",
        all_topics=args.all or args.all_topics,
        all_services=args.all or args.all_services,
        topics=[absolute_name(topic) for topic in [*args.topics, *args.topics_by_position]],
        topic_types=args.topic_types,
        services=sorted(bag_files.event_topics(args.services)),
        regex=args.regex,
        exclude_regex=args.exclude_regex,
        exclude_topics=[absolute_name(topic) for topic in args.exclude_topics],
        exclude_topic_types=args.exclude_topic_types,
        exclude_services=sorted(bag_files.event_topics(args.exclude_services)),
        include_hidden_topics=True,
    )


def _writer(output: Path, args: argparse.Namespace) -> Writer:
    writer = bag_files.open_writer(output, args.storage, args.compression_mode)
    for pair in args.custom_data:
        writer.set_custom_data(*pair.split("=", 1))
    return writer


def _record(args: argparse.Namespace) -> str | int:
    if not any(getattr(args, name) for name in (*_CHOICES, "regex", "topic_types")):
        options = (
            "--all, --all-topics, --all-services, --services, --topics, --topic-types, --regex or topics"
        )
        return f"[ERROR] [ros2bag]: Need to specify at least one option out of {options}"
    if args.max_bag_duration or args.max_bag_size:
        raise NotImplementedError("splitting recordings is not covered by pocket_ros; a full ROS 2 has it")
    output = Path(args.output or f"rosbag2_{datetime.now():%Y_%m_%d-%H_%M_%S}")
    if output.exists():
        return bag_files.already_exists(output)
    if wrong := [pair for pair in args.custom_data if not pair.partition("=")[0] or "=" not in pair]:
        return f"[ERROR] [ros2bag]: --custom-data takes KEY=VALUE, not '{wrong[0]}'"
    if args.compression_mode != "none" and not args.compression_format:
        return "[ERROR] [ros2bag]: Cannot specify compression mode without a compression format."
    choice = _choice(args)
    overrides = bag_files.read_overrides(args.qos_profile_overrides_path)
    with _writer(output, args) as writer, cli_node(args, args.node_name) as node:
        logger = node.get_logger()
        bag_files.set_log_level(node, args)
        recorder = Recorder(node, writer, args, choice, overrides)
        logger.info("Listening for topics...")
        recorder.discover()
        if not args.no_discovery:
            node.create_timer(args.polling_interval / 1000.0, recorder.discover)
        logger.info("Recording...")
        # KeyboardInterrupt could come between taking a message and writing it; a shutdown closes the readers.
        ended: Future[None] = Future()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None if ended.done() else ended.set_result(None))
        with contextlib.suppress(ExternalShutdownException):
            rclpy.spin_until_future_complete(node, ended)
        recorder.write_rest()
    print(f"Recording stopped: {output}", flush=True)
    return 0


# `ros2 bag play`.


_NANOSECONDS = 1_000_000_000


def add_play(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(verbs, "play", _play, "Play back ROS data from a bag")
    flag = parser.add_argument
    flag("bag_path", help="Bag to open")
    flag("-s", "--storage", help="Accepted; the storage is found out")
    _add_choice(parser)
    _add_times(parser)
    flag("--disable-loan-message", action="store_true", help="Accepted; no messages are loaned")
    flag("--read-ahead-queue-size", type=int, help="Accepted; nothing is read ahead")
    bag_files.add_bag_arguments(parser, "rosbag2_player")
    calls = "a full ROS 2 calls the services with the recorded requests"
    refuse(parser, "--publish-service-requests", reason=calls)
    refuse(parser, "--service-requests-source", reason=calls, takes_value=True)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    """Add what is played, and under which names."""
    flag = parser.add_argument
    flag("--topics", nargs="+", default=[], help="Topics to replay (default: all)")
    flag("--services", nargs="+", default=[], help="Services whose events to replay (default: all)")
    flag("--exclude-topics", nargs="+", default=[], help="Topics not to replay")
    flag("--exclude-services", nargs="+", default=[], help="Services whose events not to replay")
    flag("-e", "--regex", help="Replay topics and services matching this regular expression")
    flag("-x", "--exclude-regex", help="Replay no topics and services matching this regular expression")
    flag("-m", "--remap", nargs="+", default=[], help="Topics to rename, as old:=new")


def _add_times(parser: argparse.ArgumentParser) -> None:
    """Add when it is played, how fast and from where to where."""
    flag = parser.add_argument
    flag("-r", "--rate", type=positive_float, default=1.0, help="Rate to play back at (default: 1.0)")
    flag("-l", "--loop", action="store_true", help="Loop playback from the start")
    clock = parser.add_mutually_exclusive_group().add_argument
    clock("--clock", type=positive_float, nargs="?", const=40.0, help="Publish /clock, at this rate (40)")
    clock("--clock-topics", nargs="+", default=[], help="Topics whose messages /clock is published before")
    clock("--clock-topics-all", action="store_true", help="Publish /clock before each message")
    flag("-d", "--delay", type=nonnegative_float, default=0.0, help="Seconds to wait before playing")
    flag("-p", "--start-paused", action="store_true", help="Wait for ~/resume before playing")
    flag("--start-offset", type=nonnegative_float, default=0.0, help="Seconds of the recording to leave out")
    for_all = "Seconds of the recording to play (default: all)"
    flag("--playback-duration", type=float, default=-1.0, help=for_all)
    until = parser.add_mutually_exclusive_group().add_argument
    until_then = "Play until this time, in seconds since 1970"
    until("--playback-until-sec", type=float, default=-1.0, help=until_then)
    until("--playback-until-nsec", type=int, default=-1, help="The same in nanoseconds")
    acknowledged = "At the end, wait until all messages are acknowledged, at most so many ms (0: forever)"
    flag("--wait-for-all-acked", type=nonnegative_int, metavar="TIMEOUT", help=acknowledged)


class PauseSwitch:
    """Whether a player is paused, and the services of its node that pause and resume it."""

    def __init__(self, node: Node, paused: bool) -> None:
        self.paused = paused
        for name, kind, new in (
            ("pause", "Pause", lambda: True),
            ("resume", "Resume", lambda: False),
            ("toggle_paused", "TogglePaused", lambda: not self.paused),
            ("is_paused", "IsPaused", lambda: self.paused),
        ):
            offered = service_class(f"rosbag2_interfaces/srv/{kind}")
            node.create_service(offered, f"~/{name}", self._answer(new))

    def _answer(self, new: Callable[[], bool]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            self.paused = new()
            if hasattr(response, "paused"):
                response.paused = self.paused
            return response

        return answer


class Player:
    """Publishes the messages of a recording, undecoded, at the times they were recorded."""

    def __init__(self, node: Node, reader: Reader, args: argparse.Namespace) -> None:
        self._node = node
        self._reader = reader
        self._args = args
        self._remap = dict(rule.split(":=", 1) for rule in args.remap)
        self._overrides = bag_files.read_overrides(args.qos_profile_overrides_path)
        self._topics = {absolute_name(topic) for topic in args.topics}
        self._services = bag_files.event_topics(args.services)
        excluded = {absolute_name(topic) for topic in args.exclude_topics}
        self._excluded = excluded | bag_files.event_topics(args.exclude_services)
        self._connections = [c for c in reader.connections if self._is_wanted(c)]
        self._publishers = {connection.id: self._publisher(connection) for connection in self._connections}
        self._clock_topics = {absolute_name(topic) for topic in args.clock_topics}
        self._clock: Any = None
        if args.clock is not None or self._clock_topics or args.clock_topics_all:
            self._clock = node.create_publisher(message_class("rosgraph_msgs/msg/Clock"), "/clock", 10)
        self._pause = PauseSwitch(node, args.start_paused)

    def _is_wanted(self, connection: Connection) -> bool:
        args = self._args
        topic = connection.topic
        if topic in self._excluded or (args.exclude_regex and re.search(args.exclude_regex, topic)):
            return False
        if topic == "/clock" and args.clock is not None:
            return False
        named = self._services if bag_files.is_event_topic(topic, connection.msgtype) else self._topics
        if not named and not args.regex:
            return True
        return topic in named or bool(args.regex and re.search(args.regex, topic))

    def _stop(self, first: int) -> int | None:
        """The time of the first message that is not played: the later one where two ends are given."""
        args = self._args
        ends = []
        if args.playback_duration >= 0.0:
            ends.append(first + int(args.playback_duration * _NANOSECONDS))
        if args.playback_until_nsec >= 0 or args.playback_until_sec >= 0.0:
            ends.append(max(args.playback_until_nsec, int(args.playback_until_sec * _NANOSECONDS)))
        return max(ends) + 1 if ends else None

    def _publisher(self, connection: Connection) -> Any:
        kind = interface_class(connection.msgtype, "msg")
        profiles = list(getattr(connection.ext, "offered_qos_profiles", []))
        topic = self._remap.get(connection.topic, connection.topic)
        profile = self._overrides.get(connection.topic) or bag_files.qos_from_bag(profiles)
        return self._node.create_publisher(kind, topic, profile)

    def play(self) -> None:
        """Play once, from the offset on."""
        first = self._reader.start_time + int(self._args.start_offset * _NANOSECONDS)
        self._begun = self._next_tick = time.monotonic()
        stop = self._stop(first)
        for connection, stamp, data in self._reader.messages(self._connections, start=first, stop=stop):
            self._wait_for(stamp, first)
            if not rclpy.ok():
                return
            if self._args.clock_topics_all or connection.topic in self._clock_topics:
                self._tick(stamp)
            self._publishers[connection.id].publish(bytes(data))

    def _wait_for(self, stamp: int, first: int) -> None:
        """Wait until a message is due; while the player is paused the times of all messages move on."""
        rate = self._args.rate
        while rclpy.ok():
            if self._pause.paused:
                paused_at = time.monotonic()
                while rclpy.ok() and self._pause.paused:
                    rclpy.spin_once(self._node)
                self._begun += time.monotonic() - paused_at
                continue
            now = time.monotonic()
            until = due = self._begun + (stamp - first) / _NANOSECONDS / rate
            if now >= due:
                return
            if self._args.clock is not None:
                if now >= self._next_tick:
                    self._tick(first + int((now - self._begun) * rate * _NANOSECONDS))
                    self._next_tick = now + 1.0 / self._args.clock
                until = min(due, self._next_tick)
            rclpy.spin_once(self._node, timeout_sec=max(until - now, 0.0))

    def _tick(self, stamp: int) -> None:
        stamp_class = message_class("builtin_interfaces/msg/Time")
        clock = message_class("rosgraph_msgs/msg/Clock")(
            clock=stamp_class(sec=stamp // _NANOSECONDS, nanosec=stamp % _NANOSECONDS)
        )
        self._clock.publish(clock)

    def wait_acknowledged(self) -> None:
        """Wait as long as `--wait-for-all-acked` says; without it give subscriptions time for the last."""
        timeout = self._args.wait_for_all_acked
        if timeout is not None:
            end = time.monotonic() + timeout / 1000.0
            for connection in self._connections:
                left = max(end - time.monotonic(), 0.0) if timeout else -1.0
                if not self._publishers[connection.id].wait_for_all_acked(Duration(seconds=left)):
                    self._node.get_logger().error(f"'{connection.topic}' was not acknowledged in time")
        end = time.monotonic() + 0.2
        while rclpy.ok() and (left := end - time.monotonic()) > 0.0:
            rclpy.spin_once(self._node, timeout_sec=left)


def _play(args: argparse.Namespace) -> str | None:
    path = Path(args.bag_path)
    try:
        reader = Reader(path)
        reader.open()
    except (ReaderError, OSError) as error:
        return f"[ERROR] [ros2bag]: Could not open '{path}': {error}"
    try:
        with (
            cli_node(args, args.node_name) as node,
            contextlib.suppress(ExternalShutdownException, KeyboardInterrupt),
        ):
            bag_files.set_log_level(node, args)
            player = Player(node, reader, args)
            if not reader.message_count:
                return None
            begin = time.monotonic() + args.delay
            while (left := begin - time.monotonic()) > 0.0:
                rclpy.spin_once(node, timeout_sec=left)
            player.play()
            while args.loop and rclpy.ok():
                player.play()
            player.wait_acknowledged()
    finally:
        reader.close()
    return None
