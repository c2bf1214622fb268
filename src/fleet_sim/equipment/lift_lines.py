"""LiftLines: robots that take lifts on their routes, one at a time in each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.routes import LiftStop
from fleet_sim.core.saving.checks import check_row
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.equipment.lift_plan import Entrance
from fleet_sim.equipment.lifts import STEP, Lifts
from fleet_sim.errors import InvalidValueError, StateFileError
from fleet_sim.saved_classes import saved
from fleet_sim.spatial.lines import distances_to_lines

ROOM = 0.1
"""Between a robot in front of a lift and the leaves of its doors, in m."""
WIDEST = 3.0
"""A robot whose middle is farther away than this in m from one that gets in or out is not in its way."""


@saved
class WaitingPlace(NamedTuple):
    """Where a robot with a footprint of `radius` m waits for a lift, on a floor of that."""

    floor: int
    x: float
    y: float
    radius: float


class LiftLines:
    """Who waits for which lift, in the order in which they asked first, and where (a LiftLine).

    A robot has a lift to itself from when it comes for it until it has left it: calls wait that long, and requests are
    refused. It takes it when nobody else has a session with it.
    """

    def __init__(self, world: World, lifts: Lifts) -> None:
        self._world, self._lifts = world, lifts
        self._lines: dict[int, list[int]] = {}
        self._places: dict[tuple[int, int], WaitingPlace] = {}
        world.on_remove.append(self._removed)

    # ---- waiting -----------------------------------------------------------------------------------------------------

    def keep_place(self, lift: int, robot: int, place: WaitingPlace) -> None:
        """Keep a place to wait at for a robot, until it leaves the line."""
        self._places[lift, robot] = place

    def places(self, lift: int, floor: int, robot: int) -> list[WaitingPlace]:
        """Return the places on a floor of a lift that are kept for others than `robot`."""
        return [
            place
            for (where, who), place in self._places.items()
            if where == lift and who != robot and place.floor == floor
        ]

    def line(self, lift: int) -> tuple[int, ...]:
        """Return the robots that wait for a lift or have it, by row."""
        return tuple(self._lines.get(lift, ()))

    # ---- riding ------------------------------------------------------------------------------------------------------

    def ask(self, stop: LiftStop, robot: int) -> bool:
        """Return whether a lift is at a stop for the robot in row `robot`, open, and nobody else in the way.

        Otherwise it comes as soon as it can. Raises InvalidValueError where there is no such lift.
        """
        lift, floor = stop
        if lift not in self._lifts.rows:
            raise InvalidValueError("the lift on its route was removed")
        line = self._lines.setdefault(lift, [])
        # Who asks again keeps its place in the line.
        if robot not in line:
            line.append(robot)
        table = self._lifts.table
        # First the lift has to be this robot's, then it has to stand still.
        if (self._lifts.riders.get(lift) != robot and not self._takes(lift, robot)) or table.busy[lift]:
            return False
        if table.goal[lift] != floor or not table.opens[lift]:
            self._lifts.send(lift, floor, True)
            return False
        return self._is_clear(lift, floor, robot)

    def _takes(self, lift: int, robot: int) -> bool:
        """Let a robot have a lift, if it is its turn; return whether it was."""
        own, inside = self._lifts.session(lift), self._stands_in(lift, robot)
        rider = self._lifts.riders.get(lift)
        if rider is not None:
            # Nobody can get in before who stands in the cabin got out.
            if not inside or self._stands_in(lift, rider):
                return False
        else:
            # First who called it, then who is first in the line, or must get out before others get in.
            awaited = own.name or own.calls or self._lifts.table.busy[lift]
            turn = inside or self._lines[lift][0] == robot
            if awaited or not turn or self._world.clock.time < self._lifts.table.closes_at[lift]:
                return False
        self._lifts.riders[lift] = robot
        own.name = f"route of {self._world.label(robot)}"
        return True

    def leave(self, lift: int, robot: int) -> None:
        """Leave the lift to others; nothing happens where the robot does not wait for it or ride in it."""
        self._places.pop((lift, robot), None)
        if robot in self._lines.get(lift, ()):
            self._lines[lift].remove(robot)
        # Only its own rider gives it back: a session of a fleet manager stays.
        if self._lifts.riders.get(lift) == robot:
            del self._lifts.riders[lift]
            self._lifts.session(lift).name = ""

    def _stands_in(self, lift: int, robot: int) -> bool:
        return bool(self._lifts.inside_mask(lift, self._world.position[robot : robot + 1])[0])

    def _is_clear(self, lift: int, floor: int, robot: int) -> bool:
        """Return whether no other robot is in the cabin, or where a robot gets in and out of it."""
        world, plan = self._world, self._lifts.plan(lift)
        rows = world.rows[(world.kind[world.rows] == KIND_AGENT) & (world.parent[world.rows] == NO_ROW)]
        rows = rows[rows != robot]
        above = world.position[rows, 2] - plan.heights[floor]
        # On this floor or in the cabin; robots on other storeys are in nobody's way.
        rows = rows[(above >= -STEP) & (above <= 2.0 * self._lifts.table.half[lift, 2])]
        radius = footprint_radius(world, robot)
        begin, end = world.position[lift, :2], outside(plan.entrances[floor], radius)
        away = distances_to_lines(world.position[rows, :2], begin, end) - radius
        # Footprints are asked for near ones only, as each is computed.
        near = rows[away < WIDEST]
        return all(
            float(gap) > footprint_radius(world, row)
            for row, gap in zip(near.tolist(), away[away < WIDEST], strict=True)
        )

    # ---- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return who waits where, and who has which lift."""
        lines = {lift: list(line) for lift, line in self._lines.items()}
        return lines, dict(self._places), dict(self._lifts.riders)

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        lines, places, riders = saved
        self._lines, self._places = {lift: list(line) for lift, line in lines.items()}, dict(places)
        self._lifts.riders = dict(riders)

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError unless `saved` names rows, and places in m."""
        lines, places, riders = saved
        for lift, line in lines.items():
            for row in (lift, *line):
                check_row(self._world, row)
        for lift, robot in (*places, *riders.items()):
            check_row(self._world, lift)
            check_row(self._world, robot)
        for place in places.values():
            if not (isinstance(place, WaitingPlace) and type(place.floor) is int and np.isfinite(place).all()):
                raise StateFileError(f"lift_lines: {place!r} is not a place to wait at"[:200])

    def _removed(self, rows: Rows) -> None:
        """Forget the lines of lifts in `rows`, and take robots in `rows` out of all lines."""
        for row in rows.tolist():
            self._lines.pop(row, None)
            self._lifts.riders.pop(row, None)
            for lift, robot in list(self._places):
                if row in (lift, robot):
                    del self._places[lift, robot]
            for lift in list(self._lines):
                self.leave(lift, row)


def outside(entrance: Entrance, radius: float) -> Floats:
    """Return the place (2,) of a robot with a footprint of `radius` m in front of the doors of a floor."""
    return entrance.middle + (radius + 2.0 * ROOM) * entrance.outward
