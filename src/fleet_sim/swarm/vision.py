"""Visibility: discs and walls in a sector of a circle, rays, and lines of sight.

All are exact tests on arrays. Sectors are given by the observer's origin and heading, the half angle and the
range; a target is (ahead, aside), its position in the observer's frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import trigonometry as trig

Number: TypeAlias = "float | Floats"


@saved
@dataclass(frozen=True)
class Sector:
    """A field of view: `half_angle` rad to both sides of straight ahead (pi and more: all round), `reach` m deep.

    Either may be an array with a number for each observer (N,): see `of`.
    """

    half_angle: Number
    reach: Number

    @cached_property
    def all_round(self) -> bool:
        """Whether it has no sides; of several, whether none has."""
        if isinstance(self.half_angle, np.ndarray):
            return bool((self.half_angle >= math.pi).all())
        return self.half_angle >= math.pi

    @cached_property
    def edge(self) -> tuple[Number, Number]:
        """Sine and cosine of the half angle."""
        if isinstance(self.half_angle, np.ndarray):
            return trig.sin_cos(self.half_angle)
        return trig.sin_cos_of(self.half_angle)

    @cached_property
    def _round_mask(self) -> Bools | None:
        """Which of several sectors have no sides; None for one sector, and where none is so."""
        if not isinstance(self.half_angle, np.ndarray):
            return None
        mask: Bools = self.half_angle >= math.pi
        return mask if np.count_nonzero(mask) else None

    def of(self, observers: Rows) -> Sector:
        """Return the sectors of `observers` (...), in that shape; one sector is that of all."""
        half_angle, reach = _taken(self.half_angle, observers), _taken(self.reach, observers)
        # One sector for all: nothing has to be picked.
        if half_angle is self.half_angle and reach is self.reach:
            return self
        sine, cosine = self.edge
        # Computed once for all observers, and not for each pair of them with somebody.
        return self._like(half_angle, reach, _taken(sine, observers), _taken(cosine, observers))

    def sees_discs(self, ahead: Floats, aside: Floats, radii: Floats | float) -> Bools:
        """Return which discs about (ahead, aside) of `radii` touch the sector or its edge.

        The arrays have any shapes that go together; the answer has that of all of them.
        """
        squares = ahead * ahead
        squares += aside * aside
        # By the rim: a disc is seen where any point of it is.
        inner = self.reach + radii
        near_mask: Bools = np.asarray(squares <= inner * inner)
        if self.all_round:
            return near_mask
        # How far outside of the straight edge on its side a disc's middle is: farther than its radius is out of sight.
        off = np.abs(aside)
        sine, cosine = self.edge
        outside = off * cosine
        outside -= ahead * sine
        beside_mask = outside <= radii
        near_mask &= beside_mask if self._round_mask is None else beside_mask | self._round_mask
        # The exact test is dear, and these two cheap ones leave few discs for it.
        some = near_mask.nonzero()
        if not len(some[0]):
            return near_mask
        if np.shape(radii) != near_mask.shape:
            # Indexing by `some` needs the full shape.
            radii = np.broadcast_to(radii, near_mask.shape)
        radii = np.asarray(radii)[some]
        near_mask[some] = self._at(some, near_mask.shape)._touches(ahead[some], off[some], outside[some], radii)
        return near_mask

    def sees_disc(self, ahead: float, aside: float, radius: float) -> bool:
        """Return whether one disc touches the sector or its edge: what `sees_discs` says, to the bit."""
        inner = self.reach + radius
        if ahead * ahead + aside * aside > inner * inner:
            return False
        if self.all_round:
            return True
        (sine, cosine), off = self.edge, abs(aside)
        outside = off * cosine - ahead * sine
        if outside > radius:
            return False
        along = ahead * cosine + off * sine
        # In a sector of more than half a turn, what is behind its edges may be inside as well.
        if outside <= 0.0 and (along >= 0.0 or self.half_angle > 0.5 * math.pi):
            return True
        foot = min(max(along, 0.0), self.reach)
        miss_ahead, miss_off = ahead - foot * cosine, off - foot * sine
        return bool(miss_ahead * miss_ahead + miss_off * miss_off <= radius * radius)

    def _touches(self, ahead: Floats, off: Floats, outside: Floats, radii: Floats) -> Bools:
        """Return which of the discs that are near enough touch the sector: with their middle in it, or over an edge."""
        sine, cosine = self.edge
        along = ahead * cosine + off * sine
        # The nearest point of the straight edge, which ends at the reach.
        foot = np.minimum(np.maximum(along, 0.0), self.reach)
        miss_ahead, miss_off = ahead - foot * cosine, off - foot * sine
        edge_mask = miss_ahead * miss_ahead + miss_off * miss_off <= radii * radii
        seen_mask = np.asarray(self._inside(-outside, along) | edge_mask)
        return seen_mask if self._round_mask is None else seen_mask | self._round_mask

    def _at(self, places: tuple[Rows, ...], shape: tuple[int, ...]) -> Sector:
        """Return the sectors at some `places` of what has `shape`; one sector is that of all places."""
        if not isinstance(self.half_angle, np.ndarray) and not isinstance(self.reach, np.ndarray):
            return self
        return self._like(*(_at(values, places, shape) for values in (self.half_angle, self.reach, *self.edge)))

    def _like(self, half_angle: Number, reach: Number, sine: Number, cosine: Number) -> Sector:
        """Return some of these sectors, whose edges are known."""
        chosen = Sector(half_angle, reach)
        # The cached properties are filled in by hand, as they would be computed again for each subset.
        vars(chosen)["edge"] = sine, cosine
        if self._round_mask is None:
            vars(chosen).update(all_round=self.all_round, _round_mask=None)
        return chosen

    def sees_points(self, ahead: Floats, aside: Floats) -> Bools:
        """Return which points (ahead, aside), each (M,), lie in the sector or on its edge."""
        return self.sees_discs(ahead, aside, 0.0)

    def segment_distances(self, begin: Floats, end: Floats) -> Floats:
        """Return how far (M,) the nearest visible point of each segment is from the observer; inf where none is seen.

        `begin` and `end` (2, M) are the ends in the observer's frame.
        """
        way = end - begin
        square = way[0] * way[0] + way[1] * way[1]
        # A segment of length 0 is its begin.
        safe = np.where(square > 0.0, square, 1.0)
        share = np.clip(-(begin[0] * way[0] + begin[1] * way[1]) / safe, 0.0, 1.0)
        near_x, near_y = begin[0] + share * way[0], begin[1] + share * way[1]
        distances = np.sqrt(near_x * near_x + near_y * near_y)
        if not self.all_round:
            sine, cosine = self.edge
            off = np.abs(near_y)
            inside_mask = self._inside(near_x * sine - off * cosine, near_x * cosine + off * sine)
            nearest, distances = distances, np.where(inside_mask, distances, np.inf)
            # The nearest point may be outside of the sector while the segment still enters it, over one of the edges.
            for side in (-sine, sine):
                distances = np.minimum(distances, ray_segment_distances(cosine, side, begin, end))
            if self._round_mask is not None:
                distances = np.where(self._round_mask, nearest, distances)
        return np.asarray(np.where(distances <= self.reach, distances, np.inf))

    def _inside(self, side: Floats, along: Floats) -> Bools:
        """Return which points lie between the straight edges, from their distances to one edge and along it."""
        return np.asarray((side >= 0.0) & ((along >= 0.0) | (self.half_angle > 0.5 * math.pi)))


def _taken(values: Number, observers: Rows) -> Number:
    return values.take(observers) if isinstance(values, np.ndarray) else values


def _at(values: Number, places: tuple[Rows, ...], shape: tuple[int, ...]) -> Number:
    """Return `values`, which go together with an array of `shape`, at some places of it."""
    if not isinstance(values, np.ndarray):
        return values
    if values.shape == (shape[0], 1):
        return values[:, 0].take(places[0])
    return np.broadcast_to(values, shape)[places]


def least(first: Number, second: Number) -> Number:
    """Return the smaller one of two numbers, or of each pair of them."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.minimum(first, second)
    return min(first, second)


Some = TypeVar("Some", float, Floats)


def in_frame(x: Some, y: Some, cosine: Some, sine: Some) -> tuple[Some, Some]:
    """Return (ahead, aside) of offsets (x, y) in the frame turned by an angle with `cosine` and `sine`."""
    return x * cosine + y * sine, y * cosine - x * sine


def ray_meets_discs(ahead: Floats, aside: Floats, radii: Floats) -> Bools:
    """Return which discs about (ahead, aside), each (M,), are met by the ray straight ahead.

    A disc whose centre is behind is not met, even where it covers the origin.
    """
    # Infinitely far is the same as not seen, for those who look for the nearest.
    return np.asarray((ahead >= 0.0) & (np.abs(aside) <= radii))


def ray_segment_distances(cosine: Number, sine: Number, begin: Floats, end: Floats) -> Floats:
    """Return how far (M,) along the ray from the origin in direction (cosine, sine) it meets each segment; inf: never.

    `begin` and `end` (2, M) are the segments' ends. A segment along the ray is met at its nearer end.
    """
    way = end - begin
    turn = cosine * way[1] - sine * way[0]
    begin_side = cosine * begin[1] - sine * begin[0]
    # Exactly 0: nearly parallel segments still have a well-defined, if distant, intersection.
    parallel_mask = turn == 0.0
    safe = np.where(parallel_mask, 1.0, turn)
    # Where they are as good as parallel it overflows to infinity: they do not meet within the segment.
    with np.errstate(over="ignore"):
        share = -begin_side / safe
        # Cramer's rule: `turn` is the determinant of both directions.
        along = (begin[0] * way[1] - begin[1] * way[0]) / safe
    met_mask = ~parallel_mask & (share >= 0.0) & (share <= 1.0) & (along >= 0.0)
    first = cosine * begin[0] + sine * begin[1]
    # On one line with the ray: the nearer end counts, or the origin where the segment goes over it.
    last = cosine * end[0] + sine * end[1]
    touch_mask = parallel_mask & (begin_side == 0.0) & (np.maximum(first, last) >= 0.0)
    nearest = np.maximum(np.minimum(first, last), 0.0)
    return np.asarray(np.where(touch_mask, nearest, np.where(met_mask, along, np.inf)))


def segments_hide(origins: Floats, targets: Floats, segments: Floats) -> Bools:
    """Return which lines of sight (M,) from `origins` to `targets` (M, 2) cross one of `segments`.

    `segments` (S, 4) are x1, y1, x2, y2. Touching counts. An origin on a segment sees nothing through it.
    """
    hidden_mask = np.zeros(len(origins), bool)
    x, y = origins[:, 0], origins[:, 1]
    way_x, way_y = targets[:, 0] - x, targets[:, 1] - y
    for begin_x, begin_y, end_x, end_y in segments.tolist():
        wall_x, wall_y = end_x - begin_x, end_y - begin_y
        # Two segments cross where each has its ends on both sides of the other's line.
        from_begin = way_x * (begin_y - y) - way_y * (begin_x - x)
        from_end = way_x * (end_y - y) - way_y * (end_x - x)
        from_origin = wall_x * (y - begin_y) - wall_y * (x - begin_x)
        from_target = wall_x * (targets[:, 1] - begin_y) - wall_y * (targets[:, 0] - begin_x)
        # Flat boxes of the two decide where all four points are on one line.
        apart_mask = (np.maximum(x, targets[:, 0]) < min(begin_x, end_x)) | (
            np.minimum(x, targets[:, 0]) > max(begin_x, end_x)
        )
        apart_mask |= (np.maximum(y, targets[:, 1]) < min(begin_y, end_y)) | (
            np.minimum(y, targets[:, 1]) > max(begin_y, end_y)
        )
        hidden_mask |= (from_begin * from_end <= 0.0) & (from_origin * from_target <= 0.0) & ~apart_mask
    return hidden_mask


def discs_hide(origins: Floats, targets: Floats, centres: Floats, radii: Floats) -> Bools:
    """Return which lines of sight (M,) from `origins` to `targets` (M, 2) pass through the disc that goes with each.

    `centres` (M, 2), `radii` (M,). Discs that only reach beyond an end of the line count as far as they cover the line.
    """
    way_x, way_y = targets[:, 0] - origins[:, 0], targets[:, 1] - origins[:, 1]
    to_x, to_y = centres[:, 0] - origins[:, 0], centres[:, 1] - origins[:, 1]
    square = way_x * way_x + way_y * way_y
    share = np.clip((to_x * way_x + to_y * way_y) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    miss_x, miss_y = to_x - share * way_x, to_y - share * way_y
    return np.asarray(miss_x * miss_x + miss_y * miss_y <= radii * radii)
