"""`ros2 bag play`."""

from __future__ import annotations

import argparse
import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader, ReaderError

from ... import rclpy
from ...interfaces.classes import message_class, service_class
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rclpy.time import Duration
from ..listing import absolute_name
from ..node import cli_node
from ..verbs import (
    Verbs,
    add_verb,
    interface_class,
    nonnegative_float,
    nonnegative_int,
    positive_float,
    refuse,
)
from . import bag_files

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
