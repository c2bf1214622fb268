"""What a launch description is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .condition import Condition
    from .launch_context import LaunchContext


class LaunchDescriptionEntity:
    """Something the launch service visits: an action or a whole description."""

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Do it now, and answer with entities to visit next."""
        return None

    def describe(self) -> str:
        """The entity as a person would write it."""
        return f"{type(self).__name__}()"

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Entities this one may lead to, whatever happens."""
        return []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """Entities this one may lead to, with the condition under which it does."""
        return []

    def get_asyncio_future(self) -> asyncio.Future[Any] | None:
        """A future that is done when the entity is; None where visiting was all.

        The service is idle without any.
        """
        return None

    @property
    def condition(self) -> Condition | None:
        """Under which condition the entity is visited, if there is one."""
        return None
