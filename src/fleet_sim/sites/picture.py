"""A picture of a site, from above."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fleet_sim.arrays import Bytes, Floats, Ints
from fleet_sim.sites.plan_colors import STATION_COLORS
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import ZoneKind

FREE, BLOCKED, LANE = (250, 250, 247), (70, 74, 82), (190, 200, 214)
ZONES = {
    ZoneKind.SPEED_LIMIT: (255, 236, 179),
    ZoneKind.ONE_WAY: (209, 233, 252),
    ZoneKind.NO_GO: (248, 205, 205),
}
START, WAY = (192, 57, 43), (214, 40, 57)
_LONGEST = 1600


def draw_site(site: Site, pixels: int | None = None, *, way: Floats | None = None) -> Bytes:
    """Return a picture (H, W, 3) of `site` with `pixels` per cell; by default as many as make it 1,600 pixels long.

    `way` (K, 2) in m, such as the points of a route, is drawn on top.
    """
    grid = site.grid
    # From one pixel per cell for large maps to 32 for small ones.
    scale = pixels or int(np.clip(_LONGEST // max(grid.height, grid.width), 1, 32))
    cells = np.where(grid.free_mask.ravel()[:, None], FREE, BLOCKED).astype(np.uint8)
    middles = grid.middles
    for zone in site.zones:
        # Later zones cover earlier ones, as they are listed; walls stay visible.
        cells[zone.contains(middles) & grid.free_mask.ravel()] = ZONES[zone.kind]
    picture = cells.reshape(grid.height, grid.width, 3).repeat(scale, axis=0).repeat(scale, axis=1)
    if scale >= 8:
        # Lines between the cells, where they do not hide them.
        picture[scale - 1 :: scale] = (picture[scale - 1 :: scale] * 0.93).astype(np.uint8)
        picture[:, scale - 1 :: scale] = (picture[:, scale - 1 :: scale] * 0.93).astype(np.uint8)
    if site.roadmap is not None:
        ends = _pixels(site, site.roadmap.positions, scale)
        for begin, end in site.roadmap.lanes.tolist():
            _line(picture, ends[begin], ends[end], LANE, max(scale // 6, 1))
    _dots(picture, _pixels(site, grid.positions(site.starts), scale), START, scale)
    for station in site.stations:
        _dots(picture, _pixels(site, np.array([[station.x, station.y]]), scale), STATION_COLORS[station.kind], scale)
    if way is not None:
        bends = _pixels(site, way, scale)
        for begin, end in pairwise(bends):
            _line(picture, begin, end, WAY, max(scale // 4, 3))
        _dots(picture, bends, WAY, max(scale // 2, 12))
    return picture


def _pixels(site: Site, points: Floats, scale: int) -> Ints:
    """Return the pixels (N, 2), row and column, of `points` (N, 2) in m."""
    grid = site.grid
    own = grid.to_own(points) / grid.cell * scale
    # Rows count downwards in a picture, and y upwards in the site.
    return np.stack((grid.height * scale - own[:, 1], own[:, 0]), axis=1).astype(np.int64)


def _dots(picture: Bytes, places: Ints, color: tuple[int, int, int], scale: int) -> None:
    half = max(int(0.36 * scale), 1) if scale > 2 else 0
    for row, column in places.tolist():
        picture[max(row - half, 0) : row + half + 1, max(column - half, 0) : column + half + 1] = color


def _line(picture: Bytes, begin: Ints, end: Ints, color: tuple[int, int, int], width: int) -> None:
    # As many points as there are pixels along the longer side: no gaps.
    count = int(np.abs(end - begin).max()) + 1
    points = np.linspace(begin, end, count).round().astype(np.int64)
    for shift in range(width):
        rows = np.clip(points[:, 0] + shift, 0, picture.shape[0] - 1)
        columns = np.clip(points[:, 1] + shift, 0, picture.shape[1] - 1)
        picture[rows, columns] = color
