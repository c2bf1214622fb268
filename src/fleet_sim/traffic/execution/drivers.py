"""Robots as the law sees them: columns by row, and what a step finds out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints

MOVED, TURNED, ARRIVED = 1, 2, 4


class Drivers(NamedTuple):
    """Columns of robots in the traffic, by row; those of TrafficColumns by the same names."""

    goal: Ints
    heading: Floats
    arrived: Bools
    held: Bytes
    pace: Floats
    progress: Floats
    speed: Floats
    yaw: Floats
    spin: Floats
    reversing: Bools
    turns: Bools
    lead: Bytes
    waiting: Bools
    waited: Ints
    driven: Floats
    place: Floats
    round: Ints
    halted: Bools
    leader: Ints
    gap: Floats
    wide: Bools


class Limits(NamedTuple):
    """The limits of robots, by row: (rows,) of the norms, (rows, 3) by axis; named as in MotionColumns."""

    linear_limit: Floats
    linear_limits: Floats
    linear_accel: Floats
    linear_accels: Floats
    angular_limit: Floats
    angular_limits: Floats
    angular_accel: Floats
    angular_accels: Floats


class Stride(NamedTuple):
    """What a step of all robots finds out, by place in its rows (n,).

    `tops` in m/s and `accels` in m/s2 of each robot; the place `passed` of its way before the step; what it did in bits
    MOVED, TURNED, ARRIVED (for the first time at its goal); `velocities` (n, 2) in m/s; who `asks` to follow the one
    before it into its next node.
    """

    tops: Floats
    accels: Floats
    passed: Ints
    motions: Bytes
    velocities: Floats
    asks: Bools


def stride_of(count: int) -> Stride:
    """Return room for what a step of `count` robots finds out."""
    tops, accels, passed = np.empty(count), np.empty(count), np.empty(count, np.int64)
    return Stride(tops, accels, passed, np.empty(count, np.uint8), np.empty((count, 2)), np.empty(count, np.bool_))
