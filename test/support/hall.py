"""Halls: closed rooms of walls without thickness, in files and as numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fleet_sim.base.arrays import Floats, Ints

HALF = (5.0, 3.0, 1.0)
"""Half the length, width and height in m of the hall."""


def hall(half: tuple[float, float, float] = HALF, cells: int = 1) -> tuple[Floats, Ints]:
    """Return vertices (V, 3) and triangles (T, 3) of four walls and a floor; each side is divided into cells^2."""
    grid = np.linspace(-1.0, 1.0, cells + 1)
    across, along = (part.reshape(-1) for part in np.meshgrid(grid, grid))
    ones = np.ones_like(across)
    sides = [(-ones, across, along), (ones, across, along), (across, -ones, along), (across, ones, along)]
    sides.append((across, along, -ones))
    vertices = np.concatenate([np.stack(side, axis=1) for side in sides]) * np.array(half)
    first = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).reshape(-1)
    right, above = first + 1, first + cells + 1
    square = np.concatenate((np.stack((first, right, above), 1), np.stack((right, above + 1, above), 1)))
    return vertices, np.concatenate([square + side * len(ones) for side in range(5)])


def write_obj(path: Path, vertices: Floats, triangles: Ints) -> str:
    """Write an .obj file and return its path."""
    lines = [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def hall_file(folder: Path, cells: int = 1) -> str:
    """Write the hall to a file in `folder` and return its path."""
    return write_obj(folder / f"hall_{cells}.obj", *hall(cells=cells))
