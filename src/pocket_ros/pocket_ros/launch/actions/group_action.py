"""Several actions with one condition and one scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..action import Action, Parsed
from ..frontend.attributes import optional_values, pairs
from ..frontend.expose import expose_action
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from .environment import PopEnvironment, PushEnvironment, ResetEnvironment
from .launch_configurations import (
    PopLaunchConfigurations,
    PushLaunchConfigurations,
    ResetLaunchConfigurations,
    SetLaunchConfiguration,
)

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser
    from ..launch_context import LaunchContext


@expose_action("group")
class GroupAction(Action):
    """Visits its actions. What they change in configurations and environment stays inside, unless `scoped`
    is False.

    `forwarding=False` begins the scope with nothing but `launch_configurations`, which are set inside it
    either way.
    """

    def __init__(
        self,
        actions: Iterable[LaunchDescriptionEntity],
        *,
        scoped: bool = True,
        forwarding: bool = True,
        launch_configurations: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None,
        **left_over_kwargs: Any,
    ) -> None:
        super().__init__(**left_over_kwargs)
        self._actions = list(actions)
        self._scoped = scoped
        self._forwarding = forwarding
        self._launch_configurations = dict(launch_configurations or {})

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `scoped`, `forwarding`, each `keep` and the other tags inside say."""
        arguments = super().parse(entity, parser)[1]
        arguments |= optional_values(entity, bool, "scoped", "forwarding")
        arguments["launch_configurations"] = dict(pairs(entity, parser, "keep", "name", "value"))
        inside = [child for child in entity.children if child.type_name != "keep"]
        return cls, arguments | {"actions": [parser.parse_action(child) for child in inside]}

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        settings: list[LaunchDescriptionEntity] = [
            SetLaunchConfiguration(name, value) for name, value in self._launch_configurations.items()
        ]
        inside = [*settings, *self._actions]
        if not self._scoped:
            return inside
        if not self._forwarding:
            inside = [
                ResetEnvironment(),
                ResetLaunchConfigurations(self._launch_configurations),
                *self._actions,
            ]
        return [
            PushLaunchConfigurations(),
            PushEnvironment(),
            *inside,
            PopEnvironment(),
            PopLaunchConfigurations(),
        ]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        return self.get_sub_entities()
