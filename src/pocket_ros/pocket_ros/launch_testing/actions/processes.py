"""Processes that are tests."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

from ...launch.actions import EmitEvent, ExecuteProcess, TimerAction
from ...launch.event_handlers import OnProcessExit
from ...launch.events import matches_action
from ...launch.events.process import SignalProcess
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.some_substitutions_type import SomeSubstitutionsType

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


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
        self._timeout = timeout
        self._kill_timeout = kill_timeout
        self._timers: list[TimerAction] = []

    @property
    def timeout(self) -> float | SomeSubstitutionsType | None:
        """Seconds, or None for no limit."""
        return self._timeout

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        following = list(super().execute(context) or [])
        if self._timeout is None:
            return following
        context.register_event_handler(OnProcessExit(target_action=self, on_exit=self._end))
        kill = TimerAction(period=self._kill_timeout, actions=[self._send(signal.SIGKILL)])
        limit = TimerAction(period=self._timeout, actions=[self._send(signal.SIGINT), kill])
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
        self._path = path

    @property
    def path(self) -> SomeSubstitutionsType:
        """The program."""
        return self._path


class PyTest(Test):
    """Runs a file or folder with pytest."""

    def __init__(self, *, path: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(cmd=[sys.executable, "-m", "pytest", path], **kwargs)
        self._path = path

    @property
    def path(self) -> SomeSubstitutionsType:
        """The file or folder."""
        return self._path
