"""The system that moves agents: in each step it passes the moving rows to their laws."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bytes, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.memory import keep_freed_memory
from fleet_sim.core.world import World
from fleet_sim.motion.compiled_system import CompiledLaws
from fleet_sim.motion.laws import motion_law

IDLE = ControllerMode.IDLE.code
FEW = 12
"""Rows up to which they are looked at one by one: with arrays that takes longer than moving them."""
CHUNK = 8192
"""Rows passed to a law at once, few enough that its temporary arrays stay in the processor's cache."""


class MotionSystem:
    """Moves every living agent that follows a path or a velocity command, grouped by motion law.

    Attached rows, rows of law 0 and idle rows are not changed.
    """

    name = "motion"

    def __init__(self, among: Rows | None = None) -> None:
        """`among` are the rows, ascending, that can move at all, where these are few; each is left to its own law."""
        keep_freed_memory()
        self._among = among
        self._compiled: CompiledLaws | None = None

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
        # Few rows of many can move at all: only those are looked at.
        if self._among is not None:
            return self._advance(world, self._among[world.motion.control.take(self._among) != IDLE], dt)
        if not world.compiled:
            return self._advance(world, world.motion.control.nonzero()[0], dt)
        if self._compiled is None:
            self._compiled = CompiledLaws()
        # Rows that compiled code does not know are left to the laws on arrays.
        left, ended = self._compiled.advance(world, dt)
        if not len(left):
            return ended
        more = self._advance(world, left, dt)
        both: Rows = np.sort(np.concatenate((ended, more))) if len(more) else ended
        return both

    def _advance(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move those of `rows` that may move by the laws on arrays; return those at the end of their paths, sorted."""
        motion = world.motion
        if not len(rows):
            return NO_ROWS
        if len(rows) <= FEW and (law := _law_of_few(world, rows)):
            return motion_law(law).step(world, rows, dt)
        laws = motion.law.take(rows)
        free_mask = world.parent.take(rows) < 0
        free_mask &= world.alive.take(rows)
        free_mask &= laws != 0
        # Copied only where some may not move, which is rare.
        if np.count_nonzero(free_mask) < len(rows):
            rows, laws = rows[free_mask], laws[free_mask]
        ended = []
        for index, group in _by_law(rows, laws):
            mover = motion_law(index)
            for at in range(0, len(group), CHUNK):
                arrived = mover.step(world, group[at : at + CHUNK], dt)
                # Most steps end no path, so most pieces are empty.
                if len(arrived):
                    ended.append(arrived)
        if not ended:
            return NO_ROWS
        done: Rows = np.sort(np.concatenate(ended))
        return done


def _law_of_few(world: World, rows: Rows) -> int:
    """Return the law of `rows` where all have one and may move, 0 where that has to be looked at row by row."""
    laws, alive, parent = world.motion.scalars.law, world.scalars.alive, world.scalars.parent
    found = 0
    for row in rows.tolist():
        law = laws[row]
        # Of another law, removed, or carried: the general way has to sort that out.
        if not law or found not in (0, law) or not alive[row] or parent[row] >= 0:
            return 0
        found = law
    return int(found)


def _by_law(rows: Rows, laws: Bytes) -> list[tuple[int, Rows]]:
    """Return (law, its rows) in order of the laws."""
    if not len(rows):
        return []
    # Fleets of one law are the usual case, and need no sorting.
    first = int(laws[0])
    if np.count_nonzero(laws == first) == len(rows):
        return [(first, rows)]
    return [(index, rows[laws == index]) for index in np.flatnonzero(np.bincount(laws)).tolist()]
