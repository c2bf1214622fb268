"""Odometer: how far robots drive for orders, how long they stand on the way, and what energy it takes."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.energy import energy_columns
from fleet_sim.core.world import World
from fleet_sim.orders.columns import OrderColumns
from fleet_sim.orders.states import RobotState
from fleet_sim.spatial import trigonometry as trig

STANDS = 1e-3
"""Below this speed (m/s) a robot stands."""


class Odometer:
    """Adds up, in each step and for all robots at once."""

    def __init__(self, world: World, table: OrderColumns) -> None:
        self._world = world
        self._table = table
        self.total: Floats = np.zeros(4 + len(RobotState))
        """Of robots that were removed: driven, driven with a load, stood, energy, and the time in each RobotState."""

    def run(self, dt: float) -> None:
        """Add what happened in a step."""
        world, table = self._world, self._table
        rows = table.among(world.rows)
        if not len(rows):
            return
        # From place to place: speeds at the ends of steps would add up to another way, as robots speed up and brake.
        points = world.position[rows, :2]
        steps = points - table.measured_at[rows]
        table.measured_at[rows] = points
        # What is new has driven nothing before.
        lengths = np.nan_to_num(trig.hypot(steps[:, 0], steps[:, 1]))
        table.odometer[rows] += lengths
        table.odometer_loaded[rows] += np.where(table.slowed[rows], lengths, 0.0)
        state = table.state[rows]
        driving_mask = (state == RobotState.LOADED.code) | (state == RobotState.EMPTY.code)
        table.standing[rows] += np.where(driving_mask & (lengths < STANDS * dt), dt, 0.0)
        batteries = energy_columns(world)
        if batteries is not None:
            # Only what it draws: what a charger gives meanwhile is no less use.
            table.energy_used[rows] += np.maximum(-batteries.power[rows], 0.0) * dt

    def sums(self, rows: Rows) -> Floats:
        """Return the sums over `rows`: driven, driven with a load, stood, energy, then the time in each RobotState."""
        table, now = self._table, self._world.clock.time
        times = table.times[rows]
        # The time in the present state is entered when that ends.
        times[np.arange(len(rows)), table.state[rows]] += now - table.since[rows]
        parts = (table.odometer, table.odometer_loaded, table.standing, table.energy_used)
        return np.array([*(float(part[rows].sum()) for part in parts), *times.sum(axis=0).tolist()])

    def retire(self, row: int) -> None:
        """Keep what a robot did that is being removed."""
        self.total = self.total + self.sums(np.array([row]))
