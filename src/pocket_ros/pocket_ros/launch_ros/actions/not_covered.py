"""Actions that need a full ROS 2: each raises NotImplementedError saying so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...launch.action import Action, Parsed
from ...launch.frontend.expose import expose_action

if TYPE_CHECKING:
    from ...launch.frontend.entity import Entity
    from ...launch.frontend.parser import Parser


class _NotCovered(Action):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"launch_ros.actions.{type(self).__name__} is not covered by pocket_ros; a full ROS 2 has it"
        )

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """Its tag is refused by name, whatever it says. Raises NotImplementedError."""
        return cls, {"refused": cls()}


@expose_action("node_container")
class ComposableNodeContainer(_NotCovered):
    """Not covered: composable nodes are C++ libraries."""


@expose_action("load_composable_node")
class LoadComposableNodes(_NotCovered):
    """Not covered: composable nodes are C++ libraries."""


def get_composable_node_load_request(*args: Any, **kwargs: Any) -> Any:
    """Not covered: composable nodes are C++ libraries. Raises NotImplementedError."""
    raise NotImplementedError(
        "launch_ros.actions.load_composable_nodes.get_composable_node_load_request is not covered by "
        "pocket_ros; a full ROS 2 has it"
    )
