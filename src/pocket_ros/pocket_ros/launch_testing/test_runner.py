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
from .parse_arguments import parse_launch_arguments
from .proc_info_handler import ActiveProcInfoHandler
from .test_result import FailResult, RunResult, SkipResult, TestResult


class LaunchTestRunner:
    """Runs each launch in turn; a launch that a person interrupts is the last."""

    def __init__(
        self, test_runs: Sequence[TestRun], launch_file_arguments: Sequence[str] = (), debug: bool = False
    ) -> None:
        self._test_runs = list(test_runs)
        self._arguments = parse_launch_arguments(launch_file_arguments)
        self._debug = debug

    def generate_preamble(self) -> list[LaunchDescriptionEntity]:
        """Entities visited before each description."""
        return []

    def validate(self) -> None:
        """Raise TypeError where `generate_test_description` and its parameters do not go together."""
        for test_run in self._test_runs:
            test_run.check_arguments()

    def run(self) -> dict[TestRun, RunResult]:
        """The results by launch."""
        results: dict[TestRun, RunResult] = {}
        for test_run in self._test_runs:
            if len(self._test_runs) > 1:
                print(f"\nStarting test run {test_run}")
            launch = _Launch(test_run, self._arguments, self._debug)
            try:
                results[test_run] = launch.run(self.generate_preamble())
            except unittest.SkipTest as skip:
                print(f"{test_run} is skipped: {skip}")
                results[test_run] = SkipResult(test_run, str(skip))
            if launch.interrupted:
                break
        return results


class _Launch:
    """The launch service is in this thread, where signals arrive; active tests are in another beside it."""

    def __init__(self, test_run: TestRun, arguments: list[tuple[str, str]], debug: bool) -> None:
        self._test_run = test_run
        self._arguments = arguments
        self._service = LaunchService(debug=debug)
        self._ready = threading.Event()
        self._over = threading.Event()
        self._result: RunResult | None = None
        self._proc_info = ActiveProcInfoHandler()
        self._proc_output = ActiveIoHandler()
        self.interrupted = False

    def run(self, preamble: list[LaunchDescriptionEntity]) -> RunResult:
        """Launch, test, end, test what is left. Raises SkipTest when the description is skipped."""
        description, context = self._test_run.normalized_test_description(self._ready.set)
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
        tests = threading.Thread(target=self._run_active_tests, daemon=True)
        tests.start()
        try:
            code = self._service.run(shutdown_when_idle=not self._test_run.markers.get("keep_alive", False))
        finally:
            self._over.set()
            self._ready.set()
            self._proc_info.close()
            self._proc_output.close()
        if self._result is None:
            message = self._report_early_end(code)
            tests.join(timeout=1.0)
            return FailResult(self._test_run, message)
        tests.join()
        if isinstance(self._result, TestResult):
            self._result.append(self._run_suite(self._test_run.post_shutdown_tests))
        return self._result

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

    def _run_active_tests(self) -> None:
        in_time = self._ready.wait(self._test_run.timeout)
        if self._over.is_set():
            return
        try:
            if in_time:
                self._result = self._run_suite(self._test_run.pre_shutdown_tests)
            else:
                seconds = self._test_run.timeout
                print(f"Timed out waiting for processes to start up ({seconds:g} s)")
                message = f"ReadyToTest was not visited within {seconds:g} seconds"
                self._result = FailResult(self._test_run, message)
        finally:
            self._service.shutdown()

    def _report_early_end(self, return_code: int) -> str:
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
        return f"Launch stopped before the active tests finished: {reason}"
