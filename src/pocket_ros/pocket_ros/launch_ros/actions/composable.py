"""Load nodes into a running process."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from ...interfaces.classes import service_class
from ...launch.action import Action, Parsed
from ...launch.description import (
    LaunchDescriptionEntity,
    SomeSubstitutionsType,
    SomeSubstitutionsType_types_tuple,
)
from ...launch.frontend.parser import expose_action, texts
from ...launch.logging import get_logger
from ...launch.utilities import (
    ensure_argument_type,
    normalize_to_list_of_substitutions,
    perform_substitutions,
)
from ..descriptions import ComposableNode, parse_composable_nodes
from ..parameter_descriptions import evaluate_parameters, to_parameters_list
from ..ros_adapters import call_service, get_ros_node
from ..utilities import add_node_name, get_node_name_count, make_namespace_absolute, prefix_namespace
from .node import Node
from .settings import global_parameters

if TYPE_CHECKING:
    from ...launch.description import LaunchContext
    from ...launch.frontend.parser import Entity, Parser
    from ...rclpy.service import Client


_LOAD_NODE = "composition_interfaces/srv/LoadNode"


@expose_action("load_composable_node")
class LoadComposableNodes(Action):
    """Asks a container, given by the action that runs it or by its full name, to load nodes one by one.

    It waits for the container until the launch ends. A node that the container refuses is an error in the
    log, and the next one is loaded.
    """

    def __init__(
        self,
        *,
        composable_node_descriptions: Iterable[ComposableNode],
        target_container: SomeSubstitutionsType | Node,
        **kwargs: Any,
    ) -> None:
        types = [*SomeSubstitutionsType_types_tuple, Node]
        ensure_argument_type(target_container, types, "target_container", "LoadComposableNodes")
        super().__init__(**kwargs)
        self._descriptions = list(composable_node_descriptions)
        self._target = target_container
        self._loaded: asyncio.Future[None] | None = None

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `target` and each `composable_node` inside say."""
        arguments = super().parse(entity, parser)[1] | texts(entity, parser, target_container="target")
        arguments["composable_node_descriptions"] = parse_composable_nodes(entity, parser, optional=False)
        return cls, arguments

    def get_asyncio_future(self) -> asyncio.Future[Any] | None:
        """Done when all are loaded or refused, None before the action was visited."""
        return self._loaded

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        # Requests are made now: a scope around the action ends before the container answers.
        made = [get_composable_node_load_request(node, context) for node in self._descriptions]
        requests = [request for request in made if request is not None]
        if isinstance(self._target, Node):
            container = self._target.node_name
        else:
            container = perform_substitutions(context, normalize_to_list_of_substitutions(self._target))
        if requests:
            assert context.asyncio_loop is not None
            client = get_ros_node(context).create_client(
                service_class(_LOAD_NODE), f"{container}/_container/load_node"
            )
            self._loaded = context.asyncio_loop.run_in_executor(
                None, _load, client, container, requests, context
            )
        return None


def _load(client: Client, container: str, requests: Iterable[Any], context: LaunchContext) -> None:
    logger = get_logger("launch_ros.actions.load_composable_nodes")
    for request in requests:
        response = call_service(client, request, context)
        if response is None:
            logger.warning(f"Abandoning the '{client.srv_name}' service, due to shutdown.")
            return
        if not response.success:
            logger.error(
                f"Failed to load node '{response.full_node_name or request.node_name}' of type "
                f"'{request.plugin_name}' in container '{container}': {response.error_message}"
            )
            continue
        name = response.full_node_name or request.node_name
        add_node_name(context, name)
        count = get_node_name_count(context, name)
        if count > 1:
            get_logger(container).warning(
                f"there are now at least {count} nodes with the name {name} created within this "
                "launch context"
            )
        logger.info(f"Loaded node '{response.full_node_name}' in container '{container}'")


def get_composable_node_load_request(
    composable_node_description: ComposableNode, context: LaunchContext
) -> Any:
    """The request for a container, with what the scope sets for nodes; None where a condition is false."""
    node = composable_node_description
    condition = node.condition()
    if condition is not None and not condition.evaluate(context):
        return None
    request = service_class(_LOAD_NODE).Request()
    request.package_name = perform_substitutions(context, node.package)
    request.plugin_name = perform_substitutions(context, node.node_plugin)
    if node.node_name is not None:
        request.node_name = perform_substitutions(context, node.node_name)
    given = None if node.node_namespace is None else perform_substitutions(context, node.node_namespace)
    combined = prefix_namespace(context.launch_configurations.get("ros_namespace"), given)
    if combined is not None:
        request.node_namespace = make_namespace_absolute(combined)
    rules = list(context.launch_configurations.get("ros_remaps", ()))
    rules += [
        (perform_substitutions(context, source), perform_substitutions(context, target))
        for source, target in node.remappings or ()
    ]
    request.remap_rules = [f"{source}:={target}" for source, target in rules]
    evaluated = [
        *global_parameters(context, request.node_name or None),
        *evaluate_parameters(context, node.parameters or ()),
    ]
    request.parameters = _messages(request, context, evaluated)
    extra = evaluate_parameters(context, node.extra_arguments or ())
    request.extra_arguments = _messages(request, context, extra)
    return request


def _messages(request: Any, context: LaunchContext, evaluated: Iterable[Any]) -> list[Any]:
    found = to_parameters_list(context, request.node_name, request.node_namespace, evaluated)
    return [parameter.to_parameter_msg() for parameter in found]


# Run a process that nodes are loaded into.


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
