"""Expectations on output.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ...launch import LaunchDescription
from ...launch.actions import ExecuteProcess
from ...launch.events import IncludeLaunchDescription, matches_action
from ...launch.events.process import ProcessExited, ProcessStarted, ShutdownProcess
from ...launch.launch_service import LaunchService
from ...launch.utilities import ensure_argument_type
from ...places import offer_places
from ..asserts import build_line_match, build_text_match
from ..io_handler import ActiveIoHandler, ActiveProcInfoHandler

# Filters and expectations on lines of output. PYTEST_DONT_REWRITE


_ANSI_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")


def get_default_filtered_prefixes() -> list[str]:
    """What lines begin with that are not looked at: those on process ids and return codes."""
    return ["pid", "rc"]


def get_default_filtered_patterns() -> list[str]:
    """Patterns of lines that are not looked at: none."""
    return []


def basic_output_filter(
    filtered_prefixes: Iterable[str] | None = None, filtered_patterns: Iterable[str] | None = None
) -> Callable[[str], str]:
    """A filter that removes lines with one of the prefixes and lines that match one of the patterns."""
    if filtered_prefixes is None:
        filtered_prefixes = get_default_filtered_prefixes()
    prefixes = tuple(filtered_prefixes)
    chosen = get_default_filtered_patterns() if filtered_patterns is None else filtered_patterns
    patterns = [re.compile(pattern) for pattern in chosen]

    def keep(line: str) -> bool:
        return not line.startswith(prefixes) and not any(pattern.match(line) for pattern in patterns)

    return lambda output: "".join(line for line in output.splitlines(keepends=True) if keep(line))


def expected_output_from_file(path: str, encoding: str = "utf-8") -> Any:
    """Expected output in a file: `<path>.regex` holds a pattern a line, `<path>.txt` plain lines.

    Raises RuntimeError when there is neither.
    """
    if os.path.isfile(f"{path}.regex"):
        with open(f"{path}.regex", encoding=encoding) as stream:
            return [re.compile(line.rstrip("\n")) for line in stream]
    if os.path.isfile(f"{path}.txt"):
        with open(f"{path}.txt", encoding=encoding) as stream:
            return stream.read().splitlines()
    raise RuntimeError(f"could not find {path}.regex or {path}.txt")


def remove_ansi_escape_sequences(text: str) -> str:
    """The text without the sequences by which terminals are told colors and the like."""
    return _ANSI_SEQUENCE.sub("", text)


def expect_output(
    text: str | None = None,
    *,
    lines: Iterable[str] | None = None,
    expected_text: Any = None,
    expected_lines: Any = None,
    strip_ansi_escape_sequences: bool = True,
    strict: bool = False,
) -> bool:
    """Whether output, given as text or lines, has what is expected.

    `expected_text` is what `build_text_match` takes, `expected_lines` what `build_line_match` takes, or an
    iterator; one that never ends does not match. Colors are removed from the output unless told otherwise.
    Raises ValueError where not just one of each two is given.
    """
    if (expected_text is None) == (expected_lines is None) or (text is None) == (lines is None):
        raise ValueError("give one of expected_text and expected_lines, and one of text and lines")
    output = text if text is not None else "\n".join(lines or [])
    if strip_ansi_escape_sequences:
        output = remove_ansi_escape_sequences(output)
    if expected_text is not None:
        return build_text_match(expected_text, strict=strict)(output) is not None
    found = output.splitlines()
    if isinstance(expected_lines, Iterable) and not isinstance(expected_lines, str):
        # One more than there are lines is enough to see that there are too many.
        expected_lines = list(islice(expected_lines, len(found) + 1))
    return build_line_match(expected_lines, strict=strict)(found) is not None


# Processes that a test starts while a launch runs. PYTEST_DONT_REWRITE


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


__all__ = [
    "ProcessProxy",
    "basic_output_filter",
    "build_text_match",
    "expect_output",
    "expected_output_from_file",
    "launch_process",
]

offer_places(__name__)
