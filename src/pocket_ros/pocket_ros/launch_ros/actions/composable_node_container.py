"""Run a process that nodes are loaded into."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from ...launch.action import Parsed
from ...launch.frontend.expose import expose_action
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ..descriptions.composable_node import ComposableNode, parse_composable_nodes
from .load_composable_nodes import LoadComposableNodes
from .node import Node

if TYPE_CHECKING:
    from ...launch.frontend.entity import Entity
    from ...launch.frontend.parser import Parser
    from ...launch.launch_context import LaunchContext


@expose_action("node_container")
class ComposableNodeContainer(Node):
    """Runs a container and loads nodes into it. Further arguments are those of Node.

    pocket_ros has no container of its own: those of ROS 2 load C++ libraries. One must be installed.
    """

    def __init__(
        self,
        *,
        name: SomeSubstitutionsType,
        namespace: SomeSubstitutionsType,
        composable_node_descriptions: Iterable[ComposableNode] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, namespace=namespace, **kwargs)
        self._descriptions = list(composable_node_descriptions or ())

    @classmethod
    def parse(cls, entity: Entity, parser: Parser, ignore: Collection[str] = ()) -> Parsed:
        """What the tag of a node says, and each `composable_node` inside."""
        arguments = super().parse(entity, parser, ignore)[1]
        arguments["composable_node_descriptions"] = parse_composable_nodes(entity, parser, optional=True)
        return cls, arguments

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        following = list(super().execute(context) or ())
        if self._descriptions and not context.is_shutdown:
            load = LoadComposableNodes(composable_node_descriptions=self._descriptions, target_container=self)
            following.append(load)
        return following
