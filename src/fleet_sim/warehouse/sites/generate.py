"""Generates sites: warehouses of shelves and aisles, and floors where goods are sorted."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fleet_sim.base.arrays import Bools, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import Checked, setting
from fleet_sim.warehouse.sites.grid import Grid, check_size
from fleet_sim.warehouse.sites.site import Site, Station, StationKind


class Warehouse(Checked):
    """Blocks of shelves between aisles, workstations along the left and right walls, chargers along the lower one."""

    rows: int = setting(4, low=1, high=1000, doc="Blocks of shelves from bottom to top.")
    columns: int = setting(3, low=1, high=1000, doc="Blocks of shelves from left to right.")
    shelf_length: int = setting(10, low=1, high=1000, doc="Cells of a block from left to right.")
    shelf_depth: int = setting(2, low=1, high=100, doc="Cells of a block from bottom to top.")
    aisle: int = setting(1, low=1, high=100, doc="Cells between blocks above each other.")
    cross_aisle: int = setting(1, low=1, high=100, doc="Cells between blocks side by side.")
    margin: int = setting(4, low=1, high=1000, doc="Free cells around all blocks.")
    workstations: int = setting(8, low=0, high=100_000, doc="Stations where people pack, half of them on either side.")
    chargers: int = setting(4, low=0, high=100_000, doc="Places to charge, in the lowest row.")
    cell: float = setting(1.0, above=0, high=1e3, unit="m", doc="Size of a cell.")

    def site(self, name: str = "warehouse") -> Site:
        """Return the site: pick stations are above and below each cell of a block that the aisle reaches."""
        depth, length = self.shelf_depth + self.aisle, self.shelf_length + self.cross_aisle
        # The last block has no aisle behind it.
        height = self.rows * depth - self.aisle + 2 * self.margin
        width = self.columns * length - self.cross_aisle + 2 * self.margin
        check_size(height, width)
        free = np.ones((height, width), bool)
        tops = self.margin + depth * np.arange(self.rows)
        lefts = self.margin + length * np.arange(self.columns)
        # A dict keeps the order and drops doubles: where an aisle is one cell wide, both sides name it.
        picks: dict[int, None] = {}
        for top in tops.tolist():
            for left in lefts.tolist():
                free[top : top + self.shelf_depth, left : left + self.shelf_length] = False
                for row in (top - 1, top + self.shelf_depth):
                    picks.update(dict.fromkeys(range(row * width + left, row * width + left + self.shelf_length)))
        grid = Grid(free, self.cell)
        return _with_walls_used(name, grid, _stations(grid, picks, StationKind.PICK, "shelf"), self)


class SortationFloor(Checked):
    """A floor with chutes on a square lattice; parcels come in at stations along the walls and go down the chutes."""

    rows: int = setting(10, low=1, high=1000, doc="Chutes from bottom to top.")
    columns: int = setting(16, low=1, high=1000, doc="Chutes from left to right.")
    spacing: int = setting(3, low=2, high=100, doc="Cells from chute to chute.")
    margin: int = setting(3, low=1, high=1000, doc="Free cells around all chutes.")
    workstations: int = setting(20, low=0, high=100_000, doc="Stations where parcels come in, half of them on a side.")
    chargers: int = setting(10, low=0, high=100_000, doc="Places to charge, in the lowest row.")
    cell: float = setting(1.0, above=0, high=1e3, unit="m", doc="Size of a cell.")

    def site(self, name: str = "sortation") -> Site:
        """Return the site: a drop station is to the left of each chute."""
        height = (self.rows - 1) * self.spacing + 1 + 2 * self.margin
        width = (self.columns - 1) * self.spacing + 1 + 2 * self.margin
        check_size(height, width)
        free: Bools = np.ones((height, width), bool)
        chute_rows = self.margin + self.spacing * np.arange(self.rows)
        chute_columns = self.margin + self.spacing * np.arange(self.columns)
        free[np.ix_(chute_rows, chute_columns)] = False
        drops = (chute_rows[:, None] * width + chute_columns - 1).ravel().tolist()
        grid = Grid(free, self.cell)
        return _with_walls_used(name, grid, _stations(grid, drops, StationKind.DROP, "chute"), self)


def _with_walls_used(name: str, grid: Grid, inside: list[Station], config: Warehouse | SortationFloor) -> Site:
    """Return the site with the stations `inside`, workstations along its sides and chargers in its lowest row."""
    sides = _stations(grid, _at_sides(config.workstations, grid), StationKind.WORKSTATION, "workstation")
    bottom = _stations(grid, _at_bottom(config.chargers, grid), StationKind.CHARGE, "charger")
    return Site(name, grid, stations=(*inside, *sides, *bottom))


def _spread(count: int, length: int, what: str) -> Ints:
    """Return `count` places spread evenly over `length` cells without their ends; raises InvalidValueError."""
    # Rounding may put two into one cell; the count tells.
    places = np.unique(np.linspace(0, length - 1, count + 2)[1:-1].round().astype(np.int64))
    if len(places) < count:
        raise InvalidValueError(f"{what}: {count} do not fit beside each other along {length} cells")
    return places


def _at_sides(count: int, grid: Grid) -> list[int]:
    """Return the cells of `count` workstations, half of them along either side, the left ones first."""
    left = (count + 1) // 2
    first = _spread(left, grid.height, "workstations") * grid.width
    second = _spread(count - left, grid.height, "workstations") * grid.width + grid.width - 1
    return [*first.tolist(), *second.tolist()]


def _at_bottom(count: int, grid: Grid) -> list[int]:
    """Return the cells of `count` chargers in the lowest row."""
    cells: list[int] = ((grid.height - 1) * grid.width + _spread(count, grid.width, "chargers")).tolist()
    return cells


def _stations(grid: Grid, cells: Iterable[int], kind: StationKind, name: str) -> list[Station]:
    chosen = np.array(list(cells), np.int64)
    return [Station(f"{name}_{number}", kind, x, y) for number, (x, y) in enumerate(grid.positions(chosen).tolist())]
