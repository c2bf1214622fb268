"""What processes have written.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..launch.events.process.events import ProcessIO
from ..launch.events.process.process_action import ProcessAction
from .asserts.assert_output import assertInStream
from .process_record import ActiveRecord, ProcessRecord
from .text_match import Expected
from .util.proc_lookup import (
    CommandArguments,
    NoMatchingProcessException,
    ProcessChoice,
    name_of,
    resolveProcesses,
)


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
