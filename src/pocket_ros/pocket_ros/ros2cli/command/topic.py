"""`ros2 topic`: what the graph says; `topic_echo`, `topic_pub` and `topic_rates` hold the verbs with
messages.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import yaml

from ... import rclpy
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rclpy.publisher import Publisher
from ...rclpy.qos import qos_profile_sensor_data
from ...rosidl_runtime_py.convert import Setter, message_to_csv, message_to_yaml, set_message_fields
from .. import listing as listings
from ..listing import add_qos_arguments, chosen_profile, is_chosen, profile_for_publishers
from ..node import add_node_arguments, cli_node, is_hidden, look_around, wait_until
from ..verbs import (
    Verbs,
    add_verb,
    add_verbs,
    given_values,
    interface_class,
    nonnegative_int,
    positive_float,
    positive_int,
)

# `ros2 topic echo`.


TRUNCATE_LENGTH = 128


def add_echo(verbs: Verbs) -> None:
    """The verb and its arguments."""
    flag = add_verb(verbs, "echo", _echo, "Output messages from a topic").add_argument
    flag("topic_name", help="Name of the ROS topic to listen to (e.g. '/chatter')")
    flag("message_type", nargs="?", help="Type of the ROS message (e.g. 'std_msgs/msg/String')")
    parser = verbs.choices["echo"]
    add_qos_arguments(parser, "subscribe", "sensor_data")
    flag("--field", help="Echo a selected field of a message; '.' selects sub-fields")
    add_text_arguments(parser)
    flag("--no-lost-messages", action="store_true", help="Don't report when a message is lost")
    flag("--raw", action="store_true", help="Echo the raw binary representation")
    flag("--filter", dest="filter_expr", help="Python expression of m (the message) for those to print")
    flag("--once", action="store_true", help="Print the first message received and then exit")
    flag("--timeout", metavar="N", type=positive_float, help="Set a timeout in seconds for waiting")
    flag("-i", "--include-message-info", action="store_true", help="Shows the associated message info")
    flag("-c", "--clear", action="store_true", help="Clear screen before printing next message")
    flag("-n", "--node-name", help="The name of the echoing node; by default, will be a hidden node name")
    add_node_arguments(parser)


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """How messages are printed."""
    flag = parser.add_argument
    flag("--csv", action="store_true", help="Output all recursive fields separated by commas")
    flag("-f", "--full-length", action="store_true", help="Output all elements of arrays, bytes and strings")
    flag(
        "-l",
        "--truncate-length",
        type=nonnegative_int,
        default=TRUNCATE_LENGTH,
        help=f"The length to truncate arrays, bytes and strings to (default: {TRUNCATE_LENGTH})",
    )
    flag("--no-arr", action="store_true", help="Don't print array fields of messages")
    flag("--no-str", action="store_true", help="Don't print string fields of messages")
    flag("--flow-style", action="store_true", help="Print collections in the flow style")


class _Printer:
    """Prints messages as the arguments say; `done` once no more are wanted."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._fields = [name for name in (args.field or "").split(".") if name]
        if args.field is not None and not self._fields:
            raise RuntimeError(f"Invalid field value '{args.field}'")
        self._filter = compile(args.filter_expr, "--filter", "eval") if args.filter_expr else None
        self.done = False
        self.error: str | None = None

    def __call__(self, message: Any, info: dict[str, Any]) -> None:
        shown = message
        for name in self._fields:
            if not hasattr(shown, name):
                reason = f"'{type(shown).__name__}' object has no attribute '{name}'"
                self.error = f"Invalid field '{'.'.join(self._fields)}': {reason}"
                self.done = True
                return
            shown = getattr(shown, name)
        if self._filter is not None and not eval(self._filter, {"m": message}):
            return
        if self._args.clear:
            print("\x1b[H\x1b[2J")
        self._print(shown, info)
        self.done = self.done or self._args.once

    def _print(self, shown: Any, info: dict[str, Any]) -> None:
        args = self._args
        if args.raw:
            print(shown, end="\n---\n", flush=True)
            return
        length = None if args.full_length else args.truncate_length
        options = {"truncate_length": length, "no_arr": args.no_arr, "no_str": args.no_str}
        if args.csv:
            text = message_to_csv(shown, **options)
            prefix = ",".join(map(str, info.values())) + "," if args.include_message_info else ""
            print(prefix + text, flush=True)
            return
        if args.include_message_info:
            print(yaml.dump(info), end="---\n")
        print(message_to_yaml(shown, flow_style=args.flow_style, **options), end="---\n", flush=True)


def _subscribe(node: Node, args: argparse.Namespace, printer: _Printer) -> None:
    if args.message_type is None:
        message_class = listings.find_message_class(node, args.topic_name)
        if message_class is None:
            raise RuntimeError("Could not determine the type for the passed topic")
    else:
        message_class = interface_class(args.message_type, "msg")
    name = listings.absolute_name(args.topic_name)
    profile = chosen_profile(args, "sensor_data")
    if not is_chosen(args):
        # One look around: a publisher that is there decides the quality of service.
        wait_until(node, lambda: node.count_publishers(name), args.spin_time)
        profile = profile_for_publishers(profile, node.get_publishers_info_by_topic(name), name)

    def received(message: Any, info: dict[str, Any]) -> None:
        if not printer.done:
            printer(message, info)

    node.create_subscription(message_class, args.topic_name, received, profile, raw=args.raw)


def _echo(args: argparse.Namespace) -> str | None:
    printer = _Printer(args)
    with cli_node(args, args.node_name) as node:
        _subscribe(node, args, printer)
        if args.timeout is not None:
            node.create_timer(args.timeout, lambda: setattr(printer, "done", True))
        with contextlib.suppress(ExternalShutdownException):
            while rclpy.ok() and not printer.done:
                rclpy.spin_once(node)
    return printer.error


# `ros2 topic pub`.


def add_pub(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(verbs, "pub", _pub, "Publish a message to a topic")
    flag = parser.add_argument
    flag("topic_name", help="Name of the ROS topic to publish to (e.g. '/chatter')")
    flag("message_type", help="Type of the ROS message (e.g. 'std_msgs/String')")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "values", nargs="?", default="{}", help="Values in YAML format (e.g. 'data: Hello World')"
    )
    group.add_argument("--stdin", action="store_true", help="Read values from standard input")
    flag("-r", "--rate", metavar="N", type=positive_float, default=1.0, help="Rate in Hz (default: 1)")
    flag("-p", "--print", metavar="N", type=int, default=1, help="Only print every N-th published message")
    times = parser.add_mutually_exclusive_group()
    times.add_argument("-1", "--once", action="store_true", help="Publish one message and exit")
    times.add_argument("-t", "--times", type=nonnegative_int, default=0, help="Publish this often, then exit")
    flag(
        "-w",
        "--wait-matching-subscriptions",
        type=nonnegative_int,
        help="Wait for this many subscriptions (default: 1 with --once and --times, otherwise 0)",
    )
    flag("--max-wait-time-secs", type=positive_float, help="How long to wait for them at most")
    flag(
        "--keep-alive",
        metavar="N",
        type=positive_float,
        default=0.1,
        help="Seconds to stay after the last one",
    )
    flag("-n", "--node-name", help="Name of the created publishing node")
    add_qos_arguments(parser, "publish", "default")
    add_node_arguments(parser)


def _pub(args: argparse.Namespace) -> str | None:
    times = 1 if args.once else args.times
    wanted = args.wait_matching_subscriptions
    wanted = int(times != 0) if wanted is None else wanted
    if wanted == 0 and args.max_wait_time_secs is not None:
        return (
            "--max-wait-time-secs option is only effective with --wait-matching-subscriptions, "
            "--once or --times"
        )
    message_class = interface_class(args.message_type, "msg")
    values = given_values(args, "values")
    if not isinstance(values, dict):
        return "The passed value needs to be a dictionary in YAML format"
    message = message_class()
    try:
        setters = set_message_fields(message, values, expand_header_auto=True, expand_time_now=True)
    except (AttributeError, AssertionError, TypeError, ValueError) as error:
        return f"Failed to populate field: {error}"
    with cli_node(args, args.node_name) as node, contextlib.suppress(ExternalShutdownException):
        publisher = node.create_publisher(message_class, args.topic_name, chosen_profile(args, "default"))
        _wait_for_subscriptions(node, publisher, wanted, args.max_wait_time_secs)
        _publish(node, publisher, message, setters, times, args)
    return None


def _wait_for_subscriptions(node: Node, publisher: Publisher, wanted: int, limit: float | None) -> None:
    """Wait until there are enough, saying so each second. Raises RuntimeError after `limit` seconds."""
    begun = time.monotonic()
    said = 0
    while (count := publisher.get_subscription_count()) < wanted:
        waited = time.monotonic() - begun
        if waited >= said:
            said += 1
            print(f"Waiting for at least {wanted} matching subscription(s)...", flush=True)
        if limit is not None and waited >= limit:
            raise RuntimeError(
                f"Timed out waiting for subscribers: Expected {wanted} subscribers but only got {count} "
                "subscribers"
            )
        rclpy.spin_once(node, timeout_sec=0.02)


def _publish(
    node: Node,
    publisher: Publisher,
    message: Any,
    setters: list[Setter],
    times: int,
    args: argparse.Namespace,
) -> None:
    """Publish at the rate asked for, so many times, 0 for ever."""
    print("publisher: beginning loop", flush=True)
    count = 0

    def publish() -> None:
        nonlocal count
        stamp = node.get_clock().now().to_msg()
        for setter in setters:
            setter(stamp)
        count += 1
        if args.print and count % args.print == 0:
            print(f"publishing #{count}: {message!r}\n", flush=True)
        publisher.publish(message)

    publish()
    node.create_timer(1.0 / args.rate, publish)
    while times == 0 or count < times:
        rclpy.spin_once(node)
    # The last message needs time to reach the wire.
    time.sleep(args.keep_alive)


# `ros2 topic hz`, `ros2 topic bw` and `ros2 topic delay`.


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
            message_class = listings.find_message_class(node, topic, wait=len(args.topic_name) == 1)
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
        message_class = listings.find_message_class(node, args.topic, wait=True)
        node.create_subscription(message_class, args.topic, received, qos_profile_sensor_data, raw=True)
        print(f"Subscribed to [{args.topic}]", flush=True)
        _spin_reporting(node, report)


def _delay(args: argparse.Namespace) -> str | None:
    delays: deque[float] = deque(maxlen=args.window)
    reported = 0
    total = 0

    with cli_node(args) as node, contextlib.suppress(ExternalShutdownException):
        message_class = listings.find_message_class(node, args.topic, wait=True)
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 topic`."""
    hidden_text = "Consider hidden topics as well"
    parser.add_argument("--include-hidden-topics", action="store_true", help=hidden_text)
    verbs = add_verbs(parser)
    add_bw(verbs)
    add_delay(verbs)
    add_echo(verbs)
    find = add_verb(verbs, "find", _find, "Output a list of available topics of a given type")
    find.add_argument("topic_type", help="Name of the ROS topic type (e.g. 'std_msgs/msg/String')")
    find.add_argument("-c", "--count-topics", action="store_true", help="Only display the number of topics")
    find.add_argument(
        "--include-hidden-topics", action="store_true", default=argparse.SUPPRESS, help=hidden_text
    )
    add_node_arguments(find)
    add_hz(verbs)
    _add_info(verbs)
    listing = add_verb(verbs, "list", _list, "Output a list of available topics")
    listing.add_argument("-t", "--show-types", action="store_true", help="Additionally show the topic type")
    listing.add_argument(
        "-c", "--count-topics", action="store_true", help="Only display the number of topics"
    )
    listing.add_argument(
        "--include-hidden-topics", action="store_true", default=argparse.SUPPRESS, help=hidden_text
    )
    listing.add_argument("-v", "--verbose", action="store_true", help="List full details about each topic")
    add_node_arguments(listing)
    add_pub(verbs)
    kind = add_verb(verbs, "type", _type, "Print a topic's type")
    kind.add_argument("topic_name", help="Name of the ROS topic to get type (e.g. '/chatter')")
    add_node_arguments(kind)


def _add_info(verbs: Verbs) -> None:
    info = add_verb(verbs, "info", _info, "Print information about a topic")
    info.add_argument("topic_name", help="Name of the ROS topic to get info (e.g. '/chatter')")
    info.add_argument("-v", "--verbose", action="store_true", help="Print each publisher and subscription")
    add_node_arguments(info)


def _topics(node: Node, args: argparse.Namespace) -> list[tuple[str, list[str]]]:
    return listings.visible(node.get_topic_names_and_types(), args.include_hidden_topics)


def topic_types(node: Node, topic_name: str) -> list[str] | None:
    """The types of a topic, waiting for it to be discovered; None where it is not."""
    return wait_until(node, lambda: dict(node.get_topic_names_and_types()).get(topic_name))


def _counted(topics: list[tuple[str, list[str], int]], title: str, noun: str) -> str:
    lines = [
        f" * {name} [{', '.join(types)}] {count} {noun}{'s' if count > 1 else ''}\n"
        for name, types, count in topics
        if count
    ]
    return f"{title} topics:\n{''.join(lines)}"


def _list(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        look_around(node, args)
        topics = _topics(node, args)
        publishers = [(name, types, node.count_publishers(name)) for name, types in topics]
        subscribers = [(name, types, node.count_subscribers(name)) for name, types in topics]
    if args.verbose and not args.count_topics:
        print(_counted(publishers, "Published", "publisher"))
        print(_counted(subscribers, "Subscribed", "subscriber"))
    else:
        listings.print_names(topics, only_count=args.count_topics, show_types=args.show_types)


def _info(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        types = topic_types(node, args.topic_name)
        if types is None:
            return f"Unknown topic '{args.topic_name}'"
        look_around(node, args)
        end = "\n\n" if args.verbose else "\n"
        print(f"Type: {types[0] if len(types) == 1 else types}", end=end)
        print(f"Publisher count: {node.count_publishers(args.topic_name)}", end=end)
        if args.verbose:
            for info in node.get_publishers_info_by_topic(args.topic_name):
                print(info, end=end)
        print(f"Subscription count: {node.count_subscribers(args.topic_name)}", end=end)
        if args.verbose:
            for info in node.get_subscriptions_info_by_topic(args.topic_name):
                print(info, end=end)
    return None


def _find(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        look_around(node, args)
        topics = _topics(node, args)
    listings.print_names_of_type(topics, args.topic_type, only_count=args.count_topics)


def _type(args: argparse.Namespace) -> int:
    with cli_node(args) as node:
        is_left_out = is_hidden(args.topic_name) and not args.include_hidden_topics
        types = None if is_left_out else topic_types(node, args.topic_name)
    return listings.print_types(types)
