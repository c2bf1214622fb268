"""Messages of several topics brought together by their time stamps, and kept for a while."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

from ..places import not_covered
from ..rclpy.clock import ROSClock
from ..rclpy.logging import get_logger
from ..rclpy.node import Node
from ..rclpy.time import Duration, Time

# Where filters hand on what they let through.


class SimpleFilter:
    """Calls what was registered with each output, in order of registration."""

    def __init__(self) -> None:
        self.callbacks: dict[int, tuple[Callable[..., Any], tuple[Any, ...]]] = {}

    def registerCallback(self, cb: Callable[..., Any], *args: Any) -> int:
        """Have `cb` called with each output and then `args`; the number of the registration.

        Raises TypeError for what cannot be called.
        """
        if not callable(cb):
            raise TypeError(f"a callback must be callable, got {type(cb).__name__}")
        connection = len(self.callbacks)
        self.callbacks[connection] = (cb, args)
        return connection

    def signalMessage(self, *msg: Any) -> None:
        """Hand an output on."""
        for callback, args in list(self.callbacks.values()):
            callback(*msg, *args)


# When a message was made.


def stamp_of(msg: Any, *, allow_headerless: bool, logger_name: str) -> Time | None:
    """The stamp in the header.

    Without one it is the present where that is allowed, otherwise None, and a warning is logged.
    """
    stamp = getattr(getattr(msg, "header", None), "stamp", None)
    if stamp is not None:
        return stamp if hasattr(stamp, "nanoseconds") else Time.from_msg(stamp)
    if allow_headerless:
        return ROSClock().now()
    get_logger(logger_name).warning(
        f"ignored a {type(msg).__name__}: it has no header with a stamp; allow_headerless=True takes the "
        "time of its arrival instead"
    )
    return None


# Topics as inputs of filters.


class Subscriber(SimpleFilter):
    """Hands on the messages of a topic: `Subscriber(node, Image, "image", qos_profile=10)`.

    Keywords are those of `Node.create_subscription`; attributes those of the subscription, which is `sub`.
    """

    def __init__(
        self, node: Node, msg_type: type[Any], topic: str, *, qos_profile: Any = 10, **kwargs: Any
    ) -> None:
        super().__init__()
        self.node = node
        self.topic = topic
        self.sub = node.create_subscription(msg_type, topic, self.callback, qos_profile, **kwargs)

    def callback(self, msg: Any) -> None:
        """Hand a message on."""
        self.signalMessage(msg)

    def getTopic(self) -> str:
        """The topic as it was given."""
        return self.topic

    def __getattr__(self, key: str) -> Any:
        if key == "sub":  # not there yet: the subscription could not be made
            raise AttributeError(key)
        return getattr(self.sub, key)


# The last messages, by their time.


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


# Messages that belong together by their stamps.


Queue = dict[int, Any]


class TimeSynchronizer(SimpleFilter):
    """Hands on one message of each filter, in the order of the filters, when all have the same stamp.

    Of each filter the newest `queue_size` messages wait for the others. Raises ValueError for a size below 1.
    """

    def __init__(self, fs: Sequence[SimpleFilter], queue_size: int) -> None:
        super().__init__()
        if queue_size < 1:
            raise ValueError(f"queue_size is {queue_size}; it must be at least 1")
        self.queue_size = queue_size
        self.lock = RLock()  # a callback may hand further messages to the filters
        self.connectInput(fs)

    def connectInput(self, fs: Sequence[SimpleFilter]) -> None:
        """Take the output of filters; what waited is forgotten."""
        self.queues: list[Queue] = [{} for _ in fs]
        self.input_connections = [
            f.registerCallback(self.add, queue, index)
            for index, (f, queue) in enumerate(zip(fs, self.queues, strict=True))
        ]

    def add(self, msg: Any, my_queue: Queue, my_queue_index: int | None = None) -> None:
        """Take a message of one filter. Raises AttributeError for a message without header."""
        with self.lock:
            self._keep(msg, Time.from_msg(msg.header.stamp).nanoseconds, my_queue)
            for stamp in sorted(set.intersection(*map(set, self.queues))):
                if all(stamp in queue for queue in self.queues):  # a callback may have added the same again
                    self._hand_on([stamp] * len(self.queues))

    def _keep(self, msg: Any, stamp: int, queue: Queue) -> None:
        queue[stamp] = msg
        while len(queue) > self.queue_size:
            del queue[min(queue)]

    def _hand_on(self, stamps: Sequence[int]) -> None:
        """Forget the messages of these stamps, one of each queue, and signal them."""
        self.signalMessage(*[queue.pop(stamp) for queue, stamp in zip(self.queues, stamps, strict=True)])


class ApproximateTimeSynchronizer(TimeSynchronizer):
    """TimeSynchronizer for stamps that are less than `slop` seconds apart.

    Of several candidates those nearest to the newest message are taken. Messages without header are ignored
    with a warning, or with `allow_headerless` have the time they arrive.
    """

    def __init__(
        self, fs: Sequence[SimpleFilter], queue_size: int, slop: float, allow_headerless: bool = False
    ) -> None:
        super().__init__(fs, queue_size)
        self.slop = Duration(seconds=slop)
        self.allow_headerless = allow_headerless

    def add(self, msg: Any, my_queue: Queue, my_queue_index: int | None = None) -> None:
        """Take a message of one filter."""
        stamp = stamp_of(msg, allow_headerless=self.allow_headerless, logger_name="message_filters_approx")
        if stamp is None:
            return
        with self.lock:
            self._keep(msg, stamp.nanoseconds, my_queue)
            found = self._nearest(stamp.nanoseconds, my_queue)
            if found is not None:
                self._hand_on(found)

    def _nearest(self, now: int, mine: Queue) -> tuple[int, ...] | None:
        """A stamp of each queue, those of the others nearest to `now` first; None where they do not meet."""
        if now not in mine:
            return None  # older than all that wait: it was not kept
        slop = self.slop.nanoseconds
        choices = []
        for queue in self.queues:
            near = [now] if queue is mine else [stamp for stamp in queue if abs(stamp - now) <= slop]
            choices.append(sorted(near, key=lambda stamp: abs(stamp - now)))
        combinations = itertools.product(*choices)
        return next((stamps for stamps in combinations if max(stamps) - min(stamps) < slop), None)


__all__ = ["ApproximateTimeSynchronizer", "Cache", "SimpleFilter", "Subscriber", "TimeSynchronizer"]

__getattr__ = not_covered("message_filters")
