"""Actions that are one call of the context."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ..action import Action
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity


class ContextAction(Action):
    """Calls one method of the launch context."""

    _call: ClassVar[Callable[[LaunchContext], None]]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        type(self)._call(context)
        return None
