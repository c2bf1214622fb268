"""Grid: the free space of a site as square cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.limits import LARGEST_EXTENT
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import trigonometry as trig

NO_CELL = -1
MOST_CELLS = 25_000_000
"""Of a grid: 5 km x 5 km in cells of 1 m. Larger ones are refused before they are made."""


@saved
@dataclass(frozen=True, eq=False)
class Grid:
    """Free space as cells of `cell` m. `free_mask` (H, W) has the row with the largest y first, as pictures have.

    A cell's number is `row * W + column`, as in the field's files. `origin` is (x, y, yaw) of the lower left corner.
    """

    free_mask: Bools
    cell: float = 1.0
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    _turn: tuple[float, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given = np.asarray(self.free_mask)
        if given.ndim != 2 or not given.size:
            raise InvalidValueError(f"a grid needs cells in two directions, got shape {given.shape}")
        # Before the copy, which would take as much memory as there are cells.
        check_size(*given.shape)
        mask = np.array(given, bool)
        mask.flags.writeable = False
        object.__setattr__(self, "free_mask", mask)
        object.__setattr__(self, "cell", as_float(self.cell, "size of a cell in m", low=1e-3, high=1e4))
        origin = as_floats(self.origin, (3,), "origin").tolist()
        if max(map(abs, origin)) > LARGEST_EXTENT:
            raise InvalidValueError(f"origin: expected at most {LARGEST_EXTENT:g}, got {origin}")
        object.__setattr__(self, "origin", tuple(origin))
        object.__setattr__(self, "_turn", trig.sin_cos_of(float(origin[2])))

    # ---- sizes -------------------------------------------------------------------------------------------------------

    @property
    def height(self) -> int:
        """Number of rows."""
        return int(self.free_mask.shape[0])

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.free_mask.shape[1])

    @property
    def count(self) -> int:
        """Number of cells, free or not."""
        return self.height * self.width

    @property
    def size(self) -> tuple[float, float]:
        """Length and width in m, along the grid's own x and y."""
        return self.width * self.cell, self.height * self.cell

    @property
    def free_cells(self) -> Ints:
        """The numbers (K,) of the free cells, ascending."""
        return np.flatnonzero(self.free_mask)

    @property
    def middles(self) -> Floats:
        """The middles (H * W, 2) of all cells, in m in the frame of the world."""
        return self.positions(np.arange(self.count))

    # ---- cells and the world -----------------------------------------------------------------------------------------

    def is_free(self, cells: Ints) -> Bools:
        """Return which `cells` (K,) are free; NO_CELL is not."""
        cells = np.asarray(cells)
        known_mask = (cells >= 0) & (cells < self.count)
        free: Bools = known_mask & self.free_mask.ravel()[np.where(known_mask, cells, 0)]
        return free

    def to_world(self, own: Floats) -> Floats:
        """Return points (K, 2), in m along the grid's own x and y from its corner, in the frame of the world."""
        sine, cosine = self._turn
        x, y = own[:, 0], own[:, 1]
        # In this order, and not as a product of matrices, whose last bits depend on the machine.
        return np.stack((self.origin[0] + cosine * x - sine * y, self.origin[1] + sine * x + cosine * y), axis=1)

    def to_own(self, points: Floats) -> Floats:
        """Return `points` (K, 2) of the world in m along the grid's own x and y: the inverse of `to_world`."""
        sine, cosine = self._turn
        east, north = points[:, 0] - self.origin[0], points[:, 1] - self.origin[1]
        return np.stack((cosine * east + sine * north, cosine * north - sine * east), axis=1)

    def positions(self, cells: Ints) -> Floats:
        """Return the middles (K, 2) of `cells` (K,), in m in the frame of the world."""
        rows, columns = np.divmod(np.asarray(cells, np.int64), self.width)
        return self.to_world(np.stack((columns + 0.5, self.height - rows - 0.5), axis=1) * self.cell)

    def cells_at(self, points: Floats) -> Ints:
        """Return the cells (K,) that hold `points` (K, 2) in m; NO_CELL for those outside of the grid."""
        own = self.to_own(np.asarray(points, np.float64)) / self.cell
        columns, ups = np.floor(own[:, 0]).astype(np.int64), np.floor(own[:, 1]).astype(np.int64)
        inside_mask = (columns >= 0) & (columns < self.width) & (ups >= 0) & (ups < self.height)
        return np.where(inside_mask, (self.height - 1 - ups) * self.width + columns, NO_CELL)

    # ---- other grids -------------------------------------------------------------------------------------------------

    def with_free(self, free_mask: Bools) -> Grid:
        """Return this grid with other free cells (H, W)."""
        return Grid(free_mask, self.cell, self.origin)

    def without(self, closed_mask: Bools) -> Grid:
        """Return this grid with no free cells in `closed_mask`, (H * W,) or (H, W)."""
        return self.with_free(self.free_mask & ~closed_mask.reshape(self.free_mask.shape))

    def with_cells_of(self, cell: float) -> Grid:
        """Return this grid in larger cells of `cell` m, free where all that they cover is free.

        Raises InvalidValueError unless `cell` is a whole number of times the present size. Cells beyond the upper and
        the right edge are not free.
        """
        times = round(as_float(cell, "cell in m", low=1e-3, high=1e4) / self.cell)
        if times < 1 or abs(times * self.cell - cell) > 1e-6 * cell:
            raise InvalidValueError(f"cells may be a whole number of times {self.cell:g} m long, got {cell:g} m")
        rows, columns = -(-self.height // times), -(-self.width // times)
        # The origin is at the lower left, so what is added is above and to the right.
        fine = np.zeros((rows * times, columns * times), bool)
        fine[rows * times - self.height :, : self.width] = self.free_mask
        coarse = fine.reshape(rows, times, columns, times).all(axis=(1, 3))
        return Grid(np.asarray(coarse), times * self.cell, self.origin)

    def clear_of(self, radius: float) -> Grid:
        """Return this grid with only those cells free in whose middle a disc of `radius` m touches nothing.

        What is outside of the grid counts as blocked.
        """
        reach = as_float(radius, "radius in m", low=0.0, high=1e4) / self.cell
        steps = math.ceil(reach - 0.5 - 1e-9)
        blocked = np.pad(~self.free_mask, max(steps, 0), constant_values=True)
        near_mask = np.zeros_like(self.free_mask)
        for down in range(-steps, steps + 1):
            for right in range(-steps, steps + 1):
                # From the middle to the nearest point of the other cell.
                gap = trig.hypot_of(max(abs(down) - 0.5, 0.0), max(abs(right) - 0.5, 0.0))
                if gap < reach - 1e-9:
                    top, left = steps + down, steps + right
                    near_mask |= blocked[top : top + self.height, left : left + self.width]
        return self.without(near_mask)

    # ---- connections -------------------------------------------------------------------------------------------------

    def regions(self) -> Ints:
        """Return for each cell (H * W,) the number of its region, from 0 in the order of cells; -1 where blocked.

        Cells of a region can be reached from each other by steps along rows and columns.
        """
        free = np.pad(self.free_mask, 1).ravel()
        width = self.width + 2
        labels = np.full(free.shape, -1, np.int64)
        count = 0
        for start in np.flatnonzero(free).tolist():
            if labels[start] >= 0:
                continue
            self._fill(free, labels, start, count, width)
            count += 1
        inner: Ints = labels.reshape(self.height + 2, width)[1:-1, 1:-1]
        return inner.ravel()

    @staticmethod
    def _fill(free: Bools, labels: Ints, start: int, label: int, width: int) -> None:
        """Label what can be reached from `start`, a whole front of cells at a time."""
        front = np.array([start])
        while len(front):
            labels[front] = label
            around = (front[:, None] + np.array([-width, -1, 1, width])).ravel()
            # A cell may be next to several of the front, and must be walked on from once.
            front = np.unique(around[free[around] & (labels[around] < 0)])

    def largest_region(self) -> Ints:
        """Return the cells (K,) of the region with the most cells, ascending; none where nothing is free."""
        regions = self.regions()
        free = regions[regions >= 0]
        if not len(free):
            return np.empty(0, np.int64)
        return np.flatnonzero(regions == np.bincount(free).argmax())


def check_size(height: int, width: int) -> None:
    """Raise InvalidValueError for a grid that is larger than any may be."""
    if height * width > MOST_CELLS:
        raise InvalidValueError(f"{width} x {height} cells are too many; a grid has at most {MOST_CELLS}")
