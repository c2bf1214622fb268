"""The system that moves agents: in each step it hands the rows under way to their laws."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Rows
from fleet_sim.core.world import World
from fleet_sim.modes import ControllerMode
from fleet_sim.motion.laws import motion_law

IDLE = ControllerMode.IDLE.code
CHUNK = 8192
"""Rows given to a law at once: what it works on stays in the processor's cache."""


class MotionSystem:
    """Moves every living agent that follows a path or a velocity command, grouped by motion law.

    Attached rows, rows of law 0 and idle rows are left alone.
    """

    name = "motion"

    def run(self, world: World, dt: float) -> Rows:
        """Move agents by one step; return the rows that arrived in it, in ascending order.

        An arrived row is idle, at rest, has `reached` set and no path any more.
        """
        return self.settle(world, self.advance(world, dt))

    def settle(self, world: World, done: Rows) -> Rows:
        """End the paths of the rows that arrived, and return them."""
        if len(done):
            world.waypoints.discard(world.motion, done)
            world.motion.control[done] = IDLE
            world.motion.reached[done] = True
        return done

    def advance(self, world: World, dt: float) -> Rows:
        """Move agents by one step; return the rows at the end of their paths, in ascending order."""
        motion = world.motion
        rows = np.flatnonzero(motion.control)
        if not len(rows):
            return NO_ROWS
        laws = motion.law.take(rows)
        free_mask = world.parent.take(rows) < 0
        free_mask &= world.alive.take(rows)
        free_mask &= laws != 0
        if not free_mask.all():
            rows, laws = rows[free_mask], laws[free_mask]
        arrived = [
            motion_law(index).step(world, chunk, dt)
            for index in np.flatnonzero(np.bincount(laws)).tolist()
            for chunk in _chunks(rows[laws == index])
        ]
        ended = [part for part in arrived if len(part)]
        if not ended:
            return NO_ROWS
        done: Rows = np.sort(np.concatenate(ended))
        return done


def _chunks(rows: Rows) -> list[Rows]:
    return [rows[at : at + CHUNK] for at in range(0, len(rows), CHUNK)]
