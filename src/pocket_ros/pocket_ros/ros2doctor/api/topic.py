"""Topics that only one side uses."""

from __future__ import annotations

from ...ros2cli.node.direct import DirectNode
from .format import doctor_warn
from .parts import DoctorCheck, DoctorReport, Report, Result

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
