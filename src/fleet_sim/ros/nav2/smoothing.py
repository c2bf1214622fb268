"""Smoothing of paths: corners become curves, the ends stay, and nothing that was free gets into an obstacle."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.spatial import trigonometry as trig

SPACING = 0.1
"""The largest distance of poses of a smoothed path in m, unless that were too many."""
MOST_POINTS = 5_000
REACH = 0.5
"""How far from a corner, in m, its curve begins."""
CLOSE = 1e-4
"""A round that moves no point by more than this (m) is the last one."""
MOST_ROUNDS = 2_000
TURN_BACK = -0.7
"""Cosine of the turn from which on a path turns back there, as a robot that parks: such a place stays."""
TRIES = 8
"""How often a round that would enter an obstacle is tried with fewer points."""

BETWEEN = np.array([0.25, 0.5, 0.75])[:, None, None]
"""Places on the lines between points that have to be free too."""

IsFree = Callable[[Floats], Bools]


class Smoothed(NamedTuple):
    """A path (N, 2), and whether it was completed before its time was up."""

    points: Floats
    is_complete: bool


def dense(points: Floats) -> Floats:
    """Return `points` (K, 2) with points between them, evenly and not much farther apart than SPACING.

    Points of the same place become one.
    """
    lengths = trig.hypot(*np.diff(points, axis=0).T)
    kept_mask = np.concatenate(([True], lengths > 0.0))
    points, lengths = points[kept_mask], lengths[kept_mask[1:]]
    spacing = max(SPACING, float(lengths.sum()) / MOST_POINTS)
    counts = np.maximum(np.ceil(lengths / spacing - 1e-9), 1).astype(np.int64)
    line = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = (number / counts[line])[:, None]
    between: Floats = points[line] + share * (points[line + 1] - points[line])
    return np.concatenate((between, points[-1:]))


def smoothed(points: Floats, is_free: IsFree, in_time: Callable[[], bool]) -> Smoothed:
    """Return the path through `points` (N, 2), which `dense` returned, with curves for corners.

    Each point moves towards the middle of its neighbours, and less so back to its old place: gradient descent, to where
    both are in balance. `is_free` tells of points (M, 2) whether a robot may be there. Ends when `in_time` says no.
    """
    current = points.copy()
    loose_mask = _loose(points)
    # With these weights a corner is spread over REACH, and the descent is stable: 4 * pull + back < 2.
    pull = 0.45
    back = pull * (_spacing(points) / REACH) ** 2
    for _ in range(MOST_ROUNDS):
        if not in_time():
            return Smoothed(current, False)
        wanted = current.copy()
        inner = current[1:-1]
        wanted[1:-1] += pull * (current[:-2] + current[2:] - 2.0 * inner) + back * (points[1:-1] - inner)
        trial = _admitted(current, wanted, loose_mask, is_free)
        change = np.abs(trial - current).max(initial=0.0)
        current = trial
        if change <= CLOSE * back:
            break
    return Smoothed(current, True)


def headings(points: Floats, first: float, last: float) -> Floats:
    """Return headings (N,) in rad along `points` (N, 2), backwards where the path began so; at the end it is `last`.

    `first` is the heading of the path at its beginning.
    """
    if len(points) < 2:
        return np.array([last])
    steps = np.diff(points, axis=0)
    yaws = trig.arctan2(steps[:, 1], steps[:, 0])
    sine, cosine = trig.sin_cos_of(first)
    if steps[0, 0] * cosine + steps[0, 1] * sine < 0.0:
        yaws += np.pi
    return np.concatenate((yaws, [last]))


def is_clear(points: Floats, is_free: IsFree) -> bool:
    """Return whether the path (N, 2) and the lines of it are free."""
    between = (points[:-1] + BETWEEN * (points[1:] - points[:-1])).reshape(-1, 2)
    return bool(is_free(points).all() and is_free(between).all())


def _spacing(points: Floats) -> float:
    """Return the mean distance of neighbours in m, at most REACH."""
    lengths = trig.hypot(*np.diff(points, axis=0).T)
    return min(float(lengths.sum()) / max(len(lengths), 1), REACH)


def _loose(points: Floats) -> Bools:
    """Return which points may move: not the ends, nor those where the path turns back."""
    mask = np.zeros(len(points), bool)
    steps = np.diff(points, axis=0)
    lengths = trig.hypot(*steps.T)
    turns = (steps[:-1] * steps[1:]).sum(axis=1) / (lengths[:-1] * lengths[1:])
    mask[1:-1] = turns > TURN_BACK
    return mask


def _admitted(current: Floats, wanted: Floats, loose_mask: Bools, is_free: IsFree) -> Floats:
    """Return the points, moved to `wanted` where neither they nor the lines to their neighbours leave free space."""
    moved_mask = loose_mask.copy()
    for _ in range(TRIES):
        trial: Floats = np.where(moved_mask[:, None], wanted, current)
        blocked_mask = moved_mask & ~is_free(trial)
        # A line between points that stay is as good as it was.
        between = (trial[:-1] + BETWEEN * (trial[1:] - trial[:-1])).reshape(-1, 2)
        cut_mask = (moved_mask[1:] | moved_mask[:-1]) & ~is_free(between).reshape(len(BETWEEN), -1).all(axis=0)
        blocked_mask[1:] |= cut_mask
        blocked_mask[:-1] |= cut_mask
        if not blocked_mask.any():
            return trial
        moved_mask &= ~blocked_mask
    return current
