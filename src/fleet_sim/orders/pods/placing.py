"""Where pods stand at first, and what is on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.errors import DuplicateNameError, InvalidValueError
from fleet_sim.orders.pods.settings import PodEntry, PodsSettings
from fleet_sim.orders.pods.stock import PodStock
from fleet_sim.orders.pods.storage import NOWHERE, PodStorage
from fleet_sim.orders.pods.visit import NO_POD
from fleet_sim.sites.grid import Grid


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
