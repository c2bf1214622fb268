"""What to do when an event happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .event import Event
from .launch_description_entity import LaunchDescriptionEntity
from .some_entities_type import SomeEntitiesType

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class BaseEventHandler:
    """Matches events and answers with entities to visit."""

    def __init__(self, *, matcher: Callable[[Event], bool], handle_once: bool = False) -> None:
        self._matcher = matcher
        self._handle_once = handle_once
        self._handled = False

    @property
    def handle_once(self) -> bool:
        """Whether the handler is removed after its first event."""
        return self._handle_once

    @property
    def handler_description(self) -> str:
        """What the handler does, for a person."""
        return ""

    @property
    def matcher_description(self) -> str:
        """Which events the handler matches, for a person."""
        return ""

    def matches(self, event: Event) -> bool:
        """Whether the handler is for this event."""
        return not (self._handle_once and self._handled) and bool(self._matcher(event))

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """The handler as a person would write it, and the entities it holds."""
        return f"{type(self).__name__}(matcher='{self.matcher_description}')", []

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Answer an event: entities to visit, or None."""
        if self._handle_once:
            self._handled = True
            context.unregister_event_handler(self)
        return None


class EventHandler(BaseEventHandler):
    """A handler that answers each matching event with fixed entities."""

    def __init__(
        self,
        *,
        matcher: Callable[[Event], bool],
        entities: SomeEntitiesType | None = None,
        handle_once: bool = False,
    ) -> None:
        super().__init__(matcher=matcher, handle_once=handle_once)
        self._entities = entities

    @property
    def entities(self) -> SomeEntitiesType | None:
        """The entities visited for each matching event."""
        return self._entities

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        if self._entities is None:
            return super().describe()[0], []
        held = self._entities
        return super().describe()[0], [held] if isinstance(held, LaunchDescriptionEntity) else list(held)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        context.extend_locals({"event": event})
        return self._entities
