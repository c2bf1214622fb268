"""Whether bodies overlap, from their recorded poses alone: rectangles and discs by separating axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats

PARTS = 4
"""Moments that are looked at from one sample to the next."""


class Track(NamedTuple):
    """Bodies over time: places (T, N, 2) in m, yaws (T, N), half lengths and widths (N, 2); discs have a width of 0."""

    places: Floats
    yaws: Floats
    halves: Floats


def least_gap(robots: Track, people: Track) -> tuple[float, float]:
    """Return the least gap of two robots, and of a robot and a person, in m; negative where they overlap."""
    among, between = np.inf, np.inf
    for sample in range(len(robots.places) - 1):
        for part in range(PARTS):
            share = part / PARTS
            places, yaws = _between(robots, sample, share)
            spots, _ = _between(people, sample, share)
            among = min(among, _of_rectangles(places, yaws, robots.halves))
            between = min(between, _to_discs(places, yaws, robots.halves, spots, people.halves[:, 0]))
    return float(among), float(between)


def _between(track: Track, sample: int, share: float) -> tuple[Floats, Floats]:
    begin, end = track.places[sample], track.places[sample + 1]
    turn = np.mod(track.yaws[sample + 1] - track.yaws[sample] + np.pi, 2.0 * np.pi) - np.pi
    return begin + share * (end - begin), track.yaws[sample] + share * turn


def _near(first: Floats, second: Floats, reach: float) -> Bools:
    return np.asarray(np.hypot(*(first[:, None] - second[None]).transpose(2, 0, 1)) < reach)


def _of_rectangles(places: Floats, yaws: Floats, halves: Floats) -> float:
    reach = 2.0 * float(np.hypot(*halves.T).max()) + 0.5
    first, second = np.nonzero(np.triu(_near(places, places, reach), 1))
    if not len(first):
        return np.inf
    best = np.full(len(first), -np.inf)
    offsets = places[second] - places[first]
    for axis_of in (first, second):
        for turn in (0.0, 0.5 * np.pi):
            x, y = np.cos(yaws[axis_of] + turn), np.sin(yaws[axis_of] + turn)
            extents = np.zeros(len(first))
            for body in (first, second):
                extents += halves[body, 0] * np.abs(x * np.cos(yaws[body]) + y * np.sin(yaws[body]))
                extents += halves[body, 1] * np.abs(-x * np.sin(yaws[body]) + y * np.cos(yaws[body]))
            best = np.maximum(best, np.abs(offsets[:, 0] * x + offsets[:, 1] * y) - extents)
    return float(best.min())


def _to_discs(places: Floats, yaws: Floats, halves: Floats, spots: Floats, radii: Floats) -> float:
    if not len(spots):
        return np.inf
    offsets = spots[None] - places[:, None]
    x, y = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    along = np.abs(offsets[..., 0] * x + offsets[..., 1] * y) - halves[:, :1]
    aside = np.abs(offsets[..., 1] * x - offsets[..., 0] * y) - halves[:, 1:]
    outside = np.hypot(np.maximum(along, 0.0), np.maximum(aside, 0.0))
    return float((np.where(outside > 0.0, outside, np.maximum(along, aside)) - radii).min())
