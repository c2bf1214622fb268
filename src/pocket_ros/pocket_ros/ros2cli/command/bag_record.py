"""`ros2 bag record`."""

from __future__ import annotations

import argparse
import contextlib
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from rosbags.rosbag2 import Writer

from ... import rclpy
from ...interfaces import catalog as hashing
from ...interfaces.catalog import UnknownInterfaceError
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rclpy.qos import QoSProfile
from ...rclpy.subscription import Subscription
from ...rclpy.task import Future
from ..listing import absolute_name
from ..node import cli_node, is_hidden
from ..qos_arguments import profile_for_publishers
from ..verbs import Verbs, add_verb, interface_class, nonnegative_int, positive_int, refuse
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
