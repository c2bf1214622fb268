"""Routes: ways around walls, as parts above the core find them and robots drive them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ActionCause, RouteMode
from fleet_sim.errors import InvalidValueError


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
        return np.asarray(np.hypot(*np.diff(self.points, axis=0).T))

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


class Routes:
    """The source of routes of a world, if it has one."""

    def __init__(self) -> None:
        self._source: RouteSource | None = None

    def offer(self, source: RouteSource) -> None:
        """Let robots be routed by `source`; it replaces an earlier one."""
        self._source = source

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
