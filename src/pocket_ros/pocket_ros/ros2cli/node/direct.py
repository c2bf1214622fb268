"""The node of a command, for programs that extend `ros2`."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar

from ...rclpy.action import graph
from . import SPIN_SECONDS, add_node_arguments, cli_node, look_around

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
