"""`ros2 service`."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from typing import Any

import yaml

from ... import rclpy
from ...rclpy.endpoint import SERVICE_EVENT_POSTFIX, EventKind
from ...rclpy.executors import ExternalShutdownException
from ...rclpy.node import Node
from ...rclpy.qos import qos_profile_services_default
from ...rosidl_runtime_py.convert import message_to_csv, message_to_ordereddict, set_message_fields
from ..listing import absolute_name, print_names, print_names_of_type, print_types, visible
from ..node import add_node_arguments, cli_node, look_around, wait_until
from ..verbs import Verbs, add_verb, add_verbs, given_values, interface_class, positive_float
from .topic import add_text_arguments

# `ros2 service echo`.


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 service`."""
    hidden_text = "Consider hidden services as well"
    parser.add_argument("--include-hidden-services", action="store_true", help=hidden_text)
    verbs = add_verbs(parser)
    call = add_verb(verbs, "call", _call, "Call a service")
    call.add_argument("service_name", help="Name of the ROS service to call to (e.g. '/add_two_ints')")
    call.add_argument("service_type", help="Type of the ROS service (e.g. 'std_srvs/srv/Empty')")
    values = call.add_mutually_exclusive_group()
    values.add_argument("values", nargs="?", default="{}", help="Values in YAML format (e.g. '{a: 1, b: 2}')")
    values.add_argument("--stdin", action="store_true", help="Read values from standard input")
    call.add_argument(
        "-r", "--rate", metavar="N", type=positive_float, help="Repeat the call at a rate in Hz"
    )
    add_service_echo(verbs)
    find = add_verb(verbs, "find", _find, "Output a list of available services of a given type")
    find.add_argument("service_type", help="Name of the ROS service type (e.g. 'std_srvs/srv/Empty')")
    find.add_argument("-c", "--count-services", action="store_true", help="Only display their number")
    find.add_argument(
        "--include-hidden-services", action="store_true", default=argparse.SUPPRESS, help=hidden_text
    )
    add_node_arguments(find)
    info = add_verb(verbs, "info", _info, "Print information about a service")
    info.add_argument("service_name", help="Name of the ROS service (e.g. '/add_two_ints')")
    add_node_arguments(info)
    listing = add_verb(verbs, "list", _list, "Output a list of available services")
    listing.add_argument("-t", "--show-types", action="store_true", help="Additionally show the service type")
    listing.add_argument("-c", "--count-services", action="store_true", help="Only display their number")
    listing.add_argument(
        "--include-hidden-services", action="store_true", default=argparse.SUPPRESS, help=hidden_text
    )
    add_node_arguments(listing)
    kind = add_verb(verbs, "type", _type, "Output a service's type")
    kind.add_argument("service_name", help="Name of the ROS service (e.g. '/talker/list_parameters')")
    add_node_arguments(kind)


def _services(node: Node, args: argparse.Namespace) -> list[tuple[str, list[str]]]:
    return visible(node.get_service_names_and_types(), args.include_hidden_services)


def _types(node: Node, name: str) -> list[str] | None:
    return wait_until(node, lambda: dict(node.get_service_names_and_types()).get(name))


def _list(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        look_around(node, args)
        services = _services(node, args)
    print_names(services, only_count=args.count_services, show_types=args.show_types)


def _find(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        look_around(node, args)
        services = _services(node, args)
    print_names_of_type(services, args.service_type, only_count=args.count_services)


def _info(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        types = _types(node, args.service_name)
        if types is None:
            return f"Unknown service '{args.service_name}'"
        look_around(node, args)
        print(f"Type: {types[0] if len(types) == 1 else types}")
        print(f"Clients count: {node.count_clients(args.service_name)}")
        print(f"Services count: {node.count_services(args.service_name)}")
    return None


def _type(args: argparse.Namespace) -> int:
    with cli_node(args) as node:
        types = _types(node, args.service_name)
    return print_types(types)


def _call(args: argparse.Namespace) -> str | None:
    service_class = interface_class(args.service_type, "srv")
    values = given_values(args, "values")
    request = service_class.Request()
    try:
        set_message_fields(request, values or {})
    except (AttributeError, AssertionError, TypeError, ValueError) as error:
        return f"Failed to populate field: {error}"
    with cli_node(args) as node:
        client = node.create_client(service_class, args.service_name)
        if not client.service_is_ready():
            print("waiting for service to become available...", flush=True)
            client.wait_for_service()
        while rclpy.ok():
            print(f"requester: making request: {request!r}\n", flush=True)
            called = time.monotonic()
            future = client.call_async(request)
            rclpy.spin_until_future_complete(node, future)
            if not future.done() or future.result() is None:
                return f"Exception while calling service: {future.exception()!r}"
            print(f"response:\n{future.result()!r}\n", flush=True)
            if args.rate is None:
                break
            time.sleep(max(called + 1.0 / args.rate - time.monotonic(), 0.0))
    return None
