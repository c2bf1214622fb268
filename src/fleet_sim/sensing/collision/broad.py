"""The broad phase: finds the boxes that are within the margin of each other.

Two boxes pair when on each axis the gap between them is at most the margin: `lower_a <= upper_b + margin` and
`lower_b <= upper_a + margin`, evaluated in float64. Boxes that touch pair at margin 0. The result is that of comparing
every box with every other: how they are found changes only the time.

Compiled code sorts boxes of about one size into cells. All others, and all of them in Python, are
compared with those boxes that begin before they end along one axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows, is_finite
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.params import SpatialHashCellSizeMode
from fleet_sim.world.joints import keep_freed_memory

if TYPE_CHECKING:
    from typing_extensions import Unpack


# Touching pairs among boxes that are smaller than a cell. Each box is in one cell, that of its lower corner, so it
# can touch boxes of neighbouring cells only. Lower corners are sorted by cell into one array, and each box looks at
# two runs of it.


# In metres. A cell index would no longer locate a box that reaches farther.
FAR = 1e12
# The part of a cell that a box may take: what is smaller ends in the next cell at the most, however it is rounded.
MOST_OF_A_CELL = 0.999
# More cells compare fewer boxes, as long as the caches hold them.
_CELLS_PER_BOX, _CELLS_PER_BOX_OF_MANY, _MANY = 8, 4, 50_000
_MIN_CELLS = 4096
# Cells may become so many times larger to fit into the table.
_MOST_GROWTH = 8.0
# Around the boxes a frame has room for so many cells, and for this part of the area, into which boxes may drive.
_ROOM_CELLS = 4.0
_ROOM = 1.0 / 64.0
# A frame is laid anew after so many checks, as boxes may have come closer together.
_CHECKS = 100
OTHER_SIZES = -1
"""Returned where the boxes are larger than cells, far apart, or no numbers."""
_OUTSIDE = -1.0


class CellTable(NamedTuple):
    """Room for sorting boxes, and the frame of the cells, which is kept from check to check.

    The boxes of cell c are `begins[c] : begins[c + 1]` of `corners`, `cells` and `rows`, which have their lower
    corners (x, y), cells and rows; `unsorted` are the cells in the order of the boxes. `frame` is low x, low y, cells
    per metre, the size of cells that was asked for; `shape` columns, strips, checks left.
    """

    begins: Ints
    unsorted: Ints
    cells: Ints
    corners: Floats
    rows: Ints
    frame: Floats
    shape: Ints


def cell_table(boxes: int) -> CellTable:
    # 32 bits are enough, and half the memory to go through. Two more than boxes are read, and not used.
    per_box = _CELLS_PER_BOX if boxes < _MANY else _CELLS_PER_BOX_OF_MANY
    sizes = (per_box * boxes + _MIN_CELLS + 3, boxes, boxes + 2, boxes + 2)
    begins, unsorted, cells, rows = (np.empty(size, np.int32) for size in sizes)
    corners, frame, shape = np.empty((boxes + 2, 2)), np.zeros(4), np.zeros(3, np.int64)
    return CellTable(begins, unsorted, cells, corners, rows, frame, shape)  # type: ignore[arg-type]


@compiled_step
def small_pairs(
    lower: Floats,
    upper: Floats,
    margin: float,
    movers: Rows,
    second_mask: Bools,
    cross: bool,
    size: float,
    table: CellTable,
    out: Ints,
) -> int:
    """Write the touching pairs of `movers` (K,) to `out` (M, 2), as many as fit; return how many, or OTHER_SIZES.

    `size` is that of the cells; the smaller row of a pair comes first. Which pairs count is told by `is_wanted`.
    """
    most = _OUTSIDE
    table.shape[2] -= 1
    if table.shape[2] > 0 and table.frame[3] == size:
        most = _file(lower, upper, margin, movers, table)
    if most == _OUTSIDE:
        if not _lay_frame(lower, upper, margin, movers, size, table):
            return OTHER_SIZES
        most = _file(lower, upper, margin, movers, table)
    if not 0.0 <= most <= size * MOST_OF_A_CELL:
        return OTHER_SIZES
    _sort(lower, movers, table)
    return int(_pairs_of_cells(lower, upper, margin, second_mask, cross, most, len(movers), table, out))


@inlined
def _lay_frame(lower: Floats, upper: Floats, margin: float, movers: Rows, size: float, table: CellTable) -> bool:
    """Lay cells over all boxes, with some room around them; return whether they can be laid."""
    low_x, low_y, high_x, high_y = np.inf, np.inf, -np.inf, -np.inf
    for row in movers:
        x, y = lower[row, 0], lower[row, 1]
        right, above = upper[row, 0] + margin, upper[row, 1] + margin
        if not (x >= -FAR and right <= FAR and y >= -FAR and above <= FAR and right >= x and above >= y):
            return False
        low_x, low_y, high_x, high_y = min(low_x, x), min(low_y, y), max(high_x, x), max(high_y, y)
    room_x, room_y = _ROOM * (high_x - low_x) + _ROOM_CELLS * size, _ROOM * (high_y - low_y) + _ROOM_CELLS * size
    width, depth, inverse = high_x - low_x + 2.0 * room_x, high_y - low_y + 2.0 * room_y, 1.0 / size
    # A column on each side and a strip above stay empty, so that each box has all neighbours.
    while (width * inverse + 4.0) * (depth * inverse + 3.0) > len(table.begins) - 3:
        # Many small worlds side by side, for which there are too few cells: larger ones are still fewer than boxes.
        inverse *= 0.5
        if inverse * size * _MOST_GROWTH < 1.0:
            return False
    table.frame[0], table.frame[1], table.frame[2], table.frame[3] = low_x - room_x, low_y - room_y, inverse, size
    table.shape[0], table.shape[1], table.shape[2] = int(width * inverse) + 3, int(depth * inverse) + 2, _CHECKS
    return True


@inlined
def _file(lower: Floats, upper: Floats, margin: float, movers: Rows, table: CellTable) -> float:
    """Find the cell of each box, and count those of each cell; return the largest width or depth of a box.

    _OUTSIDE where a box is not in the frame, or its corners are no numbers.
    """
    low_x, low_y, inverse = table.frame[0], table.frame[1], table.frame[2]
    columns, last_column, last_strip = table.shape[0], table.shape[0] - 2.0, table.shape[1] - 1.0
    begins, unsorted, most = table.begins, table.unsorted, 0.0
    for cell in range(columns * table.shape[1] + 3):
        begins[cell] = 0
    for place in range(len(movers)):
        row = movers[place]
        x, y = lower[row, 0], lower[row, 1]
        width, depth = upper[row, 0] + margin - x, upper[row, 1] + margin - y
        column, strip = (x - low_x) * inverse, (y - low_y) * inverse
        inside = (column >= 0.0) & (strip >= 0.0) & (column < last_column) & (strip < last_strip)
        if not (inside & (width >= 0.0) & (depth >= 0.0)):
            return _OUTSIDE
        most = max(most, width, depth)
        cell = int(strip) * columns + int(column) + 1
        unsorted[place] = cell
        begins[cell + 2] += 1
    return most


@inlined
def _sort(lower: Floats, movers: Rows, table: CellTable) -> None:
    """Sort the boxes by cell."""
    begins, corners = table.begins, table.corners
    total = 0
    for cell in range(2, table.shape[0] * table.shape[1] + 2):
        total += begins[cell]
        begins[cell] = total
    for place in range(len(movers)):
        row, cell = movers[place], table.unsorted[place]
        # begins[c + 1] is where the next box of cell c goes, and at last where cell c + 1 begins.
        to = begins[cell + 1]
        begins[cell + 1] = to + 1
        table.rows[to], table.cells[to] = row, cell
        corners[to, 0], corners[to, 1] = lower[row, 0], lower[row, 1]


@inlined
def _pairs_of_cells(
    lower: Floats,
    upper: Floats,
    margin: float,
    second_mask: Bools,
    cross: bool,
    most: float,
    boxes: int,
    table: CellTable,
    out: Ints,
) -> int:
    """Write the pairs of rows whose boxes touch to `out` (M, 2), and return how many there are.

    Each pair of neighboring cells is looked at once. `most` is the largest distance of lower corners at which boxes can
    touch. The number may be above M; then the rest is not written.
    """
    begins, corners, rows, columns, count = table.begins, table.corners, table.rows, table.shape[0], 0
    for place in range(boxes):
        cell, x, y = table.cells[place], corners[place, 0], corners[place, 1]
        # The rest of the own cell and the next one, then three cells of the next strip.
        begin, end = place + 1, begins[cell + 2]
        further, last = begins[cell + columns - 1], begins[cell + columns + 2]
        # In most places there are so few others that these are all. They are looked at in any case, as nobody can guess
        # whether there are any; what is read behind the end is not used.
        near = (begin < end) & _is_near(x, y, begin, most, corners)
        near |= (further < last) & _is_near(x, y, further, most, corners)
        near |= (further + 1 < last) & _is_near(x, y, further + 1, most, corners)
        if not (near | (begin + 1 < end) | (further + 2 < last)):
            continue
        for _ in range(2):
            for other in range(begin, end):
                if not _is_near(x, y, other, most, corners):
                    continue
                one, two = rows[place], rows[other]
                if is_wanted(second_mask[one], second_mask[two], cross) and touch(lower, upper, margin, one, two):
                    count = add_pair(one, two, out, count)
            begin, end = further, last
    return count


@compiled_step
def large_pairs(
    lower: Floats,
    upper: Floats,
    margin: float,
    large: Rows,
    firsts: Rows,
    second_mask: Bools,
    cross: bool,
    table: CellTable,
    out: Ints,
) -> int:
    """Write the touching pairs of `large` boxes (L,), of which `firsts` are no second ones, and of these and the small.

    Of two large ones the first or both are first ones. Returns how many there are, which may be more than fit.
    """
    begins, rows, columns, count = table.begins, table.rows, table.shape[0], 0
    last_column, last_strip, cell = columns - 1.0, table.shape[1] - 1.0, 1.0 / table.frame[2]
    for one in firsts:
        for other in large:
            second = second_mask[other]
            if (second or other > one) and is_wanted(False, second, cross) and touch(lower, upper, margin, one, other):
                count = add_pair(one, other, out, count)
    for one in large:
        # Boxes are in the cells where they begin, and not larger than a cell. Not `>`: of no numbers nothing is near.
        left, right = lower[one, 0] - cell - table.frame[0], upper[one, 0] + margin - table.frame[0]
        low, above = lower[one, 1] - cell - table.frame[1], upper[one, 1] + margin - table.frame[1]
        if not (left <= right and low <= above):
            continue
        begin = int(min(max(left * table.frame[2] - 1.0, 0.0), last_column))
        end = int(min(max(right * table.frame[2], 0.0), last_column))
        strip, last = int(min(max(low * table.frame[2] - 1.0, 0.0), last_strip)), above * table.frame[2]
        while strip <= min(last, last_strip):
            first = strip * columns + 1
            for place in range(begins[first + begin], begins[first + end + 1]):
                other = rows[place]
                wanted = is_wanted(second_mask[one], second_mask[other], cross)
                if wanted and touch(lower, upper, margin, one, other):
                    count = add_pair(one, other, out, count)
            strip += 1
    return count


@inlined
def _is_near(x: float, y: float, other: int, most: float, corners: Floats) -> bool:
    """Return whether lower corners are no farther apart than boxes are large, as those of boxes that touch are."""
    # Rounding keeps the order of numbers: the corner of one is not beyond the other's end, so neither is it with the
    # corner of the other taken away from both.
    return (abs(corners[other, 0] - x) <= most) & (abs(corners[other, 1] - y) <= most)


@inlined
def is_wanted(one_second: bool, other_second: bool, cross: bool) -> bool:
    """Return whether two boxes may be a pair: two second ones are none, and with `cross` neither are two first ones."""
    return one_second != other_second or not (one_second or cross)


@inlined
def touch(lower: Floats, upper: Floats, margin: float, one: int, other: int) -> bool:
    """Return whether two boxes are within `margin` of each other on each axis."""
    for axis in range(3):
        # Not `>`: a box with no number touches nothing.
        if not (lower[one, axis] <= upper[other, axis] + margin and lower[other, axis] <= upper[one, axis] + margin):
            return False
    return True


@inlined
def add_pair(one: int, other: int, out: Ints, count: int) -> int:
    """Write a pair to `out` (M, 2), the smaller row first, if there is room; return how many pairs there are now."""
    if count < len(out):
        out[count, 0], out[count, 1] = min(one, other), max(one, other)
    return count + 1


def written(write: Callable[[Ints], int], room: int) -> Ints:
    """Return the pairs that `write(out)` writes: again to an `out` that has room for all, where `room` was too little.

    It returns how many there are.
    """
    out: Ints = np.empty((room, 2), np.int64)
    while (count := int(write(out))) > len(out):
        out = np.empty((count, 2), np.int64)
    return out[:count]


MIN_AUTO_CELL_SIZE = 0.5
DEFAULT_MULTI_CELL_THRESHOLD = 1.5
# Comparing so many boxes with all others takes compiled code less time than sorting all.
_FEW = 32


def auto_cell_size(lower: Floats, upper: Floats) -> float:
    """Return twice the median of the boxes' largest finite extents, at least 0.5 m; 0.5 m without boxes."""
    extents = np.maximum(np.maximum(upper[:, 0] - lower[:, 0], upper[:, 1] - lower[:, 1]), upper[:, 2] - lower[:, 2])
    # The sum is finite only if all are: no mask is needed in the usual case.
    finite = extents if np.isfinite(extents.sum()) else extents[np.isfinite(extents)]
    return max(2.0 * _median(finite), MIN_AUTO_CELL_SIZE) if len(finite) else MIN_AUTO_CELL_SIZE


def _median(numbers: Floats) -> float:
    """Return the median. `np.median` would load numpy.ma, a megabyte of code that nothing else here needs."""
    middle = len(numbers) // 2
    low = middle if len(numbers) % 2 else middle - 1
    ordered = np.partition(numbers, (low, middle))
    return float(0.5 * (ordered[low] + ordered[middle]))


class PairRules(TypedDict, total=False):
    """The rules of which rows pair, as the keywords of `BroadPhase.pairs`."""

    margin: float
    active_mask: Bools | None
    static_mask: Bools | None
    ignore_static: bool


def candidate_pairs(
    lower: Floats,
    upper: Floats,
    *,
    cell_size: float | None = None,
    multi_cell_threshold: float = DEFAULT_MULTI_CELL_THRESHOLD,
    compiled: bool = False,
    **rules: Unpack[PairRules],
) -> Ints:
    """Return the pairs of rows whose boxes are within a margin, as `BroadPhase.pairs` does with the same `rules`.

    With `cell_size` None, `auto_cell_size` of the rows taking part is used.
    """
    phase = BroadPhase(
        mode=SpatialHashCellSizeMode.AUTO_ADAPTIVE if cell_size is None else SpatialHashCellSizeMode.CONSTANT,
        cell_size=cell_size,
        multi_cell_threshold=multi_cell_threshold,
        compiled=compiled,
    )
    return phase.pairs(lower, upper, **rules)


def cross_pairs(
    lower_a: Floats, upper_a: Floats, lower_b: Floats, upper_b: Floats, *, margin: float = 0.0, compiled: bool = False
) -> Ints:
    """Return the pairs (a row, b row) within `margin` between two sets of boxes: (M, 2), sorted, unique."""
    if not len(lower_a) or not len(lower_b):
        return np.empty((0, 2), np.int64)
    # Only what is near the box around all of one set is sorted: that set has often one box.
    near_b = _near(lower_b, upper_b, lower_a, upper_a, margin)
    near_a = _near(lower_a, upper_a, lower_b[near_b], upper_b[near_b], margin)
    lower = np.concatenate((lower_a[near_a], lower_b[near_b]))
    upper = np.concatenate((upper_a[near_a], upper_b[near_b]))
    phase = BroadPhase(compiled=compiled)
    second_mask = np.arange(len(lower)) >= len(near_a)
    pairs = phase.touching(lower, upper, margin, np.arange(len(lower)), second_mask, auto_cell_size(lower, upper), True)
    return _sorted_pairs(near_a.take(pairs[:, 0]), near_b.take(pairs[:, 1] - len(near_a)))


def _near(lower: Floats, upper: Floats, other_lower: Floats, other_upper: Floats, margin: float) -> Rows:
    """Return those of some boxes that are within `margin` of the box around others; of none, nothing."""
    # `fmin` and `fmax` leave out what is no number.
    least = np.fmin.reduce(other_lower, axis=0, initial=np.inf)
    most = np.fmax.reduce(other_upper, axis=0, initial=-np.inf)
    mask: Bools = ((lower <= most + margin) & (least <= upper + margin)).all(axis=1)
    return np.flatnonzero(mask)


class BroadPhase:
    """Finds pairs of boxes, and keeps its cell size (by mode) and the order of the boxes between calls.

    CONSTANT uses the given cell size. AUTO_INITIAL computes it once, from the first boxes it gets.
    AUTO_ADAPTIVE computes it again whenever the number of rows taking part changes. The cell size never
    changes the result.
    """

    def __init__(
        self,
        *,
        mode: SpatialHashCellSizeMode = SpatialHashCellSizeMode.AUTO_INITIAL,
        cell_size: float | None = None,
        multi_cell_threshold: float = DEFAULT_MULTI_CELL_THRESHOLD,
        compiled: bool = False,
    ) -> None:
        """Raises InvalidValueError for CONSTANT without a positive cell size, or a threshold below 1."""
        if not (np.isfinite(multi_cell_threshold) and multi_cell_threshold >= 1.0):
            raise InvalidValueError(
                f"multi_cell_threshold: expected a finite number >= 1, got {multi_cell_threshold!r}"
            )
        keep_freed_memory()
        self._compiled = compiled
        self._threshold = float(multi_cell_threshold)
        self._cells = cell_table(0)
        self._out: Ints = np.empty((256, 2), np.int64)
        # Boxes move little between two checks: those that are nearly in order are sorted faster.
        self._order: Rows = np.empty(0, np.int64)
        self.set_cell_size_mode(mode, cell_size)

    def use_kernels(self) -> None:
        """Use compiled code from now on; the pairs are the same. Needs the extra `fast`."""
        self._compiled = True

    @property
    def mode(self) -> SpatialHashCellSizeMode:
        """How the cell size is chosen."""
        return self._mode

    @property
    def cell_size(self) -> float | None:
        """The cell size in use; None until an automatic mode has processed a box."""
        return self._cell_size

    def set_cell_size_mode(self, mode: SpatialHashCellSizeMode | str, cell_size: float | None = None) -> float | None:
        """Set how the cell size is chosen and return the size; automatic modes compute it at the next check.

        Raises InvalidValueError for an unknown mode, and for CONSTANT without a positive cell size.
        """
        mode = SpatialHashCellSizeMode.parse(mode)
        constant = mode == SpatialHashCellSizeMode.CONSTANT
        if constant and not (is_finite(cell_size) and cell_size > 0.0):
            raise InvalidValueError(
                f"cell_size: mode 'constant' needs a finite number > 0 in metres, got {cell_size!r}"
            )
        self._mode = mode
        self._cell_size = float(cell_size) if constant and cell_size is not None else None
        self._sized_count, self._mixed = -1, False
        return self._cell_size

    def pairs(
        self,
        lower: Floats,
        upper: Floats,
        *,
        margin: float = 0.0,
        active_mask: Bools | None = None,
        static_mask: Bools | None = None,
        ignore_static: bool = True,
    ) -> Ints:
        """Return the pairs of rows whose boxes are within `margin` (m): (M, 2), i < j, each once, sorted.

        lower, upper (N, 3) are corners in m, infinite for planes; a row with NaN pairs with nothing. Rows outside
        `active_mask` are left out. Two static rows never pair, a static and a moving one unless `ignore_static`.
        """
        moving_mask = active_mask
        if static_mask is not None:
            moving_mask = ~static_mask if active_mask is None else active_mask & ~static_mask
        movers = np.arange(len(lower)) if moving_mask is None else np.flatnonzero(moving_mask)
        if not len(movers):
            return np.empty((0, 2), np.int64)
        cell = self._current_cell_size(lower, upper, movers)
        rows = movers
        if static_mask is not None and not ignore_static:
            rows = np.arange(len(lower)) if active_mask is None else np.flatnonzero(active_mask)
        second_mask = np.zeros(len(lower), np.bool_) if static_mask is None else static_mask
        pairs = self.touching(lower, upper, margin, rows, second_mask, cell)
        return _sorted_pairs(pairs[:, 0], pairs[:, 1])

    def touching(
        self,
        lower: Floats,
        upper: Floats,
        margin: float,
        rows: Rows,
        second_mask: Bools,
        cell: float,
        cross: bool = False,
    ) -> Ints:
        """Return the pairs (M, 2) among `rows` in no special order, the smaller row first, but for two second ones.

        With `cross` one of two is in `second_mask` (N,), and the other one is not.
        """
        large_mask = np.ones(len(rows), np.bool_)
        found = None
        if self._compiled:
            if not self._mixed:
                found = self._in_cells(lower, upper, margin, rows, second_mask, cross, cell)
                if found is not None:
                    return found
            # Larger boxes than usual take larger cells, and those that are larger still none.
            size = cell * self._threshold
            self._mixed = mark_large(lower, upper, margin, rows, size, large_mask) > MOST_OF_A_CELL * cell
            small = rows[~large_mask]
            found = self._in_cells(lower, upper, margin, small, second_mask, cross, size) if len(small) else None
            if found is None:
                # So far apart that there are not enough cells.
                large_mask[:] = True
            elif len(small) == len(rows):
                return found
            else:
                large = rows[large_mask]
                firsts = large[~second_mask[large]]
                if len(firsts) * len(large) <= _FEW * len(rows):
                    asked = lower, upper, margin, large, firsts, second_mask, cross, self._cells
                    return np.concatenate((found, written(lambda out: large_pairs(*asked, out), len(rows))))
        pairs = self._along_axis(lower, upper, margin, rows, large_mask, second_mask, cross)
        return pairs if found is None else np.concatenate((found, pairs))

    def _in_cells(
        self, lower: Floats, upper: Floats, margin: float, rows: Rows, second_mask: Bools, cross: bool, size: float
    ) -> Ints | None:
        """Return the pairs of boxes that all fit into cells of a size, by compiled code; None where they do not."""
        if len(self._cells.unsorted) < len(rows):
            self._cells = cell_table(len(rows) + len(rows) // 2)
            # More pairs than boxes are rare, and then all is looked for again.
            self._out = np.empty((max(len(self._out), len(rows)), 2), np.int64)
        while True:
            cells, out = self._cells, self._out
            count = int(small_pairs(lower, upper, margin, rows, second_mask, cross, size, cells, out))
            if count == OTHER_SIZES:
                return None
            if count <= len(out):
                return out[:count]
            self._out = np.empty((2 * count, 2), np.int64)

    def _along_axis(
        self,
        lower: Floats,
        upper: Floats,
        margin: float,
        rows: Rows,
        large_mask: Bools,
        second_mask: Bools,
        cross: bool,
    ) -> Ints:
        """Return the pairs of which one is in `large_mask` (K,), by sorting the boxes of `rows` (K,) along an axis."""
        kernel = swept_pairs if self._compiled else swept_pairs.in_python
        if self._compiled and np.count_nonzero(large_mask) <= _FEW:
            # All begin at one place and never end: each of a few is compared with all others, which need no sorting.
            reach, keys, ends = np.inf, np.zeros(len(rows)), np.full(len(rows), np.inf)
        else:
            near = lower.take(rows, axis=0)
            near = near[np.isfinite(near).all(axis=1)]
            # Along the axis on which they spread most, the fewest are side by side.
            axis = int((near.max(axis=0) - near.min(axis=0)).argmax()) if len(near) else 0
            if len(self._order) != len(rows):
                self._order = np.arange(len(rows))
            self._order = order = self._order.take(np.argsort(lower[rows, axis].take(self._order), kind="stable"))
            rows, large_mask = rows.take(order), large_mask.take(order)
            keys, ends = lower[rows, axis], upper[rows, axis] + margin
            small = np.flatnonzero(~large_mask)
            reach = -1.0
            if len(small):
                # How far before a large box a small one may begin that it touches, rounding included.
                reach = 1.000001 * float((ends[small] - keys[small]).max())
                reach += 1e-15 * max(abs(float(keys[small].min())), abs(float(ends[small].max())))
        corners = lower.take(rows, axis=0), upper.take(rows, axis=0)
        asked = keys, ends, reach, *corners, margin, rows, large_mask, second_mask.take(rows), cross
        return written(lambda out: kernel(*asked, out), 2 * len(rows) + 64)

    def _current_cell_size(self, lower: Floats, upper: Floats, movers: Rows) -> float:
        """Return the size of the cells, which is that of the moving boxes: static ones are often large walls."""
        adaptive = self._mode == SpatialHashCellSizeMode.AUTO_ADAPTIVE and len(movers) != self._sized_count
        if self._cell_size is None or adaptive:
            self._cell_size = auto_cell_size(lower.take(movers, axis=0), upper.take(movers, axis=0))
            self._sized_count = len(movers)
        return self._cell_size


@compiled_step
def mark_large(lower: Floats, upper: Floats, margin: float, rows: Rows, size: float, large_mask: Bools) -> float:
    """Set which of `rows` (K,) are too large for cells of a size, or too far away; return the largest width."""
    most = 0.0
    for place in range(len(rows)):
        row = rows[place]
        x, y, right, above = lower[row, 0], lower[row, 1], upper[row, 0] + margin, upper[row, 1] + margin
        width = max(right - x, above - y)
        # Not `>`: what is no number is in no cell.
        fits = x >= -FAR and y >= -FAR and right <= FAR and above <= FAR
        large_mask[place] = not (fits and width <= 0.999 * MOST_OF_A_CELL * size)
        most = max(most, width)
    return most


@compiled_step
def swept_pairs(
    keys: Floats,
    ends: Floats,
    reach: float,
    lower: Floats,
    upper: Floats,
    margin: float,
    rows: Rows,
    large_mask: Bools,
    second_mask: Bools,
    cross: bool,
    out: Ints,
) -> int:
    """Write the touching pairs of which one is large to `out` (M, 2), as many as fit; return how many there are.

    The boxes (N, 3) are sorted by `keys` (N,), where they begin along an axis; `ends` (N,) are where they end, `rows`
    (N,) their numbers. No small one ends farther than `reach` behind its key. `is_wanted` tells which pairs count.
    """
    count = 0
    for place in range(len(rows)):
        if not large_mask[place]:
            continue
        end, second = ends[place], second_mask[place]
        # Large ones before this one have met it already.
        first = place if reach < 0.0 else np.searchsorted(keys, keys[place] - reach)
        for other in range(first, len(rows)):
            # Not `>`: corners that are no numbers come last.
            if other > place and not keys[other] <= end:
                break
            if other == place or (other < place and large_mask[other]):
                continue
            if is_wanted(second, second_mask[other], cross) and touch(lower, upper, margin, place, other):
                count = add_pair(rows[place], rows[other], out, count)
    return count


def _sorted_pairs(first: Rows, second: Rows) -> Ints:
    """Return pairs (M, 2) sorted by first, then second."""
    out = np.empty((len(first), 2), np.int64)
    if not len(first):
        return out
    # Least significant key first: the sorts are stable.
    order = radix_order(second, int(second.max()) + 1)
    left = first.take(order)
    order = order.take(radix_order(left, int(left.max()) + 1))
    out[:, 0] = first.take(order)
    out[:, 1] = second.take(order)
    return out


def radix_order(ids: Ints, size: int) -> Rows:
    """Return the stable order of ids in [0, size).

    NumPy sorts 16-bit integers by radix sort: one or two such passes are several times faster than sorting int64.
    """
    if size > 1 << 32:
        return np.argsort(ids, kind="stable")
    order = ids.astype(np.uint16).argsort(kind="stable")
    if size <= 1 << 16:
        return order
    high = (ids >> 16).astype(np.uint16)
    return order.take(high.take(order).argsort(kind="stable"))
