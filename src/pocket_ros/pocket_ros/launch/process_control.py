"""What events ask of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .event import Event
from .event_handler import BaseEventHandler
from .events.events import Shutdown
from .events.process.events import ProcessStdin, ProcessTargetedEvent, ShutdownProcess, SignalProcess
from .some_entities_type import SomeEntitiesType

if TYPE_CHECKING:
    from .actions import ExecuteLocal
    from .launch_context import LaunchContext


class ProcessControl(BaseEventHandler):
    """Passes shutdowns, signals and input on to one process."""

    def __init__(self, action: ExecuteLocal) -> None:
        super().__init__(matcher=self._is_for_me)
        self._action = action

    def _is_for_me(self, event: Event) -> bool:
        if isinstance(event, ProcessTargetedEvent):
            return event.process_matcher(self._action)
        return isinstance(event, Shutdown)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        if isinstance(event, Shutdown | ShutdownProcess):
            self._action.request_shutdown(context)
        elif isinstance(event, SignalProcess):
            self._action.send_signal(event.signal)
        elif isinstance(event, ProcessStdin):
            self._action.write_stdin(event.text)
        return None
