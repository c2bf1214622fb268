"""Messages that belong together by their stamps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from threading import RLock
from typing import Any

from ..rclpy.duration import Duration
from ..rclpy.time import Time
from .simple_filter import SimpleFilter
from .stamps import stamp_of

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
