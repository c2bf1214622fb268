"""Run a node, and load composable nodes into a container."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, List  # noqa: UP035 - entities are asked for typing.List

import yaml

from ...interfaces.classes import service_class
from ...launch.action import Action, Parsed
from ...launch.actions import ExecuteProcess
from ...launch.description import (
    LaunchDescriptionEntity,
    SomeSubstitutionsType,
    SomeSubstitutionsType_types_tuple,
)
from ...launch.frontend.parser import Entity, expose_action, optional_texts, pairs, texts
from ...launch.logging import get_logger
from ...launch.utilities import (
    ensure_argument_type,
    normalize_to_list_of_substitutions,
    perform_substitutions,
)
from ...places import not_covered
from .. import utilities
from ..descriptions import ComposableNode, parse_composable_nodes
from ..parameter_descriptions import (
    evaluate_parameters,
    normalize_parameters,
    parse_parameters,
    to_parameters_list,
)
from ..ros_adapters import call_service, get_ros_node
from ..substitutions import ExecutableInPackage
from ..utilities import add_node_name, get_node_name_count, make_namespace_absolute, prefix_namespace
from .settings import global_parameters, global_parameters_of_process

__all__ = ["Node"]

if TYPE_CHECKING:
    from ...launch.description import LaunchContext
    from ...launch.frontend.parser import Parser
    from ..parameter_descriptions import SomeParameters

Remappings = Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]]


@expose_action("node")
class Node(ExecuteProcess):
    """Runs an executable of a package as a node, with name, namespace, parameters and remappings.

    Without `package`, `executable` is a path or a name on `PATH`. Parameters are files and dictionaries, a
    later one winning over an earlier; remappings are pairs. Further arguments are those of ExecuteProcess.
    """

    UNSPECIFIED_NODE_NAME = "<node_name_unspecified>"
    UNSPECIFIED_NODE_NAMESPACE = "<node_namespace_unspecified>"

    def __init__(
        self,
        *,
        executable: SomeSubstitutionsType,
        package: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        namespace: SomeSubstitutionsType | None = None,
        exec_name: SomeSubstitutionsType | None = None,
        parameters: SomeParameters | None = None,
        remappings: Remappings | None = None,
        ros_arguments: Iterable[SomeSubstitutionsType] | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        program = executable if package is None else ExecutableInPackage(executable, package)
        super().__init__(cmd=[program, *(arguments or ())], name=exec_name, **kwargs)
        self._package = package
        self._executable = executable
        self._name_given = None if name is None else normalize_to_list_of_substitutions(name)
        self._namespace_given = None if namespace is None else normalize_to_list_of_substitutions(namespace)
        self._parameters = () if parameters is None else normalize_parameters(parameters)
        self._remappings = [utilities.normalize_remap_rule(rule) for rule in (remappings or ())]
        self._ros_arguments = [normalize_to_list_of_substitutions(part) for part in (ros_arguments or ())]
        self._node_name: str | None = None
        self._node_namespace: str | None = None
        self._expanded_remappings: list[tuple[str, str]] | None = None
        self._prepared = False
        self._final_ros_args: list[str] = []

    @classmethod
    def parse(cls, entity: Entity, parser: Parser, ignore: Collection[str] = ()) -> Parsed:
        """What the attributes and each `param`, `remap` and `env` inside say."""
        arguments = super().parse(entity, parser, ignore=["cmd", *ignore])[1]
        arguments |= texts(entity, parser, executable="exec")
        arguments |= optional_texts(entity, parser, "name", "namespace", "exec_name", package="pkg")
        for argument, name in (("arguments", "args"), ("ros_arguments", "ros_args")):
            line = entity.get_attr(name, optional=True)
            if line is not None:
                arguments[argument] = cls._parse_cmdline(line, parser)
        arguments["remappings"] = pairs(entity, parser, "remap", "from", "to")
        params = entity.get_attr("param", data_type=List[Entity], optional=True)  # noqa: UP006
        if params is not None:
            arguments["parameters"] = cls.parse_nested_parameters(params, parser)
        return cls, arguments

    @staticmethod
    def parse_nested_parameters(params: list[Entity], parser: Parser) -> list[Any]:
        """The parameter files and dictionaries that `param` tags stand for."""
        return parse_parameters(params, parser)

    @property
    def node_package(self) -> Any:
        """The package as given."""
        return self._package

    @property
    def node_executable(self) -> Any:
        """The executable as given."""
        return self._executable

    @property
    def node_name(self) -> str:
        """The full name, namespace included. Raises RuntimeError before the action was visited."""
        if not self._prepared:
            raise RuntimeError("cannot access 'node_name' before executing action")
        namespace = (self._node_namespace or self.UNSPECIFIED_NODE_NAMESPACE).rstrip("/")
        return f"{namespace}/{self._node_name or self.UNSPECIFIED_NODE_NAME}"

    def is_node_name_fully_specified(self) -> bool:
        """Whether the launch file chose the name and the namespace."""
        return self._node_name is not None and self._node_namespace is not None

    def describe(self) -> str:
        return f"Node(package={self._package!r}, executable={self._executable!r})"

    def _perform_substitutions(self, context: LaunchContext) -> None:
        """Make known what the launch file says of the node; derived classes may do so before `execute`."""
        if self._prepared:
            return
        if self._name_given is not None:
            self._node_name = perform_substitutions(context, self._name_given)
        given = None
        if self._namespace_given is not None:
            given = perform_substitutions(context, self._namespace_given)
        namespace = utilities.prefix_namespace(context.launch_configurations.get("ros_namespace"), given)
        self._node_namespace = None if namespace is None else utilities.make_namespace_absolute(namespace)
        self._prepared = True
        self._final_ros_args = self._ros_args(context)

    def prepare(self, context: LaunchContext) -> None:
        """Perform the substitutions and complete the command with `--ros-args`."""
        self._perform_substitutions(context)
        super().prepare(context)
        if self.is_node_name_fully_specified():
            self._count_name(context)
        if self._final_ros_args:
            self.process_description.final_cmd.extend(["--ros-args", *self._final_ros_args])

    def _ros_args(self, context: LaunchContext) -> list[str]:
        args = [perform_substitutions(context, part) for part in self._ros_arguments]
        if self._node_name is not None:
            args += ["-r", f"__node:={self._node_name}"]
        if self._node_namespace is not None:
            args += ["-r", f"__ns:={self._node_namespace}"]
        parameters = [
            *global_parameters_of_process(context, self._node_name),
            *evaluate_parameters(context, self._parameters),
        ]
        for item in parameters:
            path = self._write_parameters(item) if isinstance(item, dict) else Path(item)
            if not path.is_file():
                raise FileNotFoundError(f"parameter file '{path}' of {self.describe()} does not exist")
            args += ["--params-file", str(path)]
        own = [
            (perform_substitutions(context, source), perform_substitutions(context, target))
            for source, target in self._remappings
        ]
        self._expanded_remappings = [*context.launch_configurations.get("ros_remaps", ()), *own]
        for source, target in self._expanded_remappings:
            args += ["-r", f"{source}:={target}"]
        return args

    def _count_name(self, context: LaunchContext) -> None:
        utilities.add_node_name(context, self.node_name)
        count = utilities.get_node_name_count(context, self.node_name)
        if count > 1:
            get_logger("launch_ros.actions.node").warning(
                f"there are now at least {count} nodes with the name {self.node_name} created within this "
                "launch context"
            )

    def _write_parameters(self, parameters: dict[str, Any]) -> Path:
        owner = self.node_name if self.is_node_name_fully_specified() else "/**"
        folder = Path(_parameter_folder().name)
        written = {name: _as_yaml(value) for name, value in parameters.items()}
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, prefix="launch_params_", suffix=".yaml", delete=False
        ) as stream:
            yaml.safe_dump({owner: {"ros__parameters": written}}, stream, default_flow_style=False)
        return Path(stream.name)

    @property
    def expanded_node_namespace(self) -> str:
        """The namespace, or UNSPECIFIED_NODE_NAMESPACE. Raises RuntimeError before the action was visited."""
        if not self._prepared:
            raise RuntimeError("cannot access 'expanded_node_namespace' before executing action")
        return self._node_namespace or self.UNSPECIFIED_NODE_NAMESPACE

    @property
    def expanded_remapping_rules(self) -> list[tuple[str, str]] | None:
        """Names and what they become, those of the scope first; None before the action was visited."""
        return self._expanded_remappings

    @property
    def ros_arguments(self) -> Sequence[Any]:
        """ROS arguments as given, as substitutions."""
        return self._ros_arguments


def _as_yaml(value: object) -> Any:
    return list(value) if isinstance(value, tuple | bytes) else value


@lru_cache(maxsize=1)
def _parameter_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for this process's parameter files, removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="launch_ros_")


__getattr__ = not_covered("launch_ros.actions.node")


# Load nodes into a running process.


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
