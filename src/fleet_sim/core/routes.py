"""Routes: ways around walls, as parts above the core find them and robots drive them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ActionCause, RouteMode
from fleet_sim.core.passages import Passages
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import trigonometry as trig


@dataclass(frozen=True, eq=False)
class Route:
    """`points` (K, 2) from start to goal, in m in the frame of the world, driven along straight lines.

    `speed_limits` (K - 1,) in m/s are those of the lines, inf where there is none.
    """

    points: Floats
    speed_limits: Floats

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


class RouteSource(Protocol):
    """Knows ways around walls."""

    def find(self, start: Floats, goal: Floats, radius: float, *, speed: float, mode: RouteMode) -> Route | NoRoute:
        """Return a route from `start` (2,) to `goal` (2,) in m for a robot whose footprint is a disc of `radius` m.

        `speed` in m/s is the robot's largest: where limits are lower, another way may be faster.
        """


class Conveyance(Protocol):
    """Drives robots to places by its own means, as the traffic of a site does; `reason` is why others may not."""

    reason: ClassVar[str]

    def drives(self, row: int) -> bool:
        """Return whether it drives the robot in `row`."""

    def send_to(self, row: int, point: Floats, heading: float | None, tolerance: float) -> None:
        """Send a robot to `point` (2,) in m, to `heading` in rad there if it is given; raises FleetSimError.

        The actions of the robot are told of its arrival as of any other.
        """

    def has_brought(self, row: int) -> bool:
        """Return whether the robot stands, or stood, where it was sent last."""


class Routes:
    """The source of routes of a world, if it has one. `conveyance` drives some of its robots, if there is one."""

    def __init__(self) -> None:
        self._source: RouteSource | None = None
        self.conveyance: Conveyance | None = None
        self.passages: Passages | None = None
        """What opens for robots on their way, if there is any."""

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
