"""What a check and a report are."""

from __future__ import annotations


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


class DoctorCheck:
    """A check, which other packages register in the group `ros2doctor.checks`."""

    def category(self) -> str:
        """What it is about: the reports of a check that failed have the same category."""
        raise NotImplementedError("a check defines category()")

    def check(self) -> Result:
        """Look, and say what was found."""
        raise NotImplementedError("a check defines check()")


class DoctorReport:
    """A report, which other packages register in the group `ros2doctor.report`."""

    def category(self) -> str:
        """What it is about."""
        raise NotImplementedError("a report defines category()")

    def report(self) -> Report:
        """What there is to say."""
        raise NotImplementedError("a report defines report()")
