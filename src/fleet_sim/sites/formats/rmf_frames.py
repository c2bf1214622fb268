"""From the drawings of an Open-RMF building to metres: measurements, and levels laid over each other by fiducials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, is_finite
from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.sites.formats.geodesy import Mercator, projection
from fleet_sim.sites.formats.site_format import fail, list_of
from fleet_sim.spatial import trigonometry as trig


@dataclass(frozen=True, eq=False)
class DrawingFrame:
    """A similarity: point p of a drawing is `matrix @ p + offset` in m in the frame of the building."""

    matrix: Floats
    offset: Floats

    def to_metres(self, points: Floats) -> Floats:
        """Return `points` (N, 2) of the drawing in m."""
        return np.asarray(points @ self.matrix.T + self.offset)


@dataclass(frozen=True)
class EarthFrame:
    """A frame whose points are longitude and latitude in degrees; `offset` in m is where its origin is."""

    projection: Mercator
    offset: tuple[float, float]

    def to_metres(self, points: Floats) -> Floats:
        """Return `points` (N, 2) in degrees in m; raises InvalidValueError for those too far away."""
        return np.asarray(self.projection.to_metres(points) - self.offset)


def _earth_frame(building: Mapping[str, Any], path: Path) -> EarthFrame:
    """Return the frame of a building in degrees, as its parameters say; raises ConfigError."""
    entries = building.get("parameters")
    given = {
        str(key): value[1] if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2 else value
        for key, value in (entries.items() if isinstance(entries, Mapping) else ())
    }
    offset = (given.get("suggested_offset_x", 0.0), given.get("suggested_offset_y", 0.0))
    if not all(map(is_finite, offset)):
        fail(path, f"suggested_offset_x, suggested_offset_y: must be numbers, got {offset!r}", "parameters")
    try:
        return EarthFrame(projection(str(given.get("generate_crs", ""))), (float(offset[0]), float(offset[1])))
    except InvalidValueError as error:
        fail(path, str(error), "parameters.generate_crs")


def frame_of(building: Mapping[str, Any], name: str, path: Path) -> DrawingFrame | EarthFrame:
    """Return the frame of the level `name`; raises ConfigError.

    Pictures have y down, the world has y up. The scale is the mean over the level's measurements. A level other than
    the reference is laid over that by the fiducials of both with equal names, if there are two or more.
    """
    system = building.get("coordinate_system", "reference_image")
    if system == "cartesian_meters":
        return DrawingFrame(np.eye(2), np.zeros(2))
    if system == "wgs84":
        return _earth_frame(building, path)
    if system != "reference_image":
        known = "reference_image, cartesian_meters or wgs84"
        fail(path, f"must be {known}, got {system!r}", "coordinate_system")
    levels = building["levels"]
    # The first level is the reference where none is named, as Open-RMF has it.
    reference = building.get("reference_level_name") or next(iter(levels))
    if not isinstance(reference, (str, int)):
        fail(path, f"must be the name of a level, got {brief(reference)}", "reference_level_name")
    if name != reference and isinstance(levels.get(reference), Mapping):
        there = _fiducials(levels[reference], path, f"levels.{reference}")
        here = _fiducials(levels[name], path, f"levels.{name}")
        common = sorted(there.keys() & here.keys())
        # One point fixes a shift only; two fix scale and turn as well.
        if len(common) >= 2:
            base = _scaled(levels[reference], str(reference), path)
            targets = base.to_metres(np.array([there[key] for key in common]))
            # y down becomes y up, so that both are right-handed and a turn is enough.
            points = np.array([here[key] for key in common]) * (1.0, -1.0)
            if not (np.ptp(points, axis=0) > 0.0).any():
                fail(path, f"those of {reference!r} and this level are all at one place", f"levels.{name}.fiducials")
            return _laid_over(points, targets)
    return _scaled(levels[name], name, path)


def _scaled(level: Mapping[str, Any], name: str, path: Path) -> DrawingFrame:
    """Return the frame whose scale the level's measurements say."""
    place = f"levels.{name}"
    vertices, scales = list_of(level, "vertices", path, place), []
    for index, entry in enumerate(list_of(level, "measurements", path, place)):
        where = f"levels.{name}.measurements[{index}]"
        # Many ways to be wrong, all of them told as one: what was expected.
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
    # Several measurements of a drawing differ by how exactly they were clicked.
    scale = float(np.mean(scales))
    return DrawingFrame(np.diag((scale, -scale)), np.zeros(2))


def _fiducials(level: Mapping[str, Any], path: Path, where: str) -> dict[str, tuple[float, float]]:
    """Return the places of the fiducials that have a name."""
    found: dict[str, tuple[float, float]] = {}
    for index, entry in enumerate(list_of(level, "fiducials", path, where)):
        if not isinstance(entry, list) or len(entry) < 3 or not all(isinstance(n, (int, float)) for n in entry[:2]):
            fail(path, f"must be [x, y, name], got {brief(entry)}", f"{where}.fiducials[{index}]")
        if entry[2]:
            found[str(entry[2])] = (float(entry[0]), float(entry[1]))
    return found


def _laid_over(points: Floats, targets: Floats) -> DrawingFrame:
    """Return the similarity with the least squared distances from `points` (K, 2), y up, to `targets` (K, 2)."""
    here, there = points.mean(axis=0), targets.mean(axis=0)
    # As complex numbers a turn with a scale is one factor.
    a, b = (points - here) @ (1.0, 1.0j), (targets - there) @ (1.0, 1.0j)
    factor = complex(np.vdot(a, b) / np.vdot(a, a))
    turn = np.array([[factor.real, -factor.imag], [factor.imag, factor.real]])
    matrix = turn @ np.diag((1.0, -1.0))
    return DrawingFrame(matrix, there - turn @ here)
