"""`ros2 action`."""

from __future__ import annotations

import argparse
import signal
from typing import Any

from ... import rclpy
from ...rclpy.action import ActionClient
from ...rclpy.action.goals import (
    get_action_client_names_and_types_by_node,
    get_action_names_and_types,
    get_action_server_names_and_types_by_node,
)
from ...rclpy.context import SignalHandlerOptions
from ...rclpy.node import Node
from ...rosidl_runtime_py.convert import message_to_yaml, set_message_fields
from ..listing import absolute_name, print_names, print_types
from ..node import add_node_arguments, cli_node, look_around, wait_until
from ..verbs import add_verb, add_verbs, given_values, interface_class
from .node import split_name

_STATUS_NAMES = ("UNKNOWN", "ACCEPTED", "EXECUTING", "CANCELING", "SUCCEEDED", "CANCELED", "ABORTED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 action`."""
    verbs = add_verbs(parser)
    info = add_verb(verbs, "info", _info, "Print information about an action")
    info.add_argument("action_name", help="Name of the ROS action to get info (e.g. '/fibonacci')")
    info.add_argument("-t", "--show-types", action="store_true", help="Additionally show the action type")
    info.add_argument(
        "-c", "--count", action="store_true", help="Only display numbers of clients and servers"
    )
    add_node_arguments(info)
    listing = add_verb(verbs, "list", _list, "Output a list of action names")
    listing.add_argument("-t", "--show-types", action="store_true", help="Additionally show the action type")
    listing.add_argument("-c", "--count-actions", action="store_true", help="Only display their number")
    add_node_arguments(listing)
    send = add_verb(verbs, "send_goal", _send_goal, "Send an action goal")
    send.add_argument("action_name", help="Name of the ROS action (e.g. '/fibonacci')")
    send.add_argument(
        "action_type", help="Type of the ROS action (e.g. 'example_interfaces/action/Fibonacci')"
    )
    goal = send.add_mutually_exclusive_group()
    goal.add_argument("goal", nargs="?", default="{}", help="Values in YAML format (e.g. '{order: 10}')")
    goal.add_argument("--stdin", action="store_true", help="Read goal from standard input")
    send.add_argument("-f", "--feedback", action="store_true", help="Echo feedback messages for the goal")
    kind = add_verb(verbs, "type", _type, "Print a action's type")
    kind.add_argument("action_name", help="Name of the ROS action to get type (e.g. '/fibonacci')")
    add_node_arguments(kind)


def _list(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        look_around(node, args)
        actions = sorted(get_action_names_and_types(node))
    print_names(actions, only_count=args.count_actions, show_types=args.show_types)


def _type(args: argparse.Namespace) -> int:
    name = absolute_name(args.action_name)
    with cli_node(args) as node:
        types = wait_until(node, lambda: dict(get_action_names_and_types(node)).get(name))
    return print_types(types)


def _nodes_with(node: Node, find: Any, action_name: str) -> list[tuple[str, list[str]]]:
    found = []
    for full_name in sorted(node.get_fully_qualified_node_names()):
        for name, types in find(node, *split_name(full_name)):
            if name == action_name:
                found.append((full_name, types))
    return found


def _info(args: argparse.Namespace) -> None:
    name = absolute_name(args.action_name)
    with cli_node(args) as node:
        look_around(node, args)
        clients = _nodes_with(node, get_action_client_names_and_types_by_node, name)
        servers = _nodes_with(node, get_action_server_names_and_types_by_node, name)
    print(f"Action: {args.action_name}")
    for title, found in (("clients", clients), ("servers", servers)):
        print(f"Action {title}: {len(found)}")
        for node_name, types in [] if args.count else found:
            print(f"    {node_name} [{', '.join(types)}]" if args.show_types else f"    {node_name}")


def _print_feedback(feedback: Any) -> None:
    print(f"Feedback:\n    {message_to_yaml(feedback.feedback)}", flush=True)


class _Interrupt:
    """Remembers Ctrl-C instead of raising anywhere: a goal must be cancelled with the node still at work."""

    def __init__(self) -> None:
        self.happened = False
        self._before: Any = None

    def __enter__(self) -> _Interrupt:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: object) -> None:
        self.happened = True


def _wait(node: Node, future: Any, doing: str, interrupt: _Interrupt | None = None) -> Any:
    """The result of a future; None when interrupted. Raises RuntimeError when there is no result."""
    while rclpy.ok() and not future.done():
        if interrupt is not None and interrupt.happened:
            return None
        rclpy.spin_once(node, timeout_sec=0.1)
    if not future.done() or future.result() is None:
        raise RuntimeError(f"Exception while {doing}: {future.exception()!r}")
    return future.result()


def _send_goal(args: argparse.Namespace) -> int | str:
    action_class = interface_class(args.action_type, "action")
    values = given_values(args, "goal")
    goal = action_class.Goal()
    try:
        set_message_fields(goal, values or {})
    except (AttributeError, AssertionError, TypeError, ValueError) as error:
        return f"Failed to populate message fields: {error!r}"
    with rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.SIGTERM):
        node = rclpy.create_node(f"_ros2cli_send_goal_{args.action_type.replace('/', '_')}")
        client = ActionClient(node, action_class, args.action_name)
        try:
            print("Waiting for an action server to become available...", flush=True)
            if not client.wait_for_server():
                return 1  # shut down
            with _Interrupt() as interrupt:
                return _run_goal(node, client, goal, _print_feedback if args.feedback else None, interrupt)
        finally:
            client.destroy()
            node.destroy_node()


def _run_goal(node: Node, client: ActionClient, goal: Any, feedback: Any, interrupt: _Interrupt) -> int:
    """Send a goal and wait for its result; an interrupt cancels it."""
    print(f"Sending goal:\n     {message_to_yaml(goal)}", flush=True)
    handle = _wait(node, client.send_goal_async(goal, feedback), "sending goal")
    if not handle.accepted:
        print("Goal was rejected.")
        return 0
    print(f"Goal accepted with ID: {bytes(handle.goal_id.uuid).hex()}\n", flush=True)
    result = _wait(node, handle.get_result_async(), "getting result", interrupt)
    if result is None:
        print("Canceling goal...", flush=True)
        answer = _wait(node, handle.cancel_goal_async(), "canceling goal")
        if not answer.goals_canceling:
            raise RuntimeError("Failed to cancel goal")
        print("Goal canceled.")
        return 128 + signal.SIGINT
    print(f"Result:\n    {message_to_yaml(result.result)}")
    print(f"Goal finished with status: {_STATUS_NAMES[result.status]}")
    return 0
