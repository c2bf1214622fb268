"""Distances to lines, seen from above."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.spatial.shapes import distances_to_lines


def test_distances_to_the_line_or_to_its_nearer_end() -> None:
    points = np.array([(1.0, 2.0), (-3.0, 4.0), (5.0, -4.0), (2.0, 0.0)])
    begin, end = np.array((0.0, 0.0)), np.array((2.0, 0.0))
    expected = [2.0, 5.0, 5.0, 0.0]
    np.testing.assert_allclose(distances_to_lines(points, begin, end), expected, atol=1e-12)
    # A line for each point, at any height.
    lines = np.zeros((4, 3)), np.tile((2.0, 0.0, 7.0), (4, 1))
    np.testing.assert_allclose(distances_to_lines(np.column_stack((points, np.ones(4))), *lines), expected, atol=1e-12)


def test_a_line_of_no_length_is_its_point() -> None:
    point = np.array((1.0, 1.0))
    np.testing.assert_allclose(distances_to_lines(np.array([(4.0, 5.0)]), point, point), [5.0])
