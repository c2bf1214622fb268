"""What a launch description is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from .substitution import Substitution

if TYPE_CHECKING:
    from .condition import Condition
    from .launch_context import LaunchContext


class DeclaredArgument(Protocol):
    """What is told of an argument of a launch file; `DeclareLaunchArgument`, which has it, is above this."""

    @property
    def name(self) -> str: ...

    @property
    def default_value(self) -> list[Substitution] | None: ...

    @property
    def description(self) -> str: ...

    @property
    def choices(self) -> list[str] | None: ...

    @property
    def condition(self) -> Condition | None: ...


DeclaredArguments = dict[str, tuple[DeclaredArgument, list["LaunchDescriptionEntity"]]]
"""Arguments by name, each with the chain of inclusions that leads to it."""


class LaunchDescriptionEntity:
    """Something the launch service visits: an action or a whole description."""

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Do it now, and answer with entities to visit next."""
        return None

    def describe(self) -> str:
        """The entity as a person would write it."""
        raise NotImplementedError(f"{type(self).__name__} must implement describe()")

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Entities this one may lead to, whatever happens."""
        return []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """Entities this one may lead to, with the condition under which it does."""
        return []

    def find_declared_arguments(self, chain: list[LaunchDescriptionEntity], found: DeclaredArguments) -> bool:
        """Add the arguments declared here and below to `found`, unless they are there.

        `chain` is the inclusions on the way here. False where arguments declared after this, in the same
        list, no longer count.
        """
        find_in_order(self.describe_sub_entities(), chain, found)
        for _, conditional in self.describe_conditional_sub_entities():
            find_in_order(conditional, chain, found)
        return True

    def get_asyncio_future(self) -> asyncio.Future[Any] | None:
        """A future that is done when the entity is; None where visiting was all.

        The service is idle without any.
        """
        return None

    @property
    def condition(self) -> Condition | None:
        """Under which condition the entity is visited, if there is one."""
        return None


def find_in_order(
    entities: Iterable[LaunchDescriptionEntity],
    chain: list[LaunchDescriptionEntity],
    found: DeclaredArguments,
) -> None:
    """`find_declared_arguments` of each, until one ends the search."""
    for entity in entities:
        if not entity.find_declared_arguments(chain, found):
            return
