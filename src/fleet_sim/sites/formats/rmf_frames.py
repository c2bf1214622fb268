"""From the drawings of an Open-RMF building to metres: measurements, and levels laid over each other by fiducials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.sites.formats.base import fail
from fleet_sim.spatial import trigonometry as trig


@dataclass(frozen=True, eq=False)
class DrawingFrame:
    """A similarity: point p of a drawing is `matrix @ p + offset` in m in the frame of the building."""

    matrix: Floats
    offset: Floats

    def to_metres(self, points: Floats) -> Floats:
        """Return `points` (N, 2) of the drawing in m."""
        return np.asarray(points @ self.matrix.T + self.offset)


def frame_of(building: Mapping[str, Any], name: str, path: Path) -> DrawingFrame:
    """Return the frame of the level `name`; raises ConfigError.

    Pictures have y down, the world has y up. The scale is the mean over the level's measurements. A level other than
    the reference is laid over that by the fiducials of both with equal names, if there are two or more.
    """
    system = building.get("coordinate_system", "reference_image")
    if system == "cartesian_meters":
        return DrawingFrame(np.eye(2), np.zeros(2))
    if system != "reference_image":
        fail(path, f"must be reference_image or cartesian_meters, got {system!r}", "coordinate_system")
    levels = building["levels"]
    reference = building.get("reference_level_name") or next(iter(levels))
    if name != reference and isinstance(levels.get(reference), Mapping):
        there, here = _fiducials(levels[reference]), _fiducials(levels[name])
        common = sorted(there.keys() & here.keys())
        if len(common) >= 2:
            base = _scaled(levels[reference], str(reference), path)
            targets = base.to_metres(np.array([there[key] for key in common]))
            return _laid_over(np.array([here[key] for key in common]) * (1.0, -1.0), targets)
    return _scaled(levels[name], name, path)


def _scaled(level: Mapping[str, Any], name: str, path: Path) -> DrawingFrame:
    """Return the frame whose scale the level's measurements say."""
    vertices, scales = level.get("vertices") or [], []
    for index, entry in enumerate(level.get("measurements") or []):
        where = f"levels.{name}.measurements[{index}]"
        try:
            begin, end = (np.array(vertices[number][:2], np.float64) for number in entry[:2])
            distance = entry[2]["distance"]
            metres = float(distance[1] if isinstance(distance, Sequence) else distance)
        except (TypeError, ValueError, LookupError) as error:
            fail(path, f"must be [vertex, vertex, {{distance: [3, metres]}}]: {error}", where)
        pixels = float(trig.hypot(*(end - begin)))
        if not (pixels > 0.0 and 0.0 < metres < np.inf):
            fail(path, f"must be between two places and above 0 m, got {metres!r}", where)
        scales.append(metres / pixels)
    if not scales:
        fail(path, "it has no measurements, so a pixel of its drawing has no size", f"levels.{name}")
    scale = float(np.mean(scales))
    return DrawingFrame(np.diag((scale, -scale)), np.zeros(2))


def _fiducials(level: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    entries = level.get("fiducials") or []
    return {
        str(entry[2]): (float(entry[0]), float(entry[1]))
        for entry in entries
        if isinstance(entry, Sequence) and len(entry) > 2 and entry[2]
    }


def _laid_over(points: Floats, targets: Floats) -> DrawingFrame:
    """Return the similarity with the least squared distances from `points` (K, 2), y up, to `targets` (K, 2)."""
    here, there = points.mean(axis=0), targets.mean(axis=0)
    # As complex numbers a turn with a scale is one factor.
    a, b = (points - here) @ (1.0, 1.0j), (targets - there) @ (1.0, 1.0j)
    factor = complex(np.vdot(a, b) / np.vdot(a, a))
    turn = np.array([[factor.real, -factor.imag], [factor.imag, factor.real]])
    matrix = turn @ np.diag((1.0, -1.0))
    return DrawingFrame(matrix, there - turn @ here)
