"""The tree of frames over time, without ROS."""

from __future__ import annotations

import math
from threading import Condition, RLock
from typing import NamedTuple

from .exceptions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
)
from .frame_cache import FrameCache, Sample
from .rigid import IDENTITY, Rigid, compose, inverse, normalised

_MAX_DEPTH = 1000


class KnownFrame(NamedTuple):
    """A frame, who said so last, and how much is kept of it; times in ns, both 0 for static frames."""

    name: str
    parent: str
    authority: str
    oldest: int
    newest: int
    kept: int


class FrameTree:
    """Stores transforms and answers what lies between two frames at a time. Safe from any thread."""

    def __init__(self, keep_ns: int) -> None:
        self._keep_ns = keep_ns
        self._frames: dict[str, FrameCache] = {}
        self._names: dict[str, None] = {}  # in the order in which they came up
        self._authorities: dict[str, str] = {}
        self._changed = Condition(RLock())

    def insert(
        self, parent: str, child: str, stamp: int, transform: Rigid, is_static: bool, authority: str
    ) -> bool:
        """Add a transform, its rotation normalised; False where it is too old.

        Raises InvalidArgumentException for frames without name, a frame that is its own parent, and values
        that are no rigid transform.
        """
        parent, child = parent.lstrip("/"), child.lstrip("/")
        _check(parent, child, transform)
        transform = Rigid(transform.translation, normalised(transform.rotation))
        with self._changed:
            cache = self._frames.get(child)
            if cache is None or cache.is_static != is_static:
                cache = self._frames[child] = FrameCache(is_static, self._keep_ns)
            inserted = cache.insert(Sample(stamp, parent, transform))
            self._names.update({child: None, parent: None})
            if inserted:
                self._authorities[child] = authority
                self._changed.notify_all()
            return inserted

    def lookup(self, target: str, source: str, stamp: int) -> tuple[int, Rigid]:
        """The time and the transform that maps points of `source` into `target`; time 0 is the latest common.

        Raises LookupException, ConnectivityException, ExtrapolationException, InvalidArgumentException.
        """
        with self._changed:
            self._check_known(target, "target_frame")
            self._check_known(source, "source_frame")
            if target == source:
                return stamp or self._own_time(target), IDENTITY
            if stamp == 0:
                stamp = self.latest_common_time(target, source)
            try:
                return stamp, self._between(target, source, stamp)
            except ExtrapolationException as error:
                raise ExtrapolationException(
                    f"{error}, when looking up transform from frame [{source}] to frame [{target}]"
                ) from None

    def latest_common_time(self, target: str, source: str) -> int:
        """The newest time at which the whole way between two frames is known; 0 where all of it is static.

        Raises LookupException and ConnectivityException.
        """
        with self._changed:
            self._check_known(target, "target_frame")
            self._check_known(source, "source_frame")
            times: dict[str, int | None] = {source: None}
            frame, newest = source, None
            for _ in range(_MAX_DEPTH):
                cache = self._frames.get(frame)
                if cache is None:
                    break
                newest, frame = _earlier(newest, cache), cache.latest().parent
                times[frame] = newest
            frame, newest = target, None
            for _ in range(_MAX_DEPTH):
                if frame in times:
                    found = [t for t in (newest, times[frame]) if t is not None]
                    return min(found, default=0)
                cache = self._frames.get(frame)
                if cache is None:
                    break
                newest, frame = _earlier(newest, cache), cache.latest().parent
            raise _unconnected(target, source)

    def frames(self) -> list[KnownFrame]:
        """Every frame that has a parent, in the order in which the frames came up."""
        with self._changed:
            known = [(name, self._frames[name]) for name in self._names if name in self._frames]
            return [
                KnownFrame(
                    name,
                    cache.latest().parent,
                    self._authorities[name],
                    0 if cache.is_static else cache.oldest().stamp,
                    0 if cache.is_static else cache.latest().stamp,
                    len(cache),
                )
                for name, cache in known
            ]

    def clear_dynamic(self) -> None:
        """Forget everything that is not static."""
        with self._changed:
            self._frames = {name: c for name, c in self._frames.items() if c.is_static}

    def names(self) -> list[str]:
        """Every frame that came up, parents too, in that order."""
        with self._changed:
            return list(self._names)

    def wait_for_change(self, timeout: float) -> None:
        """Wait until a transform is added, up to `timeout` seconds."""
        with self._changed:
            self._changed.wait(timeout)

    def _between(self, target: str, source: str, stamp: int) -> Rigid:
        """Walk up from both frames to the first they share."""
        above_source: dict[str, Rigid] = {source: IDENTITY}
        problem: ExtrapolationException | None = None
        frame, transform = source, IDENTITY
        for _ in range(_MAX_DEPTH):
            cache = self._frames.get(frame)
            if cache is None or frame == target:
                break
            try:
                sample = cache.at(stamp)
            except ExtrapolationException as error:
                problem = error
                break
            transform, frame = compose(sample.transform, transform), sample.parent
            above_source[frame] = transform
        frame, transform = target, IDENTITY
        for _ in range(_MAX_DEPTH):
            if frame in above_source:
                return compose(inverse(transform), above_source[frame])
            cache = self._frames.get(frame)
            if cache is None:
                break
            sample = cache.at(stamp)
            transform, frame = compose(sample.transform, transform), sample.parent
        raise problem or _unconnected(target, source)

    def _own_time(self, frame: str) -> int:
        cache = self._frames.get(frame)
        return 0 if cache is None or cache.is_static else cache.latest().stamp

    def _check_known(self, frame: str, argument: str) -> None:
        if not isinstance(frame, str):
            raise TypeError(f"{argument} must be str, not {type(frame).__name__}")
        if not frame:
            raise InvalidArgumentException(
                f'Invalid argument "" passed to lookupTransform argument {argument} - '
                "in tf2 frame_ids cannot be empty"
            )
        if frame.startswith("/"):
            raise InvalidArgumentException(
                f'Invalid argument "{frame}" passed to lookupTransform argument {argument} - '
                "in tf2 frame_ids cannot start with a '/'"
            )
        if frame not in self._names:
            raise LookupException(f'"{frame}" passed to lookupTransform argument {argument} does not exist. ')


def _earlier(newest: int | None, cache: FrameCache) -> int | None:
    if cache.is_static:
        return newest
    stamp = cache.latest().stamp
    return stamp if newest is None else min(newest, stamp)


def _unconnected(target: str, source: str) -> ConnectivityException:
    return ConnectivityException(
        f"Could not find a connection between '{target}' and '{source}' because they are not part of the "
        "same tree.Tf has two or more unconnected trees."
    )


def _check(parent: str, child: str, transform: Rigid) -> None:
    if not parent or not child:
        raise InvalidArgumentException(f"a transform needs two frames, it was '{parent}' to '{child}'")
    if parent == child:
        raise InvalidArgumentException(f"frame '{child}' cannot be its own parent")
    if not all(math.isfinite(v) for v in (*transform.translation, *transform.rotation)):
        raise InvalidArgumentException(f"the transform of '{child}' in '{parent}' is not finite: {transform}")
    if not any(transform.rotation):
        raise InvalidArgumentException(f"the rotation of '{child}' in '{parent}' is a zero quaternion")
