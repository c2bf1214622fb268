"""Pictures of what lidars see, over the map."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.sensors.lidar import LidarParams
from fleet_sim.sensors.occupancy import OCCUPIED, OccupancyGrid
from fleet_sim.sensors.sensor import Sensor

_FREE, _WALL, _BODY = (247.0, 247.0, 244.0), (70.0, 74.0, 82.0), (30.0, 32.0, 36.0)
_COLORS = ((31, 119, 220), (240, 130, 20), (30, 160, 80), (200, 50, 90), (130, 90, 200), (20, 160, 170))
_TINT = 0.22
_SAMPLES = 2
"""Supersampling factor: the picture is drawn larger by this factor and averaged, for smooth edges."""


def draw_scans(grid: OccupancyGrid, lidars: Sequence[Sensor], *, width: int = 800) -> Bytes:
    """Return a picture (H, `width`, 3) of the map, seen from above, x to the right and y up, with scans over it.

    Of each lidar its latest reading is drawn, in a color of its own: what it sees over, and where its rays end. One
    that was never read is read now. Raises InvalidValueError for another kind of sensor.
    """
    for lidar in lidars:
        if not isinstance(lidar.params, LidarParams):
            raise InvalidValueError(f"scans are drawn of planar lidars, got {lidar!r}")
    canvas = _Canvas(grid, _SAMPLES * width)
    for index, lidar in enumerate(lidars):
        reading = lidar.latest or lidar.read()
        canvas.draw_scan(lidar, np.asarray(reading.ranges), np.array(_COLORS[index % len(_COLORS)], np.float64))
    return canvas.picture()


class _Canvas:
    """Colors (H, W, 3) as floats, and the places of the pixels in the world: x (1, W) and y (H, 1), north up."""

    def __init__(self, grid: OccupancyGrid, width: int) -> None:
        lines, columns = grid.cells.shape
        self._scale = width / (columns * grid.resolution)
        height = _SAMPLES * max(1, round(lines * grid.resolution * self._scale / _SAMPLES))
        self.x = grid.origin[0] + ((np.arange(width) + 0.5) / self._scale)[None]
        self.y = grid.origin[1] + ((height - 0.5 - np.arange(height)) / self._scale)[:, None]
        column = np.minimum(((self.x[0] - grid.origin[0]) / grid.resolution).astype(np.int64), columns - 1)
        line = np.minimum(((self.y[:, 0] - grid.origin[1]) / grid.resolution).astype(np.int64), lines - 1)
        wall_mask = grid.cells[line[:, None], column] == OCCUPIED
        self.colors = np.where(wall_mask[..., None], _WALL, _FREE)

    def draw_scan(self, lidar: Sensor, ranges: Floats, color: Floats) -> None:
        """Tint what a lidar sees over, and mark where its rays end and where it is."""
        params: LidarParams = lidar.params
        pose = lidar.get_pose()
        x, y, _ = pose.position
        self._blend(self._seen_mask(params, pose.yaw, x, y, ranges), color, _TINT)
        hit_mask = np.isfinite(ranges)
        angles = pose.yaw + params.angles[hit_mask]
        ends = np.stack((x + ranges[hit_mask] * np.cos(angles), y + ranges[hit_mask] * np.sin(angles)), axis=1)
        for end in ends.tolist():
            self._dot(end, 2.6, color)
        self._dot([x, y], 9.0, np.array(_BODY))
        self._dot([x, y], 6.0, color)

    def _seen_mask(self, params: LidarParams, yaw: float, x: float, y: float, ranges: Floats) -> Bools:
        """Return which pixels (H, W) a lidar at x, y has seen across: those nearer than the ray next to them."""
        across, along = self.x - x, self.y - y
        distances = np.hypot(across, along)
        bearings = (np.arctan2(along, across) - yaw - params.angle_min) % (2.0 * math.pi)
        # Each pixel belongs to the ray nearest to its bearing.
        rays = np.round(bearings / (params.angle_increment or 1.0)).astype(np.int64)
        if params.angle_max - params.angle_min > 2.0 * math.pi - 1e-6:
            # In a full turn what is beyond the last ray is nearest to the first one.
            rays %= params.rays
        inside_mask = rays < params.rays
        # inf has seen over the whole range, -inf over nothing.
        reach = np.where(np.isfinite(ranges), ranges, np.where(ranges > 0.0, params.range_max, 0.0))
        seen_mask: Bools = inside_mask & (distances <= reach[np.where(inside_mask, rays, 0)])
        return seen_mask

    def _dot(self, place: Sequence[float], radius: float, color: Floats) -> None:
        """Color the pixels within `radius` m of a place; nothing where that is beside the picture."""
        size = radius / self._scale
        columns = np.flatnonzero(np.abs(self.x[0] - place[0]) <= size)
        lines = np.flatnonzero(np.abs(self.y[:, 0] - place[1]) <= size)
        if not len(columns) or not len(lines):
            return
        part = (slice(lines[0], lines[-1] + 1), slice(columns[0], columns[-1] + 1))
        near_mask = np.hypot(self.x[:, part[1]] - place[0], self.y[part[0]] - place[1]) <= size
        self.colors[part][near_mask] = color

    def _blend(self, mask: Bools, color: Floats, share: float) -> None:
        self.colors[mask] = (1.0 - share) * self.colors[mask] + share * color

    def picture(self) -> Bytes:
        """Return the pixels, averaged."""
        height, width, _ = self.colors.shape
        blocks = self.colors.reshape(height // _SAMPLES, _SAMPLES, width // _SAMPLES, _SAMPLES, 3)
        return np.round(blocks.mean(axis=(1, 3))).astype(np.uint8)
