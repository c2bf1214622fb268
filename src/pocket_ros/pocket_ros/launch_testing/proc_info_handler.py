"""Which processes have started and how they ended.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..launch.events.process.events import ProcessExited, RunningProcessEvent
from ..launch.events.process.process_action import ProcessAction
from .process_record import ActiveRecord, ProcessRecord
from .util.proc_lookup import (
    CommandArguments,
    NoMatchingProcessException,
    ProcessChoice,
    name_of,
    resolveProcesses,
)


class ProcInfoHandler(ProcessRecord[RunningProcessEvent]):
    """The last event, start or end, of each process."""

    def __init__(self) -> None:
        self._events: dict[ProcessAction, RunningProcessEvent] = {}

    def append(self, process_info: RunningProcessEvent, /) -> None:
        """Take the start or the end of a process."""
        self._events[process_info.action] = process_info

    def __iter__(self) -> Iterator[RunningProcessEvent]:
        return iter(list(self._events.values()))

    def processes(self) -> list[ProcessAction]:
        """The actions of all processes known."""
        return list(self._events)

    def process_names(self) -> list[str]:
        """The names of all processes known."""
        return [name_of(action) for action in self._events]

    def __getitem__(self, key: str | ProcessAction) -> Any:
        """The event of one process, by its action or part of its name; after its end it has `returncode`.

        Raises KeyError.
        """
        if not isinstance(key, str):
            return self._events[key]
        for action, event in self._events.items():
            if key in name_of(action):
                return event
        raise KeyError(key)


class ActiveProcInfoHandler(ActiveRecord[RunningProcessEvent], ProcInfoHandler):
    """The same while processes start and end: safe between threads, and it can wait."""

    @property
    def proc_event(self) -> threading.Condition:
        """Notified with each start and end."""
        return self._condition

    def _wait(
        self,
        holds: Callable[[Any], bool],
        process: ProcessChoice,
        cmd_args: CommandArguments,
        timeout: float,
        what: str,
    ) -> None:
        def found() -> bool:
            try:
                return holds(self[resolveProcesses(self, process=process, cmd_args=cmd_args)[0]])
            except NoMatchingProcessException:
                return False

        with self._condition:
            self._condition.wait_for(lambda: found() or self._closed, timeout)
            if not found():
                shown = process if process is None or isinstance(process, str) else process.describe()
                raise AssertionError(f"Timed out waiting for process '{shown}' to {what}")

    def assertWaitForStartup(
        self, process: ProcessChoice, cmd_args: CommandArguments = None, *, timeout: float = 10
    ) -> None:
        """Wait until a process has started; fails the test after `timeout` seconds."""
        self._wait(lambda event: True, process, cmd_args, timeout, "start")

    def assertWaitForShutdown(
        self, process: ProcessChoice, cmd_args: CommandArguments = None, *, timeout: float = 10
    ) -> None:
        """Wait until a process has ended; fails the test after `timeout` seconds."""
        self._wait(lambda event: isinstance(event, ProcessExited), process, cmd_args, timeout, "finish")
