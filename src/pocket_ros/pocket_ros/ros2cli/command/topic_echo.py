"""`ros2 topic echo`."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

import yaml

from ... import rclpy
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rosidl_runtime_py.convert import message_to_csv, message_to_yaml
from ..interface_types import interface_class
from ..node import add_node_arguments, cli_node, wait_until
from ..qos_arguments import add_qos_arguments, chosen_profile, is_chosen, profile_for_publishers
from ..subscribing import absolute_name, find_message_class
from ..verbs import Verbs, add_verb, nonnegative_int, positive_float

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
        message_class = find_message_class(node, args.topic_name)
        if message_class is None:
            raise RuntimeError("Could not determine the type for the passed topic")
    else:
        message_class = interface_class(args.message_type, "msg")
    name = absolute_name(args.topic_name)
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
