"""Handlers of one class of events of an action."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..action import Action
from ..event import Event
from ..some_entities_type import SomeEntitiesType
from .on_action_event_base import OnActionEventBase

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

_Event = TypeVar("_Event", bound=Event)

Target = Action | Callable[[Any], bool] | None
"""An action, a predicate over actions, or None for any."""
Answer = SomeEntitiesType | Callable[[_Event, "LaunchContext"], SomeEntitiesType | None] | None
"""Entities, or a function of event and context that returns some."""


class OnEventOfClass(OnActionEventBase):
    """Base of the handlers whose class says which events they answer, and of which actions."""

    _ros_event_class: ClassVar[type[Event]]
    _ros_action_class: ClassVar[type[Action]]

    def __init__(self, target_action: Target, on_event: Answer[Any], **kwargs: Any) -> None:
        super().__init__(
            action_matcher=target_action,
            on_event=on_event,
            target_event_cls=self._ros_event_class,
            target_action_cls=self._ros_action_class,
            **kwargs,
        )
