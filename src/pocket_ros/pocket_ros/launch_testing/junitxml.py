"""Results of launch tests as a report in the form of JUnit."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from .test_result import RunResult


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
    outcomes = {
        "failure": test_result.failures,
        "error": test_result.errors,
        "skipped": test_result.skipped,
    }
    for kind, found in outcomes.items():
        for case, text in found:
            if case is test_case:
                ElementTree.SubElement(element, kind, message=text).text = text
    return element
