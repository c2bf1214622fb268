"""The free space of sites: cells and metres, larger cells, room for a footprint, connected parts, few boxes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.warehouse.sites import NO_CELL, Grid, Site
from fleet_sim.warehouse.sites.site import rectangles

MASKS = arrays.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12)))


def grid_of(*rows: str, cell: float = 1.0, origin: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Grid:
    """Return a grid of rows of . and @."""
    return Grid(np.array([[letter == "." for letter in row] for row in rows]), cell, origin)


def test_the_first_row_has_the_largest_y() -> None:
    grid = grid_of("..@", "...", cell=0.5, origin=(10.0, 20.0, 0.0))
    assert grid.size == (1.5, 1.0)
    np.testing.assert_allclose(grid.positions(np.array([0, 2, 3])), [(10.25, 20.75), (11.25, 20.75), (10.25, 20.25)])
    assert grid.free_cells.tolist() == [0, 1, 3, 4, 5]


@given(MASKS, st.floats(0.05, 20.0), st.floats(-50, 50), st.floats(-50, 50), st.floats(-4, 4))
def test_the_middle_of_a_cell_is_in_it(mask: np.ndarray, cell: float, x: float, y: float, yaw: float) -> None:
    grid = Grid(mask, cell, (x, y, yaw))
    cells = np.arange(grid.count)
    assert (grid.cells_at(grid.positions(cells)) == cells).all()
    away = 2.0 * cell * max(mask.shape) + 1.0
    far = np.array([(x, y)]) - away * np.array([(math.cos(yaw), math.sin(yaw))])
    assert grid.cells_at(far).tolist() == [NO_CELL]
    assert not grid.is_free(np.array([NO_CELL, grid.count])).any()


@given(MASKS)
def test_cells_are_closed_by_where_their_middles_are(mask: np.ndarray) -> None:
    grid = Grid(mask, 0.5, (1.0, 2.0, 0.3))
    assert (grid.cells_at(grid.middles) == np.arange(grid.count)).all()
    closed_mask = grid.middles[:, 0] > 1.5
    left = grid.without(closed_mask)
    assert left.free_cells.tolist() == [cell for cell in grid.free_cells.tolist() if not closed_mask[cell]]
    assert (left.cell, left.origin) == (grid.cell, grid.origin)
    assert (grid.without(closed_mask.reshape(mask.shape)).free_mask == left.free_mask).all()


@given(MASKS)
def test_rectangles_cover_each_true_cell_once(mask: np.ndarray) -> None:
    covered = np.zeros(mask.shape, int)
    for top, left, bottom, right in rectangles(mask).tolist():
        covered[top:bottom, left:right] += 1
    assert (covered == mask).all()


def test_a_shelf_is_one_box() -> None:
    site = Site("s", grid_of(".....", ".@@@.", ".@@@.", ".....", cell=2.0, origin=(1.0, 2.0, math.pi / 2)))
    # Turned by 90 degrees: the shelf's x of 5 m is y there.
    np.testing.assert_allclose(site.boxes(), [(1.0 - 4.0, 2.0 + 5.0, math.pi / 2, 3.0, 2.0)], atol=1e-12)


def test_larger_cells_are_free_where_all_they_cover_is() -> None:
    grid = grid_of("...@", "....", "..@.", "....", ".@..", cell=0.1).with_cells_of(0.2)
    # The fifth row is at the top, where the grid is filled up.
    assert grid.free_mask.tolist() == [[False, False], [True, False], [False, True]]
    assert grid.cell == pytest.approx(0.2)
    with pytest.raises(InvalidValueError, match=r"whole number of times 0\.1 m long, got 0\.25 m"):
        grid_of("..", cell=0.1).with_cells_of(0.25)


@given(MASKS, st.floats(0.0, 3.0))
def test_a_disc_has_room_in_cells_clear_of_its_radius(mask: np.ndarray, radius: float) -> None:
    clear = Grid(mask).clear_of(radius).free_mask
    blocked = np.argwhere(~np.pad(mask, 4)) - 4.0
    for row, column in np.ndindex(mask.shape):
        # From the middle of a cell to the nearest point of each blocked one.
        gaps = np.maximum(np.abs(blocked - (row, column)) - 0.5, 0.0)
        distance = float(np.hypot(*gaps.T).min()) if len(blocked) else np.inf
        if abs(distance - radius) > 1e-6:
            assert clear[row, column] == bool(mask[row, column] and distance > radius)


def test_parts_that_are_not_connected_have_numbers() -> None:
    grid = grid_of("..@.", "@@@.", "...@")
    assert grid.regions().tolist() == [0, 0, -1, 1, -1, -1, -1, 1, 2, 2, 2, -1]
    assert grid.largest_region().tolist() == [8, 9, 10]
    assert len(grid_of("@@").largest_region()) == 0


def test_a_grid_is_not_made_where_it_would_be_too_large() -> None:
    with pytest.raises(InvalidValueError, match="too many"):
        Grid(np.broadcast_to(np.array([[True]]), (100_000, 100_000)))


def test_a_start_in_a_wall_is_named() -> None:
    with pytest.raises(InvalidValueError, match=r"1 start cells are not free, the first in row 1, column 0"):
        Site("s", grid_of("..", "@."), starts=np.array([0, 2]))
    twice = Site("s", grid_of("..", ".."), starts=np.array([0, 1, 0]))
    assert twice.first_starts(2).tolist() == [0, 1]
    with pytest.raises(InvalidValueError, match="two robots start in row 0, column 0"):
        twice.first_starts()
    with pytest.raises(InvalidValueError, match="has 3 starts, 4 are asked for"):
        twice.first_starts(4)
