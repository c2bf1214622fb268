"""PodStorage: the places where pods stand, and who stands or is expected there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.orders.pods.settings import Area
from fleet_sim.orders.pods.visit import NO_POD
from fleet_sim.sites.site import Site

NOWHERE = -1


class PodStorage:
    """Storage places by index. Each is one pod's at most: of one that stands there, or that is to come back."""

    def __init__(self, site: Site, areas: Sequence[Area]) -> None:
        """Raises InvalidValueError for areas without a free cell, and for stations in them."""
        grid = site.open_grid
        middles = grid.positions(grid.free_cells)
        chosen_mask = np.zeros(len(middles), bool)
        for number, (left, bottom, right, top) in enumerate(areas):
            x, y = middles[:, 0], middles[:, 1]
            inside_mask = (x > left) & (x < right) & (y > bottom) & (y < top)
            if not inside_mask.any():
                raise InvalidValueError(
                    f"storage[{number}]: no free cell has its middle between ({left:g}, {bottom:g}) and"
                    f" ({right:g}, {top:g}); give [x_min, y_min, x_max, y_max] in m"
                )
            chosen_mask |= inside_mask
        self._grid = grid
        self._cells = grid.free_cells[chosen_mask]
        self.points: Floats = middles[chosen_mask]
        """The places (K, 2) in m."""
        for station in site.stations:
            if self.at((station.x, station.y)) != NOWHERE:
                raise InvalidValueError(f"station {station.name!r} is on a storage place; pods would stand on it")
        self.owner: Ints = np.full(len(self.points), NO_POD)
        """The pod (K,) that each place is kept for, NO_POD for free ones."""

    def __len__(self) -> int:
        return len(self.points)

    def at(self, point: Sequence[float]) -> int:
        """Return the place at `point` in m; NOWHERE if there is none."""
        cell = int(self._grid.cells_at(np.array([point], np.float64))[0])
        found = np.flatnonzero(self._cells == cell)
        return int(found[0]) if cell >= 0 and len(found) else NOWHERE

    def take(self, place: int, pod: int) -> None:
        """Keep a free place for a pod."""
        assert self.owner[place] in (NO_POD, pod)
        self.owner[place] = pod

    def leave(self, pod: int) -> Ints:
        """Let others have what was kept for a pod; return those places (L,)."""
        left = np.flatnonzero(self.owner == pod)
        self.owner[left] = NO_POD
        return left

    @property
    def taken_mask(self) -> Bools:
        """Which places (K,) are kept for a pod."""
        return np.asarray(self.owner != NO_POD)

    def save(self) -> Any:
        """Return the state as a copy, for a checkpoint."""
        return self.owner.copy()

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        self.owner[:] = saved
