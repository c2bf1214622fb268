"""The node a command uses, and how long it looks around."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, TypeVar

from ... import rclpy
from ...rclpy.action import goals as graph
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


# The node of a command, for programs that extend `ros2`.


DEFAULT_TIMEOUT = SPIN_SECONDS
_Self = TypeVar("_Self", bound="DirectNode")
_Names = list[tuple[str, list[str]]]


class DirectNode:
    """A node that has looked around when its `with` block begins; it has all that a Node has.

    `args` may have `spin_time`, in seconds, and `use_sim_time`.
    """

    def __init__(self, args: Any, *, node_name: str | None = None) -> None:
        self._args = argparse.Namespace(
            spin_time=getattr(args, "spin_time", None) or DEFAULT_TIMEOUT,
            use_sim_time=getattr(args, "use_sim_time", False),
        )
        self._node_name = node_name
        self._open = ExitStack()
        self.node: Any = None

    def __enter__(self: _Self) -> _Self:
        self.node = self._open.enter_context(cli_node(self._args, self._node_name))
        look_around(self.node, self._args)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def executor(self) -> Any:
        """The executor of the node: programs spin this in place of it."""
        return self.node.executor

    @executor.setter
    def executor(self, new_executor: Any) -> None:
        self.node.executor = new_executor

    def __getattr__(self, name: str) -> Any:
        if self.__dict__.get("node") is None:
            raise AttributeError(f"'{name}' can be used only inside of the block of a {type(self).__name__}")
        return getattr(self.node, name)

    def get_action_names_and_types(self) -> _Names:
        """All actions with their types."""
        return graph.get_action_names_and_types(self.node)

    def get_action_client_names_and_types_by_node(
        self, remote_node_name: str, remote_node_namespace: str
    ) -> _Names:
        """The actions a node has clients of. Raises NodeNameNonExistentError."""
        return graph.get_action_client_names_and_types_by_node(
            self.node, remote_node_name, remote_node_namespace
        )

    def get_action_server_names_and_types_by_node(
        self, remote_node_name: str, remote_node_namespace: str
    ) -> _Names:
        """The actions a node serves. Raises NodeNameNonExistentError."""
        return graph.get_action_server_names_and_types_by_node(
            self.node, remote_node_name, remote_node_namespace
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that such a node reads."""
    add_node_arguments(parser)


# The node of a command where ROS asks a daemon; there is none here, and none is needed.


class NodeStrategy(DirectNode):
    """A DirectNode: discovery is asked each time."""

    def __init__(self, args: Any, *, node_name: str | None = None) -> None:
        super().__init__(args, node_name=node_name)

    @property
    def direct_node(self) -> DirectNode:
        """The node itself."""
        return self

    @property
    def daemon_node(self) -> None:
        """None: there is no daemon."""
        return None


# The daemon of `ros2`, which is not there: commands need none.


def is_daemon_running(args: Any) -> bool:
    """False."""
    return False


def shutdown_daemon(args: Any, timeout: float | None = None) -> bool:
    """False: there was none to shut down."""
    return False


def spawn_daemon(args: Any, timeout: float | None = None, debug: bool = False) -> bool:
    """False: none is started."""
    return False


def daemon_add_arguments(parser: argparse.ArgumentParser) -> None:
    """The argument of commands that could ask a daemon."""
    parser.add_argument("--no-daemon", action="store_true", help="Accepted; there is no daemon")
