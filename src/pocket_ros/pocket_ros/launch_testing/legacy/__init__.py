"""Launch tests as they were before `launch_test`: a service that counts which tests of a launch passed.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...ament_index_python import get_resource, has_resource
from ...launch import LaunchContext, LaunchDescription, LaunchService
from ...launch.action import Action
from ...launch.actions import EmitEvent, ExecuteProcess, RegisterEventHandler
from ...launch.event_handlers import OnExecutionComplete, OnProcessExit, OnProcessIO, OnShutdown
from ...launch.events import ExecutionComplete, Shutdown
from ...launch.events.process import ProcessExited, ProcessIO
from ...launch.utilities import ensure_argument_type
from ...places import not_covered

# What output is tested for: lines or patterns that have to be in it, as bytes. PYTEST_DONT_REWRITE


OutputTest = tuple[bytes, Callable[[bytes, bytes], bytes], Callable[[bytes, Any], bool], Sequence[Any]]
"""What is collected so far, how more is added, whether an expectation is met, and the expectations."""


def get_default_filtered_prefixes() -> list[bytes]:
    """What lines begin with that are not looked at: those on process ids and return codes."""
    return [b"pid", b"rc"]


def get_default_filtered_patterns() -> list[bytes]:
    """Patterns of lines that are not looked at: none."""
    return []


def get_rmw_output_filter(rmw_implementation: str, filter_type: str) -> list[bytes]:
    """Prefixes or patterns of lines that a middleware writes, from the ament index.

    Raises TypeError for a filter type that is neither "prefixes" nor "patterns".
    """
    if filter_type not in ("prefixes", "patterns"):
        raise TypeError(f"filter_type is {filter_type!r}; it can be 'prefixes' or 'patterns'")
    kind = f"rmw_output_{filter_type}"
    if not has_resource(kind, rmw_implementation):
        return []
    return [line.encode() for line in get_resource(kind, rmw_implementation)[0].splitlines()]


def create_output_lines_filter(
    filtered_prefixes: Iterable[bytes] | None = None,
    filtered_patterns: Iterable[bytes] | None = None,
    filtered_rmw_implementation: str | None = None,
) -> Callable[[bytes], bytes]:
    """A filter that removes lines with one of the prefixes and lines that match one of the patterns."""
    prefixes = list(filtered_prefixes or get_default_filtered_prefixes())
    patterns = list(filtered_patterns or get_default_filtered_patterns())
    if filtered_rmw_implementation:
        prefixes += get_rmw_output_filter(filtered_rmw_implementation, "prefixes")
        patterns += get_rmw_output_filter(filtered_rmw_implementation, "patterns")
    compiled = [re.compile(pattern) for pattern in patterns]

    def keep(line: bytes) -> bool:
        return not line.startswith(tuple(prefixes)) and not any(pattern.match(line) for pattern in compiled)

    return lambda output: b"".join(line for line in output.splitlines(keepends=True) if keep(line))


def create_output_lines_test(expected_lines: Sequence[bytes]) -> OutputTest:
    """A test for lines that contain each of these."""

    def matches(output: bytes, expected: bytes) -> bool:
        return any(expected in line for line in output.splitlines())

    return b"", bytes.__add__, matches, expected_lines


def create_output_regex_test(expected_patterns: Sequence[re.Pattern[bytes]]) -> OutputTest:
    """A test for output in which each of these is found."""

    def matches(output: bytes, expected: re.Pattern[bytes]) -> bool:
        return expected.search(output) is not None

    return b"", bytes.__add__, matches, expected_patterns


def create_output_test_from_file(output_file: str) -> OutputTest:
    """A test for the lines in `<output_file>.txt`, or else for the patterns in `<output_file>.regex`.

    Raises RuntimeError when there is neither.
    """
    if os.path.isfile(f"{output_file}.txt"):
        with open(f"{output_file}.txt", "rb") as stream:
            return create_output_lines_test(stream.read().splitlines())
    if os.path.isfile(f"{output_file}.regex"):
        with open(f"{output_file}.regex", "rb") as stream:
            return create_output_regex_test([re.compile(line) for line in stream.read().splitlines()])
    raise RuntimeError(f"could not find {output_file}.txt or {output_file}.regex")


__all__ = ["LaunchTestService", "output"]

_ARMED, _DONE, _FAILED = "armed", "done", "failed"


class _WantedOutput:
    """What of the expected output is still missing. Raises ValueError where nothing is expected."""

    def __init__(self, output_test: OutputTest, output_filter: Callable[[bytes], bytes] | None) -> None:
        self._collected, self._collate, self._match, expected = output_test
        self._filter = output_filter
        self.missing = list(expected)
        if not self.missing:
            raise ValueError("output_test expects nothing; give lines or patterns for the output")

    def completed_by(self, text: bytes) -> bool:
        """Take output; whether it was the last that was missing."""
        if not self.missing:
            return False
        new = text if self._filter is None else self._filter(text)
        self._collected = self._collate(self._collected, new)
        self.missing = [pattern for pattern in self.missing if not self._match(self._collected, pattern)]
        return not self.missing


class LaunchTestService:
    """Adds tests to a launch description, and gives the launch that runs it their return code.

    The launch is shut down when a test has failed and when all have ended.
    """

    def __init__(self) -> None:
        self._tests: dict[str, str] = {}
        self._return_codes: dict[str, int] = {}

    def add_fixture_action(
        self,
        launch_description: LaunchDescription,
        action: Action,
        exit_allowed: bool | list[int] | tuple[int, ...] = (0,),
    ) -> Action:
        """Add an action that tests need. A process that ends with a code not allowed fails the launch."""
        launch_description.add_action(action)
        if isinstance(action, ExecuteProcess):

            def on_exit(event: ProcessExited, context: LaunchContext) -> EmitEvent | None:
                allowed = exit_allowed if isinstance(exit_allowed, bool) else event.returncode in exit_allowed
                if context.is_shutdown or allowed:
                    return None
                self._return_codes[event.process_name] = event.returncode or 1
                return EmitEvent(event=Shutdown(reason=f"{event.process_name} fixture process died!"))

            handler = OnProcessExit(target_action=action, on_exit=on_exit)
            launch_description.add_action(RegisterEventHandler(handler))
        return action

    def add_test_action(self, launch_description: LaunchDescription, action: Action) -> Action:
        """Add an action that is a test: a process that is to end with 0, or another that is to end well."""
        name = self._arm(action, "")

        def on_exit(event: ProcessExited, context: LaunchContext) -> EmitEvent | None:
            if event.returncode == 0:
                return self._end(name)
            self._return_codes[event.process_name] = event.returncode
            return self._fail(name, f"{event.process_name} test failed!")

        def on_completion(event: ExecutionComplete, context: LaunchContext) -> EmitEvent | None:
            future = event.action.get_asyncio_future()
            if future is not None and not future.cancelled() and (error := future.exception()) is not None:
                return self._fail(name, str(error))
            return self._end(name)

        handler = (
            OnProcessExit(target_action=action, on_exit=on_exit)
            if isinstance(action, ExecuteProcess)
            else OnExecutionComplete(target_action=action, on_completion=on_completion)
        )
        launch_description.add_action(RegisterEventHandler(handler))
        launch_description.add_action(action)
        return action

    def add_output_test(
        self,
        launch_description: LaunchDescription,
        action: ExecuteProcess,
        output_test: OutputTest,
        test_suffix: str = "output",
        output_filter: Callable[[bytes], bytes] | None = None,
        side_effect: str | None = None,
    ) -> ExecuteProcess:
        """Test standard output of a process that is in the description already.

        `output_test` comes from `launch_testing.legacy.output`. With `side_effect="shutdown"` the launch
        ends when all output was found. Raises ValueError for another side effect, and for a test that expects
        nothing.
        """
        ensure_argument_type(action, ExecuteProcess, "action")
        if side_effect not in (None, "shutdown"):
            raise ValueError(f"side_effect is {side_effect!r}; it can be 'shutdown' or None")
        wanted = _WantedOutput(output_test, output_filter)
        name = self._arm(action, test_suffix)

        def on_stdout(event: ProcessIO) -> EmitEvent | None:
            return self._end(name, side_effect) if wanted.completed_by(event.text) else None

        def on_shutdown(event: Shutdown, context: LaunchContext) -> None:
            if wanted.missing:
                self._fail(name, "not all output matched")

        for handler in (
            OnProcessIO(target_action=action, on_stdout=on_stdout),
            # What the process wrote last may come behind its end: it is judged when the launch ends.
            OnProcessExit(target_action=action, on_exit=lambda event, context: self._end(name)),
            OnShutdown(on_shutdown=on_shutdown),
        ):
            launch_description.add_action(RegisterEventHandler(handler))
        return action

    def run(self, launch_service: LaunchService, *args: Any, **kwargs: Any) -> int:
        """Run the launch; its return code, or that of the first failed process, or 1 for a failed test."""
        code = launch_service.run(*args, **kwargs)
        if code:
            return code
        default = 1 if _FAILED in self._tests.values() else 0
        return next((code for code in self._return_codes.values() if code), default)

    def _arm(self, action: Action, suffix: str) -> str:
        name = f"test_{id(action)}_{suffix}"
        if name in self._tests:
            raise ValueError(f"{action.describe()} has a test '{suffix}' already; give another test_suffix")
        self._tests[name] = _ARMED
        return name

    def _end(self, name: str, side_effect: str | None = None) -> EmitEvent | None:
        if self._tests[name] == _ARMED:
            self._tests[name] = _DONE
        if _ARMED not in self._tests.values():
            return EmitEvent(event=Shutdown(reason="all tests finished"))
        return EmitEvent(event=Shutdown(reason="shutdown after test")) if side_effect == "shutdown" else None

    def _fail(self, name: str, reason: str) -> EmitEvent:
        self._tests[name] = _FAILED
        return EmitEvent(event=Shutdown(reason=reason))


__getattr__ = not_covered("launch_testing.legacy")
