"""LiveSource: frames of a simulation, taken between two of its steps; RecordedSource: frames of a recording."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from typing import ClassVar

from fleet_sim.apps.viewer.source import (
    SOURCE,
    EventLog,
    Recorded,
    RunStatus,
    Source,
    ViewFrame,
    Wanted,
    Watching,
    details_of,
)
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.kernels import compiling
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.drawing import FloorPlan, floor_plans_of
from fleet_sim.world.checkpoint import Checkpoint
from fleet_sim.world.commands import Call, Command, CommandAck, Reset
from fleet_sim.world.features import CountsDeliveries
from fleet_sim.world.snapshot import PathsAhead, paths_ahead, recorded_paths_ahead

CHECKPOINT_PERIOD = 10.0
"""Simulated time in s between two states that are kept for going back."""
MOST_CHECKPOINTS = 12
SHORTEST_WAIT = 1.0
"""In s of real time, between two of them: runs may be fast."""
YOUNGEST = 1.0
"""In simulated s: from a state that is younger, one goes back to the one before."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GoBack(Call):
    """Restore a state that was kept. It is no part of a run that is repeated: a record of inputs ends there."""

    between_steps: ClassVar[bool] = True


class LiveSource(Source):
    """A simulation as a view sees it: it reads frames, and sends commands."""

    takes_commands = True

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim = sim
        self._closed = False
        self._pending: Future[ViewFrame] | None = None
        self._wanted = Wanted()
        self._watching = Watching(sim)
        self._events: EventLog | None = None
        # The states that are kept with their times, and when in real time the last one was.
        self._kept: deque[tuple[float, Checkpoint]] = deque(maxlen=MOST_CHECKPOINTS)
        self._kept_at = 0.0

    @property
    def floor_plans(self) -> tuple[FloorPlan, ...]:  # type: ignore[override]
        """What is on the floors of the building, if there is one."""
        return floor_plans_of(self._sim)

    @property
    def resets(self) -> bool:  # type: ignore[override]
        """Whether it can begin again: without an initial state it would go back to where it is."""
        return self._sim.params.keep_initial_state or self._sim.state.has_initial

    @property
    def rewinds(self) -> bool:  # type: ignore[override]
        """Whether it can go back. An engine is left alone: saving its state is not to be a part of looking at it."""
        return not self._sim.params.physics

    @property
    def routed(self) -> bool:  # type: ignore[override]
        """Whether there are ways around walls that robots can be sent on."""
        return self._sim.world.routes.known

    # ---- reading -----------------------------------------------------------------------------------------------------

    def frame(self, wanted: Wanted, patience: float) -> ViewFrame | None:
        """Return the state between the step that is under way and the next."""
        self._wanted = wanted
        if self._closed:
            return None
        # One that is still waited for is not asked for again: a step that takes long must not be followed by many.
        future = self._pending or self._sim.control.between_steps(self._take)
        self._pending = future
        try:
            frame = future.result(patience)
        except FutureTimeoutError:
            return None
        except CancelledError:
            frame = None
        finally:
            if future.done():
                self._pending = None
        return frame

    def _take(self) -> ViewFrame:
        sim, wanted = self._sim, self._wanted
        world = sim.world
        # From the first page on.
        self._events = self._events or EventLog(sim)
        self._events.forget_after(sim.sim_time)
        if wanted.checkpoints and self.rewinds:
            self._keep_state()
        scans, pictures = self._watching.look(wanted)
        return ViewFrame(
            snapshot=sim.snapshots.take(),
            status=self._status(),
            paths=paths_ahead(world) if wanted.paths else PathsAhead(),
            scans=scans,
            pictures=pictures,
            details={name: details_of(sim, name) for name in wanted.robots if world.index.has_name(name)},
            events=self._events.latest,
        )

    def _keep_state(self) -> None:
        """Keep the state now and then; that is no command, as the run is the same with and without it."""
        now = self._sim.sim_time
        while self._kept and self._kept[-1][0] > now:
            self._kept.pop()
        waited = time.monotonic() - self._kept_at >= SHORTEST_WAIT
        if waited and (not self._kept or now - self._kept[-1][0] >= CHECKPOINT_PERIOD):
            self._kept.append((now, self._sim.save_state()))
            self._kept_at = time.monotonic()

    def _status(self) -> RunStatus:
        sim = self._sim
        settings = sim.control.is_paused, sim.params.target_rtf
        return RunStatus(*settings, tuple(sim.profiler.totals), self._throughput(), compiling())

    def _throughput(self) -> float | None:
        """Return the deliveries per hour since the beginning, of all managers; None where nobody counts any."""
        time, managers = self._sim.sim_time, self._sim.extensions.managers.values()
        counts = [manager.delivered for manager in managers if isinstance(manager, CountsDeliveries)]
        if not counts:
            return None
        return 3600.0 * sum(counts) / time if time > 0.0 else 0.0

    # ---- acting ------------------------------------------------------------------------------------------------------

    def set_paused(self, paused: bool) -> None:
        """Pause, or go on."""
        (self._sim.control.pause if paused else self._sim.control.resume)()

    def step(self) -> None:
        """Make one step, where it is paused."""
        try:
            self._sim.runner.single_step()
        except StateError:
            # It goes on already: another page has resumed it.
            return

    def set_speed(self, factor: float) -> None:
        """Set the real-time factor; 0: as fast as possible."""
        params = self._sim.params
        self._sim.control.between_steps(lambda: setattr(params, "target_rtf", factor))

    def reset(self) -> None:
        """Begin again."""
        self.send(Reset(source=SOURCE))

    def rewind(self) -> None:
        """Go back to the last state that was kept, or to the one before, and pause there."""
        past = [kept for kept_at, kept in list(self._kept) if kept_at <= self._sim.sim_time - YOUNGEST]
        if past:
            self.set_paused(True)
            self.send(GoBack(function=lambda sim: sim.restore_state(past[-1]), source=SOURCE))

    def send(self, command: Command) -> Future[CommandAck]:
        """Send a command; its answer comes when it is carried out."""
        return self._sim.inbox.put(command.from_outside())

    def _end(self) -> None:
        self._watching.end()
        if self._events is not None:
            self._events.close()

    def close(self) -> None:
        """Let go of the simulation."""
        self._closed = True
        self._sim.control.between_steps(self._end)
        pending = self._pending
        if pending is not None:
            pending.cancel()


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
