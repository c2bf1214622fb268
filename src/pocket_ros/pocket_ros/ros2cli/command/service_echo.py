"""`ros2 service echo`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

import yaml

from ... import rclpy
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rclpy.qos import qos_profile_services_default
from ...rclpy.service_introspection import SERVICE_EVENT_POSTFIX, EventKind
from ...rosidl_runtime_py.convert import message_to_csv, message_to_ordereddict
from ..interface_types import interface_class
from ..node import add_node_arguments, cli_node, wait_until
from ..subscribing import absolute_name
from ..verbs import Verbs, add_verb
from .topic_echo import add_text_arguments


def add_service_echo(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(verbs, "echo", _echo, "Echo a service")
    flag = parser.add_argument
    flag("service_name", help="Name of the ROS service to echo (e.g. '/add_two_ints')")
    flag("service_type", nargs="?", help="Type of the service (e.g. 'example_interfaces/srv/AddTwoInts')")
    add_text_arguments(parser)
    add_node_arguments(parser)


def _event_class(node: Node, args: argparse.Namespace) -> Any:
    if args.service_type is not None:
        return interface_class(args.service_type, "srv").Event
    name = absolute_name(args.service_name)
    types = wait_until(node, lambda: dict(node.get_service_names_and_types()).get(name))
    if not types:
        raise RuntimeError(f"Could not determine the type of '{name}': no such service was found")
    if len(types) > 1:
        raise RuntimeError(f"The service '{name}' has more than one type: [{', '.join(types)}]; name one")
    return interface_class(types[0], "srv").Event


def _text(event: Any, args: argparse.Namespace) -> str:
    length = None if args.full_length else args.truncate_length
    options = {"truncate_length": length, "no_arr": args.no_arr, "no_str": args.no_str}
    if args.csv:
        return message_to_csv(event, **options)
    shown = message_to_ordereddict(event, **options)
    shown["info"]["event_type"] = EventKind(event.info.event_type).name
    return (
        yaml.safe_dump(
            _plain(shown),
            allow_unicode=True,
            width=sys.maxsize,
            default_flow_style=args.flow_style,
            sort_keys=False,
        )
        + "---"
    )


def _plain(value: Any) -> Any:
    """Dictionaries that keep their order, as YAML's safe writer takes them."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _echo(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        topic = args.service_name + SERVICE_EVENT_POSTFIX
        subscription = node.create_subscription(
            _event_class(node, args),
            topic,
            lambda event: print(_text(event, args), flush=True),
            qos_profile_services_default,
        )
        if not wait_until(node, subscription.get_publisher_count, args.spin_time):
            print(
                f"No publishers on topic '{topic}'; "
                "is service introspection on the client or server enabled?",
                flush=True,
            )
        with contextlib.suppress(ExternalShutdownException):
            rclpy.spin(node)
