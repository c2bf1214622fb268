"""Lines between two points, seen from above."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats


def distances_to_lines(points: Floats, begins: Floats, ends: Floats) -> Floats:
    """Return the distances (K,) in m of `points` from the lines between `begins` and `ends`.

    All are (K, 2) or (K, 3), of which z does not count; lines may also be one for all points, (2,) or (3,).
    """
    along, off = (ends - begins)[..., :2], (points - begins)[:, :2]
    squares = np.square(along).sum(axis=-1)
    # A line of no length is its point.
    shares = np.clip((off * along).sum(axis=-1) / np.where(squares > 0.0, squares, 1.0), 0.0, 1.0)
    return np.asarray(np.linalg.norm(off - shares[:, None] * along, axis=1))
