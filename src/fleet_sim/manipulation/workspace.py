"""The workspace of a gripper: the space between the walls of a bin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.errors import InvalidValueError

TIP_OFFSET = 0.0085
"""Distance in m from the controlled point between the fingers to below their tips: they touch at 0.0082."""
FLOOR = 0.004
"""Thickness in m of the floor of a bin, under which the origin of the bin is."""
WALL_MARGIN = 0.02
"""Distance in m that the gripper keeps from the sides of its workspace."""


def workspace_limits(origin: Sequence[float], dimensions: Sequence[float]) -> list[list[float]]:
    """Return the lower and upper limit of x, y and z; there is no upper limit in z.

    `origin` (3,) is that of the bin in m, world frame; `dimensions` (3,) are its length, width and height inside.
    """
    centre = as_floats(origin, (3,), "workspace_origin")
    size = as_floats(dimensions, (3,), "workspace_dimensions")
    reach = np.maximum(0.5 * size[:2] - WALL_MARGIN, 0.0)
    sides = [[float(centre[axis] - reach[axis]), float(centre[axis] + reach[axis])] for axis in range(2)]
    return [*sides, [float(centre[2]) + FLOOR + TIP_OFFSET, float("inf")]]


def clipped(workspace: list[list[float]] | None, position: Sequence[float] | Floats) -> Floats:
    """Return the nearest position (3,) in the workspace; raises InvalidValueError if there is none."""
    if workspace is None:
        raise InvalidValueError("this arm has no workspace; give it workspace_origin and workspace_dimensions")
    limits = np.array(workspace)
    nearest: Floats = np.clip(np.array(position, np.float64), limits[:, 0], limits[:, 1])
    return nearest
