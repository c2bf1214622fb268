"""Plays messages on ROS topics at the pace at which they were recorded."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Set

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rosidl_runtime_py.utilities import get_message

from fleet_sim.ros import messages as qos
from fleet_sim.ros.messages import NS_PER_S

NAME = "fleet_sim_replay"
MEET = 0.5
"""In s: subscribers that are there already get the first messages too."""


def play(
    kinds: Mapping[str, str],
    latched: Set[str],
    messages: Iterable[tuple[str, int, bytes]],
    *,
    speed: float = 1.0,
    start: float = 0.0,
) -> int:
    """Publish `messages` (topic, time in ns, CDR), in order; return how many.

    `kinds` are the types of all topics, `latched` those whose last message late subscribers get. Messages of before
    `start` in s of simulated time go out at once where they are latched, and not otherwise. `speed` 0: without waiting.
    """
    # Signals are Python's: Ctrl-C ends it as it ends other commands.
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Node(NAME)
    try:
        publishers = {
            topic: node.create_publisher(get_message(kind), topic, qos.LATCHED if topic in latched else qos.TF)
            for topic, kind in kinds.items()
        }
        time.sleep(MEET)
        first, begin, count = int(start * NS_PER_S), time.monotonic(), 0
        for topic, now, data in messages:
            if now < first and topic not in latched:
                continue
            if speed > 0.0:
                time.sleep(max(begin + (now - first) / NS_PER_S / speed - time.monotonic(), 0.0))
            publishers[topic].publish(data)
            count += 1
        for publisher in publishers.values():
            publisher.wait_for_all_acked()
        return count
    finally:
        node.destroy_node()
        rclpy.shutdown()
