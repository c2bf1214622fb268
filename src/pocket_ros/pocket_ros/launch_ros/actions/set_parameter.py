"""Parameters for the nodes that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...launch.action import Action, Parsed
from ...launch.frontend.attributes import optional_texts, texts
from ...launch.frontend.expose import expose_action
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.substitution import Substitution
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..parameter_descriptions import Parameter, ParameterFile
from ..ros_adapters import find_ros_adapter, use_sim_time

if TYPE_CHECKING:
    from ...launch.frontend.entity import Entity
    from ...launch.frontend.parser import Parser
    from ...launch.launch_context import LaunchContext

GLOBAL_PARAMETERS = "global_params"
"""The launch configuration that holds them: `(name, value)` pairs and paths of files, in order."""


def _append(context: LaunchContext, item: Any) -> None:
    # A new list each time: the old one belongs to the enclosing scope.
    context.launch_configurations[GLOBAL_PARAMETERS] = [
        *context.launch_configurations.get(GLOBAL_PARAMETERS, ()),
        item,
    ]


@expose_action("set_parameter")
class SetParameter(Action):
    """Sets a parameter on the nodes that follow in this scope; what a node is given itself wins."""

    def __init__(self, name: SomeSubstitutionsType, value: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._parameter = Parameter(name, value)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `name` and `value` say."""
        return cls, super().parse(entity, parser)[1] | texts(entity, parser, "name", "value")

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._parameter.name

    @property
    def value(self) -> Any:
        """The value, as given."""
        return self._parameter.value

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        _append(context, self._parameter.evaluate(context))
        return None


@expose_action("set_use_sim_time")
class SetUseSimTime(SetParameter):
    """Sets `use_sim_time` on the nodes that follow in this scope, and for the timers of the launch itself."""

    def __init__(self, value: Any, **kwargs: Any) -> None:
        super().__init__("use_sim_time", value, **kwargs)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `value` says."""
        return cls, Action.parse(entity, parser)[1] | texts(entity, parser, "value")

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        super().execute(context)
        adapter = find_ros_adapter(context)
        if adapter is not None:  # else a timer that needs it asks for the parameter
            use_sim_time(adapter, bool(self._parameter.evaluate(context)[1]))
        return None


@expose_action("set_parameters_from_file")
class SetParametersFromFile(Action):
    """Gives a parameter file to the nodes that follow in this scope, or to those of one name."""

    def __init__(
        self, filename: SomeSubstitutionsType, node_name: SomeSubstitutionsType | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._file = filename if isinstance(filename, ParameterFile) else ParameterFile(filename)
        self._node_name = None if node_name is None else normalize_to_list_of_substitutions(node_name)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `filename` and `node_name` say."""
        return cls, super().parse(entity, parser)[1] | texts(entity, parser, "filename") | optional_texts(
            entity, parser, "node_name"
        )

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        node_name = None if self._node_name is None else perform_substitutions(context, self._node_name)
        _append(context, _FileFor(str(self._file.evaluate(context)), node_name))
        return None


class _FileFor:
    """A parameter file, and the name of the node it is for, None for any."""

    def __init__(self, path: str, node_name: str | None) -> None:
        self.path = path
        self.node_name = node_name


def global_parameters(context: LaunchContext, node_name: str | None) -> list[Any]:
    """What SetParameter and SetParametersFromFile set for a node: dictionaries and paths, in order."""
    found: list[Any] = []
    for item in context.launch_configurations.get(GLOBAL_PARAMETERS, ()):
        if isinstance(item, _FileFor):
            if item.node_name is None or item.node_name == node_name:
                found.append(item.path)
        else:
            found.append(dict([item]))
    return found
