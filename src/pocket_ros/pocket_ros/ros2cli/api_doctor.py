"""Checks of an installation and of what runs, and reports on both."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Collection, Iterator, Sequence
from importlib import metadata
from typing import Any, ClassVar

from .. import __version__
from ..dds.domain import discovery_range, find_interfaces
from ..rclpy.context import get_rmw_implementation_identifier
from ..rclpy.qos import QoSCompatibility, qos_check_compatible
from .node import DirectNode, NodeStrategy
from .plugin_system import load_entry_points

# The topics that are looked at.


def get_topic_names(skip_topics: Sequence[str] = ()) -> list[str]:
    """All topics but those to skip."""
    with NodeStrategy(None) as node:
        return [name for name, _ in node.get_topic_names_and_types() if name not in skip_topics]


# What a check and a report are.


class Result:
    """How many errors and warnings a check found."""

    __slots__ = ("error", "warning")

    def __init__(self) -> None:
        self.error = 0
        self.warning = 0

    def add_error(self) -> None:
        """One error more."""
        self.error += 1

    def add_warning(self) -> None:
        """One warning more."""
        self.warning += 1


class Report:
    """Lines with a name and a value each, under a title."""

    __slots__ = ("items", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: list[tuple[str, object]] = []

    def add_to_report(self, item_name: str, item_info: object) -> None:
        """One line more."""
        self.items.append((item_name, item_info))


class AboutCategory:
    """What checks and reports have in common: what they are about."""

    _ros_category: ClassVar[str]
    """The category of a class of pocket_ros; other packages override `category`."""

    def category(self) -> str:
        """What it is about: the reports of a check that failed have the same category."""
        if not hasattr(self, "_ros_category"):
            raise NotImplementedError("a check or a report defines category()")
        return self._ros_category


class DoctorCheck(AboutCategory):
    """A check, which other packages register in the group `ros2doctor.checks`."""

    def check(self) -> Result:
        """Look, and say what was found."""
        raise NotImplementedError("a check defines check()")


class DoctorReport(AboutCategory):
    """A report, which other packages register in the group `ros2doctor.report`."""

    def report(self) -> Report:
        """What there is to say."""
        raise NotImplementedError("a report defines report()")


# How reports and findings are printed.


_LEAST_WIDTH = 8


def format_print(report: Report) -> None:
    """Print a report, its values below one another."""
    print("\n  ", report.name)
    width = compute_padding(report.items) if report.items else 0
    for name, value in report.items:
        print(f"{name:{width}}: {value}")


def compute_padding(report_items: Sequence[tuple[str, object]]) -> int:
    """How wide the column of names is."""
    longest = max(len(name) for name, _ in report_items)
    return longest + 4 if longest >= _LEAST_WIDTH else _LEAST_WIDTH


def doctor_warn(msg: str) -> None:
    """Print a warning with the place it comes from."""
    _warn(msg)


def doctor_error(msg: str) -> None:
    """Print an error with the place it comes from."""
    _warn(f"ERROR: {msg}")


def _warn(msg: str) -> None:
    def one_line(message: Any, category: type, filename: str, lineno: int, line: str | None = None) -> str:
        return f"{filename}: {lineno}: {category.__name__}: {message}\n"

    usual = warnings.formatwarning
    warnings.formatwarning = one_line
    try:
        warnings.warn(msg, stacklevel=3)
    finally:
        warnings.formatwarning = usual


# The network interfaces of this machine.


class NetworkCheck(DoctorCheck):
    """Whether this machine, others, and groups of them can be reached."""

    _ros_category = "network"

    def check(self) -> Result:
        """Look for loopback, another interface, and multicast."""
        result = Result()
        interfaces = find_interfaces()
        outer = [interface for interface in interfaces if "LOOPBACK" not in interface.flags]
        if len(outer) == len(interfaces):
            doctor_error("No loopback IP address is found.")
            result.add_error()
        if not outer:
            doctor_warn("Only loopback IP address is found.")
            result.add_warning()
        if outer and discovery_range() == "LOOPBACK":
            doctor_warn("Nodes reach this machine only; ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET reaches others.")
            result.add_warning()
        if not any("MULTICAST" in interface.flags for interface in interfaces):
            doctor_warn("No multicast IP address is found.")
            result.add_warning()
        return result


class NetworkReport(DoctorReport):
    """The interfaces with their addresses."""

    _ros_category = "network"

    def report(self) -> Report:
        """Five lines for each interface."""
        report = Report("NETWORK CONFIGURATION")
        for interface in find_interfaces():
            report.add_to_report("inet", interface.address)
            report.add_to_report("netmask", interface.mask)
            report.add_to_report("device", interface.name)
            report.add_to_report("flags", f"<{','.join(interface.flags)}>")
            report.add_to_report("mtu", interface.mtu)
        return report


# Publishers and subscriptions that cannot match.


def _pairs() -> Iterator[tuple[str, Any, Any, QoSCompatibility, str]]:
    with DirectNode(None) as node:
        for topic, _ in node.get_topic_names_and_types():
            subscriptions = node.get_subscriptions_info_by_topic(topic)
            for publisher in node.get_publishers_info_by_topic(topic):
                for subscription in subscriptions:
                    found = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
                    yield topic, publisher, subscription, *found


class QoSCompatibilityCheck(DoctorCheck):
    """An error for each pair that cannot match, a warning for each that may not."""

    _ros_category = "middleware"

    def check(self) -> Result:
        """Compare each publisher with each subscription of its topic."""
        result = Result()
        for topic, _, _, compatibility, reason in _pairs():
            kind, _, text = reason.partition(": ")
            text = text if kind.lower() in ("warning", "error") else reason
            if compatibility == QoSCompatibility.WARNING:
                doctor_warn(f"QoS compatibility warning found on topic '{topic}': {text}")
                result.add_warning()
            elif compatibility == QoSCompatibility.ERROR:
                doctor_error(f"QoS compatibility error found on topic '{topic}': {text}")
                result.add_error()
        return result


class QoSCompatibilityReport(DoctorReport):
    """The pairs, and why some do not match."""

    _ros_category = "middleware"

    def report(self) -> Report:
        """Four lines for each pair."""
        report = Report("QOS COMPATIBILITY LIST")
        for topic, publisher, subscription, compatibility, reason in _pairs():
            report.add_to_report("topic [type]", f"{topic} [{publisher.topic_type}]")
            report.add_to_report("publisher node", publisher.node_name)
            report.add_to_report("subscriber node", subscription.node_name)
            is_ok = compatibility == QoSCompatibility.OK
            report.add_to_report("compatibility status", "OK" if is_ok else reason)
        if not report.items:
            report.add_to_report("compatibility status", "No publisher/subscriber pairs found")
        return report


# The machine, pocket_ros and the middleware.


class PlatformReport(DoctorReport):
    """The operating system and Python."""

    _ros_category = "platform"

    def report(self) -> Report:
        """A line for each."""
        report = Report("PLATFORM INFORMATION")
        report.add_to_report("system", platform.system())
        report.add_to_report("platform info", platform.platform())
        report.add_to_report("release", platform.release())
        report.add_to_report("processor", platform.processor() or platform.machine())
        report.add_to_report("python", platform.python_version())
        return report


class RosReport(DoctorReport):
    """What is in place of a distribution of ROS, and the environment it reads."""

    _ros_category = "platform"

    def report(self) -> Report:
        """The version, and each variable that is set."""
        report = Report("ROS 2 INFORMATION")
        report.add_to_report("distribution name", "pocket_ros, as jazzy")
        report.add_to_report("distribution version", __version__)
        for name in sorted(os.environ):
            if name.startswith(("ROS_", "RMW_", "RCUTILS_", "CYCLONEDDS_", "AMENT_")):
                report.add_to_report(name, os.environ[name])
        return report


class RMWReport(DoctorReport):
    """The middleware."""

    _ros_category = "middleware"

    def report(self) -> Report:
        """Its name and version."""
        report = Report("RMW MIDDLEWARE")
        report.add_to_report("middleware name", get_rmw_implementation_identifier())
        report.add_to_report("cyclonedds", metadata.version("cyclonedds"))
        return report


# Topics that only one side uses.


SKIP_TOPICS = ["/parameter_events", "/rosout"]


def _counts() -> list[tuple[str, int, int]]:
    with DirectNode(None) as node:
        names = [name for name, _ in node.get_topic_names_and_types() if name not in SKIP_TOPICS]
        return [(name, node.count_publishers(name), node.count_subscribers(name)) for name in names]


class TopicCheck(DoctorCheck):
    """Warns of publishers without subscribers and the other way round."""

    _ros_category = "topic"

    def check(self) -> Result:
        """Count both sides of each topic."""
        result = Result()
        for name, publishers, subscribers in _counts():
            if bool(publishers) == bool(subscribers):
                continue
            what = ("Publisher", "subscriber") if publishers else ("Subscriber", "publisher")
            doctor_warn(f"{what[0]} without {what[1]} detected on {name}.")
            result.add_warning()
        return result


class TopicReport(DoctorReport):
    """The topics with the number of their publishers and subscribers."""

    _ros_category = "topic"

    def report(self) -> Report:
        """Three lines for each topic."""
        report = Report("TOPIC LIST")
        for name, publishers, subscribers in _counts() or [("none", 0, 0)]:
            report.add_to_report("topic", name)
            report.add_to_report("publisher count", publishers)
            report.add_to_report("subscriber count", subscribers)
        return report


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
