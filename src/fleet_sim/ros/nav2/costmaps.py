"""Costmaps: what is in the way of a robot, with the costs around it, as Nav2's costmaps have them."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt
from nav2_msgs.msg import Costmap
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg

from fleet_sim.arrays import Bools, Floats
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.sensors import OccupancyGrid
from fleet_sim.sensors.occupancy import OCCUPIED

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
