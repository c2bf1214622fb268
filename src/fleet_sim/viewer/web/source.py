"""What a view shows: frames of a simulation or of a recording, and what may be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from fleet_sim.arrays import Bytes, Floats
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.commands import Command
from fleet_sim.core.paths_ahead import PathsAhead
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.sites.floor_plan import FloorPlan


@dataclass(frozen=True)
class Wanted:
    """What a frame is to have besides the snapshot; it costs nothing where nobody looks at it."""

    paths: bool = False
    scans: bool = False
    robots: frozenset[str] = frozenset()
    """Those whose details are shown."""
    cameras: frozenset[tuple[str, str]] = frozenset()
    """Robots and names of their cameras whose pictures are shown."""


@dataclass(frozen=True)
class RunStatus:
    """How a run goes. Times in s; `throughput` is per hour of simulated time, None where nothing is delivered."""

    paused: bool = False
    speed: float = 1.0
    """The real-time factor that is asked for; 0: as fast as possible."""
    step_times: Sequence[float] = ()
    """Real times of the latest steps, in ms."""
    throughput: float | None = None

    @property
    def step_time(self) -> float:
        """Their mean in s; computed by who shows it, and not between two steps."""
        return 0.001 * sum(self.step_times) / len(self.step_times) if self.step_times else 0.0


@dataclass(frozen=True)
class RobotDetails:
    """What is said of a robot or object besides its pose: lines of (what, value), and its sensors by name and kind."""

    lines: Sequence[tuple[str, str]] = ()
    cameras: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ViewFrame:
    """What is shown at one moment; all of it is from between the same two steps."""

    snapshot: Snapshot
    status: RunStatus = RunStatus()
    paths: PathsAhead = field(default_factory=PathsAhead)
    scans: Floats = field(default_factory=lambda: np.empty((0, 3)))
    """Points (P, 3) where the rays of lidars end."""
    details: Mapping[str, RobotDetails] = field(default_factory=dict)
    pictures: Mapping[tuple[str, str], Bytes] = field(default_factory=dict)


class Recorded(Protocol):
    """A recording: snapshots at times. Whoever reads a file gives this, and a view shows it."""

    @property
    def times(self) -> Floats:
        """The times (T,) in s of all snapshots, rising."""

    def snapshot_at(self, time: float) -> Snapshot:
        """Return the last snapshot that is not after `time` in s; called by one thread at a time."""

    def close(self) -> None:
        """Let go of the file."""


@runtime_checkable
class WithFloorPlan(Protocol):
    """A recording of a run in a building."""

    @property
    def floor_plans(self) -> tuple[FloorPlan, ...]:
        """What is on the floors of the building, if there is one."""


class Source(Protocol):
    """What a view shows. All methods may be called from any thread, but `frame` from one at a time."""

    @property
    def title(self) -> str:
        """What the page is called."""

    @property
    def floor_plans(self) -> tuple[FloorPlan, ...]:
        """What is on the floors of the building, if there is one."""

    @property
    def takes_commands(self) -> bool:
        """Whether robots can be sent, spawned and so on."""

    @property
    def resets(self) -> bool:
        """Whether it can begin again."""

    @property
    def routed(self) -> bool:
        """Whether there are ways around walls that robots can be sent on."""

    @property
    def times(self) -> tuple[float, float] | None:
        """First and last time in s of a recording; None for what is still being simulated."""

    def frame(self, wanted: Wanted, patience: float) -> ViewFrame | None:
        """Return what is to be shown now; None where there is nothing new for `patience` s, or ever."""

    def set_paused(self, paused: bool) -> None:
        """Pause, or go on."""

    def step(self) -> None:
        """Make one step, where it is paused."""

    def set_speed(self, factor: float) -> None:
        """Set the real-time factor; 0: as fast as possible."""

    def reset(self) -> None:
        """Begin again."""

    def seek(self, time: float) -> None:
        """Go to a time of a recording."""

    def send(self, command: Command) -> Future[CommandAck]:
        """Send a command; its answer comes when it is carried out."""

    def close(self) -> None:
        """Let go of what is shown; a `frame` in another thread returns."""
