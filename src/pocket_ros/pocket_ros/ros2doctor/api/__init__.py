"""Checks of an installation and of what runs, and reports on both."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ...ros2cli.entry_points import load_entry_points
from .format import doctor_warn
from .graph import get_topic_names
from .network import NetworkCheck, NetworkReport
from .parts import DoctorCheck, DoctorReport, Report, Result
from .qos_compatibility import QoSCompatibilityCheck, QoSCompatibilityReport
from .system import PlatformReport, RMWReport, RosReport
from .topic import TopicCheck, TopicReport

__all__ = [
    "DoctorCheck",
    "DoctorReport",
    "Report",
    "Result",
    "generate_reports",
    "get_topic_names",
    "run_checks",
]

_CHECKS = (NetworkCheck, TopicCheck, QoSCompatibilityCheck)
_REPORTS = (NetworkReport, PlatformReport, RosReport, RMWReport, TopicReport, QoSCompatibilityReport)


def run_checks(
    *, include_warnings: bool = False, exclude_packages: bool = False
) -> tuple[set[str], int, int]:
    """The categories of the checks that failed, how many those are, and how many were made.

    `exclude_packages` changes nothing: versions of packages are not compared with a distribution's.
    """
    categories = set()
    failed = total = 0
    for check in _made(_CHECKS, "ros2doctor.checks"):
        try:
            category, result = check.category(), check.check()
        except Exception as error:  # a check of another package
            doctor_warn(f"Failed to run {type(check).__name__}: {error}")
            continue
        total += 1
        if result.error or (include_warnings and result.warning):
            failed += 1
            categories.add(category)
    return categories, failed, total


def generate_reports(
    *, categories: Collection[str] | None = None, exclude_packages: bool = False
) -> list[Report]:
    """The reports, of some categories or of all."""
    reports = []
    for maker in _made(_REPORTS, "ros2doctor.report"):
        try:
            if not categories or maker.category() in categories:
                reports.append(maker.report())
        except Exception as error:  # a report of another package
            doctor_warn(f"Failed to make {type(maker).__name__}: {error}")
    return reports


def _made(own: Collection[type], group: str) -> Iterator[Any]:
    for kind in (*own, *load_entry_points(group).values()):
        try:
            yield kind()
        except Exception as error:  # a class of another package
            doctor_warn(f"Unable to instantiate {kind.__name__}: {error}")
