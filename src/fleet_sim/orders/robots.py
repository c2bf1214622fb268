"""Robots: what the columns say of robots that serve orders, and how fast they may drive."""

from __future__ import annotations

import numpy as np

from fleet_sim.collision.bounds import refresh_bounds
from fleet_sim.core.world import World
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.orders.columns import OrderColumns
from fleet_sim.orders.states import RobotState


class Robots:
    """Writes the columns of single robots when something changes."""

    def __init__(self, world: World, table: OrderColumns) -> None:
        self._world = world
        self._table = table

    def begin(self, row: int) -> None:
        """Note that a robot serves from now on, how much room it takes, and how high its loads stand."""
        world, table = self._world, self._table
        refresh_bounds(world)
        top = float(world.aabb_upper[row, 2] - world.position[row, 2])
        table.top[row] = max(top, 0.0) if np.isfinite(top) else 0.0
        # Once: loads come and go all the time.
        table.radius[row] = footprint_radius(world, row)
        table.since[row] = world.clock.time
        table.measured_at[row] = world.position[row, :2]

    def show(self, row: int, order: int, state: RobotState) -> None:
        """Note what a robot does from now on."""
        table, now = self._table, self._world.clock.time
        table.times[row, table.state[row]] += now - table.since[row]
        table.state[row], table.since[row], table.order[row] = state.code, now, order

    def set_loaded(self, row: int, loaded: bool) -> None:
        """Let a robot drive at its speed for loads, or at its own again."""
        table, motion = self._table, self._world.motion
        if loaded == bool(table.slowed[row]):
            return
        table.slowed[row] = loaded
        if loaded:
            table.own_limit[row], table.own_limits[row] = motion.linear_limit[row], motion.linear_limits[row]
            motion.linear_limit[row] *= table.loaded_speed[row]
            motion.linear_limits[row] *= table.loaded_speed[row]
        else:
            motion.linear_limit[row], motion.linear_limits[row] = table.own_limit[row], table.own_limits[row]
