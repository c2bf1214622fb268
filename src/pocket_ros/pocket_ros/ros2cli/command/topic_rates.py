"""`ros2 topic hz`, `ros2 topic bw` and `ros2 topic delay`."""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ... import rclpy
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rclpy.qos import qos_profile_sensor_data
from ..node import add_node_arguments, cli_node
from ..subscribing import find_message_class
from ..verbs import Verbs, add_verb, positive_int

HZ_WINDOW = 10000
BW_WINDOW = 100


def add_hz(verbs: Verbs) -> None:
    """`ros2 topic hz` and its arguments."""
    parser = add_verb(verbs, "hz", _hz, "Print the average publishing rate to screen")
    flag = parser.add_argument
    flag("topic_name", nargs="+", help="Names of the ROS topics to listen to (e.g. '/chatter')")
    _add_window(parser, "Window in messages", HZ_WINDOW)
    flag("--filter", dest="filter_expr", help="Only measure messages matching this Python expression of m")
    flag("--wall-time", action="store_true", help="Calculate the rate using wall time")
    add_node_arguments(parser)


def add_bw(verbs: Verbs) -> None:
    """`ros2 topic bw` and its arguments."""
    parser = add_verb(verbs, "bw", _bw, "Display bandwidth used by topic")
    parser.add_argument("topic", help="Topic name to monitor for bandwidth utilization")
    _add_window(parser, "Maximum window in messages", BW_WINDOW)
    add_node_arguments(parser)


def add_delay(verbs: Verbs) -> None:
    """`ros2 topic delay` and its arguments."""
    parser = add_verb(verbs, "delay", _delay, "Display delay of topic from timestamp in header")
    parser.add_argument("topic", help="Topic name to calculate the delay for")
    _add_window(parser, "Window in messages", HZ_WINDOW)
    add_node_arguments(parser)


def _add_window(parser: argparse.ArgumentParser, text: str, default: int) -> None:
    help_text = f"{text} (default: {default})"
    parser.add_argument("-w", "--window", type=positive_int, default=default, help=help_text)


class Intervals:
    """Times between messages, in seconds, for the last `window` messages."""

    def __init__(self, window: int) -> None:
        self._values: deque[float] = deque(maxlen=window)
        self._last: float | None = None
        self._fresh = False

    def add(self, now: float) -> None:
        """Take the time of a message; a clock that went back starts over."""
        if self._last is not None and now < self._last:
            print("time has reset, resetting counters")
            self._values.clear()
        elif self._last is not None:
            self._values.append(now - self._last)
            self._fresh = True
        self._last = now

    def statistics(self) -> tuple[float, float, float, float, int] | None:
        """Rate, shortest, longest, standard deviation, count; None where nothing is new."""
        if not self._values or not self._fresh:
            return None
        self._fresh = False
        count = len(self._values)
        mean = sum(self._values) / count
        deviation = math.sqrt(sum((value - mean) ** 2 for value in self._values) / count)
        return (1.0 / mean if mean > 0.0 else 0.0), min(self._values), max(self._values), deviation, count


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["   ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([lines[0], "=" * (sum(widths) + 3 * (len(widths) - 1)), *lines[1:]]) + "\n"


def _report(measured: dict[str, Intervals]) -> None:
    found = {name: stats for name, item in measured.items() if (stats := item.statistics()) is not None}
    if len(measured) == 1:
        for rate, low, high, deviation, count in found.values():
            print(
                f"average rate: {rate:.3f}\n"
                f"\tmin: {low:.3f}s max: {high:.3f}s std dev: {deviation:.5f}s window: {count}",
                flush=True,
            )
    elif found:
        rows: list[tuple[str, ...]] = [("topic", "rate", "min_delta", "max_delta", "std_dev", "window")]
        for name, (rate, low, high, deviation, count) in found.items():
            rows.append((name, f"{rate:.3f}", f"{low:.3f}", f"{high:.3f}", f"{deviation:.5f}", str(count)))
        print(_table(rows), flush=True)


def _hz(args: argparse.Namespace) -> str | None:
    condition = compile(args.filter_expr, "--filter", "eval") if args.filter_expr else None
    measured: dict[str, Intervals] = {}

    def subscribe(node: Node, topic: str, message_class: Any) -> None:
        intervals = measured[topic] = Intervals(args.window)

        def received(message: Any) -> None:
            if condition is not None and not eval(condition, {"m": message}):
                return
            nanoseconds = time.time_ns() if args.wall_time else node.get_clock().now().nanoseconds
            intervals.add(nanoseconds * 1e-9)

        node.create_subscription(
            message_class, topic, received, qos_profile_sensor_data, raw=condition is None
        )

    with cli_node(args) as node, contextlib.suppress(ExternalShutdownException):
        for topic in args.topic_name:
            message_class = find_message_class(node, topic, wait=len(args.topic_name) == 1)
            if message_class is None:
                print(f"WARNING: failed to find message type for topic [{topic}]")
                continue
            subscribe(node, topic, message_class)
            if len(args.topic_name) > 1:
                print(f"Subscribed to [{topic}]", flush=True)
        if not measured:
            return "No topic to measure"
        _spin_reporting(node, lambda: _report(measured))
    return None


def _spin_reporting(node: Node, report: Callable[[], None]) -> None:
    due = time.monotonic() + 1.0
    while rclpy.ok():
        rclpy.spin_once(node, timeout_sec=max(due - time.monotonic(), 0.0))
        if time.monotonic() >= due:
            due += 1.0
            report()


def _size(count: float, scale: float) -> str:
    if scale < 1000:
        return f"{count:.0f} B"
    return f"{count / 1000:.2f} KB" if scale < 1000000 else f"{count / 1000 / 1000:.2f} MB"


def _bw(args: argparse.Namespace) -> None:
    sizes: deque[tuple[float, int]] = deque(maxlen=args.window)

    def received(data: bytes) -> None:
        sizes.append((time.monotonic(), len(data)))

    def report() -> None:
        if len(sizes) < 2:
            return
        lengths = [length for _, length in sizes]
        rate = sum(lengths) / (time.monotonic() - sizes[0][0])
        mean, low, high = (_size(v, rate) for v in (sum(lengths) / len(lengths), min(lengths), max(lengths)))
        print(
            f"{_size(rate, rate)}/s from {len(lengths)} messages\n"
            f"\tMessage size mean: {mean} min: {low} max: {high}",
            flush=True,
        )

    with cli_node(args) as node, contextlib.suppress(ExternalShutdownException):
        message_class = find_message_class(node, args.topic, wait=True)
        node.create_subscription(message_class, args.topic, received, qos_profile_sensor_data, raw=True)
        print(f"Subscribed to [{args.topic}]", flush=True)
        _spin_reporting(node, report)


def _delay(args: argparse.Namespace) -> str | None:
    delays: deque[float] = deque(maxlen=args.window)
    reported = 0
    total = 0

    with cli_node(args) as node, contextlib.suppress(ExternalShutdownException):
        message_class = find_message_class(node, args.topic, wait=True)
        if "header" not in message_class.get_fields_and_field_types():
            return f"'{args.topic}' carries messages without a header, and so without a time of their own"

        def received(message: Any) -> None:
            nonlocal total
            stamp = message.header.stamp
            delays.append((node.get_clock().now().nanoseconds - stamp.sec * 10**9 - stamp.nanosec) * 1e-9)
            total += 1

        def report() -> None:
            nonlocal reported
            if total == reported:
                return
            reported = total
            mean = sum(delays) / len(delays)
            deviation = math.sqrt(sum((delay - mean) ** 2 for delay in delays) / len(delays))
            print(
                f"average delay: {mean:.3f}\n"
                f"\tmin: {min(delays):.3f}s max: {max(delays):.3f}s std dev: {deviation:.5f}s"
                f" window: {len(delays)}",
                flush=True,
            )

        node.create_subscription(message_class, args.topic, received, qos_profile_sensor_data)
        _spin_reporting(node, report)
    return None
