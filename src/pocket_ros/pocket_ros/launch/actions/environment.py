"""Change the environment of the processes to come."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import perform_mapping
from ..utilities.type_utils import coerce_to_type
from .context_action import ContextAction


class _OfVariable(Action):
    def __init__(self, name: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)

    def describe(self) -> str:
        return f"{type(self).__name__}({' + '.join(part.describe() for part in self._name)})"


class SetEnvironmentVariable(_OfVariable):
    """Sets a variable."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._value = normalize_to_list_of_substitutions(value)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        value = perform_substitutions(context, self._value)
        context.environment[perform_substitutions(context, self._name)] = value
        return None


class UnsetEnvironmentVariable(_OfVariable):
    """Removes a variable, if it is set."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.environment.pop(perform_substitutions(context, self._name), None)
        return None


class AppendEnvironmentVariable(_OfVariable):
    """Adds to a variable that is a list, at its end or, with `prepend`, at its front."""

    def __init__(
        self,
        name: SomeSubstitutionsType,
        value: SomeSubstitutionsType,
        prepend: bool | SomeSubstitutionsType = False,
        separator: SomeSubstitutionsType = os.pathsep,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._value = normalize_to_list_of_substitutions(value)
        self._prepend = prepend
        self._separator = normalize_to_list_of_substitutions(separator)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        name = perform_substitutions(context, self._name)
        value = perform_substitutions(context, self._value)
        prepend = self._prepend
        if not isinstance(prepend, bool):
            prepend = coerce_to_type(
                perform_substitutions(context, normalize_to_list_of_substitutions(prepend)), bool
            )
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
