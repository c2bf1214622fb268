"""`ros2 node`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from ...rclpy.action.goals import (
    get_action_client_names_and_types_by_node,
    get_action_server_names_and_types_by_node,
)
from ..node import add_node_arguments, cli_node, is_hidden, look_around, wait_until
from ..verbs import add_verb, add_verbs

NamesAndTypes = Iterable[tuple[str, list[str]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 node`."""
    verbs = add_verbs(parser)
    info = add_verb(verbs, "info", _info, "Output information about a node")
    info.add_argument("node_name", help="Fully qualified node name to request information")
    info.add_argument("--include-hidden", action="store_true", help="Display hidden names as well")
    add_node_arguments(info)
    listing = add_verb(verbs, "list", _list, "Output a list of available nodes")
    listing.add_argument("-a", "--all", action="store_true", help="Display all nodes even hidden ones")
    listing.add_argument("-c", "--count-nodes", action="store_true", help="Only display the number of nodes")
    add_node_arguments(listing)


def split_name(full_name: str) -> tuple[str, str]:
    """Name and namespace of a node."""
    namespace, _, name = full_name.rpartition("/")
    return name, namespace or "/"


def _list(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        look_around(node, args)
        names = sorted(node.get_fully_qualified_node_names())
    names = [name for name in names if args.all or not is_hidden(name)]
    if args.count_nodes:
        print(len(names))
        return
    if len(set(names)) < len(names):
        print(
            "WARNING: Be aware that there are nodes in the graph that share an exact name, "
            "which can have unintended side effects.",
            file=sys.stderr,
        )
    for name in names:
        print(name)


def _info(args: argparse.Namespace) -> str | None:
    wanted = args.node_name
    with cli_node(args) as node:
        if (is_hidden(wanted) and not args.include_hidden) or not wait_until(
            node, lambda: wanted in node.get_fully_qualified_node_names()
        ):
            return f"Unable to find node '{wanted}'"
        look_around(node, args)
        count = node.get_fully_qualified_node_names().count(wanted)
        if count > 1:
            print(
                f'There are {count} nodes in the graph with the exact name "{wanted}". '
                "You are seeing information about only one of them.",
                file=sys.stderr,
            )
        of = split_name(wanted)
        print(wanted)
        for title, found in (
            ("Subscribers", node.get_subscriber_names_and_types_by_node(*of)),
            ("Publishers", node.get_publisher_names_and_types_by_node(*of)),
            ("Service Servers", node.get_service_names_and_types_by_node(*of)),
            ("Service Clients", node.get_client_names_and_types_by_node(*of)),
            ("Action Servers", get_action_server_names_and_types_by_node(node, *of)),
            ("Action Clients", get_action_client_names_and_types_by_node(node, *of)),
        ):
            _print_section(title, found, args.include_hidden)
    return None


def _print_section(title: str, found: NamesAndTypes, include_hidden: bool) -> None:
    print(f"  {title}:")
    shown = sorted(item for item in found if include_hidden or not is_hidden(item[0]))
    print(*(f"    {name}: {', '.join(types)}" for name, types in shown), sep="\n")
