"""Answers the end of a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..actions.execute_local import ExecuteLocal
from ..events.process.events import ProcessExited
from ..some_entities_type import SomeEntitiesType
from .on_action_event_base import OnActionEventBase

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class OnProcessExit(OnActionEventBase):
    """Answers the end of a process."""

    def __init__(
        self,
        *,
        target_action: Action | Callable[[Any], bool] | None = None,
        on_exit: SomeEntitiesType | Callable[[ProcessExited, LaunchContext], SomeEntitiesType | None] | None,
        handle_once: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            action_matcher=target_action,
            on_event=on_exit,
            target_event_cls=ProcessExited,
            target_action_cls=ExecuteLocal,
            handle_once=handle_once,
            **kwargs,
        )
