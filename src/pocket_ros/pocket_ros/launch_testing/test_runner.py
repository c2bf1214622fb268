"""Runs launches with their tests."""

from __future__ import annotations

import threading
import unittest
from collections.abc import Sequence
from typing import Any

from ..launch import LaunchDescription, LaunchDescriptionSource, LaunchService
from ..launch.actions import IncludeLaunchDescription, RegisterEventHandler
from ..launch.event_handlers import OnProcessExit, OnProcessIO, OnProcessStart
from ..launch.launch_description_entity import LaunchDescriptionEntity
from .io_handler import ActiveIoHandler
from .loader import TestRun
from .proc_info_handler import ActiveProcInfoHandler
from .test_result import RunResult, TestResult


class LaunchTestRunner:
    """Runs each launch in turn; a launch that a person interrupts is the last."""

    def __init__(
        self, test_runs: Sequence[TestRun], launch_file_arguments: Sequence[str] = (), debug: bool = False
    ) -> None:
        self._test_runs = list(test_runs)
        self._arguments = _parse(launch_file_arguments)
        self._debug = debug

    def generate_preamble(self) -> list[LaunchDescriptionEntity]:
        """Entities visited before each description."""
        return []

    def run(self) -> list[RunResult]:
        """The results, one for each launch."""
        results = []
        for test_run in self._test_runs:
            if len(self._test_runs) > 1:
                print(f"\nStarting test run {test_run}")
            launch = _Launch(test_run, self._arguments, self._debug)
            result = RunResult(str(test_run))
            results.append(result)
            try:
                launch.run(result, self.generate_preamble())
            except unittest.SkipTest as skip:
                result.note("skipped", str(skip))
            if launch.interrupted:
                break
        return results


def _parse(arguments: Sequence[str]) -> list[tuple[str, str]]:
    pairs = dict(argument.split(":=", 1) for argument in arguments if ":=" in argument)
    malformed = [argument for argument in arguments if ":=" not in argument]
    if malformed:
        raise ValueError(f"malformed launch argument '{malformed[0]}', expected format '<name>:=<value>'")
    return list(pairs.items())


class _Launch:
    """The launch service is in this thread, where signals arrive; active tests are in another beside it."""

    def __init__(self, test_run: TestRun, arguments: list[tuple[str, str]], debug: bool) -> None:
        self._test_run = test_run
        self._arguments = arguments
        self._service = LaunchService(debug=debug)
        self._ready = threading.Event()
        self._over = threading.Event()
        self._tests_done = False
        self._late = False
        self._proc_info = ActiveProcInfoHandler()
        self._proc_output = ActiveIoHandler()
        self.interrupted = False

    def run(self, result: RunResult, preamble: list[LaunchDescriptionEntity]) -> None:
        """Launch, test, end, test what is left. Raises SkipTest when the description is skipped."""
        description, context = self._test_run.describe(self._ready.set)
        names = {
            "proc_info": self._proc_info,
            "proc_output": self._proc_output,
            "test_args": dict(self._arguments),
        }
        arguments = {**context, **self._test_run.param_args, **names}
        active = {"launch_service": self._service}
        self._test_run.bind(self._test_run.pre_shutdown_tests, {**names, **active}, {**arguments, **active})
        self._test_run.bind(self._test_run.post_shutdown_tests, names, arguments)
        self._service.include_launch_description(self._wrap(description, preamble))
        tests = threading.Thread(target=self._run_active_tests, args=(result,), daemon=True)
        tests.start()
        try:
            code = self._service.run(shutdown_when_idle=not self._test_run.markers.get("keep_alive", False))
        finally:
            self._over.set()
            self._ready.set()
            self._proc_info.close()
            self._proc_output.close()
        if not self._tests_done:
            self._report_early_end(result, code)
            tests.join(timeout=1.0)
            return
        tests.join()
        if self._late:
            return
        result.add(self._run_suite(self._test_run.post_shutdown_tests))

    def _wrap(
        self, description: LaunchDescription, preamble: list[LaunchDescriptionEntity]
    ) -> LaunchDescription:
        def started(event: Any, context: Any) -> None:
            self._proc_info.append(event)
            self._proc_output.track(event.process_name)

        def exited(event: Any, context: Any) -> None:
            self._proc_info.append(event)

        output = OnProcessIO(on_stdout=self._proc_output.append, on_stderr=self._proc_output.append)
        return LaunchDescription(
            [
                *preamble,
                RegisterEventHandler(OnProcessStart(on_start=started)),
                RegisterEventHandler(OnProcessExit(on_exit=exited)),
                RegisterEventHandler(output),
                IncludeLaunchDescription(
                    LaunchDescriptionSource(description), launch_arguments=self._arguments
                ),
            ]
        )

    @staticmethod
    def _run_suite(suite: unittest.TestSuite) -> TestResult:
        outcome = unittest.TextTestRunner(verbosity=2, resultclass=TestResult).run(suite)
        assert isinstance(outcome, TestResult)
        return outcome

    def _run_active_tests(self, result: RunResult) -> None:
        in_time = self._ready.wait(self._test_run.timeout)
        if self._over.is_set():
            return
        try:
            if in_time:
                result.add(self._run_suite(self._test_run.pre_shutdown_tests))
            else:
                self._late = True
                seconds = self._test_run.timeout
                print(f"Timed out waiting for processes to start up ({seconds:g} s)")
                result.note("failure", f"ReadyToTest was not visited within {seconds:g} seconds")
        finally:
            self._tests_done = True
            self._service.shutdown()

    def _report_early_end(self, result: RunResult, return_code: int) -> None:
        print("Processes under test stopped before tests completed")
        for event in self._proc_info:
            code = getattr(event, "returncode", None)
            if code:
                print(f"Process '{event.process_name}' exited with {code}")
                print(f"##### '{event.process_name}' output #####")
                for piece in self._proc_output[event.process_name]:
                    print(piece.text.decode(errors="replace"), end="")
                print("#" * (len(event.process_name) + 21))
        self.interrupted = self._service.interrupted
        reason = "it was interrupted" if self.interrupted else "all of its processes have ended"
        if return_code:
            reason = "something in it was raised, see above"
        result.note("failure", f"Launch stopped before the active tests finished: {reason}")
