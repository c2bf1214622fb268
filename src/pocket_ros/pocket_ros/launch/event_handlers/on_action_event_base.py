"""Handlers of events that belong to an action."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..event import Event
from ..event_handler import BaseEventHandler
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType
from ..utilities import normalize_to_list_of_entities

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class OnActionEventBase(BaseEventHandler):
    """Answers an event of the target action with entities, or with what a function of event and context
    returns.

    The target is an action, a predicate over actions, or None for any.
    """

    def __init__(
        self,
        *,
        action_matcher: Action | Callable[[Any], bool] | None,
        on_event: SomeEntitiesType | Callable[[Any, LaunchContext], SomeEntitiesType | None] | None,
        target_event_cls: type[Event],
        target_action_cls: type[Action] = Action,
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(action_matcher, Action):
            if not isinstance(action_matcher, target_action_cls):
                raise TypeError(
                    f"{type(self).__name__} requires a target action of type {target_action_cls.__name__}, "
                    f"got {type(action_matcher).__name__}"
                )
        elif action_matcher is not None and not callable(action_matcher):
            raise TypeError(
                f"{type(self).__name__} requires a target that is an action, a function of one or None, "
                f"got {action_matcher!r}"
            )
        self._target = action_matcher
        self._event_class = target_event_cls
        self._function = on_event if callable(on_event) else None
        self._entities = [] if callable(on_event) else normalize_to_list_of_entities(on_event)
        super().__init__(matcher=self._is_for_me, handle_once=handle_once)

    def _is_for_me(self, event: Event) -> bool:
        if not isinstance(event, self._event_class):
            return False
        action = getattr(event, "action", None)
        if self._target is None:
            return True
        if isinstance(self._target, Action):
            return action is self._target
        return bool(self._target(action))

    @property
    def matcher_description(self) -> str:
        return f"event == {self._event_class.__name__} and target == {self._target}"

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        return super().describe()[0], list(self._entities)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        context.extend_locals({"event": event})
        if self._function is not None:
            return self._function(event, context)
        return self._entities
