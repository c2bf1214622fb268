"""Results of launch tests, with times for the report."""

from __future__ import annotations

import time
import unittest
from collections.abc import Iterable
from typing import Any, Protocol

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
