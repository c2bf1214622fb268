"""Processes that a test starts while a launch runs.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...launch import LaunchDescription
from ...launch.actions import ExecuteProcess
from ...launch.events import IncludeLaunchDescription, matches_action
from ...launch.events.process import ProcessExited, ProcessStarted, ShutdownProcess
from ...launch.launch_service import LaunchService
from ...launch.utilities import ensure_argument_type
from ..io_handler import ActiveIoHandler
from ..proc_info_handler import ActiveProcInfoHandler

OutputFilter = Callable[[str], str]


class ProcessProxy:
    """A process of a launch: its state, its output through a filter, and waiting for both."""

    def __init__(
        self,
        process_action: ExecuteProcess,
        proc_info: ActiveProcInfoHandler,
        proc_output: ActiveIoHandler,
        *,
        output_filter: OutputFilter | None = None,
    ) -> None:
        ensure_argument_type(process_action, ExecuteProcess, "process_action")
        ensure_argument_type(proc_info, ActiveProcInfoHandler, "proc_info")
        ensure_argument_type(proc_output, ActiveIoHandler, "proc_output")
        if output_filter is not None and not callable(output_filter):
            raise TypeError(f"Expected 'output_filter' to be callable but got '{output_filter!r}'")
        self._action = process_action
        self._info = proc_info
        self._output = proc_output
        self._filter = output_filter

    def wait_for_shutdown(self, timeout: float | None = None) -> bool:
        """Wait until the process has ended, at most `timeout` seconds; whether it has."""
        with self._info.proc_event:
            return self._info.proc_event.wait_for(lambda: self.terminated, timeout)

    def wait_for_output(
        self, condition: Callable[[str], Any] | None = None, timeout: float | None = None
    ) -> OutputFound:
        """Wait until the output so far satisfies the condition while the process runs; whether it did."""
        if condition is not None and not callable(condition):
            raise TypeError(f"Expected 'condition' to be callable but got '{condition!r}'")
        seen = ""

        def satisfied() -> bool:
            nonlocal seen
            if not self.running:
                return False
            seen = self.output
            return condition is None or bool(condition(seen))

        with self._output.io_event:
            return OutputFound(self._output.io_event.wait_for(satisfied, timeout), seen)

    def _text(self, streams: tuple[str, ...]) -> str:
        try:
            pieces = self._output[self._action]
        except KeyError:  # nothing has been written
            pieces = []
        kept = [piece.text for piece in pieces if ("stdout" if piece.from_stdout else "stderr") in streams]
        text = b"".join(kept).decode(errors="replace")
        return text if self._filter is None else self._filter(text)

    @property
    def target_process_action(self) -> ExecuteProcess:
        """The action that starts the process."""
        return self._action

    @property
    def stdout(self) -> str:
        """What it wrote to standard output."""
        return self._text(("stdout",))

    @property
    def stderr(self) -> str:
        """What it wrote to standard error."""
        return self._text(("stderr",))

    @property
    def output(self) -> str:
        """What it wrote to both, in the order in which it came."""
        return self._text(("stdout", "stderr"))

    def _last_event_is(self, kind: type) -> bool:
        return self._action in self._info.processes() and isinstance(self._info[self._action], kind)

    @property
    def running(self) -> bool:
        """Whether it has started and has not ended."""
        return self._last_event_is(ProcessStarted)

    @property
    def terminated(self) -> bool:
        """Whether it has ended."""
        return self._last_event_is(ProcessExited)

    @property
    def exit_code(self) -> int:
        """The exit code, negative for a signal. Raises RuntimeError while it runs."""
        if not self.terminated:
            raise RuntimeError(f"{self._action.describe()} has not ended, it has no exit code")
        return int(self._info[self._action].returncode)


class OutputFound:
    """Whether output was found; in a failed assertion it shows the output there was."""

    def __init__(self, found: bool, output: str) -> None:
        self._found = found
        self._seen = output

    def __bool__(self) -> bool:
        return self._found

    def __repr__(self) -> str:
        return f"<{self._found}, the output is {self._seen!r}>"


@contextmanager
def launch_process(
    launch_service: LaunchService,
    process_action: ExecuteProcess,
    proc_info: ActiveProcInfoHandler,
    proc_output: ActiveIoHandler,
    **kwargs: Any,
) -> Iterator[ProcessProxy]:
    """Start a process in a running launch, and end it when the context is left, unless it has ended.

    Further arguments are those of ProcessProxy.
    """
    proxy = ProcessProxy(process_action, proc_info, proc_output, **kwargs)
    launch_service.emit_event(IncludeLaunchDescription(LaunchDescription([process_action])))
    try:
        yield proxy
    finally:
        if not proxy.terminated:
            launch_service.emit_event(ShutdownProcess(process_matcher=matches_action(process_action)))
