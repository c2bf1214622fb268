"""The motion of all robots by compiled code, as far as it goes."""

from __future__ import annotations

from fleet_sim.arrays import Rows
from fleet_sim.config.modes import MotionMode
from fleet_sim.core.columns import Scalars, named_columns
from fleet_sim.core.world import World
from fleet_sim.motion.compiled_laws import advance_rows
from fleet_sim.motion.compiled_rows import Lists, PathPoints, motion_arrays, new_lists
from fleet_sim.motion.differential import begin_segments
from fleet_sim.motion.laws import motion_law_index


class CompiledLaws:
    """Moves robots with the omnidirectional and the differential law; the rest is for the laws on arrays."""

    def __init__(self) -> None:
        self._omni = motion_law_index(MotionMode.OMNIDIRECTIONAL.value)
        self._differential = motion_law_index(MotionMode.DIFFERENTIAL.value)
        self._tables: tuple[Scalars | None, ...] = (None, None)
        self._lists: Lists = new_lists(0)

    def advance(self, world: World, dt: float) -> tuple[Rows, Rows]:
        """Move robots by one step; return the rows that are left as they were, and those at the end of their paths.

        Both ascend, and are valid until the next call.
        """
        tables = world.scalars, world.motion.scalars
        # A table that has grown has other arrays.
        if tables != self._tables:
            self._tables = tables
            self._arrays = motion_arrays(world)
            self._lists = new_lists(world.capacity)
        lists, pool = self._lists, world.waypoints
        # Waypoints have a table of their own, which grows by itself.
        arrays = self._arrays._replace(points=named_columns(PathPoints, pool))
        listed = advance_rows(self._omni, self._differential, world.clock.tick, dt, pool.limited, arrays, lists)
        if not listed:
            return lists.left[:0], lists.ended[:0]
        ended, left, onward = lists.counts.tolist()
        if onward:
            begin_segments(world, lists.onward[:onward])
        return lists.left[:left], lists.ended[:ended].copy()
