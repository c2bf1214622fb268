"""What films show on the floor: stations, zones and doors of a site, and paths ahead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.paths_ahead import PathsAhead
from fleet_sim.sensors.render.flat_marks import FlatMarks, joined, squares, strips
from fleet_sim.sites.floor_plan import FloorPlan
from fleet_sim.sites.plan_colors import DOOR_COLOR, PATH_ON_FILM, STATION_COLORS, station_half, zone_color

ZONE_HEIGHT, STATION_HEIGHT, PATH_LIFT, THICKNESS = 0.008, 0.016, 0.03, 0.008
"""In m above the floor, one above the other, so that neither flickers through the other."""
ZONE_EDGE, DOOR_WIDTH = 0.08, 0.1
NARROWEST_PATH, PATH_SHARE = 0.05, 0.003
"""The width of paths: in m, and of the distance from the camera, so that they are seen from afar."""


def marks_of_plans(plans: Sequence[FloorPlan]) -> FlatMarks:
    """Return what is on the floors of all storeys."""
    return joined([mark for plan in plans for mark in _marks_of(plan)])


def marks_of_paths(paths: PathsAhead, distance: float) -> FlatMarks:
    """Return the paths ahead, as strips that are seen from a camera at `distance` m."""
    lines = paths.lines + np.array((0.0, 0.0, PATH_LIFT))
    return strips(lines, max(NARROWEST_PATH, PATH_SHARE * distance), THICKNESS, PATH_ON_FILM)


def _marks_of(plan: FloorPlan) -> list[FlatMarks]:
    """Return the zones, stations and doors of a floor as flat marks just above it."""
    marks = []
    for zone in plan.zones:
        corners = _at_height(zone.corners, plan.height + ZONE_HEIGHT)
        edges = np.stack((corners, np.roll(corners, -1, axis=0)), axis=1)
        marks.append(strips(edges, ZONE_EDGE, THICKNESS, zone_color(zone.kind)))
    for kind, color in STATION_COLORS.items():
        stations = [station for station in plan.stations if station.kind is kind]
        places = np.array([(station.x, station.y) for station in stations]).reshape(-1, 2)
        yaws = np.array([station.yaw for station in stations])
        places = _at_height(places, plan.height + STATION_HEIGHT)
        marks.append(squares(places, yaws, station_half(plan.cell), THICKNESS, color))
    ends = np.array([(door.begin, door.end) for door in plan.doors]).reshape(-1, 2)
    doors = _at_height(ends, plan.height + ZONE_HEIGHT).reshape(-1, 2, 3)
    return [*marks, strips(doors, DOOR_WIDTH, THICKNESS, DOOR_COLOR)]


def _at_height(places: Floats, height: float) -> Floats:
    return np.column_stack((places, np.full(len(places), height)))
