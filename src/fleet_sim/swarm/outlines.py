"""Polygons of agents and objects: their corners, as lists or drawings, and their anchor points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings.fields import NO_RULES
from fleet_sim.settings.reader import Where, convert
from fleet_sim.swarm.svg import polygon_in

Point = tuple[float, float]

ANCHORS = ("center", "centroid", "center inplace", "centroid inplace")
"""Names of anchors: the middle of the box, and that of the area. "inplace" leaves the corners where they are."""


def read_points(value: object) -> list[Point] | None:
    """Return the corners of a polygon, also from the text of a drawing with one polygon, or None; raises ValueError."""
    given = polygon_in(value) if isinstance(value, str) else value
    points: list[Point] | None = convert(list[Point] | None, given, NO_RULES, Where())
    return points


def read_anchor(value: object) -> Point | str:
    """Return a point, or one of ANCHORS; raises ValueError."""
    if isinstance(value, str):
        # Any white space between the two words: files are written by hand.
        words = " ".join(value.split())
        if words not in ANCHORS:
            raise InvalidValueError(f"must be two numbers or one of {', '.join(ANCHORS)}, got {value!r}")
        return words
    anchor: Point = convert(Point, value, NO_RULES, Where())
    return anchor


def anchor_of(points: Sequence[Point], anchor: Point | str) -> Floats:
    """Return the point (2,) that an anchor names; raises InvalidValueError for the centroid of what has no area."""
    corners = np.array(points)
    if not isinstance(anchor, str):
        return np.array(anchor)
    if anchor.startswith("centroid"):
        return centroid(corners)
    return np.asarray(0.5 * (corners.min(axis=0) + corners.max(axis=0)))


def centroid(corners: Floats) -> Floats:
    """Return the centroid (2,) of the area of a polygon (K, 2); raises InvalidValueError where it has no area."""
    # About the first corner, so that no digits are lost far from the origin.
    x, y = (corners - corners[0]).T
    after_x, after_y = np.roll(x, -1), np.roll(y, -1)
    parts = x * after_y - after_x * y
    # The shoelace formula; its sign is the direction of the corners, and cancels out of the centroid.
    area = 0.5 * float(parts.sum())
    if area == 0.0:
        raise InvalidValueError("points: a polygon without area has no centroid")
    middle = np.array([((x + after_x) * parts).sum(), ((y + after_y) * parts).sum()]) / (6.0 * area)
    return np.asarray(corners[0] + middle)
