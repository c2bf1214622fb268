"""Set launch configurations, and keep them within a scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..action import Action, Parsed
from ..frontend.attributes import pairs, texts
from ..frontend.expose import expose_action
from ..launch_context import LaunchContext
from ..launch_description_entity import DeclaredArguments, LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import perform_mapping
from .context_action import ContextAction

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser


@expose_action("let")
class SetLaunchConfiguration(Action):
    """Sets a launch configuration."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)
        self._value = normalize_to_list_of_substitutions(value)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `name` and `value` say."""
        return cls, super().parse(entity, parser)[1] | texts(entity, parser, "name", "value")

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._name

    @property
    def value(self) -> list[Substitution]:
        """The value, as substitutions."""
        return self._value

    def describe(self) -> str:
        return f"SetLaunchConfiguration({' + '.join(p.describe() for p in self._name)})"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        name = perform_substitutions(context, self._name)
        context.launch_configurations[name] = perform_substitutions(context, self._value)
        return None


@expose_action("unset_let")
class UnsetLaunchConfiguration(Action):
    """Removes a launch configuration, if it is set."""

    def __init__(self, name: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `name` says."""
        return cls, super().parse(entity, parser)[1] | texts(entity, parser, "name")

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._name

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
