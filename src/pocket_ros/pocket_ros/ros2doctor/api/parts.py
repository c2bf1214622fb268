"""What a check and a report are."""

from __future__ import annotations

from typing import ClassVar


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
