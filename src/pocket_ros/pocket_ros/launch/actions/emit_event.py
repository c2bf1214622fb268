"""Emit an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..action import Action
from ..event import Event
from ..launch_description_entity import LaunchDescriptionEntity

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class EmitEvent(Action):
    """Queues an event."""

    def __init__(self, *, event: Event, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._event = event

    @property
    def event(self) -> Event:
        """The event."""
        return self._event

    def describe(self) -> str:
        return f"Emitting event '{self._event.name}'"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.emit_event_sync(self._event)
        return None
