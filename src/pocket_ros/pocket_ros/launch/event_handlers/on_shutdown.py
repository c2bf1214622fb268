"""Answers the end of the launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...module_places import not_covered
from ..event import Event
from ..event_handler import BaseEventHandler
from ..events.events import Shutdown
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType
from ..utilities import normalize_to_list_of_entities

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class OnShutdown(BaseEventHandler):
    """Visits entities, or what a function of event and context returns, when the launch shuts down."""

    def __init__(
        self,
        *,
        on_shutdown: SomeEntitiesType | Callable[[Shutdown, LaunchContext], SomeEntitiesType | None],
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(matcher=lambda event: isinstance(event, Shutdown), handle_once=handle_once)
        self._function = on_shutdown if callable(on_shutdown) else None
        self._given = None if callable(on_shutdown) else on_shutdown
        self._entities = [] if callable(on_shutdown) else normalize_to_list_of_entities(on_shutdown)

    @property
    def matcher_description(self) -> str:
        return "event is Shutdown"

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        return super().describe()[0], list(self._entities)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        context.extend_locals({"event": event})
        if self._function is not None and isinstance(event, Shutdown):
            return self._function(event, context)
        return self._given


__getattr__ = not_covered("launch.event_handlers.on_shutdown")
