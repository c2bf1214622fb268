"""Grids of spawn positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import read


@dataclass(slots=True)
class GridSpawnParams:
    """Cells with integer coordinates from `*_min` to `*_max`, both included.

    A cell is at `offset + spacing * coordinates`, in m.
    """

    x_min: int
    x_max: int
    y_min: int
    y_max: int
    spacing: Sequence[float]
    offset: Sequence[float]
    z_min: int = 0
    z_max: int = 0

    def __post_init__(self) -> None:
        self.spacing = as_floats(self.spacing, (3,), "grid spacing in m").tolist()
        self.offset = as_floats(self.offset, (3,), "grid offset in m").tolist()
        for axis in "xyz":
            low, high = getattr(self, f"{axis}_min"), getattr(self, f"{axis}_max")
            if not isinstance(low, int) or not isinstance(high, int) or low > high:
                raise InvalidValueError(
                    f"grid: {axis}_min and {axis}_max must be whole numbers, min <= max, got {low!r}, {high!r}"
                )

    @classmethod
    def from_count(
        cls,
        count: int,
        columns: int | None = None,
        spacing: Sequence[float] = (1.0, 1.0, 0.0),
        offset: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> GridSpawnParams:
        """Return a flat grid with room for `count`, `columns` wide (default: as square as possible)."""
        if count < 1:
            raise InvalidValueError(f"grid: count must be at least 1, got {count}")
        width = columns if columns is not None else math.ceil(math.sqrt(count))
        if width < 1:
            raise InvalidValueError(f"grid: columns must be at least 1, got {columns}")
        # Whole rows, of which the last one may be filled in part.
        return cls(0, width - 1, 0, math.ceil(count / width) - 1, spacing, offset)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> GridSpawnParams:
        """Read either the ranges (`x_min`, ...) or `count` with optional `columns`, `spacing`, `offset`."""
        if "count" in config:
            return cls.from_count(**vars(read(_CountForm, config)))
        return cls(**vars(read(_RangeForm, config)))

    @property
    def total_cells(self) -> int:
        """Number of cells."""
        return math.prod(self._sizes())

    def _sizes(self) -> tuple[int, int, int]:
        return (self.x_max - self.x_min + 1, self.y_max - self.y_min + 1, self.z_max - self.z_min + 1)

    def positions(self, cells: Ints) -> Floats:
        """Return the positions (N, 3) of `cells`, numbered along x first, then y, then z."""
        width, depth, _ = self._sizes()
        # Numbers are turned into coordinates by division: no list of all cells is made.
        coordinates = np.stack((cells % width, cells // width % depth, cells // (width * depth)), axis=1)
        lowest = np.array((self.x_min, self.y_min, self.z_min))
        return np.asarray(np.array(self.offset) + np.array(self.spacing) * (coordinates + lowest))


# The two forms of a mapping; they only tell the reader of settings which keys belong together.
@dataclass
class _RangeForm:
    """Ranges of cells along each axis, both ends included, as an alternative to a number of cells."""

    x_min: int
    x_max: int
    y_min: int
    y_max: int
    spacing: tuple[float, float, float]
    offset: tuple[float, float, float]
    z_min: int = 0
    z_max: int = 0


@dataclass
class _CountForm:
    count: int
    columns: int | None = None
    spacing: tuple[float, float, float] = (1.0, 1.0, 0.0)
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
