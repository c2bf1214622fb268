"""The map that all robots share, and the costmaps of each, made when somebody wants them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fleet_sim.collision.bounds import refresh_bounds
from fleet_sim.core.schema import NO_ROW
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.nav2.costmaps import Costs, inflated, window, with_boxes
from fleet_sim.ros.sensors.map import map_height
from fleet_sim.sensors import OccupancyGrid, occupancy_grid
from fleet_sim.sensors.occupancy import OCCUPIED, immovable_rows

Scope = Literal["global", "local"]
MOST_KEPT = 16
"""Global costmaps that are kept, one for each size of robot."""


class RobotMaps:
    """Maps of what is there, to be asked between two steps. What has not changed is not computed again.

    A global costmap has what never moves, a local one also the robots and things near its robot, by their boxes.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._key: tuple[object, ...] = ()
        self._grid: OccupancyGrid | None = None
        self._global: dict[float, Costs] = {}

    def grid(self) -> OccupancyGrid:
        """Return the map."""
        world, params = self._bridge.sim.world, self._bridge.params
        rows = immovable_rows(world)
        height = map_height(self._bridge)
        key = (
            world.object_id[rows].tobytes(),
            world.position[rows].tobytes(),
            world.orientation[rows].tobytes(),
            height,
        )
        if self._grid is None or key != self._key:
            self._key = key
            self._grid = occupancy_grid(world, resolution=params.map_resolution, z=height, coarsen=True)
            self._global.clear()
        return self._grid

    @property
    def state(self) -> object:
        """What changes with the map."""
        self.grid()
        return self._key

    def costs(self, robot: str, scope: Scope) -> tuple[OccupancyGrid, Costs]:
        """Return a costmap of a robot; raises UnknownNameError."""
        world, params = self._bridge.sim.world, self._bridge.params.nav2
        row = world.index.row_named(robot)
        radius = round(footprint_radius(world, row), 6)
        grid = self.grid()
        if scope == "local":
            grid = self._around(row, grid, params.local_size)
            return grid, inflated(grid.cells == OCCUPIED, grid.resolution, radius, params.inflation)
        if radius not in self._global:
            if len(self._global) == MOST_KEPT:
                self._global.pop(next(iter(self._global)))
            self._global[radius] = inflated(grid.cells == OCCUPIED, grid.resolution, radius, params.inflation)
        return grid, self._global[radius]

    def occupied_around(self, row: int, size: float) -> OccupancyGrid:
        """Return what is in the way of a robot in the square of `size` m around it, by its row."""
        return self._around(row, self.grid(), size)

    def forget(self) -> None:
        """Compute everything anew when it is asked for next."""
        self._grid = None

    def _around(self, row: int, grid: OccupancyGrid, size: float) -> OccupancyGrid:
        """Return the map around a robot, with everything else that is near it."""
        world = self._bridge.sim.world
        x, y = world.position[row, :2].tolist()
        refresh_bounds(world)
        rows = world.rows
        others = rows[(rows != row) & (world.parent[rows] == NO_ROW) & ~np.isin(rows, immovable_rows(world))]
        lower, upper = world.aabb_lower[others], world.aabb_upper[others]
        reach = 0.5 * size
        near = (lower[:, :2] <= (x + reach, y + reach)).all(axis=1) & (upper[:, :2] >= (x - reach, y - reach)).all(
            axis=1
        )
        # On other storeys of a building nothing is in the way.
        near &= (lower[:, 2] <= world.aabb_upper[row, 2]) & (upper[:, 2] >= world.aabb_lower[row, 2])
        return with_boxes(window(grid, (x, y), size), lower[near, :2], upper[near, :2])
