"""World boxes of what has no end, no shape or corners of its own; oracles/test_distances.py has the others."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.sensing.collision.bounds import world_aabbs


def test_planes_have_no_end_but_their_height_and_nothing_is_a_point() -> None:
    tilted = quaternions.from_eulers(np.array([[0.3, 0.0, 0.0]]))[0]
    kinds = np.array([ShapeKind.PLANE, ShapeKind.PLANE, ShapeKind.NONE], np.uint8)
    positions = np.array([[1.0, 2.0, 3.0]] * 3)
    orientations = np.stack([quaternions.IDENTITY, tilted, tilted])
    lower, upper = world_aabbs(kinds, positions, orientations, np.zeros((3, 3)), np.zeros(3))
    assert (lower[:2] == -np.inf).all() and (upper[1] == np.inf).all()
    assert upper[0].tolist() == [np.inf, np.inf, 3.0]
    assert lower[2].tolist() == upper[2].tolist() == [1.0, 2.0, 3.0]
