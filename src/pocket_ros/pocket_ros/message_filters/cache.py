"""The last messages, by their time."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from ..rclpy.time import Time
from .simple_filter import SimpleFilter
from .stamps import stamp_of


class Cache(SimpleFilter):
    """Keeps the newest `cache_size` messages of a filter in order of their stamps, and hands them on.

    Messages without header are ignored with a warning, or with `allow_headerless` have the time they arrive.
    """

    def __init__(self, f: SimpleFilter, cache_size: int = 1, allow_headerless: bool = False) -> None:
        super().__init__()
        if cache_size < 1:
            raise ValueError(f"cache_size is {cache_size}; it must be at least 1")
        self.cache_size = cache_size
        self.cache_msgs: list[Any] = []
        self.cache_times: list[Time] = []
        self.allow_headerless = allow_headerless
        self.connectInput(f)

    def connectInput(self, f: SimpleFilter) -> None:
        """Take the output of a filter."""
        self.incoming_connection = f.registerCallback(self.add)

    def add(self, msg: Any) -> None:
        """Take a message."""
        stamp = stamp_of(msg, allow_headerless=self.allow_headerless, logger_name="message_filters_cache")
        if stamp is None:
            return
        place = bisect_right(self.cache_times, stamp)
        self.cache_times.insert(place, stamp)
        self.cache_msgs.insert(place, msg)
        if len(self.cache_msgs) > self.cache_size:
            del self.cache_msgs[0], self.cache_times[0]
        self.signalMessage(msg)

    def getInterval(self, from_stamp: Time, to_stamp: Time) -> list[Any]:
        """The messages from one time to another, both included.

        Raises AssertionError where the times are the wrong way round.
        """
        assert from_stamp <= to_stamp, f"the interval ends at {to_stamp}, before it begins at {from_stamp}"
        kept = zip(self.cache_msgs, self.cache_times, strict=True)
        return [msg for msg, time in kept if from_stamp <= time <= to_stamp]

    def getElemAfterTime(self, stamp: Time) -> Any:
        """The oldest message of that time or later, or None."""
        kept = zip(self.cache_msgs, self.cache_times, strict=True)
        return next((msg for msg, time in kept if time >= stamp), None)

    def getElemBeforeTime(self, stamp: Time) -> Any:
        """The newest message of that time or earlier, or None."""
        kept = zip(reversed(self.cache_msgs), reversed(self.cache_times), strict=True)
        return next((msg for msg, time in kept if time <= stamp), None)

    def getLatestTime(self) -> Time | None:
        """The time of the newest message, or None."""
        return self.cache_times[-1] if self.cache_times else None

    getLastestTime = getLatestTime

    def getOldestTime(self) -> Time | None:
        """The time of the oldest message, or None."""
        return self.cache_times[0] if self.cache_times else None

    def getLast(self) -> Any:
        """The newest message, or None."""
        return self.cache_msgs[-1] if self.cache_msgs else None
