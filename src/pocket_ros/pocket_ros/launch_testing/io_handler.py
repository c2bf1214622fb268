"""What processes have written.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from ..launch.events.process import ProcessAction, ProcessExited, ProcessIO, RunningProcessEvent
from .asserts import Expected, assertInStream
from .util import CommandArguments, NoMatchingProcessException, ProcessChoice, name_of, resolveProcesses

# What is recorded of processes while they run, safe between threads. PYTEST_DONT_REWRITE


Item = TypeVar("Item")


class ProcessRecord(Generic[Item]):
    """Events of processes, in order; subclasses say how they are kept and found."""

    def append(self, item: Item, /) -> None:
        """Take an event."""
        raise NotImplementedError(f"{type(self).__name__} keeps no events")

    def __iter__(self) -> Iterator[Item]:
        raise NotImplementedError(f"{type(self).__name__} keeps no events")

    def processes(self) -> list[ProcessAction]:
        """The actions of all processes something is known of."""
        raise NotImplementedError(f"{type(self).__name__} keeps no events")

    def process_names(self) -> list[str]:
        """The names of all processes known."""
        raise NotImplementedError(f"{type(self).__name__} keeps no events")

    def __getitem__(self, key: str | ProcessAction) -> Any:
        raise NotImplementedError(f"{type(self).__name__} keeps no events")


class ActiveRecord(ProcessRecord[Item]):
    """In front of a record: lets one thread add to it while others read, and wait for what comes."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = threading.Condition(threading.RLock())
        self._closed = False

    def close(self) -> None:
        """Say that nothing more will come: whoever waits is told at once."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def append(self, item: Item, /) -> None:
        with self._condition:
            super().append(item)
            self._condition.notify_all()

    def __iter__(self) -> Iterator[Item]:
        with self._condition:
            return super().__iter__()

    def processes(self) -> list[ProcessAction]:
        with self._condition:
            return super().processes()

    def process_names(self) -> list[str]:
        with self._condition:
            return super().process_names()

    def __getitem__(self, key: str | ProcessAction) -> Any:
        with self._condition:
            return super().__getitem__(key)


class IoHandler(ProcessRecord[ProcessIO]):
    """The output of all processes, in order, and by process."""

    def __init__(self) -> None:
        self._all: list[ProcessIO] = []
        self._by_name: dict[str, list[ProcessIO]] = {}

    def track(self, process_name: str) -> None:
        """Know a process before it has written anything."""
        self._by_name.setdefault(process_name, [])

    def append(self, process_io: ProcessIO, /) -> None:
        """Take a piece of output."""
        self._all.append(process_io)
        self._by_name.setdefault(process_io.process_name, []).append(process_io)

    def __iter__(self) -> Iterator[ProcessIO]:
        return iter(list(self._all))

    def processes(self) -> list[ProcessAction]:
        """The actions of all processes that have written something."""
        return [pieces[0].action for pieces in self._by_name.values() if pieces]

    def process_names(self) -> list[str]:
        """The names of all processes known."""
        return list(self._by_name)

    def __getitem__(self, key: str | ProcessAction) -> list[ProcessIO]:
        """The output of one process, by its name or its action. Raises KeyError."""
        return list(self._by_name[key if isinstance(key, str) else name_of(key)])


class ActiveIoHandler(ActiveRecord[ProcessIO], IoHandler):
    """The same while processes still write: safe between threads, and it can wait."""

    @property
    def io_event(self) -> threading.Condition:
        """Notified with each piece of output."""
        return self._condition

    def track(self, process_name: str) -> None:
        with self._condition:
            super().track(process_name)
            self._condition.notify_all()

    def assertWaitFor(self, *args: Any, **kwargs: Any) -> None:
        """`waitFor`, failing the test when the output does not come."""
        if not self.waitFor(*args, **kwargs):
            expected = args[0] if args else kwargs.get("expected_output")
            raise AssertionError(f"Waiting for output timed out: {expected!r}")

    def waitFor(
        self,
        expected_output: Expected,
        process: ProcessChoice = None,
        cmd_args: CommandArguments = None,
        *,
        strict_proc_matching: bool = True,
        output_filter: Callable[[str], str] | None = None,
        timeout: float = 10,
        strip_ansi_escape_sequences: bool = True,
        stream: str = "stderr",
    ) -> bool:
        """Wait until the output has been written, up to `timeout` seconds; whether it was.

        Arguments are those of `launch_testing.asserts.assertInStream`. Raises NoMatchingProcessException
        when by then no such process has written anything.
        """

        def found() -> bool:
            try:
                assertInStream(
                    self,
                    expected_output,
                    process,
                    cmd_args,
                    output_filter=output_filter,
                    strict_proc_matching=strict_proc_matching,
                    strip_ansi_escape_sequences=strip_ansi_escape_sequences,
                    stream=stream,
                )
            except (NoMatchingProcessException, AssertionError):
                return False
            return True

        with self._condition:
            self._condition.wait_for(lambda: found() or self._closed, timeout)
            if found():
                return True
            resolveProcesses(self, process=process, cmd_args=cmd_args, strict_proc_matching=False)
            return False


# Which processes have started and how they ended. PYTEST_DONT_REWRITE


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
