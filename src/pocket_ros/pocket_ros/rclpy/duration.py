"""Spans of time."""

from __future__ import annotations

from functools import total_ordering
from typing import Any

from ..module_places import NotCovered
from .constants import S_TO_NS

_LIMIT = 2**63


@total_ordering
class Duration:
    """A span of time in whole nanoseconds. Raises OverflowError beyond 64 bits."""

    __slots__ = ("_nanoseconds",)

    get_c_duration = NotCovered()

    def __init__(self, *, seconds: int | float = 0, nanoseconds: int = 0) -> None:
        total = int(seconds * S_TO_NS) + int(nanoseconds)
        if not -_LIMIT <= total < _LIMIT:
            raise OverflowError("Total nanoseconds value is too large to store in C duration.")
        self._nanoseconds = total

    @property
    def nanoseconds(self) -> int:
        return self._nanoseconds

    def __repr__(self) -> str:
        return f"Duration(nanoseconds={self._nanoseconds})"

    def __str__(self) -> str:
        return "Infinite" if self == Infinite else f"{self._nanoseconds} nanoseconds"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Duration):
            return self._nanoseconds == other._nanoseconds
        return NotImplemented

    def __lt__(self, other: Duration) -> bool:
        if isinstance(other, Duration):
            return self._nanoseconds < other._nanoseconds
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._nanoseconds)

    def to_msg(self) -> Any:
        """As builtin_interfaces/msg/Duration."""
        from ..interfaces.classes import message_class

        sec, nanosec = divmod(self._nanoseconds, S_TO_NS)
        return message_class("builtin_interfaces/msg/Duration")(sec=sec, nanosec=nanosec)

    @classmethod
    def from_msg(cls, msg: Any) -> Duration:
        """From builtin_interfaces/msg/Duration. Raises TypeError for anything else."""
        if getattr(msg, "_type_name_", "") != "builtin_interfaces/msg/Duration":
            raise TypeError("Must pass a builtin_interfaces.msg.Duration object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec)


Infinite = Duration(nanoseconds=_LIMIT - 1)


DurationType = Duration
