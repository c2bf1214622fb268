"""The free space of sites: cells and metres, larger cells, room for a footprint, connected parts, few boxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fleet_sim.base.errors import InvalidValueError, UnknownNameError
from fleet_sim.warehouse.sites import NO_CELL, Grid, Site
from fleet_sim.warehouse.sites.grid import MOST_CELLS, check_size
from fleet_sim.warehouse.sites.mercator import projection
from fleet_sim.warehouse.sites.site import Door, Roadmap, Station, StationKind, Zone, ZoneKind, rectangles

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


# ---- Roadmaps, sites and projections made in code: what they hold, and what is refused -------------------------------


CORNERS = [[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]


def site(**values: Any) -> Site:
    return Site("hall", Grid(np.ones((3, 4), bool)), **values)


# ---- roadmaps --------------------------------------------------------------------------------------------------------


def test_a_roadmap_knows_its_lanes_and_nodes() -> None:
    roadmap = Roadmap(np.array(CORNERS), np.array([[0, 1], [1, 2]]), ("a", "", "c"))
    assert roadmap.lengths.tolist() == [5.0, 4.0]
    assert roadmap.node("c") == 2
    assert np.isinf(roadmap.speed_limits).all()
    for wrong in ("b", ""):
        with pytest.raises(UnknownNameError, match="unknown node"):
            roadmap.node(wrong)


def test_a_roadmap_keeps_what_it_was_made_from() -> None:
    positions, lanes = np.array(CORNERS), np.array([[0, 1]])
    roadmap = Roadmap(positions, lanes)
    positions[:], lanes[:] = 9.0, 2
    assert roadmap.positions.tolist() == CORNERS
    assert roadmap.lanes.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        roadmap.positions[0, 0] = 1.0


def test_a_roadmap_may_be_without_lanes() -> None:
    assert Roadmap(np.array(CORNERS), np.empty((0, 2), np.int64)).lengths.shape == (0,)
    assert len(Roadmap(CORNERS, []).lanes) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"lanes": [[0, 3]]}, r"lane \[0, 3\]: there are 3 nodes, numbered from 0"),
        ({"lanes": [[-1, 0]]}, r"lane \[-1, 0\]: there are 3 nodes"),
        ({"lanes": [[1, 1]]}, r"lane \[1, 1\]: it leads from a node to itself"),
        # Each of these made other lanes than were given.
        ({"lanes": [[0.9, 2.0]]}, "lanes: expected pairs of numbers of nodes"),
        ({"lanes": [[0, 1, 1, 2]]}, r"lanes: expected pairs of numbers of nodes, got shape \(1, 4\)"),
        ({"lanes": [0, 1]}, r"lanes: expected pairs of numbers of nodes, got shape \(2,\)"),
        ({"lanes": [[0, 1]], "names": ("a",)}, r"names: expected one per node \(3\), got 1"),
        ({"lanes": [[0, 1]], "names": ("a", "b", "a")}, "two nodes are named 'a'"),
        ({"lanes": [[0, 1]], "speed_limits": [1.0, 1.0]}, r"speed_limits: expected one above 0 m/s per lane \(1\)"),
        ({"lanes": [[0, 1]], "speed_limits": [0.0]}, "speed_limits: expected one above 0"),
        ({"lanes": [[0, 1]], "speed_limits": [np.nan]}, "speed_limits: expected one above 0"),
        ({"lanes": [[0, 1]], "positions": [[0.0, np.inf]]}, "nodes of the roadmap"),
    ],
)
def test_wrong_roadmaps_are_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidValueError, match=reason):
        Roadmap(**{"positions": CORNERS, **values})


# ---- sites -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"starts": np.array([0, 1]), "goals": np.array([2])}, "site 'hall': 2 starts, but 1 goals"),
        ({"starts": np.array([12])}, "1 start cells are not free"),
        ({"starts": np.array([0]), "goals": np.array([-1])}, "1 goal cells are not free"),
        ({"stations": [Station("a", StationKind.PICK, 0.5, 0.5)] * 2}, "2 stations are named 'a'"),
        ({"stations": [Station("a", StationKind.PICK, 9.5, 0.5)]}, r"station 'a' at \(9.5, 0.5\) is not on free space"),
    ],
)
def test_wrong_sites_are_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidValueError, match=reason):
        site(**values)


def test_starts_are_taken_in_order_and_each_once() -> None:
    made = site(starts=np.array([5, 2, 7]))
    assert made.first_starts().tolist() == [5, 2, 7]
    assert made.first_starts(2).tolist() == [5, 2]
    with pytest.raises(InvalidValueError, match="has 3 starts, 4 are asked for"):
        made.first_starts(4)
    with pytest.raises(InvalidValueError):
        site(starts=np.array([5, 5])).first_starts()


def test_cells_of_another_size_keep_the_walls_but_no_starts() -> None:
    made = site()
    assert made.with_cells_of(1.0) is made
    assert made.with_cells_of(2.0).grid.cell == 2.0
    with pytest.raises(InvalidValueError, match="its starts are cells of 1 m; keep that size"):
        site(starts=np.array([0])).with_cells_of(2.0)


def test_a_site_with_more_stations_is_another_one() -> None:
    made = site()
    more = made.with_stations([Station("a", StationKind.DROP, 1.5, 0.5)])
    assert [station.name for station in more.stations] == ["a"]
    assert made.stations == ()
    with pytest.raises(InvalidValueError, match="2 stations are named 'a'"):
        more.with_stations(more.stations)


def test_grids_have_two_directions_and_an_end() -> None:
    for shape in ((3,), (2, 2, 2), (0, 4)):
        with pytest.raises(InvalidValueError, match="a grid needs cells in two directions, got shape"):
            Grid(np.ones(shape, bool))
    with pytest.raises(InvalidValueError, match=f"2 x {MOST_CELLS} cells are too many"):
        check_size(MOST_CELLS, 2)
    for cell in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InvalidValueError, match="size of a cell in m"):
            Grid(np.ones((2, 2), bool), cell)


# ---- places on the earth ---------------------------------------------------------------------------------------------


def test_no_other_projection_is_guessed() -> None:
    for name in ("EPSG:4326", "EPSG:32600", "EPSG:32661", "EPSG:32800", "epsg:3414", ""):
        with pytest.raises(InvalidValueError, match="known are EPSG:3414, and UTM with EPSG:32601 to 32660"):
            projection(name)


@pytest.mark.parametrize("place", [[60.0, 1.0], [-30.0, 1.0], [9.0, 89.5], [9.0, -90.0]])
def test_places_far_from_the_middle_meridian_are_refused(place: list[float]) -> None:
    with pytest.raises(InvalidValueError, match="places are longitude and latitude, within"):
        projection("EPSG:32632").to_metres(np.array([place]))


# ---- what people pass ------------------------------------------------------------------------------------------------


def test_parts_of_sites_take_text_lists_and_numbers_of_numpy() -> None:
    kind: Any = "pick"
    no_go: Any = "no_go"
    end: Any = np.array([1.0, 2.0], np.float32)
    made = site(
        stations=[Station("s", kind, np.float32(0.5), np.int64(1))],  # type: ignore[arg-type]
        zones=[Zone("z", no_go, [(0, 0), (9, 0), (9, 9), (0, 9)])],  # type: ignore[arg-type]
        doors=[Door("d", "hinged", end, [3, 4], np.float64(80.0), np.int64(-1))],  # type: ignore[arg-type]
        walls=[[0, 0, 0, 1, 1]],
        starts=[1, 2],
        goals=(3, 4),
    )
    assert made.stations_of("pick") == (Station("s", StationKind.PICK, 0.5, 1.0),)
    assert made.zones[0].kind is ZoneKind.NO_GO
    assert len(made.open_grid.free_cells) == 0
    assert (made.doors[0].begin, made.doors[0].end, made.doors[0].direction) == ((1.0, 2.0), (3.0, 4.0), -1)
    assert made.boxes().shape == (1, 5)
    assert made.first_starts(1).tolist() == [1]
    assert made.grid.is_free([0, -1]).tolist() == [True, False]  # type: ignore[arg-type]


SQUARE = [(0, 0), (9, 0), (9, 9)]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Station("s", "pik", 0, 0), "unknown value 'pik'. Did you mean 'pick'"),
        (lambda: Station("s", "pick", 0, 0, float("nan")), "station 's': yaw: expected a finite number"),
        (lambda: Station(3, "pick", 0, 0), "station: its name must be text, got 3"),
        (lambda: Zone("z", "no_go", SQUARE, speed=0.5), "zone 'z': only a zone of the kind speed_limit has a speed"),
        (lambda: Zone("z", "no_go", SQUARE, direction=1), "zone 'z': only a zone of the kind one_way has a direction"),
        (lambda: Zone("z", "speed_limit", SQUARE, speed="1"), "zone 'z': a speed limit needs a speed above 0 m/s"),
        (lambda: Door("d", "hinged", (0, 0), (1, 0), 400.0), "door 'd': degrees: expected a finite number"),
        (lambda: Door("d", "hinged", (0, 0), (1, 0), direction=3), "door 'd': direction must be 1 or -1, got 3"),
        (lambda: Door("d", "hinged", (0, 0), (1, 0, 2)), "door 'd': end: expected numbers of shape"),
        (lambda: site(walls=[[0, 0, 0, 1]]), "walls: expected numbers of shape"),
        (lambda: site(walls=[[0, 0, 0, 1, -1]]), "walls have a length and a width above 0 m"),
        (lambda: site(starts=[1.5]), "starts are numbers of cells, got"),
        (lambda: site().with_cells_of("2"), "cell in m: expected a number, got '2'"),
        (lambda: Roadmap(CORNERS, [], (1, 2, 3)), "names: those of nodes must be text"),  # type: ignore[arg-type]
    ],
)
def test_what_a_part_of_a_site_cannot_use_is_refused(make: Any, reason: str) -> None:
    with pytest.raises(InvalidValueError, match=reason):
        make()
