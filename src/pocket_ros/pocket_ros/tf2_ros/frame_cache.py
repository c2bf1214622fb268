"""The history of one frame relative to its parents."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

from .exceptions import ExtrapolationException
from .rigid import Rigid, interpolate


class Sample(NamedTuple):
    """Where a frame was in its parent at a time (nanoseconds)."""

    stamp: int
    parent: str
    transform: Rigid


class FrameCache:
    """Samples of a frame in order of time, or the one sample of a static frame."""

    def __init__(self, is_static: bool, keep_ns: int) -> None:
        self.is_static = is_static
        self._keep_ns = keep_ns
        self._samples: list[Sample] = []

    def insert(self, sample: Sample) -> bool:
        """Add a sample; False where it is older than what is kept or repeats a time."""
        samples = self._samples
        if self.is_static:
            self._samples = [sample]
            return True
        if not samples or sample.stamp > samples[-1].stamp:
            samples.append(sample)
            oldest = sample.stamp - self._keep_ns
            if samples[0].stamp < oldest:
                del samples[: bisect_left(samples, oldest, key=lambda s: s.stamp)]
            return True
        if sample.stamp < samples[-1].stamp - self._keep_ns:
            return False
        position = bisect_left(samples, sample.stamp, key=lambda s: s.stamp)
        if samples[position].stamp == sample.stamp:
            return False
        insort(samples, sample, key=lambda s: s.stamp)
        return True

    def latest(self) -> Sample:
        """The newest sample."""
        return self._samples[-1]

    def at(self, stamp: int) -> Sample:
        """The frame at a time, interpolated.

        0 is the newest. Raises ExtrapolationException outside what is known.
        """
        samples = self._samples
        if self.is_static or stamp == 0:
            return samples[-1]
        position = bisect_left(samples, stamp, key=lambda s: s.stamp)
        if position < len(samples) and samples[position].stamp == stamp:
            return samples[position]
        if position == len(samples):
            raise ExtrapolationException(_outside("future", stamp, "latest", samples[-1].stamp))
        if position == 0:
            raise ExtrapolationException(_outside("past", stamp, "earliest", samples[0].stamp))
        before, after = samples[position - 1], samples[position]
        if before.parent != after.parent:
            return before
        ratio = (stamp - before.stamp) / (after.stamp - before.stamp)
        return Sample(stamp, before.parent, interpolate(before.transform, after.transform, ratio))


def _outside(direction: str, stamp: int, which: str, known: int) -> str:
    return (
        f"Lookup would require extrapolation into the {direction}.  "
        f"Requested time {stamp / 1e9:f} but the {which} data is at time {known / 1e9:f}"
    )
