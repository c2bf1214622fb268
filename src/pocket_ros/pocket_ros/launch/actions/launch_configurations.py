"""Set launch configurations, and keep them within a scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..action import Action, Parsed
from ..frontend.attributes import pairs
from ..frontend.expose import expose_action
from ..launch_context import LaunchContext
from ..launch_description_entity import DeclaredArguments, LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import perform_substitutions
from ..utilities.substitutions import perform_mapping
from .context_action import ContextAction
from .text_action import NameAction, ValueAction

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser


@expose_action("let")
class SetLaunchConfiguration(ValueAction):
    """Sets a launch configuration."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        name = perform_substitutions(context, self._name)
        context.launch_configurations[name] = perform_substitutions(context, self._value)
        return None


@expose_action("unset_let")
class UnsetLaunchConfiguration(NameAction):
    """Removes a launch configuration, if it is set."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.launch_configurations.pop(perform_substitutions(context, self._name), None)
        return None


class PushLaunchConfigurations(ContextAction):
    """Remembers the launch configurations."""

    _call = LaunchContext._push_launch_configurations


class PopLaunchConfigurations(ContextAction):
    """Brings back the launch configurations remembered last."""

    _call = LaunchContext._pop_launch_configurations


@expose_action("reset")
class ResetLaunchConfigurations(Action):
    """Removes all launch configurations but those given."""

    def __init__(
        self,
        launch_configurations: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kept = dict(launch_configurations or {})

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What each `keep` inside says."""
        kept = dict(pairs(entity, parser, "keep", "name", "value"))
        return cls, super().parse(entity, parser)[1] | {"launch_configurations": kept}

    def find_declared_arguments(self, chain: list[LaunchDescriptionEntity], found: DeclaredArguments) -> bool:
        return False  # what the caller gives does not get past this

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        kept = perform_mapping(context, self._kept)
        context.launch_configurations.clear()
        context.launch_configurations.update(kept)
        return None
