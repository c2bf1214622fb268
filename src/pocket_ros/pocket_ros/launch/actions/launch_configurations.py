"""Set launch configurations, and keep them within a scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..launch_description_entity import DeclaredArguments, LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class SetLaunchConfiguration(Action):
    """Sets a launch configuration."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)
        self._value = normalize_to_list_of_substitutions(value)

    def describe(self) -> str:
        return f"SetLaunchConfiguration({' + '.join(p.describe() for p in self._name)})"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        name = perform_substitutions(context, self._name)
        context.launch_configurations[name] = perform_substitutions(context, self._value)
        return None


class UnsetLaunchConfiguration(Action):
    """Removes a launch configuration, if it is set."""

    def __init__(self, name: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.launch_configurations.pop(perform_substitutions(context, self._name), None)
        return None


class PushLaunchConfigurations(Action):
    """Remembers the launch configurations."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context._push_launch_configurations()
        return None


class PopLaunchConfigurations(Action):
    """Brings back the launch configurations remembered last."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context._pop_launch_configurations()
        return None


class ResetLaunchConfigurations(Action):
    """Removes all launch configurations but those given."""

    def __init__(
        self,
        launch_configurations: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kept = dict(launch_configurations or {})

    def find_declared_arguments(self, chain: list[LaunchDescriptionEntity], found: DeclaredArguments) -> bool:
        return False  # what the caller gives does not get past this

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        def text(value: SomeSubstitutionsType) -> str:
            return perform_substitutions(context, normalize_to_list_of_substitutions(value))

        kept = {text(name): text(value) for name, value in self._kept.items()}
        context.launch_configurations.clear()
        context.launch_configurations.update(kept)
        return None
