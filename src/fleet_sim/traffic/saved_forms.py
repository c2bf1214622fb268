"""How the traffic is written in state files: its network and planner are those of the simulation that reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fleet_sim.core.saving.forms import Form
from fleet_sim.errors import StateFileError
from fleet_sim.settings.schema import plain
from fleet_sim.traffic.floor import Floor
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.planners.planner import Planner
from fleet_sim.traffic.planners.registry import PLANNERS


class TrafficForms:
    """The forms of one traffic; `floor` returns what it drives on, made for a radius where there is none yet."""

    def __init__(self, floor: Callable[[float], Floor]) -> None:
        self._floor = floor
        self._read: Floor | None = None

    def forms(self) -> Iterator[Form[Any]]:
        """Yield all forms."""
        yield Form("floor", Floor, _of_floor, self._take_floor)
        yield Form("network", Network, lambda network: None, lambda nothing: self._present.network)
        yield Form("planner", Planner, _of_planner, self._planner)

    @property
    def _present(self) -> Floor:
        if self._read is None:
            raise StateFileError("a network without a traffic")
        return self._read

    def _take_floor(self, saved: tuple[float, str]) -> Floor:
        radius, digest = saved
        floor = self._floor(radius)
        if _digest(floor.network) != digest:
            raise StateFileError("the site was changed since the state was saved: its network is another one")
        self._read = floor
        return floor

    def _planner(self, saved: tuple[str, dict[str, Any]]) -> Planner:
        name, settings = saved
        known, cls = self._present.timing.planner, PLANNERS.get(name)
        # One that is alike stays: what it has worked out for the network is still right.
        if type(known) is cls and plain(known.settings) == settings:
            return known
        return cls(self._present.network, **settings)


def _of_floor(floor: Floor) -> object:
    return floor.radius, _digest(floor.network)


def _of_planner(planner: Planner) -> object:
    """Return name and settings of a planner, as written to a file; raises StateFileError for an unregistered one."""
    name = next((name for name, cls in PLANNERS.registered().items() if cls is type(planner)), None)
    if name is None:
        cls = type(planner)
        raise StateFileError(
            f"the planner {cls.__module__}.{cls.__qualname__} cannot be saved: it has no name by which another process "
            "finds it; give it one with PLANNERS.register(name, cls)"
        )
    return name, plain(planner.settings)


def _digest(network: Network) -> str:
    """Return a hash of places and ways."""
    found = hashlib.sha256()
    for values in (network.positions, network.neighbours, network.cells):
        found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()[:32]
