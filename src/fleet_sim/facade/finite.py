"""The guard against poses that are not finite at the end of a step."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.columns import Scalars
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World
from fleet_sim.entities import drive
from fleet_sim.gate.bounds import inside_mask

LARGEST = 1e12
"""Coordinates beyond this, in m, count as broken: not even commands may ask for them."""

PERIOD = 8
"""Steps between two times at which good poses are written down: copying them costs as much as looking at them."""


FEW = 48
"""Number of coordinates up to which a list tells whether they are good in half of the time."""


class FiniteGuard:
    """Puts entities whose pose became broken back to a good one, at rest, and counts them as a fault.

    That pose is one that the entity had at most PERIOD steps before.

    Commands and settings are bounded where they come in; what user code, a motion law or the engine makes of them is
    seen here, before anything is told of it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._position: Floats = np.empty((0, 3))
        self._orientation: Floats = np.empty((0, 4))
        self._version, self._top = -1, 0
        self._scalars: Scalars | None = None
        # The coordinates of all who live, as one array each: slices of the columns.
        self._flat_positions, self._flat_orientations = np.empty(0), np.empty(0)
        world.on_spawn.append(self._spawned)

    def run(self, dt: float) -> None:
        """Look at all poses, and write the good ones down now and then; the time step has no influence.

        A sum and a largest number are spoilt by a single broken one, and take a hundredth of a step.
        """
        world = self._world
        if world.version != self._version or world.scalars is not self._scalars:
            self._look_at(world)
        # Velocities, which poses come from, are not looked at: a broken one breaks the pose in the same step.
        if not self._are_good(self._flat_positions, self._flat_orientations):
            self._mend()
        if world.clock.tick % PERIOD == 0:
            top = self._top
            self._position[:top] = world.position[:top]
            self._orientation[:top] = world.orientation[:top]

    def _are_good(self, positions: Floats, orientations: Floats) -> bool:
        # Written this way round because NaN is neither above nor below anything.
        if len(positions) <= FEW:
            turns = orientations.tolist()
            whole = sum(turns)
            return abs(sum(positions.tolist())) <= LARGEST and whole == whole and max(turns, default=0.0) <= 2.0
        largest = np.maximum.reduce(orientations, initial=0.0)
        return bool(abs(np.add.reduce(positions)) <= LARGEST and largest <= 2.0)

    def _look_at(self, world: World) -> None:
        """Follow the world: who lives in it, and where its arrays are."""
        self._version, self._scalars = world.version, world.scalars
        self._top = int(world.rows.max(initial=-1)) + 1
        self._flat_positions = world.position[: self._top].reshape(-1)
        self._flat_orientations = world.orientation[: self._top].reshape(-1)
        self._make_room()

    def write_down(self, positions: Floats, orientations: Floats) -> None:
        """Take (N, 3) and (N, 4) as the good poses of the first N rows, where somebody else looked at them."""
        self._make_room()
        self._position[: len(positions)] = positions
        self._orientation[: len(orientations)] = orientations

    def _mend(self) -> None:
        """Put rows with broken numbers back to where they were, stop them, and tell of it once per entity."""
        world = self._world
        good_mask = inside_mask(world.position, LARGEST) & inside_mask(world.orientation, 2.0)
        self._make_room()
        # Free rows as well: a broken number left in one would spoil the sum in every later step.
        bad = np.flatnonzero(~good_mask)
        world.position[bad] = self._position[bad]
        world.orientation[bad] = self._orientation[bad]
        rows = bad[world.alive[bad]]
        if not len(rows):
            return
        self._stop(rows)
        for row in rows.tolist():
            where = [round(number, 3) for number in world.position[row].tolist()]
            world.guard.note(
                f"pose of {world.label(row)}", f"was not a number any more; it was stopped and put back to {where}"
            )

    def _stop(self, rows: Rows) -> None:
        """Cancel the actions of `rows`, stop them, and mark them as moved."""
        world = self._world
        robots = rows[world.kind[rows] == KIND_AGENT]
        for row in world.actions.busy(robots).tolist():
            world.actions.cancel(row, "its pose was not a number any more", ActionCause.CANCELLED)
        if len(robots):
            drive.stop(world, robots)
        world.rest(rows)
        world.touch(rows)

    def _make_room(self) -> None:
        """Follow the world as it grows; new rows are written down when something is spawned in them."""
        known, capacity = len(self._position), self._world.capacity
        if known != capacity:
            position, orientation = self._position, self._orientation
            self._position, self._orientation = np.zeros((capacity, 3)), np.tile((0.0, 0.0, 0.0, 1.0), (capacity, 1))
            self._position[:known], self._orientation[:known] = position[:capacity], orientation[:capacity]

    def _spawned(self, rows: Rows) -> None:
        self._make_room()
        self._position[rows] = self._world.position[rows]
        self._orientation[rows] = self._world.orientation[rows]
