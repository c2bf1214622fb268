"""Publishers and subscriptions that cannot match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...rclpy.qos import QoSCompatibility, qos_check_compatible
from ...ros2cli.node.direct import DirectNode
from .format import doctor_error, doctor_warn
from .parts import DoctorCheck, DoctorReport, Report, Result


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
