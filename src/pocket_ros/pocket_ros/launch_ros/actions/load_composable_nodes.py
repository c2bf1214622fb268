"""Load nodes into a running process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...interfaces.classes import service_class
from ...launch.action import Action, Parsed
from ...launch.frontend.attributes import texts
from ...launch.frontend.expose import expose_action
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.logging import get_logger
from ...launch.some_substitutions_type import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple
from ...launch.utilities import (
    ensure_argument_type,
    normalize_to_list_of_substitutions,
    perform_substitutions,
)
from ..descriptions.composable_node import ComposableNode, parse_composable_nodes
from ..ros_adapters import call_service, get_ros_node
from ..utilities.namespaces import make_namespace_absolute, prefix_namespace
from ..utilities.parameters import evaluate_parameters, to_parameters_list
from ..utilities.track_node_names import add_node_name, get_node_name_count
from .node import Node
from .set_parameter import global_parameters

if TYPE_CHECKING:
    from ...launch.frontend.entity import Entity
    from ...launch.frontend.parser import Parser
    from ...launch.launch_context import LaunchContext
    from ...rclpy.client import Client

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
