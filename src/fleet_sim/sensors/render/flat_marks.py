"""FlatMarks: strips and squares that pictures for people show on the floor besides the bodies of a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bytes, Floats
from fleet_sim.spatial import trigonometry as trig

Rgb = tuple[int, int, int]


class FlatMarks(NamedTuple):
    """Level boxes: middles (K, 3) and half extents (K, 3) in m, headings (K,) in rad, and colors (K, 3)."""

    positions: Floats
    yaws: Floats
    half_extents: Floats
    colors: Bytes


def strips(lines: Floats, width: float, thickness: float, color: Rgb) -> FlatMarks:
    """Return strips along `lines` (K, 2, 3), which are level."""
    ways = lines[:, 1] - lines[:, 0]
    half = np.empty((len(lines), 3))
    # Half a width longer at each end, so that corners are whole.
    half[:, 0], half[:, 1:] = 0.5 * (trig.hypot(ways[:, 0], ways[:, 1]) + width), (0.5 * width, 0.5 * thickness)
    yaws = trig.arctan2(ways[:, 1], ways[:, 0])
    return FlatMarks(0.5 * (lines[:, 0] + lines[:, 1]), yaws, half, _painted(len(lines), color))


def squares(places: Floats, yaws: Floats, half: float, thickness: float, color: Rgb) -> FlatMarks:
    """Return squares with their middles at `places` (K, 3), turned by `yaws` (K,)."""
    half_extents = np.tile((half, half, 0.5 * thickness), (len(places), 1))
    return FlatMarks(places, yaws, half_extents, _painted(len(places), color))


def joined(marks: Sequence[FlatMarks]) -> FlatMarks:
    """Return all of them as one."""
    none = FlatMarks(np.empty((0, 3)), np.empty(0), np.empty((0, 3)), np.empty((0, 3), np.uint8))
    return FlatMarks(*(np.concatenate(parts) for parts in zip(none, *marks, strict=True)))


def _painted(count: int, color: Rgb) -> Bytes:
    return np.tile(np.array(color, np.uint8), (count, 1))
