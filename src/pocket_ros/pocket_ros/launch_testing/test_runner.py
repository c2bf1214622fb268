"""Runs launches with their tests."""

from __future__ import annotations

import threading
import time
import unittest
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from xml.etree import ElementTree

from ..launch import LaunchDescription, LaunchDescriptionSource, LaunchService
from ..launch.actions import IncludeLaunchDescription, RegisterEventHandler
from ..launch.description import LaunchDescriptionEntity
from ..launch.event_handlers import OnProcessExit, OnProcessIO, OnProcessStart
from .io_handler import ActiveIoHandler, ActiveProcInfoHandler
from .loader import TestRun

# Launch arguments on a command line.


def parse_launch_arguments(launch_arguments: Iterable[str]) -> list[tuple[str, str]]:
    """Names and values, of which the last one counts. Raises RuntimeError unless all are name:=value."""
    found: dict[str, str] = {}
    for argument in launch_arguments:
        name, separator, value = argument.partition(":=")
        if not name or not separator or not value:
            raise RuntimeError(f"malformed launch argument '{argument}', expected format '<name>:=<value>'")
        found[name] = value
    return list(found.items())


# Results of launch tests, with times for the report.


Times = dict[unittest.TestCase, float]


class Cases(Protocol):
    """A launch as far as its result is concerned."""

    def all_cases(self) -> Iterable[unittest.TestCase]:
        """Every test."""
        ...


class TestResult(unittest.TextTestResult):
    """What happened to each test, and how long it took."""

    __test__ = False

    def __init__(
        self, stream: Any = None, descriptions: Any = None, verbosity: Any = 0, **kwargs: Any
    ) -> None:
        super().__init__(stream, descriptions, verbosity, **kwargs)
        self._seconds: Times = {}
        self._started = 0.0

    @property
    def testCases(self) -> list[unittest.TestCase]:
        """The tests, in order."""
        return list(self._seconds)

    @property
    def testTimes(self) -> Times:
        """Seconds by test."""
        return dict(self._seconds)

    def startTest(self, test: unittest.TestCase) -> None:
        self._seconds[test] = 0.0
        self._started = time.monotonic()
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:
        self._seconds[test] = time.monotonic() - self._started
        super().stopTest(test)

    def append(self, results: TestResult) -> None:
        """Take what happened to further tests."""
        self._seconds.update(results._seconds)
        self.failures += results.failures
        self.errors += results.errors
        self.skipped += results.skipped
        self.expectedFailures += results.expectedFailures
        self.unexpectedSuccesses += results.unexpectedSuccesses
        self.testsRun += results.testsRun


class _Verdict(unittest.TestResult):
    """One outcome for all tests of a launch, none of which was run."""

    __test__ = False

    def __init__(self, test_run: Cases) -> None:
        super().__init__()
        self._cases = list(test_run.all_cases())
        self.testsRun = len(self._cases)

    @property
    def testCases(self) -> list[unittest.TestCase]:
        """The tests, in order."""
        return self._cases

    @property
    def testTimes(self) -> Times:
        """Seconds by test: none."""
        return dict.fromkeys(self._cases, 0.0)


class FailResult(_Verdict):
    """All tests of a launch failed because the launch did; one without tests failed nonetheless."""

    def __init__(self, test_run: Cases, message: str) -> None:
        super().__init__(test_run)
        self.message = message
        self.failures += [(case, message) for case in self._cases]

    def wasSuccessful(self) -> bool:
        return False


class SkipResult(_Verdict):
    """All tests of a launch are skipped because its description is."""

    def __init__(self, test_run: Cases, skip_reason: str = "") -> None:
        super().__init__(test_run)
        self.message = skip_reason
        self.skipped += [(case, skip_reason) for case in self._cases]

    def wasSuccessful(self) -> bool:
        return True


RunResult = TestResult | FailResult | SkipResult
"""What happened in one launch."""


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


# Results of launch tests as a report in the form of JUnit.


def unittestResultsToXml(
    *, name: str = "launch_test", test_results: Mapping[Any, RunResult]
) -> ElementTree.ElementTree[ElementTree.Element]:
    """A report of several launches, by what they are called."""
    results = test_results.values()
    root = ElementTree.Element(
        "testsuites",
        name=name,
        tests=str(sum(result.testsRun for result in results)),
        failures=str(sum(len(result.failures) for result in results)),
        errors=str(sum(len(result.errors) for result in results)),
        time=f"{sum(sum(result.testTimes.values()) for result in results):.3f}",
    )
    root.extend(unittestResultToXml(str(run), result) for run, result in test_results.items())
    return ElementTree.ElementTree(root)


def unittestResultToXml(name: str, test_result: RunResult) -> ElementTree.Element:
    """The suite of one launch."""
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(test_result.testsRun),
        failures=str(len(test_result.failures)),
        errors=str(len(test_result.errors)),
        skipped=str(len(test_result.skipped)),
        time=f"{sum(test_result.testTimes.values()):.3f}",
    )
    suite.extend(unittestCaseToXml(test_result, case) for case in test_result.testCases)
    return suite


def unittestCaseToXml(test_result: RunResult, test_case: unittest.TestCase) -> ElementTree.Element:
    """One test with what happened to it."""
    identity, _, qualifiers = test_case.id().partition(" ")
    owner, _, method = identity.rpartition(".")
    seconds = test_result.testTimes[test_case]
    element = ElementTree.Element(
        "testcase", classname=owner, name=f"{method} {qualifiers}".strip(), time=f"{seconds:.3f}"
    )
    outcomes = {"failure": test_result.failures, "error": test_result.errors, "skipped": test_result.skipped}
    for kind, found in outcomes.items():
        for case, text in found:
            if case is test_case:
                ElementTree.SubElement(element, kind, message=text).text = text
    return element
