"""`ros2 lifecycle`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from ... import rclpy
from ...interfaces.classes import service_class
from ...rclpy.node import Node
from ..node import add_node_arguments, cli_node, is_hidden, look_around, wait_until
from ..verbs import add_verb, add_verbs

_STATE_TYPE = "lifecycle_msgs/srv/GetState"
_ANSWER_SECONDS = 10.0
_HIDDEN = "Consider hidden nodes as well"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 lifecycle`."""
    verbs = add_verbs(parser)
    get = add_verb(verbs, "get", _get, "Get lifecycle state for one or more nodes")
    get.add_argument("node_name", nargs="?", help="Name of the ROS node; without it, those of all nodes")
    listing = add_verb(verbs, "list", _list, "Output a list of available transitions")
    listing.add_argument("node_name", help="Name of the ROS node")
    listing.add_argument("-a", "--all", action="store_true", help="Display all existing transitions")
    nodes = add_verb(verbs, "nodes", _nodes, "Output a list of nodes with lifecycle")
    nodes.add_argument("-c", "--count-nodes", action="store_true", help="Only display their number")
    change = add_verb(verbs, "set", _set, "Trigger lifecycle state transition")
    change.add_argument("node_name", help="Name of the ROS node")
    change.add_argument("transition", help="The lifecycle transition: its label or its number")
    for verb in (get, listing, nodes, change):
        short = ["-a", "--all"] if verb is nodes else []
        verb.add_argument(
            *short, "--include-hidden-nodes", action="store_true", dest="include_hidden_nodes", help=_HIDDEN
        )
        add_node_arguments(verb)


def _managed(node: Node, args: argparse.Namespace) -> list[str]:
    """The nodes with a lifecycle, by full name, sorted."""
    ending = "/get_state"
    found = {
        name.removesuffix(ending)
        for name, types in node.get_service_names_and_types()
        if name.endswith(ending) and _STATE_TYPE in types
    }
    return sorted(name for name in found if args.include_hidden_nodes or not is_hidden(name))


def _is_there(node: Node, args: argparse.Namespace) -> bool:
    args.node_name = f"/{args.node_name.lstrip('/')}"
    return bool(wait_until(node, lambda: args.node_name in _managed(node, args)))


def _call(node: Node, node_name: str, service: str, kind: str, **request: Any) -> Any:
    """The answer of a service of a node. Raises RuntimeError where it does not answer."""
    service_type = service_class(f"lifecycle_msgs/srv/{kind}")
    client = node.create_client(service_type, f"{node_name}/{service}")
    if client.wait_for_service(_ANSWER_SECONDS):
        future = client.call_async(service_type.Request(**request))
        rclpy.spin_until_future_complete(node, future, timeout_sec=_ANSWER_SECONDS)
        if future.done():
            return future.result()
    raise RuntimeError(f"'{node_name}' does not answer on '{service}'")


def _get(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        if args.node_name is not None:
            if not _is_there(node, args):
                return "Node not found"
            state = _call(node, args.node_name, "get_state", "GetState").current_state
            print(f"{state.label} [{state.id}]")
            return None
        look_around(node, args)
        for name in _managed(node, args):
            state = _call(node, name, "get_state", "GetState").current_state
            print(f"{name}: {state.label} [{state.id}]")
    return None


def _nodes(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        look_around(node, args)
        found = _managed(node, args)
    print(len(found) if args.count_nodes else "\n".join(found))


def _transitions(node: Node, node_name: str, service: str) -> Iterable[Any]:
    found: Iterable[Any] = _call(node, node_name, service, "GetAvailableTransitions").available_transitions
    return found


def _list(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        if not _is_there(node, args):
            return "Node not found"
        service = "get_transition_graph" if args.all else "get_available_transitions"
        for found in _transitions(node, args.node_name, service):
            print(f"- {found.transition.label} [{found.transition.id}]")
            print(f"\tStart: {found.start_state.label}\n\tGoal: {found.goal_state.label}")
    return None


def _set(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        if not _is_there(node, args):
            return "Node not found"
        possible = [t.transition for t in _transitions(node, args.node_name, "get_available_transitions")]
        wanted = next((t for t in possible if args.transition in (t.label, str(t.id))), None)
        if wanted is None:
            listed = "".join(f"\n- {t.label} [{t.id}]" for t in possible)
            return f"Unknown transition requested, available ones are:{listed}"
        done = _call(node, args.node_name, "change_state", "ChangeState", transition=wanted)
    if not done.success:
        return "Transitioning failed"
    print("Transitioning successful")
    return None
