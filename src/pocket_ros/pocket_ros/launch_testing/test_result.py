"""Results of launch tests, with times for the report."""

from __future__ import annotations

import time
import unittest
from typing import Any
from xml.etree import ElementTree


class TestResult(unittest.TextTestResult):
    """What happened to each test: `outcomes` maps its id to (kind, text, seconds).

    Kinds are `passed`, `failure`, `error` and `skipped`.
    """

    __test__ = False

    def __init__(
        self, stream: Any = None, descriptions: Any = None, verbosity: Any = 0, **kwargs: Any
    ) -> None:
        super().__init__(stream, descriptions, verbosity, **kwargs)
        self.outcomes: dict[str, tuple[str, str, float]] = {}
        self._started = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        self._started = time.monotonic()
        super().startTest(test)

    def _note(self, test: Any, kind: str, text: str = "") -> None:
        self.outcomes[test.id()] = (kind, text, time.monotonic() - self._started)

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self._note(test, "passed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._note(test, "failure", self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._note(test, "error", self.errors[-1][1])

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)


class RunResult:
    """What happened in one launch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.outcomes: dict[str, tuple[str, str, float]] = {}

    def add(self, result: TestResult) -> None:
        """Take the outcomes of some tests."""
        self.outcomes.update(result.outcomes)

    def note(self, kind: str, text: str) -> None:
        """Take an outcome of the launch as a whole."""
        self.outcomes[f"{self.name}.launch"] = (kind, text, 0.0)

    def failed(self) -> dict[str, str]:
        """The tests that failed or broke, with what they said."""
        return {name: text for name, (kind, text, _) in self.outcomes.items() if kind in ("failure", "error")}

    def wasSuccessful(self) -> bool:
        """Whether nothing failed."""
        return not self.failed()


def to_junit_xml(results: list[RunResult], name: str) -> ElementTree.ElementTree[ElementTree.Element]:
    """A report in the form of JUnit, one suite a launch."""
    root = ElementTree.Element("testsuites", name=name)
    for result in results:
        kinds = [kind for kind, _, _ in result.outcomes.values()]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=result.name,
            tests=str(len(kinds)),
            failures=str(kinds.count("failure")),
            errors=str(kinds.count("error")),
            skipped=str(kinds.count("skipped")),
            time=f"{sum(seconds for _, _, seconds in result.outcomes.values()):.3f}",
        )
        for identity, (kind, text, seconds) in result.outcomes.items():
            owner, _, test = identity.rpartition(".")
            case = ElementTree.SubElement(
                suite, "testcase", classname=owner, name=test, time=f"{seconds:.3f}"
            )
            if kind != "passed":
                ElementTree.SubElement(
                    case, kind, message=text.strip().splitlines()[-1] if text else ""
                ).text = text
    return ElementTree.ElementTree(root)
