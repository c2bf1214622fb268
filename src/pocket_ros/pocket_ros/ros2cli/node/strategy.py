"""The node of a command where ROS asks a daemon; there is none here, and none is needed."""

from __future__ import annotations

from typing import Any

from .direct import DirectNode, add_arguments

__all__ = ["NodeStrategy", "add_arguments"]


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
