"""The history of one frame relative to its parents."""

from __future__ import annotations

from bisect import bisect_left
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
        """Add a sample, in place of one with the same stamp; False where it is older than what is kept.

        What is too old goes before the new sample comes, so the first sample after a pause can still be
        interpolated with the last before it.
        """
        samples = self._samples
        if self.is_static or not samples:
            self._samples = [sample]
            return True
        oldest = samples[-1].stamp - self._keep_ns
        if samples[0].stamp < oldest:
            del samples[: bisect_left(samples, oldest, key=lambda s: s.stamp)]
        if sample.stamp < oldest:
            return False
        if sample.stamp > samples[-1].stamp:
            samples.append(sample)
            return True
        position = bisect_left(samples, sample.stamp, key=lambda s: s.stamp)
        same = int(samples[position].stamp == sample.stamp)
        samples[position : position + same] = [sample]
        return True

    def latest(self) -> Sample:
        """The newest sample."""
        return self._samples[-1]

    def oldest(self) -> Sample:
        """The oldest sample that is kept."""
        return self._samples[0]

    def __len__(self) -> int:
        return len(self._samples)

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
        if len(samples) == 1:
            raise ExtrapolationException(
                f"Lookup would require extrapolation at time {stamp / 1e9:f}, "
                f"but only time {samples[0].stamp / 1e9:f} is in the buffer"
            )
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
