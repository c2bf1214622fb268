"""Change the environment of the processes to come."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..action import Action, Parsed
from ..frontend.attributes import optional_texts
from ..frontend.expose import expose_action
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import perform_mapping
from ..utilities.type_utils import perform_bool
from .context_action import ContextAction
from .text_action import NameAction, ValueAction

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser


@expose_action("set_env")
class SetEnvironmentVariable(ValueAction):
    """Sets a variable."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        value = perform_substitutions(context, self._value)
        context.environment[perform_substitutions(context, self._name)] = value
        return None


@expose_action("unset_env")
class UnsetEnvironmentVariable(NameAction):
    """Removes a variable, if it is set."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.environment.pop(perform_substitutions(context, self._name), None)
        return None


@expose_action("append_env")
class AppendEnvironmentVariable(ValueAction):
    """Adds to a variable that is a list, at its end or, with `prepend`, at its front."""

    def __init__(
        self,
        name: SomeSubstitutionsType,
        value: SomeSubstitutionsType,
        prepend: bool | SomeSubstitutionsType = False,
        separator: SomeSubstitutionsType = os.pathsep,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, value, **kwargs)
        self._prepend = prepend if isinstance(prepend, bool) else normalize_to_list_of_substitutions(prepend)
        self._separator = normalize_to_list_of_substitutions(separator)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `name`, `value`, `prepend` and `separator` say."""
        arguments = super().parse(entity, parser)[1]
        prepend = entity.get_attr("prepend", data_type=bool, optional=True)
        if prepend is not None:
            arguments["prepend"] = parser.parse_if_substitutions(prepend)
        return cls, arguments | optional_texts(entity, parser, "separator")

    @property
    def prepend(self) -> bool | list[Substitution]:
        """Whether it is added in front, or substitutions that say so."""
        return self._prepend

    @property
    def separator(self) -> list[Substitution]:
        """What is between the parts, as substitutions."""
        return self._separator

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        name = perform_substitutions(context, self._name)
        value = perform_substitutions(context, self._value)
        prepend = perform_bool(context, self._prepend)
        if name in context.environment:
            parts = [context.environment[name], value]
            value = perform_substitutions(context, self._separator).join(
                reversed(parts) if prepend else parts
            )
        context.environment[name] = value
        return None


class PushEnvironment(ContextAction):
    """Remembers the environment."""

    _call = LaunchContext._push_environment


class PopEnvironment(ContextAction):
    """Brings back the environment remembered last."""

    _call = LaunchContext._pop_environment


@expose_action("reset_env")
class ResetEnvironment(ContextAction):
    """Brings back the environment the launch began with."""

    _call = LaunchContext._reset_environment


class ReplaceEnvironmentVariables(Action):
    """Removes all variables but those given."""

    def __init__(
        self, environment: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._environment = dict(environment or {})

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        content = perform_mapping(context, self._environment)
        context.environment.clear()
        context.environment.update(content)
        return None
