"""Answers what a process writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..actions.execute_local import ExecuteLocal
from ..events.process.events import ProcessIO
from ..some_entities_type import SomeEntitiesType
from .on_action_event_base import OnActionEventBase

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

OnOutput = Callable[[ProcessIO], SomeEntitiesType | None]


class OnProcessIO(OnActionEventBase):
    """Calls a function with each piece of output; what it returns is visited."""

    def __init__(
        self,
        *,
        target_action: Action | Callable[[Any], bool] | None = None,
        on_stdin: OnOutput | None = None,
        on_stdout: OnOutput | None = None,
        on_stderr: OnOutput | None = None,
        **kwargs: Any,
    ) -> None:
        functions = {0: on_stdin, 1: on_stdout, 2: on_stderr}

        def answer(event: ProcessIO, context: LaunchContext) -> SomeEntitiesType | None:
            function = functions.get(event.fd)
            return None if function is None else function(event)

        super().__init__(
            action_matcher=target_action,
            on_event=answer,
            target_event_cls=ProcessIO,
            target_action_cls=ExecuteLocal,
            **kwargs,
        )
