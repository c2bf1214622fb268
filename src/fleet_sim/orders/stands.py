"""Stands: stations that one robot has to itself, such as chargers and parking places."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.orders.places import OrderPlaces
from fleet_sim.sites.stations import StationKind


class Stands:
    """The stations of one kind, each taken by one robot at most, from when it sets out until it leaves."""

    def __init__(self, places: OrderPlaces, kind: StationKind) -> None:
        self._places = places
        self._stations = places.of_kind(kind)
        self._owners: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._stations)

    def take(self, row: int, point: Floats) -> int | None:
        """Give a robot at `point` (3,) m the nearest open stand that is free; None where it gets to none."""
        taken = {*self._owners.values(), *self._places.closed}
        free = [station for station in self._stations if station not in taken]
        if not free:
            return None
        lengths = self._places.lengths_from(point[None], free)[0]
        nearest = int(lengths.argmin())
        if not np.isfinite(lengths[nearest]):
            return None
        self._owners[row] = free[nearest]
        return free[nearest]

    def has(self, row: int) -> bool:
        """Return whether a robot has a stand."""
        return row in self._owners

    def leave(self, row: int) -> bool:
        """Let others have the stand of a robot; return whether it had one."""
        return self._owners.pop(row, None) is not None

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return dict(self._owners)

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        self._owners = dict(saved)
