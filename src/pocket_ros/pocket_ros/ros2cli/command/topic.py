"""`ros2 topic`: what the graph says; `topic_echo`, `topic_pub` and `topic_rates` hold the verbs with
messages.
"""

from __future__ import annotations

import argparse

from ...rclpy.node import Node
from ..listing import print_names, print_names_of_type, print_types, visible
from ..node import add_node_arguments, cli_node, is_hidden, look_around, wait_until
from ..verbs import Verbs, add_verb, add_verbs
from . import topic_echo, topic_pub, topic_rates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 topic`."""
    hidden_text = "Consider hidden topics as well"
    parser.add_argument("--include-hidden-topics", action="store_true", help=hidden_text)
    verbs = add_verbs(parser)
    topic_rates.add_bw(verbs)
    topic_rates.add_delay(verbs)
    topic_echo.add_echo(verbs)
    find = add_verb(verbs, "find", _find, "Output a list of available topics of a given type")
    find.add_argument("topic_type", help="Name of the ROS topic type (e.g. 'std_msgs/msg/String')")
    find.add_argument("-c", "--count-topics", action="store_true", help="Only display the number of topics")
    find.add_argument(
        "--include-hidden-topics", action="store_true", default=argparse.SUPPRESS, help=hidden_text
    )
    add_node_arguments(find)
    topic_rates.add_hz(verbs)
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
    topic_pub.add_pub(verbs)
    kind = add_verb(verbs, "type", _type, "Print a topic's type")
    kind.add_argument("topic_name", help="Name of the ROS topic to get type (e.g. '/chatter')")
    add_node_arguments(kind)


def _add_info(verbs: Verbs) -> None:
    info = add_verb(verbs, "info", _info, "Print information about a topic")
    info.add_argument("topic_name", help="Name of the ROS topic to get info (e.g. '/chatter')")
    info.add_argument("-v", "--verbose", action="store_true", help="Print each publisher and subscription")
    add_node_arguments(info)


def _topics(node: Node, args: argparse.Namespace) -> list[tuple[str, list[str]]]:
    return visible(node.get_topic_names_and_types(), args.include_hidden_topics)


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
        print_names(topics, only_count=args.count_topics, show_types=args.show_types)


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
    print_names_of_type(topics, args.topic_type, only_count=args.count_topics)


def _type(args: argparse.Namespace) -> int:
    with cli_node(args) as node:
        is_left_out = is_hidden(args.topic_name) and not args.include_hidden_topics
        types = None if is_left_out else topic_types(node, args.topic_name)
    return print_types(types)
