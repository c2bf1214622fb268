"""Actions of launch tests."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...launch.action import Action
from ...launch.actions import EmitEvent, ExecuteProcess, TimerAction
from ...launch.description import LaunchDescriptionEntity, SomeSubstitutionsType
from ...launch.event_handlers import OnProcessExit, OnProcessIO
from ...launch.events import matches_action
from ...launch.events.process import ProcessIO, SignalProcess
from ...launch.utilities import normalize_to_list_of_entities
from ...places import offer_class_modules

if TYPE_CHECKING:
    from ...launch.description import LaunchContext


# Processes that say on standard output that they are ready.


class StdoutReadyListener(OnProcessIO):
    """Visits actions whenever a process, or any, writes a text to standard output, in one piece."""

    def __init__(self, *, target_action: ExecuteProcess | None = None, ready_txt: str, actions: Any) -> None:
        self._ready_text = ready_txt
        self._ready_actions: list[LaunchDescriptionEntity] = normalize_to_list_of_entities(actions)
        super().__init__(target_action=target_action, on_stdout=self._look)

    def _look(self, process_io: ProcessIO) -> list[LaunchDescriptionEntity] | None:
        return self._ready_actions if self._ready_text in process_io.text.decode(errors="replace") else None

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        return super().describe()[0], self._ready_actions


# Processes that are tests.


class Test(ExecuteProcess):
    """A process that ends by itself; SIGINT is sent after `timeout` seconds, SIGKILL `kill_timeout` later.

    Further arguments are those of ExecuteProcess.
    """

    __test__ = False

    def __init__(
        self,
        *,
        timeout: float | SomeSubstitutionsType | None = None,
        kill_timeout: float = 5.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.timeout = timeout
        self._kill_timeout = kill_timeout
        self._timers: list[TimerAction] = []

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        following = list(super().execute(context) or [])
        if self.timeout is None:
            return following
        context.register_event_handler(OnProcessExit(target_action=self, on_exit=self._end))
        kill = TimerAction(period=self._kill_timeout, actions=[self._send(signal.SIGKILL)])
        limit = TimerAction(period=self.timeout, actions=[self._send(signal.SIGINT), kill])
        self._timers = [limit, kill]
        return [*following, limit]

    def _send(self, number: signal.Signals) -> EmitEvent:
        return EmitEvent(event=SignalProcess(signal_number=number, process_matcher=matches_action(self)))

    def _end(self, event: object, context: LaunchContext) -> None:
        for timer in self._timers:
            timer.cancel()


class GTest(Test):
    """Runs a program made with GoogleTest."""

    def __init__(self, *, path: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(cmd=[path], **kwargs)
        self.path = path


class PyTest(Test):
    """Runs a file or folder with pytest."""

    def __init__(self, *, path: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(cmd=[sys.executable, "-m", "pytest", path], **kwargs)
        self.path = path


# The moment when tests may begin.


class ReadyToTest(Action):
    """Tells the test runner, when visited, that the processes are up."""

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: list[Callable[[], None]] = []

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Have a function called when the action is visited."""
        self._callbacks.append(callback)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        for callback in self._callbacks:
            callback()
        return None


__all__ = ["GTest", "PyTest", "ReadyToTest", "Test"]

offer_class_modules(__name__, gtest=[GTest], pytest=[PyTest])
