"""`ros2 bag play`."""

from __future__ import annotations

import argparse
import contextlib
import re
import time
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader, ReaderError

from ... import rclpy
from ...interfaces.classes import message_class
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ..bag_qos import qos_from_bag
from ..interface_types import interface_class
from ..node import cli_node
from ..subscribing import absolute_name
from ..verbs import Verbs, add_verb, positive_float

_NANOSECONDS = 1_000_000_000


def add_play(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(verbs, "play", _play, "Play back ROS data from a bag")
    flag = parser.add_argument
    flag("bag_path", help="Bag to open")
    flag("-s", "--storage", help="Accepted; the storage is found out")
    flag("-r", "--rate", type=positive_float, default=1.0, help="Rate to play back at (default: 1.0)")
    flag("--topics", nargs="+", default=[], help="Topics to replay (default: all)")
    flag("--exclude-topics", nargs="+", default=[], help="Topics not to replay")
    flag("-e", "--regex", help="Replay only topics matching this regular expression")
    flag("-x", "--exclude-regex", help="Replay no topics matching this regular expression")
    flag("-l", "--loop", action="store_true", help="Loop playback from the start")
    flag("-m", "--remap", nargs="+", default=[], help="Topics to rename, as old:=new")
    flag("--clock", type=positive_float, nargs="?", const=40.0, help="Publish /clock, at this rate (40)")
    flag("-d", "--delay", type=positive_float, default=0.0, help="Seconds to wait before playing")
    flag("--start-offset", type=float, default=0.0, help="Seconds of the recording to leave out")
    flag(
        "--playback-duration",
        type=float,
        default=-1.0,
        help="Seconds of the recording to play (default: all)",
    )
    until = parser.add_mutually_exclusive_group().add_argument
    until(
        "--playback-until-sec", type=float, default=-1.0, help="Play until this time, in seconds since 1970"
    )
    until("--playback-until-nsec", type=int, default=-1, help="The same in nanoseconds")
    flag("--disable-keyboard-controls", action="store_true", help="Accepted; there are none")
    flag("--disable-loan-message", action="store_true", help="Accepted; no messages are loaned")
    flag("--read-ahead-queue-size", type=int, help="Accepted; nothing is read ahead")
    flag("--node-name", default="rosbag2_player", help="Name of the playing node")


class Player:
    """Publishes the messages of a recording, undecoded, at the times they were recorded."""

    def __init__(self, node: Node, reader: Reader, args: argparse.Namespace) -> None:
        self._node = node
        self._reader = reader
        self._args = args
        self._remap = dict(rule.split(":=", 1) for rule in args.remap)
        wanted = {absolute_name(topic) for topic in args.topics}
        self._connections = [c for c in reader.connections if self._is_wanted(c.topic, wanted)]
        self._publishers = {connection.id: self._publisher(connection) for connection in self._connections}
        self._clock: Any = None
        if args.clock is not None:
            self._clock = node.create_publisher(message_class("rosgraph_msgs/msg/Clock"), "/clock", 10)

    def _is_wanted(self, topic: str, wanted: set[str]) -> bool:
        args = self._args
        if topic in args.exclude_topics or (args.regex and not re.search(args.regex, topic)):
            return False
        if args.exclude_regex and re.search(args.exclude_regex, topic):
            return False
        if topic == "/clock" and args.clock is not None:
            return False
        return not wanted or topic in wanted

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
        return self._node.create_publisher(kind, topic, qos_from_bag(profiles))

    def play(self) -> None:
        """Play once, from the offset on."""
        first = self._reader.start_time + int(self._args.start_offset * _NANOSECONDS)
        begun = time.monotonic()
        next_tick = begun
        stop = self._stop(first)
        for connection, stamp, data in self._reader.messages(self._connections, start=first, stop=stop):
            due = begun + (stamp - first) / _NANOSECONDS / self._args.rate
            while rclpy.ok() and (now := time.monotonic()) < due:
                until = due
                if self._clock is not None:
                    if now >= next_tick:
                        self._tick(first + int((now - begun) * self._args.rate * _NANOSECONDS))
                        next_tick = now + 1.0 / self._args.clock
                    until = min(due, next_tick)
                rclpy.spin_once(self._node, timeout_sec=max(until - now, 0.0))
            if not rclpy.ok():
                return
            self._publishers[connection.id].publish(bytes(data))

    def _tick(self, stamp: int) -> None:
        stamp_class = message_class("builtin_interfaces/msg/Time")
        clock = message_class("rosgraph_msgs/msg/Clock")(
            clock=stamp_class(sec=stamp // _NANOSECONDS, nanosec=stamp % _NANOSECONDS)
        )
        self._clock.publish(clock)

    def wait_acknowledged(self) -> None:
        """Give subscriptions time to take the last messages."""
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
