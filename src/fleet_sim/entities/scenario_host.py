"""What the parts below the simulation need of one that is filled with a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, TypeVar

from fleet_sim.config.params import SimulationParams
from fleet_sim.core.events import EventBus
from fleet_sim.core.world import World

_Self = TypeVar("_Self", bound="LoadableSimulation")


class ScenarioPopulation(Protocol):
    """Holds the scenario that a simulation was filled with."""

    scenario: Mapping[str, Any]


class ScenarioOrigin(Protocol):
    """Remembers what a simulation was made of."""

    def tell(self, scenario: Mapping[str, Any], source: str, /) -> None:
        """Keep the scenario and the file that it comes from."""


class ScenarioHost(Protocol):
    """A simulation that a scenario is put into."""

    @property
    def world(self) -> World:
        """Where the entities are spawned."""

    @property
    def population(self) -> ScenarioPopulation:
        """What keeps the scenario."""

    @property
    def origin(self) -> ScenarioOrigin:
        """What is told where the scenario comes from."""


class LoadableSimulation(ScenarioHost, Protocol):
    """A simulation that another scenario can be loaded into, and that another one can be made of."""

    def __init__(self, params: SimulationParams) -> None:
        """Build an empty simulation."""

    @property
    def params(self) -> SimulationParams:
        """The settings in use."""

    @property
    def events(self) -> EventBus:
        """Where the end of loading is told."""

    def clear(self) -> None:
        """Remove everything."""

    def __enter__(self: _Self) -> _Self:
        """Return the simulation, which is closed at the end of the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
