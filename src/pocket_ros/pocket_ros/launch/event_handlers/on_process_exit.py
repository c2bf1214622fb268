"""Answers the end of a process."""

from __future__ import annotations

from typing import Any

from ..actions.execute_local import ExecuteLocal
from ..events.process.events import ProcessExited
from .on_event_of_class import Answer, OnEventOfClass, Target


class OnProcessExit(OnEventOfClass):
    """Answers the end of a process."""

    _ros_event_class = ProcessExited
    _ros_action_class = ExecuteLocal

    def __init__(
        self,
        *,
        target_action: Target = None,
        on_exit: Answer[ProcessExited],
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(target_action, on_exit, handle_once=handle_once, **kwargs)
