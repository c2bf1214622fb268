"""The system that moves agents: in each step it passes the moving rows to their laws."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bytes, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.memory import keep_freed_memory
from fleet_sim.core.world import World
from fleet_sim.motion.driving import DIFFERENTIAL, OMNI, advance
from fleet_sim.motion.laws import motion_law

IDLE = ControllerMode.IDLE.code


class MotionSystem:
    """Moves every living agent that follows a path or a velocity command, grouped by motion law.

    Attached rows, rows of law 0 and idle rows are not changed.
    """

    name = "motion"

    def __init__(self, among: Rows | None = None) -> None:
        """`among` are the rows, ascending, that can move at all, where these are few; each is left to its own law."""
        keep_freed_memory()
        self._among = among
        self._all = NO_ROWS

    def run(self, world: World, dt: float) -> Rows:
        """Move agents by one step; return the rows that arrived in it, in ascending order.

        An arrived row is idle and at rest, has `reached` set, and has no path any more.
        """
        return self.settle(world, self.advance(world, dt))

    def settle(self, world: World, done: Rows) -> Rows:
        """End the paths of the rows that arrived, and return them."""
        # Their paths are of no use any more, and their waypoints are free for others.
        if len(done):
            world.waypoints.discard(world.motion, done)
            world.motion.control[done] = IDLE
            world.motion.reached[done] = True
        return done

    def advance(self, world: World, dt: float) -> Rows:
        """Move agents by one step; return the rows at the end of their paths, in ascending order."""
        ended, left = advance(world, self._rows(world), dt, omni=OMNI, differential=DIFFERENTIAL)
        if not len(left):
            return ended
        arrived = [ended]
        for law, rows in _by_law(left, world.motion.law[left]):
            arrived.append(motion_law(law).step(world, rows, dt))
        done: Rows = np.sort(np.concatenate(arrived))
        return done

    def _rows(self, world: World) -> Rows:
        """Return rows that may move, ascending: machine code finds out faster by itself which do."""
        if self._among is not None:
            return self._among[world.motion.control.take(self._among) != IDLE]
        if not world.compiled:
            return world.motion.control.nonzero()[0]
        if len(self._all) != world.capacity:
            self._all = np.arange(world.capacity)
        return self._all


def _by_law(rows: Rows, laws: Bytes) -> list[tuple[int, Rows]]:
    """Return (law, its rows) in order of the laws."""
    # Fleets of one law are the usual case, and need no sorting.
    first = int(laws[0])
    if np.count_nonzero(laws == first) == len(rows):
        return [(first, rows)]
    return [(index, rows[laws == index]) for index in np.flatnonzero(np.bincount(laws)).tolist()]
