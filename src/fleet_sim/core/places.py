"""Places by name: where robots and objects may be put, as parts above the core know them."""

from __future__ import annotations

from typing import Protocol

from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError


class PlaceSource(Protocol):
    """Knows places, such as the free cells and the stations of a site."""

    def places(self, what: str, count: int | None, *, seed: int, clearance: float) -> tuple[Floats, Floats]:
        """Return positions (N, 2) in m and headings (N,) in rad of the places called `what`, `count` of them or all.

        Random choices follow from `seed`. `clearance` in m is kept to walls. Raises FleetSimError.
        """


class PlaceSources:
    """The sources of places of a world, by name."""

    def __init__(self) -> None:
        self._sources: dict[str, PlaceSource] = {}

    def offer(self, name: str, source: PlaceSource) -> None:
        """Let entries name places of `source`; it replaces an earlier one of that name."""
        self._sources[name] = source

    def withdraw(self, name: str) -> None:
        """Forget the source of that name, if there is one."""
        self._sources.pop(name, None)

    def source(self, name: str) -> PlaceSource:
        """Return the source of that name; raises InvalidValueError where there is none."""
        if name not in self._sources:
            raise InvalidValueError(f"needs the section {name!r}, which this scenario does not have")
        return self._sources[name]
