"""Answers the start of a process."""

from __future__ import annotations

from typing import Any

from ..actions.execute_local import ExecuteLocal
from ..events.process.events import ProcessStarted
from .on_event_of_class import Answer, OnEventOfClass, Target


class OnProcessStart(OnEventOfClass):
    """Answers the start of a process."""

    _ros_event_class = ProcessStarted
    _ros_action_class = ExecuteLocal

    def __init__(
        self,
        *,
        target_action: Target = None,
        on_start: Answer[ProcessStarted],
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(target_action, on_start, handle_once=handle_once, **kwargs)
