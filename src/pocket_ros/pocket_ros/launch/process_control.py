"""What events ask of a process, and what its end leads to."""

from __future__ import annotations

from collections.abc import Callable

from .event import Event
from .event_handler import BaseEventHandler
from .events.events import Shutdown
from .events.process.events import (
    ProcessExited,
    ProcessStdin,
    ProcessTargetedEvent,
    ShutdownProcess,
    SignalProcess,
)
from .events.process.process_action import ProcessAction
from .launch_context import LaunchContext
from .some_entities_type import SomeEntitiesType

OnExit = SomeEntitiesType | Callable[[ProcessExited, LaunchContext], SomeEntitiesType | None]


class ProcessControl(BaseEventHandler):
    """Passes shutdowns, signals and input on to one process, and answers its end with `on_exit`."""

    def __init__(self, action: ProcessAction, on_exit: OnExit | None = None) -> None:
        super().__init__(matcher=self._is_for_me)
        self._action = action
        self._on_exit = on_exit

    def _is_for_me(self, event: Event) -> bool:
        if isinstance(event, ProcessTargetedEvent):
            return event.process_matcher(self._action)
        if isinstance(event, ProcessExited):
            return self._on_exit is not None and event.action is self._action
        return isinstance(event, Shutdown)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        if isinstance(event, ProcessExited):
            context.extend_locals({"event": event})
            return self._on_exit(event, context) if callable(self._on_exit) else self._on_exit
        if isinstance(event, Shutdown | ShutdownProcess):
            self._action.request_shutdown(context)
        elif isinstance(event, SignalProcess):
            self._action.send_signal(event.signal)
        elif isinstance(event, ProcessStdin):
            self._action.write_stdin(event.text)
        return None
