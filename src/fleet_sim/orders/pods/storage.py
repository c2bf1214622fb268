"""PodStorage: the places where pods stand, who stands or is expected there, and what is on them at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.errors import DuplicateNameError, InvalidValueError
from fleet_sim.orders.pods.settings import Area, PodEntry, PodsSettings
from fleet_sim.orders.pods.stock import PodStock
from fleet_sim.orders.pods.visit import NO_POD
from fleet_sim.sites.grid import Grid
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


class PlacedPods(NamedTuple):
    """The names of pods, the indices (P,) of their places, and their stock."""

    names: list[str]
    places: Ints
    stock: PodStock


def place_pods(settings: PodsSettings, storage: PodStorage, grid: Grid, stream: np.random.Generator) -> PlacedPods:
    """Return the pods of `settings`: those of its list, then others at random, which `stream` draws.

    Raises InvalidValueError for pods on walls, outside of the storage or two at one place, for more pods than places,
    and for more items than they hold; UnknownNameError for an unknown sku, DuplicateNameError for a name given twice.
    """
    entries = settings.list
    total = len(entries) + settings.count
    if not total:
        raise InvalidValueError("list or count: give at least one pod")
    if total > len(storage):
        raise InvalidValueError(f"{total} pods do not fit: the storage areas have {len(storage)} places")
    names = [entry.id or f"pod_{number}" for number, entry in enumerate(entries)]
    names += [f"pod_{number}" for number in range(len(entries), total)]
    if len(set(names)) < total:
        twice = next(name for name in names if names.count(name) > 1)
        raise DuplicateNameError(f"two pods have the id {twice!r}")
    for number, entry in enumerate(entries):
        storage.take(_place_of(entry, names, number, storage, grid), number)
    free = np.flatnonzero(~storage.taken_mask)
    for number, place in enumerate(stream.permutation(free)[: settings.count].tolist(), len(entries)):
        storage.take(place, number)
    places = np.zeros(total, np.int64)
    taken = np.flatnonzero(storage.taken_mask)
    places[storage.owner[taken]] = taken
    return PlacedPods(names, places, _stock_of(settings, names, stream))


def _place_of(entry: PodEntry, names: list[str], number: int, storage: PodStorage, grid: Grid) -> int:
    """Return the number of the storage place of a pod; raises InvalidValueError where none is free there."""
    x, y = entry.at
    place, label = storage.at(entry.at), f"list[{number}]: pod {names[number]!r} at ({x:g}, {y:g})"
    if place == NOWHERE:
        in_wall = not grid.is_free(grid.cells_at(np.array([entry.at])))[0]
        raise InvalidValueError(f"{label} is {'not on free space' if in_wall else 'outside of the storage areas'}")
    if storage.owner[place] != NO_POD:
        raise InvalidValueError(f"{label} stands where {names[storage.owner[place]]!r} does")
    return place


def _stock_of(settings: PodsSettings, names: list[str], stream: np.random.Generator) -> PodStock:
    """Return what is on the pods: the listed ones as given, the others filled at random. Raises InvalidValueError."""
    named = {sku: None for entry in settings.list for sku in entry.stock}
    skus = settings.skus or tuple(named)
    if not skus:
        raise InvalidValueError("skus: name the kinds of items, or say how many there are")
    stock = PodStock(skus, len(names), settings.capacity)
    for pod, entry in enumerate(settings.list):
        stock.fill(pod, entry.stock, names[pod])
    kinds, (low, high) = min(settings.kinds, len(skus)), settings.items
    if high < low:
        raise InvalidValueError(f"items: expected the smaller number first, got {list(settings.items)}")
    if settings.count and kinds * high > settings.capacity:
        raise InvalidValueError(f"items: {kinds} kinds of up to {high} items are more than {settings.capacity}")
    # In turns, so that each sku is on some pod where there are places enough for all.
    order = stream.permutation(len(skus))
    for number in range(settings.count):
        own = order[(number * kinds + np.arange(kinds)) % len(skus)]
        counts = stream.integers(low, high + 1, kinds)
        items = {skus[sku]: count for sku, count in zip(own.tolist(), counts.tolist(), strict=True)}
        stock.fill(len(settings.list) + number, items, names[len(settings.list) + number])
    return stock
