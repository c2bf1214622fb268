"""StoreyPlan: the storeys of a building, and what its lifts take from one to another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.routes import NoRoute
from fleet_sim.core.world import World
from fleet_sim.equipment.lift_lines import outside
from fleet_sim.equipment.lift_plan import Entrance
from fleet_sim.equipment.lifts import STEP, Lifts
from fleet_sim.sites.building import Building

WALL = 0.05
"""Thickness of the walls and doors of a cabin in m, with which robots must not collide."""


class Crossing(NamedTuple):
    """A lift that takes a robot from one storey to another: from a floor to a floor, each with its entrance.

    The robot stands at `door` (2,) before it gets in, and at `out` (2,) after it got out.
    """

    floor: int
    stop: int
    entrance: Entrance
    exit: Entrance
    door: Floats
    out: Floats


class StoreyPlan:
    """The storeys of `building`, by number, and its lifts, by row.

    What is at most 0.3 m below the floor of a storey, or above, is on it.
    """

    def __init__(self, world: World, building: Building, lifts: Lifts | None, room: float) -> None:
        """Robots keep `room` m to walls; `lifts` is None for a building without lifts."""
        self._world, self.building, self._lifts, self._room = world, building, lifts, room
        self.heights = np.array([level.elevation for level in building.levels])

    def number(self, height: float) -> int:
        """Return the number of the level that what is at `height` m is on."""
        below = np.where(self.heights <= height + STEP, self.heights, -np.inf)
        return int(below.argmax()) if np.isfinite(below).any() else int(self.heights.argmin())

    def name(self, storey: int) -> str:
        """Return the name of a level."""
        return self.building.levels[storey].name

    @property
    def lifts(self) -> list[int]:
        """The lifts, by row."""
        return [] if self._lifts is None else self._lifts.rows.tolist()

    def floor_on(self, lift: int, storey: int) -> int:
        """Return the number of the floor of a lift that is on a storey; -1: it does not stop there."""
        assert self._lifts is not None
        plan = self._lifts.plan(lift)
        floor = plan.nearest(float(self.heights[storey]))
        return floor if abs(plan.heights[floor] - self.heights[storey]) <= STEP else -1

    def lift_at(self, place: Floats) -> int | None:
        """Return the lift in whose cabin, or above or below it, a place (3,) is."""
        for lift in self.lifts:
            assert self._lifts is not None
            level = np.array([[place[0], place[1], self._lifts.table.height[lift]]])
            if self.passes(lift, self.number(place[2])) and self._lifts.inside_mask(lift, level)[0]:
                return lift
        return None

    def passes(self, lift: int, storey: int) -> bool:
        """Return whether a storey has the shaft of a lift."""
        assert self._lifts is not None
        heights = self._lifts.plan(lift).heights
        return bool(heights.min() - STEP <= self.heights[storey] <= heights.max() + STEP)

    def crossing(self, lift: int, begin: int, end: int, radius: float) -> Crossing | NoRoute:
        """Return how a lift takes a robot with a footprint of `radius` m from a storey to another, or why not."""
        assert self._lifts is not None
        plan, name = self._lifts.plan(lift), self._world.label(lift)
        stops = [self.floor_on(lift, storey) for storey in (begin, end)]
        if min(stops) < 0:
            missing = self.name((begin, end)[stops.index(-1)])
            return NoRoute(f"lift {name!r} does not stop on {missing!r}", ActionCause.UNREACHABLE)
        needed = radius + self._room
        there, here = (plan.entrances[floor] for floor in stops)
        sides = [there.width, here.width, *(2.0 * self._lifts.table.half[lift, :2] - 2.0 * WALL).tolist()]
        if 2.0 * needed > min(sides):
            reason = f"lift {name!r} has {min(sides):g} m of room, and the robot needs {2.0 * needed:g} m"
            return NoRoute(reason, ActionCause.UNREACHABLE)
        return Crossing(stops[0], stops[1], there, here, outside(there, needed), outside(here, needed))
