"""Sight: whether a disc can move along a straight line without touching a blocked cell."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.lines import distances_to_lines

TOUCH = 1e-9
"""Discs and cells that share less than this (in cells) only touch, which is allowed."""


class Sight:
    """Answers for the cells of `blocked_mask` (H, W); what is outside of them is blocked.

    Points are (column, row) in cells: the middle of the first cell is at (0.5, 0.5).
    """

    def __init__(self, blocked_mask: Bools) -> None:
        self._height, self._width = blocked_mask.shape
        # Blocked cells before each cell of a column, and of a row: those between two are one difference.
        self._down = _counts(blocked_mask.T)
        self._right = _counts(blocked_mask)

    def is_clear(self, begin: tuple[float, float], end: tuple[float, float], radius: float) -> bool:
        """Return whether a disc of `radius` cells touches no blocked cell anywhere from `begin` to `end`.

        The area that it sweeps is cut into strips, one per column of cells. It is convex, so it touches exactly those
        cells of a strip between its lowest and its highest point there.
        """
        (x1, y1), (x2, y2) = begin, end
        if abs(y2 - y1) > abs(x2 - x1):
            # Along the steeper axis the strips would be few and long.
            return _is_clear(self._right, (y1, x1), (y2, x2), radius, self._width)
        return _is_clear(self._down, (x1, y1), (x2, y2), radius, self._height)


def _counts(blocked_mask: Bools) -> Ints:
    counts = np.zeros((blocked_mask.shape[0], blocked_mask.shape[1] + 1), np.int32)
    np.cumsum(blocked_mask, axis=1, out=counts[:, 1:])
    return counts


def _is_clear(counts: Ints, begin: tuple[float, float], end: tuple[float, float], radius: float, across: int) -> bool:
    """Return whether the strips along x of `counts` (strips, across + 1) are clear; |dx| must not be less than |dy|."""
    (x1, y1), (x2, y2) = (begin, end) if begin[0] <= end[0] else (end, begin)
    low, high = min(y1, y2) - radius, max(y1, y2) + radius
    if x1 - radius < -TOUCH or x2 + radius > len(counts) + TOUCH or low < -TOUCH or high > across + TOUCH:
        return False
    first = max(math.floor(x1 - radius + TOUCH), 0)
    last = min(math.ceil(x2 + radius - TOUCH), len(counts))
    strips = np.arange(first, max(last, first + 1))
    if strips[-1] >= len(counts):
        return True
    tops = _tops(strips, x1, y1, x2, y2, radius)
    bottoms = -_tops(strips, x1, -y1, x2, -y2, radius)
    lows = np.floor(bottoms + TOUCH).astype(np.int64)
    highs = np.maximum(np.ceil(tops - TOUCH).astype(np.int64), lows)
    # Rounding may leave the rows by less than what counts as touching.
    np.maximum(lows, 0, out=lows)
    np.minimum(highs, across, out=highs)
    return not np.count_nonzero(counts[strips, highs] - counts[strips, lows])


def _tops(strips: Ints, x1: float, y1: float, x2: float, y2: float, radius: float) -> Floats:
    """Return the largest y (K,) that the disc reaches within each strip from x to x + 1."""
    length = trig.hypot_of(x2 - x1, y2 - y1)
    sine, cosine = ((y2 - y1) / length, (x2 - x1) / length) if length > 0.0 else (0.0, 1.0)
    # The upper edge rises up to the end that is higher and falls after it.
    x = np.minimum(np.maximum(x2 if y2 > y1 else x1, strips), strips + 1)
    left, right = x1 - radius * sine, x2 - radius * sine
    tops: Floats = y1 + radius * cosine + (x - left) * (sine / cosine)
    for at, y, mask in ((x1, y1, x < left), (x2, y2, x > right)):
        if np.count_nonzero(mask):
            off = x[mask] - at
            tops[mask] = y + np.sqrt(np.maximum(radius * radius - off * off, 0.0))
    return tops


def gap_to_boxes(boxes: Floats, begin: Floats, end: Floats) -> float:
    """Return the distance in m of the line from `begin` (2,) to `end` from boxes (K, 5), as a site has them; 0 within.

    Boxes are x, y, yaw, and half of the length and of the width.
    """
    sines, cosines = trig.sin_cos(boxes[:, 2])
    half = boxes[:, 3:]

    def own(place: Floats) -> Floats:
        x, y = place[0] - boxes[:, 0], place[1] - boxes[:, 1]
        return np.column_stack((cosines * x + sines * y, cosines * y - sines * x))

    first, last = own(begin), own(end)
    way = last - first
    # From which share of the line to which it is between the sides, along both axes: then it is within.
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = np.sort(np.stack(((-half - first) / way, (half - first) / way)), axis=0)
    between = np.abs(first) < half
    lows = np.where(way == 0.0, np.where(between, -np.inf, np.inf), sides[0]).max(axis=1, initial=0.0)
    highs = np.where(way == 0.0, np.where(between, np.inf, -np.inf), sides[1]).min(axis=1, initial=1.0)
    if (lows < highs).any():
        return 0.0
    # Apart, two outlines are nearest at an end of the line or at a corner of the box.
    nearest = min(
        float(trig.hypot(*np.maximum(np.abs(place) - half, 0.0).T).min(initial=np.inf)) for place in (first, last)
    )
    for ahead, aside in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        corners = half * (ahead, aside)
        nearest = min(nearest, float(distances_to_lines(corners, first, last).min(initial=np.inf)))
    return nearest
