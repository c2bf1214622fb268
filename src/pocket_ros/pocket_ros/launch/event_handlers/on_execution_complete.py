"""Answers the completion of an action."""

from __future__ import annotations

from typing import Any

from ..action import Action
from ..events.events import ExecutionComplete
from .on_event_of_class import Answer, OnEventOfClass, Target


class OnExecutionComplete(OnEventOfClass):
    """Answers the completion of an action."""

    _ros_event_class = ExecutionComplete
    _ros_action_class = Action

    def __init__(
        self,
        *,
        target_action: Target = None,
        on_completion: Answer[ExecutionComplete],
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(target_action, on_completion, handle_once=handle_once, **kwargs)
