"""RecordedSource: frames of a recording, played at any speed, forwards to its end and again from any time."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Condition

from fleet_sim.apps.viewer.source import Recorded, RunStatus, Source, ViewFrame, Wanted
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.world.commands import Command, CommandAck
from fleet_sim.world.snapshot import PathsAhead, recorded_paths_ahead

FASTEST = 1000.0
"""What "as fast as possible" is for a recording, as a factor of real time."""

RECORDINGS: Registry[Callable[[Path], Recorded]] = Registry(
    "recording", Fit("a function that reads a file", callable), group="fleet_sim.recording"
)
"""What reads recordings, by the endings of their files."""


class RecordedSource(Source):
    """A recording as a view sees it. Time goes on by the clock of the machine, from where it was set."""

    times: tuple[float, float]

    def __init__(self, recording: Recorded, title: str, *, speed: float = 1.0, paused: bool = False) -> None:
        """Raises InvalidValueError for a recording without snapshots."""
        if not len(recording.times):
            raise InvalidValueError(f"{title}: the recording is empty")
        self.title = title
        self.times = (float(recording.times[0]), float(recording.times[-1]))
        self.floor_plans = getattr(recording, "floor_plans", ())
        self._recording = recording
        self._all_times: list[float] = recording.times.tolist()
        # Guards all below; notified when what is shown may have changed.
        self._changed = Condition()
        self._speed, self._paused, self._closed = speed, paused, False
        self._position, self._set_at = self.times[0], time.monotonic()
        self._shown: tuple[int, RunStatus, Wanted] | None = None

    def frame(self, wanted: Wanted, patience: float) -> ViewFrame | None:
        """Return what was recorded last before the present time of the recording."""
        with self._changed:
            index, status = self._present()
            if self._closed or (index, status, wanted) == self._shown:
                # Nothing moves while it is paused: wait until somebody acts.
                self._changed.wait(patience if self._paused else 0.0)
                return None
            self._shown = (index, status, wanted)
        snapshot = self._recording.snapshot_at(self._all_times[index])
        return ViewFrame(snapshot, status, recorded_paths_ahead(snapshot) if wanted.paths else PathsAhead())

    def _present(self) -> tuple[int, RunStatus]:
        self._advance()
        index = bisect_right(self._all_times, self._position) - 1
        return max(index, 0), RunStatus(self._paused, self._speed)

    def _advance(self) -> None:
        now = time.monotonic()
        if not self._paused:
            self._position += (now - self._set_at) * (self._speed or FASTEST)
        self._set_at = now
        if self._position >= self.times[1]:
            # At its end it stays there, until somebody goes elsewhere.
            self._position, self._paused = self.times[1], True

    def _change(self, action: Callable[[], object]) -> None:
        with self._changed:
            self._advance()
            action()
            self._changed.notify_all()

    # ---- acting ------------------------------------------------------------------------------------------------------

    def set_paused(self, paused: bool) -> None:
        """Pause, or go on; at the end, from the beginning."""

        def act() -> None:
            if not paused and self._position >= self.times[1]:
                self._position = self.times[0]
            self._paused = paused

        self._change(act)

    def step(self) -> None:
        """Go to the next snapshot."""

        def act() -> None:
            later = bisect_right(self._all_times, self._position)
            self._position = self._all_times[min(later, len(self._all_times) - 1)]

        self._change(act)

    def set_speed(self, factor: float) -> None:
        """Set how many recorded seconds pass in a real one; 0: as fast as possible."""
        self._change(lambda: setattr(self, "_speed", factor))

    def reset(self) -> None:
        """Go to the beginning."""
        self.seek(self.times[0])

    def seek(self, time: float) -> None:
        """Go to a time."""
        self._change(lambda: setattr(self, "_position", min(max(time, self.times[0]), self.times[1])))

    def send(self, command: Command) -> Future[CommandAck]:
        """Refuse: what was recorded cannot be changed."""
        future: Future[CommandAck] = Future()
        future.set_exception(StateError("a recording takes no commands"))
        return future

    def close(self) -> None:
        """Give no more frames."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
