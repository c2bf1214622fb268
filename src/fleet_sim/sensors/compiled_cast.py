"""Casting the rays of level sensors by compiled code: what the kernels of `compiled_lanes` are called with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fleet_sim.sensors import compiled_lanes as lanes
from fleet_sim.sensors.fans import Fan, Hits, Stations
from fleet_sim.sensors.nearby import grids_of
from fleet_sim.sensors.outlines import Discs, Outlines, Polygons, Segments
from fleet_sim.spatial import trigonometry as trig


def cast_compiled(stations: Stations, fan: Fan, outlines: Outlines) -> Hits:
    """Return the ranges of the rays of `fan` from each of `stations`, those of `raster.cast` without details."""
    ranges = np.full(len(stations.x) * fan.rays, np.inf)
    sines, cosines = trig.sin_cos(fan.angles)
    directions = cosines, sines
    lanes.draw_walls(stations, fan, outlines.walls, directions, ranges)
    discs, polygons, segments = outlines.discs, outlines.polygons, outlines.segments
    for around in _in_grids(stations, fan, discs, len(discs.circles.rows)):
        balls = discs.ball_mask.astype(np.int64)
        lanes.draw_discs(stations, fan, around, discs.z, balls, directions, ranges)
    for around in _in_grids(stations, fan, polygons, polygons.corners.shape[1]):
        forms = polygons.first, polygons.sizes, np.ascontiguousarray(polygons.corners)
        lanes.draw_polygons(stations, fan, around, *forms, directions, ranges)
    for around in _in_grids(stations, fan, segments, len(segments.circles.rows)):
        ends = np.ascontiguousarray(segments.starts), np.ascontiguousarray(segments.ends)
        lanes.draw_lines(stations, fan, around, *ends, directions, ranges)
    lanes.drop_beyond(ranges, fan.reach)
    return Hits(ranges.reshape(len(stations.x), fan.rays), None, None)


def _in_grids(stations: Stations, fan: Fan, outlines: Discs | Polygons | Segments, most: int) -> Iterator[lanes.InGrid]:
    """Yield the circles around outlines and grids to find them in, with room for what is near a sensor.

    That is for the numbers of outlines, and for `most` views of their parts.
    """
    circles = outlines.circles
    if len(circles.rows):
        # One more, written where nothing is found.
        near, views = np.empty(len(circles.rows), np.int64), lanes.LaneViews(*np.empty((7, most + 1)))
        for grid in grids_of(len(stations.x), fan.reach, circles.x, circles.y, circles.radii):
            yield lanes.InGrid(circles, grid, near, views)
