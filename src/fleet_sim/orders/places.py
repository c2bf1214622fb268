"""Where orders lead: stations and points, by number, and the ways between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.orders.lengths import Lengths, matrix
from fleet_sim.orders.order import Place
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import StationKind

Spot: TypeAlias = tuple[float, ...]
"""A place in m: (x, y) on a site, (x, y, height of the floor) in a building."""


class OrderPlaces(ABC):
    """Places by number. Stations have the first numbers, in their order; points get theirs when first named.

    Ways are checked for a footprint of `radius` m, the smallest in the fleet.
    """

    def __init__(self, stations: Sequence[tuple[str, StationKind, Spot]]) -> None:
        """Stations are given by name, kind and place."""
        self.names = [name for name, _, _ in stations]
        self.points: list[Spot] = [spot for _, _, spot in stations]
        self._kinds = [kind for _, kind, _ in stations]
        self._numbers: dict[Place, int] = {name: number for number, name in enumerate(self.names)}
        self.closed: set[int] = set()
        self._radius = 0.0
        self._ways: dict[tuple[int, int], str] = {}
        self._lengths: Lengths | None = None
        self._cells: Ints = np.empty(0, np.int64)

    # ---- to override -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def site(self) -> Site:
        """The site; raises InvalidValueError where there are several storeys."""

    @property
    @abstractmethod
    def chart(self) -> Grid:
        """The cells on which is counted where robots are."""

    @abstractmethod
    def on_chart(self, positions: Floats) -> Floats:
        """Return where on the chart (K, 2) in m robots at `positions` (K, 3) are."""

    def storeys(self, positions: Floats) -> Ints:
        """Return the storeys (K,) that robots at `positions` (K, 3) are on, from 0: each is a place of its own on the
        chart."""
        return np.zeros(len(positions), np.int64)

    @abstractmethod
    def spot(self, position: Floats) -> Spot:
        """Return the place on the floor below a robot at `position` (3,)."""

    @abstractmethod
    def look(self) -> None:
        """Measure ways as robots drive them from now on."""

    @abstractmethod
    def _named(self, place: Place) -> Spot:
        """Return a place that is none of the stations; raises InvalidValueError where there is none."""

    @abstractmethod
    def _no_way(self, begin: int, end: int) -> str:
        """Return why no way leads from a place to another; "" where one does."""

    @abstractmethod
    def _measured(self) -> Lengths:
        """Return the lengths of ways for robots of `radius`."""

    @property
    def radius(self) -> float:
        """Radius in m of the footprint that ways are checked for."""
        return self._radius

    @radius.setter
    def radius(self, radius: float) -> None:
        if radius != self._radius:
            self._radius = radius
            self._ways.clear()
            self._lengths = None

    # ---- names -------------------------------------------------------------------------------------------------------

    def number(self, place: Place) -> int:
        """Return the number of a station or point.

        Raises UnknownNameError with the closest station, InvalidValueError for one on another storey, and for a point
        that is not on free space.
        """
        known = self._numbers.get(place)
        if known is not None:
            return known
        spot = self._named(place)
        number = self._numbers[place] = len(self.names)
        self.names.append(f"({spot[0]:g}, {spot[1]:g})")
        self.points.append(spot)
        return number

    def of_kind(self, kind: StationKind) -> list[int]:
        """Return the numbers of the stations of a kind."""
        return [number for number, other in enumerate(self._kinds) if other is kind]

    @property
    def stations(self) -> list[str]:
        """The names of the stations."""
        return self.names[: len(self._kinds)]

    def save(self) -> list[Spot]:
        """Return the points that have numbers, in order."""
        return self.points[len(self._kinds) :]

    def restore(self, saved: Sequence[Spot]) -> None:
        """Restore what `save` returned: points named since lose their numbers."""
        if list(saved) == self.save():
            return
        count = len(self._kinds)
        del self.names[count:], self.points[count:]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        # Ways and lengths were noted by number.
        self._ways.clear()
        self._lengths = None
        for point in saved:
            self.number((point[0], point[1]))

    # ---- ways --------------------------------------------------------------------------------------------------------

    def check_way(self, stops: Sequence[int]) -> None:
        """Raise InvalidValueError where no way leads from one of `stops` to the next one."""
        for begin, end in pairwise(stops):
            reason = self._ways.get((begin, end))
            # The empty reason stands for: there is a way.
            if reason is None:
                reason = self._ways[begin, end] = "" if self._joined(begin, end) else self._no_way(begin, end)
            if reason:
                raise InvalidValueError(f"no robot gets from {self.names[begin]} to {self.names[end]}: {reason}")

    def _joined(self, begin: int, end: int) -> bool:
        """Return whether there is surely a way: most places can be told without looking for it."""
        return self._table().joined(*self._cells_of(np.array([begin, end])).tolist())

    def lengths_from(self, points: Floats, goals: Iterable[int]) -> Floats:
        """Return the lengths (K, G) in m of routes from `points` (K, 3) to the places `goals`; inf: there is none."""
        lengths = self._table()
        chosen = np.array(list(goals), np.int64)
        return matrix(lengths, lengths.cells_of(points), self._cells_of(chosen))

    def between(self, begins: Ints, ends: Ints) -> Floats:
        """Return the lengths (K,) in m of routes from the places `begins` (K,) to `ends` (K,)."""
        lengths, starts, goals = self._table(), self._cells_of(begins), self._cells_of(ends)
        found = np.empty(len(starts))
        # One field of distances from a goal serves all starts.
        for goal in np.unique(goals).tolist():
            mask = goals == goal
            found[mask] = lengths.to(goal, starts[mask])
        return found

    def length_of(self, stops: Sequence[int]) -> float:
        """Return the length in m of the way along `stops`."""
        return float(self.between(np.array(stops[:-1], np.int64), np.array(stops[1:], np.int64)).sum())

    def _table(self) -> Lengths:
        """Return what measures ways between places, made at the first use."""
        if self._lengths is None:
            self._lengths = self._measured()
            self._cells = np.empty(0, np.int64)
        return self._lengths

    def _forget_ways(self) -> None:
        """Measure ways anew when they are asked for next."""
        self._lengths = None
        self._ways.clear()

    def _cells_of(self, places: Ints) -> Ints:
        # Points may have been named since.
        if len(self._cells) < len(self.points):
            self._cells = self._table().cells_of(np.array(self.points).reshape(len(self.points), -1))
        return self._cells[places]
