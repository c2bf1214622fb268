"""Closest: how near two robots ever came to each other, from middle to middle and from rim to rim."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import MissingDependencyError
from fleet_sim.kernels import compiled
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.shapes import ShapeKind

FLAT = 1e-3
"""Half the height in m of what has no shape, and still is on its floor."""


class RobotOutlines(NamedTuple):
    """Where robots are, seen from above, and how high: `places` (K, 2) in m, and the range of heights (K, 2).

    An outline is a rectangle about its place with half its sides in `halves` (K, 2), turned by the angle with the
    cosine and the sine in `turns` (K, 2), and `rims` (K,) m around that: a disc has no sides, and a box no rim.
    """

    places: Floats
    heights: Floats
    halves: Floats
    turns: Floats
    rims: Floats


def outlines_of(world: World, rows: Rows, radii: Floats) -> RobotOutlines:
    """Return the outlines of robots in `rows` (K,): of upright boxes that carry nothing these, of others their discs.

    `radii` (K,) in m are those of the discs around all of each.
    """
    count = len(rows)
    places, turns = world.position[rows, :2].copy(), np.tile((1.0, 0.0), (count, 1))
    middles = world.position[rows, 2] + world.shape_position[rows, 2]
    half = np.maximum(world.half_extents[rows, 2], FLAT)
    halves, rims = np.zeros((count, 2)), np.array(radii, np.float64)
    boxes = np.flatnonzero(world.shape_kind[rows] == ShapeKind.BOX)
    if len(boxes):
        own = rows[boxes]
        # Of a box the sides are known as long as it stands upright and carries nothing.
        flat = (np.abs(world.orientation[own, :2]) < 1e-9).all(axis=1)
        flat &= (np.abs(world.shape_orientation[own, :3]) < 1e-9).all(axis=1)
        flat &= (np.abs(world.shape_position[own, :2]) < 1e-9).all(axis=1)
        carried = world.parent[world.rows]
        flat &= ~np.isin(own, carried[carried != NO_ROW])
        boxes = boxes[flat]
        halves[boxes], rims[boxes] = world.half_extents[rows[boxes], :2], 0.0
        sines, cosines = trig.sin_cos(quaternions.yaws(world.orientation[rows[boxes]]))
        turns[boxes, 0], turns[boxes, 1] = cosines, sines
    return RobotOutlines(places, np.column_stack((middles - half, middles + half)), halves, turns, rims)


def discs_of(points: Floats) -> RobotOutlines:
    """Return outlines without extent at `points` (K, 2) m, all at one height."""
    count = len(points)
    zeros = np.zeros((count, 2))
    return RobotOutlines(
        points, np.tile((0.0, 1.0), (count, 1)), zeros, np.tile((1.0, 0.0), (count, 1)), np.zeros(count)
    )


@saved
class Closest:
    """Keeps the smallest distance between two robots at one height. Exact at each call, and cheap for small moves."""

    def __init__(self) -> None:
        self.distance = np.inf
        """From middle to middle, in m; inf while there were never two robots."""
        self.gap = np.inf
        """From rim to rim, in m; below 0 where outlines overlap by as much."""
        self._order: Ints = np.empty(0, np.int64)

    def look(self, outlines: RobotOutlines) -> None:
        """Take the distances of robots from each other into account."""
        places = outlines.places
        if len(places) < 2:
            return
        # Sorted anew only when robots came or went; else the order of the last step is nearly right.
        if len(self._order) != len(places):
            self._order = np.argsort(places[:, 0], kind="stable")
        given = (outlines, self._order, self.distance, self.gap)
        try:
            self.distance, self.gap = nearest(*given)
        except MissingDependencyError:
            self.distance, self.gap = nearest.in_python(*given)


@compiled
def nearest(outlines: RobotOutlines, order: Ints, distance: float, gap: float) -> tuple[float, float]:
    """Return the smallest distance and gap of two of the outlines, or `distance` and `gap` where these are smaller.

    `order` (N,) is a permutation, in which the places are nearly sorted along x; it is sorted in place.
    """
    places, heights, halves, turns, rims = outlines
    for place in range(1, len(order)):
        # Insertion sort: of what is nearly sorted it takes one look at each.
        one = order[place]
        x = places[one, 0]
        before = place - 1
        while before >= 0 and places[order[before], 0] > x:
            order[before + 1] = order[before]
            before -= 1
        order[before + 1] = one
    largest = 0.0
    for one in range(len(order)):
        largest = max(largest, rims[one] + np.sqrt(halves[one, 0] ** 2 + halves[one, 1] ** 2))
    for place in range(len(order)):
        one = order[place]
        reach = rims[one] + np.sqrt(halves[one, 0] ** 2 + halves[one, 1] ** 2)
        # Sorted along x: those behind the first that is too far away are farther still.
        for after in range(place + 1, len(order)):
            other = order[after]
            across = places[other, 0] - places[one, 0]
            if across >= distance and across >= gap + reach + largest:
                break
            # One above the other are on two floors.
            if heights[one, 0] >= heights[other, 1] or heights[other, 0] >= heights[one, 1]:
                continue
            along = places[other, 1] - places[one, 1]
            apart = np.sqrt(across * across + along * along)
            distance = min(distance, apart)
            far = rims[other] + np.sqrt(halves[other, 0] ** 2 + halves[other, 1] ** 2)
            if apart - reach - far < gap:
                gap = min(gap, _between(across, along, halves, turns, one, other) - rims[one] - rims[other])
    return distance, gap


@compiled
def _between(dx: float, dy: float, halves: Floats, turns: Floats, one: int, other: int) -> float:
    """Return the distance of two rectangles; below 0 where they overlap: how far one must move to be clear."""
    least, nearest = -np.inf, np.inf
    for mine, theirs, sign in ((one, other, 1.0), (other, one, -1.0)):
        cosine, sine = turns[mine, 0], turns[mine, 1]
        # The middle of the other one, and its sides, as this one sees them.
        x, y = sign * (cosine * dx + sine * dy), sign * (cosine * dy - sine * dx)
        ahead = turns[theirs, 0] * cosine + turns[theirs, 1] * sine
        aside = turns[theirs, 1] * cosine - turns[theirs, 0] * sine
        long, wide = halves[theirs, 0], halves[theirs, 1]
        # Two convex outlines are apart along one of their sides, or they overlap.
        least = max(least, abs(x) - halves[mine, 0] - long * abs(ahead) - wide * abs(aside))
        least = max(least, abs(y) - halves[mine, 1] - long * abs(aside) - wide * abs(ahead))
        # And nearest at a corner of one of them.
        for first, second in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
            corner_x = x + first * long * ahead - second * wide * aside
            corner_y = y + first * long * aside + second * wide * ahead
            off_x, off_y = max(abs(corner_x) - halves[mine, 0], 0.0), max(abs(corner_y) - halves[mine, 1], 0.0)
            nearest = min(nearest, np.sqrt(off_x * off_x + off_y * off_y))
    return nearest if least > 0.0 else least
