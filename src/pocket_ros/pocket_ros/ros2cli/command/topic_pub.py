"""`ros2 topic pub`."""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Any

from ... import rclpy
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rclpy.publisher import Publisher
from ...rosidl_runtime_py.set_message import Setter, set_message_fields
from ..interface_types import interface_class
from ..node import add_node_arguments, cli_node
from ..qos_arguments import add_qos_arguments, chosen_profile
from ..values import given_values
from ..verbs import Verbs, add_verb, nonnegative_int, positive_float


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
