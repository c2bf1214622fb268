"""Answers the completion of an action."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..events.events import ExecutionComplete
from ..some_entities_type import SomeEntitiesType
from .on_action_event_base import OnActionEventBase

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class OnExecutionComplete(OnActionEventBase):
    """Answers the completion of an action."""

    def __init__(
        self,
        *,
        target_action: Action | Callable[[Any], bool] | None = None,
        on_completion: SomeEntitiesType
        | Callable[[ExecutionComplete, LaunchContext], SomeEntitiesType | None]
        | None,
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            action_matcher=target_action,
            on_event=on_completion,
            target_event_cls=ExecutionComplete,
            target_action_cls=Action,
            handle_once=handle_once,
            **kwargs,
        )
