"""Parameters for the nodes that follow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...launch.action import Parsed
from ...launch.actions import SetEnvironmentVariable, TimerAction
from ...launch.actions.basic import NameAction, TextAction
from ...launch.description import LaunchContext, LaunchDescriptionEntity, SomeSubstitutionsType, Substitution
from ...launch.frontend.parser import expose_action, optional_texts
from ...launch.logging import get_logging_directory
from ...launch.utilities import normalize_to_list_of_substitutions, perform_bool, perform_substitutions
from .. import parameter_descriptions
from ..ros_adapters import find_ros_adapter, get_ros_adapter, get_ros_node, use_sim_time
from ..utilities import make_namespace_absolute, prefix_namespace

if TYPE_CHECKING:
    from ...launch.frontend.parser import Entity, Parser


GLOBAL_PARAMETERS = "global_params"
"""The launch configuration that holds them: `(name, value)` pairs and paths of files, in order."""


def _append(context: LaunchContext, item: object) -> None:
    # A new list each time: the old one belongs to the enclosing scope.
    context.launch_configurations[GLOBAL_PARAMETERS] = [
        *context.launch_configurations.get(GLOBAL_PARAMETERS, ()),
        item,
    ]


@expose_action("set_parameter")
class SetParameter(NameAction):
    """Sets a parameter on the nodes that follow in this scope; what a node is given itself wins."""

    _ros_texts = {"name": "name", "value": "value"}

    def __init__(self, name: SomeSubstitutionsType, value: object, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._value = value
        parameter_descriptions.check_parameters({self._name[0]: value})

    @property
    def value(self) -> Any:
        """The value, as given."""
        return self._value

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        name = perform_substitutions(context, self._name)
        value = parameter_descriptions.evaluate_value(context, self._value)
        stays_text = isinstance(value, str) and isinstance(self._value, parameter_descriptions.ParameterValue)
        _append(context, (name, _Text(value) if stays_text else value))
        return None


@expose_action("set_use_sim_time")
class SetUseSimTime(SetParameter):
    """Sets `use_sim_time` on the nodes that follow in this scope, and for the timers of the launch itself."""

    _ros_texts = {"value": "value"}

    def __init__(self, value: object, **kwargs: Any) -> None:
        super().__init__("use_sim_time", value, **kwargs)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        super().execute(context)
        adapter = find_ros_adapter(context)
        if adapter is not None:  # else a timer that needs it asks for the parameter
            value = parameter_descriptions.evaluate_value(context, self._value)
            use_sim_time(adapter, perform_bool(context, value))
        return None


@expose_action("set_parameters_from_file")
class SetParametersFromFile(TextAction):
    """Gives a parameter file to the nodes that follow in this scope, or to those of one name."""

    _ros_texts = {"filename": "filename"}

    def __init__(
        self, filename: SomeSubstitutionsType, node_name: SomeSubstitutionsType | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._file = filename
        self._node_name = None if node_name is None else normalize_to_list_of_substitutions(node_name)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `filename` and `node_name` say."""
        return cls, super().parse(entity, parser)[1] | optional_texts(entity, parser, "node_name")

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        node_name = None if self._node_name is None else perform_substitutions(context, self._node_name)
        if isinstance(self._file, parameter_descriptions.ParameterFile):
            path = str(self._file.evaluate(context))
        else:
            path = perform_substitutions(context, normalize_to_list_of_substitutions(self._file))
        _append(context, path if node_name is None else _FileFor(path, node_name))
        return None


class _Text(str):
    """A value that was declared to be text."""


class _FileFor:
    """A parameter file, and the name of the node it is for."""

    def __init__(self, path: str, node_name: str) -> None:
        self.path = path
        self.node_name = node_name


def global_parameters(context: LaunchContext, node_name: str | None) -> list[Any]:
    """What SetParameter and SetParametersFromFile set for a node: dictionaries and paths, in order."""
    found: list[Any] = []
    for item in context.launch_configurations.get(GLOBAL_PARAMETERS, ()):
        if isinstance(item, _FileFor):
            if item.node_name == node_name:
                found.append(Path(item.path))
        elif isinstance(item, str):
            found.append(Path(item))
        else:
            found.append(dict([item]))
    return found


def global_parameters_of_process(context: LaunchContext, node_name: str | None) -> list[Any]:
    """The same for a process of its own, whose command line reads texts as YAML: "2" is a number there."""
    return [
        {name: _read(value) for name, value in item.items()} if isinstance(item, dict) else item
        for item in global_parameters(context, node_name)
    ]


def _read(value: object) -> Any:
    if isinstance(value, _Text):
        return str(value)
    return parameter_descriptions.text_to_value(value) if isinstance(value, str) else value


# A namespace for the nodes that follow.


@expose_action("push_ros_namespace")
class PushROSNamespace(TextAction):
    """Puts the nodes that follow, in this scope, into a namespace below the present one."""

    _ros_texts = {"namespace": "namespace"}

    def __init__(self, namespace: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.namespace = normalize_to_list_of_substitutions(namespace)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        pushed = perform_substitutions(context, self.namespace)
        namespace = prefix_namespace(context.launch_configurations.get("ros_namespace"), pushed)
        if namespace is not None:
            context.launch_configurations["ros_namespace"] = make_namespace_absolute(namespace)
        return None


PushRosNamespace = PushROSNamespace
"""The older name."""


# Remappings for the nodes that follow.


@expose_action("set_remap")
class SetRemap(TextAction):
    """Remaps a name on the nodes that follow in this scope; a node's own remappings come after."""

    _ros_texts = {"src": "from", "dst": "to"}

    def __init__(self, src: SomeSubstitutionsType, dst: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._source = normalize_to_list_of_substitutions(src)
        self._target = normalize_to_list_of_substitutions(dst)

    @property
    def src(self) -> Any:
        """The name to replace, as substitutions."""
        return self._source

    @property
    def dst(self) -> Any:
        """The name instead, as substitutions."""
        return self._target

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        rule = (perform_substitutions(context, self._source), perform_substitutions(context, self._target))
        context.launch_configurations["ros_remaps"] = [
            *context.launch_configurations.get("ros_remaps", ()),
            rule,
        ]
        return None


# Where the nodes that follow log to.


@expose_action("set_ros_log_dir")
class SetROSLogDir(SetEnvironmentVariable):
    """Sets `ROS_LOG_DIR` for the processes that follow in this scope; a relative one is below the current."""

    _ros_texts = {"new_log_dir": "new_log_dir"}

    def __init__(self, new_log_dir: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__("ROS_LOG_DIR", new_log_dir, **kwargs)

    @property
    def log_dir(self) -> list[Substitution]:
        """The folder, as substitutions."""
        return self.value

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        current = context.environment.get("ROS_LOG_DIR") or str(get_logging_directory())
        super().execute(context)
        context.environment["ROS_LOG_DIR"] = os.path.join(current, context.environment["ROS_LOG_DIR"])
        return None


# Actions after a while, by the clock of ROS.


@expose_action("ros_timer")
class ROSTimer(TimerAction):
    """A TimerAction whose seconds are of simulated time where SetUseSimTime or SetParameter has said so."""

    def describe(self) -> str:
        return f"ROSTimer(period={self.period})"

    def start(self, context: LaunchContext, period: float) -> None:
        node, loop = get_ros_node(context), context.asyncio_loop
        assert loop is not None
        for item in global_parameters(context, node.get_name()):
            if isinstance(item, dict) and "use_sim_time" in item:
                use_sim_time(get_ros_adapter(context), bool(item["use_sim_time"]))

        def expire() -> None:
            timer.cancel()
            loop.call_soon_threadsafe(self.expire, context)

        timer = node.create_timer(period, expire)


RosTimer = ROSTimer
"""The older name."""
