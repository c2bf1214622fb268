"""The chargers of a building: whom each one charges, and for which request of a fleet manager.

A charger is idle, assigned to a robot that is to come, charging, or just released. A robot that stands at one with
nothing to do is charged without being asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows
from fleet_sim.base.errors import InvalidValueError, unknown_name
from fleet_sim.base.registry import saved
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import EnergyColumns, World, energy_columns_with

REACH = 0.3
"""This near in m to a charger a stationary robot is charged."""
RELEASED_FOR = 1.0
"""How long in s a charger tells that it was disconnected before it is idle again."""


@saved
class ChargerState(IntEnum):
    """What a charger does; the numbers are those of rmf_charger_msgs."""

    IDLE = 1
    ASSIGNED = 2
    CHARGING = 3
    RELEASED = 4


@saved
@dataclass
class Charger:
    """One charger. `position` is in m; `robot` and `request` are those of its latest charge, "" while it is idle."""

    name: str
    position: tuple[float, float, float]
    state: ChargerState = ChargerState.IDLE
    request: str = ""
    fleet: str = ""
    robot: str = ""
    until: float | None = None
    """Time in s at which an assigned robot is given up, or a released charger is idle again; None: never."""
    refuses: str = ""
    """The robot whose charge was cancelled: nothing is charged until it has left."""

    def copy(self) -> Charger:
        """Return another one like it."""
        return replace(self)

    @property
    def is_busy(self) -> bool:
        """Whether it is assigned to a robot, or charges one."""
        return self.state in (ChargerState.ASSIGNED, ChargerState.CHARGING)

    def enter(self, state: ChargerState, robot: str = "", until: float | None = None) -> None:
        """Begin to be in `state`; an idle charger knows no request and no robot."""
        self.state, self.until = state, until
        if state is ChargerState.IDLE:
            self.request = self.fleet = self.robot = ""
        elif robot:
            self.robot = robot


class Chargers(Stateful):
    """All chargers of a simulation. Each charges one robot at a time, the one it is assigned to or who comes first."""

    STATE = ("_chargers",)

    def __init__(self, world: World) -> None:
        self._world = world
        self._chargers: dict[str, Charger] = {}

    def __len__(self) -> int:
        return len(self._chargers)

    def __iter__(self) -> Iterator[Charger]:
        return iter(self._chargers.values())

    def set_positions(self, positions: Mapping[str, tuple[float, float, float]]) -> None:
        """Replace all chargers by idle ones at `positions` in m, by their names."""
        self._chargers = {name: Charger(name, position) for name, position in positions.items()}

    def get(self, name: str) -> Charger:
        """Return a charger; raises UnknownNameError with the closest names."""
        found = self._chargers.get(name)
        if found is None:
            raise unknown_name("charger", name, self._chargers)
        return found

    # ---- requests ----------------------------------------------------------------------------------------------------

    def assign(self, name: str, robot: str, fleet: str, request: str, timeout: float) -> None:
        """Keep a charger for a robot, for `timeout` s until it has come, 0: without limit.

        A request that is known changes nothing. Raises InvalidValueError for a charger that is busy with another robot.
        """
        charger = self.get(name)
        if charger.is_busy and charger.robot != robot:
            raise InvalidValueError(f"it is busy with {charger.robot!r}")
        if charger.is_busy and charger.request == request:
            return
        charger.request, charger.fleet, charger.refuses = request, fleet, ""
        if charger.state is not ChargerState.CHARGING:
            until = self._world.clock.time + timeout if timeout > 0.0 else None
            charger.enter(ChargerState.ASSIGNED, robot, until)

    def cancel(self, name: str, request: str) -> None:
        """End the charge of a request, or what was assigned for it; raises InvalidValueError for another request."""
        charger = self.get(name)
        if not charger.is_busy or charger.request != request:
            raise InvalidValueError(f"it serves no request {request!r}")
        if charger.state is ChargerState.ASSIGNED:
            charger.enter(ChargerState.IDLE)
        else:
            charger.refuses = charger.robot
            self._release(charger)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def look(self, rows: Rows, still: Bools) -> Bools:
        """See who came and who left; return which of `rows` are at a charger that charges them."""
        charged = np.zeros(len(rows), np.bool_)
        if not self._chargers:
            return charged
        positions, heights = self._world.position[rows], self._world.half_extents[rows, 2]
        for charger in self._chargers.values():
            near = np.flatnonzero(_near_mask(positions, heights, charger.position))
            here = {self._world.label(int(rows[index])): index for index in near.tolist()}
            if charger.refuses not in here:
                charger.refuses = ""
            self._advance(charger, {name: index for name, index in here.items() if still[index]})
            if charger.state is ChargerState.CHARGING:
                charged[here[charger.robot]] = True
        return charged

    def _advance(self, charger: Charger, standing: Mapping[str, int]) -> None:
        """Change the state of a charger by the time and by the robots at it; `standing` has their rows."""
        robot = charger.robot
        over = charger.until is not None and self._world.clock.time >= charger.until
        if charger.state is ChargerState.CHARGING:
            if robot not in standing:
                self._release(charger)
        elif charger.state is ChargerState.ASSIGNED:
            if robot in standing:
                charger.enter(ChargerState.CHARGING)
                self._connect(robot, charging=True)
            elif over or self._world.index.rows_named([robot])[0] < 0:
                charger.enter(ChargerState.IDLE)
        elif charger.state is ChargerState.RELEASED and over:
            charger.enter(ChargerState.IDLE)
        # Who stands at a charger with nothing to do is charged, but after a charge that was cancelled.
        if not charger.is_busy and not charger.refuses and standing:
            charger.enter(ChargerState.IDLE)
            charger.enter(ChargerState.CHARGING, next(iter(standing)))
            self._connect(charger.robot, charging=True)

    def _release(self, charger: Charger) -> None:
        self._connect(charger.robot, charging=False)
        charger.enter(ChargerState.RELEASED, until=self._world.clock.time + RELEASED_FOR)

    def _connect(self, robot: str, *, charging: bool) -> None:
        """Connect the battery of a robot to a charger, or disconnect it; between these moments others may do so."""
        row, battery = self._battery(robot)
        if battery is not None:
            battery.charging[row] = charging

    def remaining(self, charger: Charger) -> float:
        """Return the time in s until the robot that is charged is full; 0 where nobody knows."""
        row, battery = self._battery(charger.robot)
        if charger.state is not ChargerState.CHARGING or battery is None:
            return 0.0
        power = float(battery.power[row])
        return float(battery.full_energy[row] - battery.energy[row]) / power if power > 0.0 else 0.0

    def _battery(self, robot: str) -> tuple[int, EnergyColumns | None]:
        """Return the row of a robot, and the columns of batteries where it is there and has one."""
        row = int(self._world.index.rows_named([robot])[0])
        return row, energy_columns_with(self._world, row) if row >= 0 else None

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; chargers that were not there then are idle."""
        known = self._chargers
        super().restore(saved)
        self._chargers = {name: self._chargers.get(name, Charger(name, one.position)) for name, one in known.items()}


def _near_mask(positions: Floats, heights: Floats, charger: tuple[float, float, float]) -> Bools:
    offset = positions - charger
    # By its lowest point or its origin, as on levels.
    rise = np.minimum(np.abs(offset[:, 2]), np.abs(offset[:, 2] - heights))
    gap = offset[:, 0] * offset[:, 0] + offset[:, 1] * offset[:, 1] + rise * rise
    return np.asarray(gap < REACH * REACH)
