"""Height fields as meshes: heights over a grid of points, two triangles between any four of them."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.models.mesh_arrays import mesh_file
from fleet_sim.spatial.triangles import grid_triangles


def height_field_file(heights: Floats, spacing: tuple[float, float], *, centred: bool) -> str:
    """Return an OBJ file of the surface through `heights` (rows along y, columns along x), in m, at least 2 by 2.

    The middle of the grid is at x = y = 0, neighbours are `spacing` (along x, along y) apart. The triangles are those
    of PyBullet's height fields; `centred` also puts 0 in the middle between the least and the largest height, as there.
    """
    lines, columns = heights.shape
    x = (np.arange(columns) - 0.5 * (columns - 1)) * spacing[0]
    y = (np.arange(lines) - 0.5 * (lines - 1)) * spacing[1]
    z = heights - 0.5 * (heights.min() + heights.max()) if centred else heights
    points = np.stack((np.broadcast_to(x, z.shape), np.broadcast_to(y[:, None], z.shape), z), axis=2).reshape(-1, 3)
    vertices = tuple((a, b, c) for a, b, c in points.tolist())
    return mesh_file(vertices, tuple((a, b, c) for a, b, c in grid_triangles(columns, lines).tolist()))
