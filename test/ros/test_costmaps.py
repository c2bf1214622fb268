"""Costs around obstacles: exact distances, and windows of a map on its cells."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("nav2_msgs.msg")

from fleet_sim.ros.nav2.costmaps import INSCRIBED, LETHAL, inflated, window, with_boxes
from fleet_sim.sensors import OccupancyGrid


def test_costs_follow_from_the_distance_to_the_nearest_occupied_cell() -> None:
    rng = np.random.default_rng(1)
    mask = rng.random((40, 60)) < 0.01
    lines, columns = np.nonzero(mask)
    y, x = np.mgrid[:40, :60]
    away = 0.1 * np.sqrt((y[..., None] - lines) ** 2 + (x[..., None] - columns) ** 2).min(axis=-1)
    expected = np.where(away <= 0.55, (INSCRIBED - 1) * np.exp(-3.0 * (away - 0.2)), 0.0)
    expected[away <= 0.2 + 1e-9] = INSCRIBED
    expected[mask] = LETHAL
    found = inflated(mask, 0.1, 0.2 + 1e-9, 0.55)
    assert np.array_equal(found, expected.astype(np.uint8))
    assert not inflated(np.zeros((5, 5), bool), 0.1, 0.2, 0.55).any()


def test_a_window_is_on_the_cells_of_its_map_and_free_beyond() -> None:
    cells = np.arange(20, dtype=np.int8).reshape(4, 5)
    grid = OccupancyGrid(cells, (1.0, 2.0), 0.5, 0.2)
    part = window(grid, (2.0, 3.0), 1.0)
    assert part.origin == (1.5, 2.5)
    assert part.cells.tolist() == [[6, 7], [11, 12]]
    outside = window(grid, (1.0, 2.0), 1.0)
    assert outside.cells.tolist() == [[0, 0], [0, 0]]
    assert (window(grid, (99.0, 99.0), 1.0).cells == 0).all()
    marked = with_boxes(part, np.array([[1.9, 2.6]]), np.array([[2.1, 2.7]]))
    assert marked.cells.tolist() == [[100, 100], [11, 12]]
