"""Add and remove event handlers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..event_handler import BaseEventHandler
from ..launch_description_entity import LaunchDescriptionEntity

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class RegisterEventHandler(Action):
    """Registers an event handler."""

    def __init__(self, event_handler: BaseEventHandler, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._event_handler = event_handler

    @property
    def event_handler(self) -> BaseEventHandler:
        """The handler."""
        return self._event_handler

    def describe(self) -> str:
        return f"RegisterEventHandler('{self._event_handler.describe()[0]}')"

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        return []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        description, entities = self._event_handler.describe()
        return [(description, entities)]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.register_event_handler(self._event_handler)
        return None


class UnregisterEventHandler(RegisterEventHandler):
    """Removes an event handler."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.unregister_event_handler(self.event_handler)
        return None
