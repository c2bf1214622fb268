"""Run a node, and load composable nodes into a container."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, List  # noqa: UP035 - entities are asked for typing.List

import yaml

from ...launch.action import Parsed
from ...launch.actions import ExecuteProcess
from ...launch.description import SomeSubstitutionsType
from ...launch.frontend.parser import Entity, expose_action, optional_texts, pairs, texts
from ...launch.logging import get_logger
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ...places import not_covered
from .. import utilities
from ..parameter_descriptions import evaluate_parameters, normalize_parameters, parse_parameters
from ..substitutions import ExecutableInPackage
from .settings import global_parameters_of_process

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
