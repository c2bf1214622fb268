"""Routes: ways around walls, as parts above the core find them and robots drive them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.world.schema import NO_ROW

# Passages: places in a building that open when a robot is to pass, as doors are.


class Passages(Protocol):
    """Knows the passages of a world that open for robots; each is named by the row of its first part."""

    def opening_for_robots(self) -> Rows:
        """Return the passages (P,) that open when a robot asks."""

    def parts_of(self, passage: int) -> Rows:
        """Return the bodies (K,) that stand in the way while it is closed, and move while it opens."""

    def poses_at(self, parts: Rows, opening: float) -> tuple[Floats, Floats]:
        """Return positions (K, 3) and orientations (K, 4) of parts of a passage that is open by 0 to 1."""

    def reach(self, parts: Rows, opening: float, points: Floats, radius: float) -> Bools:
        """Return which `points` (N, 2) are nearer than `radius` m to parts of a passage that is open by `opening`."""

    def are_open(self, passages: Rows) -> Bools:
        """Return which of `passages` (P,) are open, wholly."""

    def keep_open(self, passages: Rows, seconds: float = 0.0) -> None:
        """Open `passages` (P,), and keep them open in the next step and for `seconds`, whatever they are told."""


@dataclass(frozen=True, eq=False)
class Route:
    """`points` (K, 2) from start to goal, in m in the frame of the world, driven along straight lines.

    `speed_limits` (K - 1,) in m/s are those of the lines, inf where there is none.
    """

    points: Floats
    speed_limits: Floats

    @classmethod
    def through(cls, *points: Floats) -> Route:
        """Return the route along straight lines through `points` (2,), without those that are twice there."""
        kept = [points[0], *(end for begin, end in pairwise(points) if np.abs(end - begin).max() > 1e-9)]
        return cls(np.array(kept), np.full(len(kept) - 1, np.inf))

    @property
    def lengths(self) -> Floats:
        """Lengths (K - 1,) of the lines in m."""
        return trig.hypot(*np.diff(self.points, axis=0).T)

    @property
    def length(self) -> float:
        """Length of the route in m."""
        return float(self.lengths.sum())


@dataclass(frozen=True)
class NoRoute:
    """Why there is no route: in words, and as the cause of an action that fails for it."""

    reason: str
    cause: ActionCause


@saved
class LiftStop(NamedTuple):
    """A lift, by the row of its cabin, at one of its floors, by number."""

    lift: int
    floor: int


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a way on one storey, which is `rise` m above the storey on which the way begins.

    With a `stop` it leads into the cabin of a lift, or out of it, and begins when that is there with open doors.
    """

    route: Route
    rise: float = 0.0
    stop: LiftStop | None = None


class RouteNeeds(NamedTuple):
    """What a robot needs of a route: `radius` in m of the disc of its footprint, its largest `speed` in m/s."""

    radius: float
    speed: float
    mode: RouteMode


# Given places (K, 2) in m, return which (K,) a robot may go to.
Wanted: TypeAlias = Callable[[Floats], Bools]


class RouteSource(Protocol):
    """Knows ways around walls; with `detours` around robots that stand in the way, too."""

    detours: ClassVar[bool]

    def find(self, start: Floats, goal: Floats, radius: float, *, speed: float, mode: RouteMode) -> Route | NoRoute:
        """Return a route from `start` (3,) to `goal` (3,) in m for a robot whose footprint is a disc of `radius` m.

        It stays on one storey. `speed` in m/s is the robot's largest: where limits are lower, another way may be
        faster.
        """

    def journey(
        self, row: int, start: Floats, goal: Floats, needs: RouteNeeds, *, detour: bool
    ) -> Sequence[Stretch] | NoRoute:
        """Return the way of the robot in `row` from `start` (3,) to `goal` (3,) in m, with a lift if need be.

        Where it has to wait for one, its place to wait is kept for it until it leaves the line of that lift. A `detour`
        leads around the robots that stand near it; only a source with `detours` is asked for one.
        """

    def retreat(
        self, row: int, start: Floats, radius: float, *, speed: float, wanted: Wanted
    ) -> Sequence[Stretch] | NoRoute:
        """Return the way of the robot in `row` from `start` (3,) to the nearest place on its storey that is `wanted`.

        It leads around robots that stand near; only a source with `detours` is asked for one.
        """

    def rise(self, start: float, goal: float) -> float:
        """Return how far (m) the storey at the height `goal` in m is above the one at the height `start`."""


class LiftLine(Protocol):
    """Serves robots that take lifts on their routes, one at a time in each lift, in the order in which they ask."""

    def ask(self, stop: LiftStop, robot: int) -> bool:
        """Return whether a lift is at a stop for the robot in row `robot`, open, and nobody else in the way.

        Otherwise the robot waits in the line, and asks again. Raises InvalidValueError where there is no such lift.
        """

    def leave(self, lift: int, robot: int) -> None:
        """Leave the lift to others; nothing happens where the robot does not wait for it or ride in it."""


class Conveyance(Protocol):
    """Drives robots to places by its own means, as the traffic of a site does; `reason` is why others may not."""

    reason: ClassVar[str]

    def drives(self, row: int) -> bool:
        """Return whether it drives the robot in `row`."""

    def check_goal(self, row: int, point: Floats, heading: float | None, tolerance: float) -> None:
        """Raise FleetSimError where `send_to` would."""

    def send_to(self, row: int, point: Floats, heading: float | None, tolerance: float) -> None:
        """Send a robot to `point` (3,) in m, to `heading` in rad there if it is given; raises FleetSimError.

        The actions of the robot are told of its arrival as of any other.
        """

    def has_brought(self, row: int) -> bool:
        """Return whether the robot stands, or stood, where it was sent last."""

    def goals(self, rows: Rows) -> tuple[Floats, Floats, Bools]:
        """Return where `rows` are to stand in the end: points (N, 2) in m, headings (N,), nan for any, and who (N,).

        Those that were sent nowhere, or have arrived, are not among them.
        """

    def waits_for(self, rows: Rows) -> Rows:
        """Return whom each of `rows` (N,) waits for, NO_ROW for nobody."""


class Routes:
    """The source of routes of a world, if it has one. `conveyance` drives some of its robots, if there is one."""

    def __init__(self) -> None:
        self._source: RouteSource | None = None
        self.conveyance: Conveyance | None = None
        self.passages: Passages | None = None
        """What opens for robots on their way, if there is any."""
        self.closed: dict[str, Floats] = {}
        """The corners (K, 2) in m of areas that are closed to robots, by the id of what closes them."""
        self.lifts: LiftLine | None = None
        """Who serves robots that take lifts, if there are any."""

    def blockers(self, rows: Rows, obstacles: Rows) -> Rows:
        """Return what each of `rows` (N,) stands for: its obstacle (N,), else whom it waits for; NO_ROW for nothing."""
        if self.conveyance is None:
            return obstacles
        return np.where(obstacles == NO_ROW, self.conveyance.waits_for(rows), obstacles)

    def conveys(self, row: int) -> bool:
        """Return whether the conveyance drives the robot in `row`."""
        return self.conveyance is not None and self.conveyance.drives(row)

    def offer(self, source: RouteSource) -> None:
        """Let robots be routed by `source`; it replaces an earlier one."""
        self._source = source

    def withdraw(self) -> None:
        """Let no robot be routed any more."""
        self._source = None

    @property
    def known(self) -> bool:
        """Whether there is a source of routes."""
        return self._source is not None

    @property
    def source(self) -> RouteSource:
        """The source of routes; raises InvalidValueError where there is none."""
        if self._source is None:
            raise InvalidValueError(
                "there are no routes without a map; add a section 'site' to the scenario, or drive without a route"
            )
        return self._source
