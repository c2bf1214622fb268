"""Points of routes, in cells."""

from __future__ import annotations

from fleet_sim.spatial import trigonometry as trig

Point = tuple[float, float]
"""Column and row, in cells; rows count downwards."""


def distance(begin: Point, end: Point) -> float:
    """Return the distance between two points, with the same bits on every machine."""
    return trig.hypot_of(end[0] - begin[0], end[1] - begin[1])
