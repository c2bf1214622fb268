"""Random places for what begins an episode: at a distance from each other, in a square around 0."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.columns import numbers_of
from fleet_sim.kernels import compiled_step

_MISSES, _LESS = 200, 0.8
_TURN = 2.0 * np.pi


def scatter_points(rng: np.random.Generator, count: int, size: float, distance: float, taken: Floats) -> Floats:
    """Return `count` points (N, 2) in a square of side `size` around 0, at least `distance` m apart and from `taken`.

    If there is no room left, the distance is reduced step by step, so that the function always returns.
    """
    points = np.empty((count, 2))
    # Drawn two by two, as each point takes: the stream of any generator is where the last point left it.
    draws: Any = _Draws(rng)
    _scatter.in_python(draws, 0, numbers_of(points), numbers_of(np.array(taken, np.float64)), size, distance)
    return points


class _Draws:
    """Numbers of a generator in [0, 1), by their places, as many as are asked for."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._numbers: list[float] = []

    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, place: int) -> float:
        while place >= len(self._numbers):
            # Not `uniform`, which some builds of NumPy round otherwise than a product and a sum.
            self._numbers += self._rng.random(2).tolist()
        return self._numbers[place]


def random_headings(rng: np.random.Generator, count: int) -> Floats:
    """Return `count` angles from -pi to pi."""
    return _TURN * rng.random(count) - np.pi


class Beginnings(NamedTuple):
    """How episodes of K worlds begin: obstacles (K, O, 2), robots (K, R, 2), their headings (K, R), goals (K, R, 2)."""

    obstacles: Floats
    robots: Floats
    headings: Floats
    goals: Floats


def can_rewind(streams: Sequence[np.random.Generator]) -> bool:
    """Return whether `scatter_worlds` can draw from `streams`: numbers drawn too many are put back."""
    return all(type(stream.bit_generator) is np.random.PCG64 for stream in streams)


def scatter_worlds(
    streams: Sequence[np.random.Generator], robots: int, obstacles: int, size: float, distance: float
) -> tuple[Beginnings, Ints]:
    """Return how a world for each of `streams` (K,) begins, and which of them had too little room to be so quick.

    Streams are afterwards where drawing number by number leaves them; those of the second part are where they were.
    """
    worlds, most = len(streams), 4 * (obstacles + 2 * robots) + robots + 16
    draws, used = np.empty((worlds, most)), np.empty(worlds, np.int64)
    for world, stream in enumerate(streams):
        stream.random(out=draws[world])
    start = Beginnings(*(np.empty((worlds, *rest)) for rest in ((obstacles, 2), (robots, 2), (robots,), (robots, 2))))
    place_worlds(draws, size, distance, start, used)
    for stream, count in zip(streams, used.tolist(), strict=True):
        generator = stream.bit_generator
        assert isinstance(generator, np.random.PCG64)
        # A period of the stream, less what was not used, is back.
        generator.advance((1 << 128) - (most - max(count, 0)))
    return start, np.flatnonzero(used < 0)


@compiled_step
def place_worlds(draws: Floats, size: float, distance: float, start: Beginnings, used: Ints) -> None:
    """Fill `start` from `draws` (K, D) in [0, 1), and `used` (K,): how many each took, -1 where all are too few."""
    robots = start.robots.shape[1]
    for world in range(len(draws)):
        standing = start.obstacles[world]
        taken = _scatter(draws[world], 0, standing, standing[:0], size, distance)
        taken = _scatter(draws[world], taken, start.robots[world], standing, size, distance)
        taken = _scatter(draws[world], taken, start.goals[world], standing, size, distance)
        used[world] = taken + robots if 0 <= taken <= draws.shape[1] - robots else -1
        if used[world] >= 0:
            for robot in range(robots):
                start.headings[world, robot] = _TURN * draws[world, taken + robot] - np.pi


@compiled_step
def _scatter(draws: Floats, taken: int, points: Floats, standing: Floats, size: float, distance: float) -> int:
    """Fill `points` (N, 2), away from each other and from `standing`; return how many draws are used, -1: too few.

    After 200 misses in a row the squared distance shrinks by a fifth.
    """
    have, tries, limit = 0, 0, distance * distance
    while have < len(points):
        if taken < 0 or taken + 2 > len(draws):
            return -1
        x, y = size * draws[taken] - 0.5 * size, size * draws[taken + 1] - 0.5 * size
        taken += 2
        free = True
        for place in range(len(standing)):
            across, along = standing[place, 0] - x, standing[place, 1] - y
            free = free and across * across + along * along >= limit
        for place in range(have):
            across, along = points[place, 0] - x, points[place, 1] - y
            free = free and across * across + along * along >= limit
        if free:
            points[have, 0], points[have, 1] = x, y
            have += 1
            tries = 0
        else:
            tries += 1
            if tries >= _MISSES:
                limit, tries = _LESS * limit, 0
    return taken
