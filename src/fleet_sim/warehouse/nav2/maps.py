"""The map that all robots share, their costmaps, and maps that clients name."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from nav2_msgs.msg import Costmap
from nav2_msgs.srv import LoadMap
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg

from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.files import as_path, beside, resolve_config
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.messages import time_to_msg
from fleet_sim.ros.monitoring import map_height
from fleet_sim.sensing.collision.bounds import refresh_bounds
from fleet_sim.sensing.sensors import OccupancyGrid, occupancy_grid
from fleet_sim.sensing.sensors.occupancy import OCCUPIED, immovable_rows
from fleet_sim.world.schema import NO_ROW

if TYPE_CHECKING:
    from fleet_sim.simulation import MultiRobotSimulationCore


# Costmaps: what is in the way of a robot, with the costs around it, as Nav2's costmaps have them.


LETHAL, INSCRIBED = 254, 253
"""Costs of cells that are occupied, and of cells in which the middle of a robot would touch one."""
SCALING = 3.0
"""How fast costs fall with the distance, in 1/m."""

Costs = npt.NDArray[np.uint8]


def inflated(occupied_mask: Bools, cell: float, inscribed: float, reach: float) -> Costs:
    """Return the costs (H, W) around occupied cells of `cell` m for a robot of the radius `inscribed` in m.

    Costs end at `reach` m, and fall with exp(-SCALING * distance) beyond the radius.
    """
    distances = clearances(occupied_mask, cell, max(reach, inscribed))
    costs = np.where(distances <= reach, (INSCRIBED - 1) * np.exp(-SCALING * (distances - inscribed)), 0.0)
    costs[distances <= inscribed] = INSCRIBED
    costs[occupied_mask] = LETHAL
    return costs.astype(np.uint8)


def clearances(occupied_mask: Bools, cell: float, reach: float) -> Floats:
    """Return distances (H, W) in m from cells of `cell` m to the nearest occupied one; inf beyond `reach` m."""
    return np.asarray(cell * np.sqrt(_squares(occupied_mask, int(np.ceil(reach / cell)))))


def _squares(mask: Bools, reach: int) -> Floats:
    """Return squares of the distances (H, W) to the nearest true cell, in cells; inf beyond `reach` of them."""
    height, width = mask.shape
    columns = np.arange(width)
    left = np.maximum.accumulate(np.where(mask, columns, -np.inf), axis=1)
    right = np.minimum.accumulate(np.where(mask, columns, np.inf)[:, ::-1], axis=1)[:, ::-1]
    # Along lines first, then across: the square of a distance is a sum of squares.
    along = np.minimum(columns - left, right - columns) ** 2
    along[along > reach * reach] = np.inf
    found = along.copy()
    for step in range(1, min(reach, height - 1) + 1):
        np.minimum(found[step:], along[:-step] + step * step, out=found[step:])
        np.minimum(found[:-step], along[step:] + step * step, out=found[:-step])
    found[found > reach * reach] = np.inf
    return found


def window(grid: OccupancyGrid, middle: tuple[float, float], size: float) -> OccupancyGrid:
    """Return the square of `size` m of `grid` around `middle`, on the same cells; free beyond the grid."""
    step = grid.resolution
    count = max(round(size / step), 1)
    first = [round((at - 0.5 * size - begin) / step) for at, begin in zip(middle, grid.origin, strict=True)]
    cells = np.zeros((count, count), np.int8)
    height, width = grid.cells.shape
    low = [min(max(at, 0), most) for at, most in zip(first, (width, height), strict=True)]
    high = [min(max(at + count, 0), most) for at, most in zip(first, (width, height), strict=True)]
    inner = grid.cells[low[1] : high[1], low[0] : high[0]]
    cells[low[1] - first[1] : high[1] - first[1], low[0] - first[0] : high[0] - first[0]] = inner
    return OccupancyGrid(cells, (grid.origin[0] + first[0] * step, grid.origin[1] + first[1] * step), step, grid.z)


def with_boxes(grid: OccupancyGrid, lower: Floats, upper: Floats) -> OccupancyGrid:
    """Return `grid` with boxes from `lower` to `upper` (N, 2) in m occupied too."""
    cells = grid.cells.copy()
    shape = np.array(cells.shape[::-1])
    begin = np.clip(np.floor((lower - grid.origin) / grid.resolution), 0, shape).astype(np.int64)
    end = np.clip(np.ceil((upper - grid.origin) / grid.resolution), 0, shape).astype(np.int64)
    for (left, low), (right, high) in zip(begin.tolist(), end.tolist(), strict=True):
        cells[low:high, left:right] = OCCUPIED
    return OccupancyGrid(cells, grid.origin, grid.resolution, grid.z)


def to_occupancy(grid: OccupancyGrid, costs: Costs, frame: str, now: int) -> OccupancyGridMsg:
    """Return costs as Nav2 shows them in RViz: 0 to 100."""
    # 0 stays, 1 to 252 become 1 to 98, then 99 and 100.
    shown = np.where(costs > 0, 1 + (97 * (costs.astype(np.int64) - 1)) // (INSCRIBED - 2), 0)
    shown[costs == INSCRIBED], shown[costs == LETHAL] = 99, 100
    message = OccupancyGridMsg()
    message.header.frame_id, message.header.stamp = frame, time_to_msg(now)
    message.info.map_load_time = message.header.stamp
    message.info.resolution = grid.resolution
    message.info.height, message.info.width = grid.cells.shape
    message.info.origin.position.x, message.info.origin.position.y = grid.origin
    message.data = array("b", shown.astype(np.int8).tobytes())
    return message


def to_costmap(grid: OccupancyGrid, costs: Costs, frame: str, now: int) -> Any:
    """Return costs as nav2_msgs/Costmap."""
    message = Costmap()
    message.header.frame_id, message.header.stamp = frame, time_to_msg(now)
    meta = message.metadata
    meta.map_load_time = meta.update_time = message.header.stamp
    meta.layer, meta.resolution = "master", grid.resolution
    meta.size_y, meta.size_x = grid.cells.shape
    meta.origin.position.x, meta.origin.position.y = grid.origin
    message.data = array("B", costs.tobytes())
    return message


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
            grid = self.around(row, params.local_size)
            return grid, inflated(grid.cells == OCCUPIED, grid.resolution, radius, params.inflation)
        if radius not in self._global:
            if len(self._global) == MOST_KEPT:
                self._global.pop(next(iter(self._global)))
            self._global[radius] = inflated(grid.cells == OCCUPIED, grid.resolution, radius, params.inflation)
        return grid, self._global[radius]

    def forget(self) -> None:
        """Compute everything anew when it is asked for next."""
        self._grid = None

    def around(self, row: int, size: float) -> OccupancyGrid:
        """Return the map in the square of `size` m around a robot, by its row, with everything else that is near it."""
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
        return with_boxes(window(self.grid(), (x, y), size), lower[near, :2], upper[near, :2])


# Maps that clients name: that of the simulation's own walls can be loaded, others cannot.


CODES = LoadMap.Response
OTHER_WALLS = "robots would drive by one map, and into the walls of another; load another world by sim/load_world"


def problem_with_map(sim: MultiRobotSimulationCore, url: str) -> tuple[int, str] | None:
    """Return None where the map `url` is the file that the walls were read from, else Nav2's code and why not."""
    path = url.removeprefix("file://")
    if not path or "://" in path:
        return CODES.RESULT_MAP_DOES_NOT_EXIST, "map_url: expected a path, or file:// and a path"
    for section in ("site", "building"):
        entry = sim.origin.scenario.get(section)
        name = entry.get("map") if isinstance(entry, Mapping) else entry
        # As the scenario names it, and by its path.
        if isinstance(name, str) and (
            path == name or as_path(path).resolve() == resolve_config(beside(sim.origin.source, name)).resolve()
        ):
            return None
    return CODES.RESULT_UNDEFINED_FAILURE, OTHER_WALLS
