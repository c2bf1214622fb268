"""A list of entities: what a launch file returns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .launch_description_entity import (
    DeclaredArgument,
    DeclaredArguments,
    LaunchDescriptionEntity,
    find_in_order,
)

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class LaunchDescription(LaunchDescriptionEntity):
    """Entities visited in order."""

    def __init__(
        self,
        initial_entities: Iterable[LaunchDescriptionEntity] | None = None,
        *,
        deprecated_reason: str | None = None,
    ) -> None:
        self._entities = list(initial_entities) if initial_entities is not None else []
        self._deprecated_reason = deprecated_reason

    @property
    def deprecated(self) -> bool:
        """Whether the description warns when it is used."""
        return self._deprecated_reason is not None

    @property
    def deprecated_reason(self) -> str | None:
        """Why the description should not be used any more."""
        return self._deprecated_reason

    @property
    def entities(self) -> list[LaunchDescriptionEntity]:
        """The entities, in order; changing the list changes the description."""
        return self._entities

    def visit(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        if self._deprecated_reason is not None:
            warnings.warn(f"this launch description is deprecated: {self._deprecated_reason}", stacklevel=2)
        return self._entities

    def describe(self) -> str:
        return f"{type(self).__name__}()"

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        return self._entities

    def add_entity(self, entity: LaunchDescriptionEntity) -> None:
        """Append an entity."""
        self._entities.append(entity)

    def add_action(self, action: LaunchDescriptionEntity) -> None:
        """Append an action."""
        self._entities.append(action)

    def get_launch_arguments(self, conditional_inclusion: bool = False) -> list[DeclaredArgument]:
        """The arguments declared here and in whatever is included, each name once, in order of
        declaration.
        """
        return [
            argument for argument, _ in self.get_launch_arguments_with_include_launch_description_actions()
        ]

    def get_launch_arguments_with_include_launch_description_actions(
        self, conditional_inclusion: bool = False
    ) -> list[tuple[DeclaredArgument, list[LaunchDescriptionEntity]]]:
        """Declared arguments, each with the chain of inclusions that leads to it."""
        found: DeclaredArguments = {}
        find_in_order(self._entities, [], found)
        return list(found.values())
