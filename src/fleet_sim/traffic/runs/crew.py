"""Crew: the robots that were in a traffic when work began, as long as they are."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Ints, Rows
from fleet_sim.core.saving.checks import check_range
from fleet_sim.core.world import World
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.traffic import Traffic


class Crew:
    """Robots, numbered from 0 in the order they were enrolled: `robots` (K,) are left, in the rows `rows` (K,)."""

    def __init__(self, world: World, traffic: Traffic) -> None:
        table = world.tables["traffic"]
        assert isinstance(table, TrafficColumns)
        self.table = table
        self.rows: Rows = np.array(traffic.rows)
        self.robots: Ints = np.arange(len(self.rows))
        self.count = len(self.rows)
        self._world = world
        self._ids: Ints = np.array(world.object_id[self.rows])

    def renew(self) -> Bools | None:
        """Forget robots that were removed or left the traffic; return which stay (K,), None where all do."""
        # A row that is free may be another robot's by now.
        stay_mask = self.table.present[self.rows] & (self._world.object_id[self.rows] == self._ids)
        if stay_mask.all():
            return None
        self.rows, self.robots, self._ids = (part[stay_mask] for part in (self.rows, self.robots, self._ids))
        return np.asarray(stay_mask)

    def save(self) -> tuple[Rows, Ints, Ints]:
        """Return who is in it, for a checkpoint."""
        return self.rows, self.robots, self._ids

    def restore(self, saved: tuple[Rows, Ints, Ints]) -> None:
        """Restore what `save` returned; raises StateFileError for rows that there are not."""
        check_range(saved[0], 0, self._world.capacity, "rows of the crew")
        check_range(saved[1], 0, self.count, "robots of the crew")
        self.rows, self.robots, self._ids = saved
