"""The broad phase: finds the boxes that are within the margin of each other.

Two boxes pair when on each axis the gap between them is at most the margin: `lower_a <= upper_b + margin` and
`lower_b <= upper_a + margin`, evaluated in float64. Boxes that touch pair at margin 0. The result is the same as
comparing every box with every other; the grid affects only the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows, is_finite
from fleet_sim.collision.boxes import Boxes
from fleet_sim.collision.compiled_pairs import CompiledPairs
from fleet_sim.collision.levels import BoxIndex
from fleet_sim.collision.tables import radix_order
from fleet_sim.config.modes import SpatialHashCellSizeMode
from fleet_sim.core.memory import keep_freed_memory
from fleet_sim.errors import InvalidValueError

if TYPE_CHECKING:
    from typing_extensions import Unpack

MIN_AUTO_CELL_SIZE = 0.5
DEFAULT_MULTI_CELL_THRESHOLD = 1.5


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

    With `cell_size` None, `auto_cell_size` of the rows taking part is used. With `compiled`, compiled code finds the
    same.
    """
    phase = BroadPhase(
        mode=SpatialHashCellSizeMode.AUTO_ADAPTIVE if cell_size is None else SpatialHashCellSizeMode.CONSTANT,
        cell_size=cell_size,
        multi_cell_threshold=multi_cell_threshold,
    )
    if compiled:
        phase.use_kernels()
    return phase.pairs(lower, upper, **rules)


def cross_pairs(lower_a: Floats, upper_a: Floats, lower_b: Floats, upper_b: Floats, *, margin: float = 0.0) -> Ints:
    """Return the pairs (a row, b row) within `margin` between two sets of boxes: (M, 2), sorted, unique."""
    if not len(lower_a) or not len(lower_b):
        return np.empty((0, 2), np.int64)
    index = BoxIndex(Boxes.from_corners(lower_b, upper_b, margin), auto_cell_size(lower_b, upper_b))
    first, second = index.cross_pairs(Boxes.from_corners(lower_a, upper_a, margin))
    return _sorted_pairs(first, second)


class BroadPhase:
    """Finds pairs of boxes, and keeps its cell size (by mode) and its index of static boxes between calls.

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
    ) -> None:
        """Raises InvalidValueError for CONSTANT without a positive cell size, or a threshold below 1."""
        if not (np.isfinite(multi_cell_threshold) and multi_cell_threshold >= 1.0):
            raise InvalidValueError(
                f"multi_cell_threshold: expected a finite number >= 1, got {multi_cell_threshold!r}"
            )
        keep_freed_memory()
        self._compiled: CompiledPairs | None = None
        self._threshold = float(multi_cell_threshold)
        # What the index was made for: it is used again as long as no static box came, went or moved.
        self._static_margin = -1.0
        self._static_rows: Rows = np.empty(0, np.int64)
        self._static_corners: Floats = np.empty((0, 6))
        self._static_index: BoxIndex | None = None
        self.set_cell_size_mode(mode, cell_size)

    def use_kernels(self) -> None:
        """Use compiled code from now on where it is faster; the pairs are the same. Needs the extra `fast`."""
        self._compiled = CompiledPairs()

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
        self._sized_count = -1
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
        if self._compiled is not None and moving_mask is not None:
            fixed_mask = None if ignore_static else _among(static_mask, active_mask)
            fixed_mask = fixed_mask if fixed_mask is not None and np.count_nonzero(fixed_mask) else None
            found = self._by_kernels(lower, upper, margin, moving_mask, fixed_mask)
            if found is not None:
                return found
        moving_lower, moving_upper, rows = _corners_of(moving_mask, lower, upper)
        if not len(moving_lower):
            return np.empty((0, 2), np.int64)
        # Of the moving boxes alone: static ones, often large walls, have an index with cells of their own size.
        cell = self._current_cell_size(moving_lower, moving_upper)
        boxes = Boxes.from_corners(moving_lower, moving_upper, margin)
        first, second = BoxIndex(boxes, cell, self._threshold).own_pairs()
        if rows is not None:
            first, second = rows.take(first), rows.take(second)
        if static_mask is not None and not ignore_static:
            self._index_static(lower, upper, margin, active_mask, static_mask)
            if self._static_index is not None:
                movers, standing = self._static_index.cross_pairs(boxes)
                first = np.concatenate((first, movers if rows is None else rows.take(movers)))
                second = np.concatenate((second, self._static_rows.take(standing)))
        return _sorted_pairs(np.minimum(first, second), np.maximum(first, second))

    def _by_kernels(
        self, lower: Floats, upper: Floats, margin: float, moving_mask: Bools, static_mask: Bools | None
    ) -> Ints | None:
        """Return the pairs found by compiled code; None where the boxes are not of the usual kind."""
        assert self._compiled is not None
        count = int(np.count_nonzero(moving_mask))
        if not count:
            return np.empty((0, 2), np.int64)
        cell = self._cell_size
        if cell is None or (self._mode == SpatialHashCellSizeMode.AUTO_ADAPTIVE and count != self._sized_count):
            cell = self._current_cell_size(*_corners_of(moving_mask, lower, upper)[:2])
        pairs = self._compiled.pairs(lower, upper, margin, moving_mask, static_mask, cell)
        return None if pairs is None else _sorted_pairs(pairs[:, 0], pairs[:, 1])

    def _current_cell_size(self, lower: Floats, upper: Floats) -> float:
        adaptive = self._mode == SpatialHashCellSizeMode.AUTO_ADAPTIVE and len(lower) != self._sized_count
        if self._cell_size is None or adaptive:
            self._cell_size = auto_cell_size(lower, upper)
            self._sized_count = len(lower)
        return self._cell_size

    def _index_static(
        self,
        lower: Floats,
        upper: Floats,
        margin: float,
        active_mask: Bools | None,
        static_mask: Bools,
    ) -> None:
        """Set `_static_rows` and `_static_index` for the active static rows, unless they are as they were."""
        rows = np.flatnonzero(static_mask if active_mask is None else active_mask & static_mask)
        static_lower, static_upper = lower.take(rows, axis=0), upper.take(rows, axis=0)
        corners = np.concatenate((static_lower, static_upper), axis=1)
        known = margin == self._static_margin and np.array_equal(rows, self._static_rows)
        if known and np.array_equal(corners, self._static_corners):
            return
        self._static_margin, self._static_rows, self._static_corners = margin, rows, corners
        self._static_index = None
        if len(rows):
            boxes = Boxes.from_corners(static_lower, static_upper, margin)
            self._static_index = BoxIndex(boxes, auto_cell_size(static_lower, static_upper), self._threshold)


def _corners_of(mask: Bools | None, lower: Floats, upper: Floats) -> tuple[Floats, Floats, Rows | None]:
    """Return the corners of the boxes in `mask` (None: all), and their rows; None where these equal the indices."""
    if mask is None:
        return lower, upper, None
    count = int(np.count_nonzero(mask))
    # Usually the rows in use are the first ones: then row numbers equal indices, and nothing is copied.
    if mask[:count].all():
        return lower[:count], upper[:count], None
    rows = np.flatnonzero(mask)
    return lower.take(rows, axis=0), upper.take(rows, axis=0), rows


def _among(mask: Bools | None, active_mask: Bools | None) -> Bools | None:
    return mask if mask is None or active_mask is None else mask & active_mask


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
