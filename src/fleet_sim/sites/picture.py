"""A picture of a site, from above."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fleet_sim.arrays import Bytes, Floats, Ints
from fleet_sim.sites.plan_colors import STATION_COLORS
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import ZoneKind
from fleet_sim.spatial import trigonometry as trig

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
    """Draw a straight line with smooth edges, `width` pixels wide."""
    half = 0.5 * width
    # Only the part of the picture around the line is looked at; nodes of a roadmap may lie outside of the picture.
    low = np.clip(np.minimum(begin, end) - width, 0, picture.shape[:2])
    high = np.clip(np.maximum(begin, end) + width + 1, 0, picture.shape[:2])
    rows, columns = np.ogrid[low[0] : high[0], low[1] : high[1]]
    along, length = end - begin, max(trig.hypot_of(*map(float, end - begin)), 1e-9)
    # Of each pixel around: how far along the line the nearest point of it is, and how far away.
    share = np.clip(((rows - begin[0]) * along[0] + (columns - begin[1]) * along[1]) / length**2, 0.0, 1.0)
    distance = trig.hypot(rows - begin[0] - share * along[0], columns - begin[1] - share * along[1])
    # A pixel on the edge is covered in part, and takes as much of the color.
    cover = np.clip(half + 0.5 - distance, 0.0, 1.0)[..., None]
    part = picture[low[0] : high[0], low[1] : high[1]]
    part[:] = (part + cover * (np.array(color) - part)).round().astype(np.uint8)
