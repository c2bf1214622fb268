"""The node a command uses, and how long it looks around."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ... import rclpy
from ...rclpy.node import Node
from ...rclpy.parameter import Parameter
from ..verbs import positive_float

__all__ = [
    "LOOKUP_SECONDS",
    "NODE_NAME_PREFIX",
    "SPIN_SECONDS",
    "Found",
    "add_node_arguments",
    "cli_node",
    "is_hidden",
    "look_around",
    "wait_until",
]


Found = TypeVar("Found")
NODE_NAME_PREFIX = "_ros2cli"
SPIN_SECONDS = 0.5
LOOKUP_SECONDS = 3.0


def add_node_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of commands that look at the graph."""
    parser.add_argument(
        "--spin-time",
        type=positive_float,
        default=SPIN_SECONDS,
        help=f"Spin time in seconds to wait for discovery (default: {SPIN_SECONDS})",
    )
    parser.add_argument("-s", "--use-sim-time", action="store_true", help="Enable ROS simulation time")
    parser.add_argument("--no-daemon", action="store_true", help="Accepted; there is no daemon")


@contextmanager
def cli_node(args: argparse.Namespace, name: str | None = None) -> Iterator[Node]:
    """A node in an initialised context; without a name a hidden one."""
    with rclpy.init(args=[]):
        overrides = [Parameter("start_type_description_service", value=False)]
        if getattr(args, "use_sim_time", False):
            overrides.append(Parameter("use_sim_time", value=True))
        node = Node(
            name or f"{NODE_NAME_PREFIX}_{os.getpid()}",
            start_parameter_services=False,
            parameter_overrides=overrides,
        )
        try:
            yield node
        finally:
            node.destroy_node()


def _graph(node: Node) -> Any:
    return (
        node.get_topic_names_and_types(),
        node.get_service_names_and_types(),
        node.get_node_names_and_namespaces(),
    )


def look_around(node: Node, args: argparse.Namespace) -> None:
    """Spin until nothing new has been discovered for the spin time, at most some seconds more."""
    quiet: float = args.spin_time
    end = time.monotonic() + quiet + LOOKUP_SECONDS
    seen = _graph(node)
    quiet_since = time.monotonic()
    while (now := time.monotonic()) < min(end, quiet_since + quiet):
        rclpy.spin_once(node, timeout_sec=min(0.05, max(quiet_since + quiet - now, 0.0)))
        if (current := _graph(node)) != seen:
            seen, quiet_since = current, time.monotonic()


def wait_until(node: Node, find: Callable[[], Found | None], seconds: float = LOOKUP_SECONDS) -> Found | None:
    """Spin until `find` answers something, at most some seconds; what it answered, or None."""
    end = time.monotonic() + seconds
    while True:
        if (found := find()) or time.monotonic() >= end:
            return found
        rclpy.spin_once(node, timeout_sec=0.02)


def is_hidden(name: str) -> bool:
    """Whether a part of a name begins with an underscore."""
    return any(part.startswith("_") for part in name.split("/"))
