"""SampleQueue: the way of samples from the step to the thread that writes them, of bounded length."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Literal

from fleet_sim.record.topic import Sample

OnFull = Literal["wait", "drop"]
LENGTH = 64
"""Samples that wait at most; one of 1,000 robots takes 0.2 MB."""


class SampleQueue:
    """Samples in order. When it is full, `put` waits until half of it is written, or drops the sample and counts it."""

    def __init__(self, on_full: OnFull, length: int = LENGTH) -> None:
        self.dropped = 0
        self._on_full, self._length = on_full, length
        self._waiting: deque[Sample] = deque()
        # Guards what follows; notified when a sample comes, when there is room again, and at the end.
        self._changed = Condition()
        self._closed = False

    def put(self, sample: Sample) -> bool:
        """Add a sample; return whether it was taken."""
        with self._changed:
            if len(self._waiting) >= self._length:
                if self._on_full == "drop":
                    self.dropped += 1
                    return False
                # Not until there is room for one: the two threads would wake each other for every sample.
                self._changed.wait_for(lambda: self._closed or len(self._waiting) <= self._length // 2)
            if self._closed:
                return False
            self._waiting.append(sample)
            # Not for each: a thread that wakes takes the interpreter from the step.
            if len(self._waiting) >= self._length // 2:
                self._changed.notify_all()
            return True

    def get(self, timeout: float) -> list[Sample]:
        """Return half a queue of samples, or those there are after `timeout` s of real time and at the end."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) >= self._length // 2 or self._closed, timeout)
            samples = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._length // 2))]
            self._changed.notify_all()
            return samples

    @property
    def is_over(self) -> bool:
        """Whether it is closed and all samples were taken."""
        return self._closed and not self._waiting

    def close(self, *, forget: bool = False) -> None:
        """Take no more; with `forget`, drop those that wait."""
        with self._changed:
            self._closed = True
            if forget:
                self._waiting.clear()
            self._changed.notify_all()
