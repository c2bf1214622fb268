"""Another launch file in place."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..action import Action, Parsed
from ..frontend.attributes import pairs, texts
from ..frontend.expose import expose_action
from ..launch_description import LaunchDescription
from ..launch_description_entity import DeclaredArguments, LaunchDescriptionEntity
from ..launch_description_source import LaunchDescriptionSource
from ..launch_description_sources.any_launch_description_source import AnyLaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .launch_configurations import SetLaunchConfiguration
from .opaque import OpaqueFunction

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser
    from ..launch_context import LaunchContext

LaunchArguments = Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]]


@expose_action("include")
class IncludeLaunchDescription(Action):
    """Visits another description, with `launch_arguments` set as launch configurations before.

    They stay set afterwards; put the action into a GroupAction to keep them inside. Raises RuntimeError when
    an argument that the included description requires is given neither here nor before.
    """

    def __init__(
        self,
        launch_description_source: LaunchDescriptionSource | SomeSubstitutionsType,
        *,
        launch_arguments: LaunchArguments | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(launch_description_source, LaunchDescriptionSource):
            launch_description_source = AnyLaunchDescriptionSource(launch_description_source)
        self._source = launch_description_source
        self._arguments = [
            (normalize_to_list_of_substitutions(name), normalize_to_list_of_substitutions(value))
            for name, value in (launch_arguments or ())
        ]

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `file` and each `arg` or `let` inside say."""
        arguments = super().parse(entity, parser)[1]
        arguments |= texts(entity, parser, launch_description_source="file")
        given = [pair for tag in ("arg", "let") for pair in pairs(entity, parser, tag, "name", "value")]
        return cls, arguments | {"launch_arguments": given}

    @property
    def launch_description_source(self) -> LaunchDescriptionSource:
        """Where the description comes from."""
        return self._source

    @property
    def launch_arguments(self) -> list[tuple[list[Substitution], list[Substitution]]]:
        """Names and values, as substitutions."""
        return self._arguments

    def describe(self) -> str:
        return f"IncludeLaunchDescription({self._source.location})"

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        description = self._source.try_get_launch_description_without_context()
        return [] if description is None else [description]

    def find_declared_arguments(self, chain: list[LaunchDescriptionEntity], found: DeclaredArguments) -> bool:
        return super().find_declared_arguments([*chain, self], found)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        description = self._source.get_launch_description(context)
        before = {
            name: context.get_locals_as_dict().get(name)
            for name in ("current_launch_file_path", "current_launch_file_directory")
        }
        path = self._source.location
        context.extend_locals(
            {"current_launch_file_path": path, "current_launch_file_directory": os.path.dirname(path)}
        )
        self._check_required(context, description)
        settings = [SetLaunchConfiguration(name, value) for name, value in self._arguments]

        def restore(context: LaunchContext) -> None:
            context.extend_locals(before)

        return [*settings, description, OpaqueFunction(function=restore)]

    def _check_required(self, context: LaunchContext, description: LaunchDescription) -> None:
        given = [perform_substitutions(context, name) for name, _ in self._arguments]
        for argument, chain in description.get_launch_arguments_with_include_launch_description_actions():
            if argument.default_value is not None or chain or argument.condition is not None:
                continue
            if argument.name not in given and argument.name not in context.launch_configurations:
                raise RuntimeError(
                    f"Included launch description missing required argument '{argument.name}' "
                    f"(description: '{argument.description}'), given: [{', '.join(given)}]"
                )
