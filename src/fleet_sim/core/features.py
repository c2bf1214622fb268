"""Features: what robots and objects may have besides a body, each with columns of its own.

A feature (a battery, a load) is a folder: its settings, its columns, its systems, its commands and events, its
interface in ROS 2. An object of a class derived from `Feature` is its front door, declared as an entry point of the
group `fleet_sim.features` under its name. That name is the feature's key in the spawn entry of a robot or an object,
the name of its table in the world, and how it is asked for; no other part names it.

A simulation has none of a feature, neither table nor system, until the first entity is spawned with its key or
somebody calls `sim.features.use(name)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.core.checkpoint import Checkpoints
from fleet_sim.core.columns import FeatureColumns
from fleet_sim.core.commands import Command, CommandAck
from fleet_sim.core.pipeline import Pipeline
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.registry import Registry, instances_of
from fleet_sim.settings import Checked, read

Settings = TypeVar("Settings", bound=Checked)
Table = TypeVar("Table", bound=FeatureColumns)


class CommandHandlers(Protocol):
    """Where a feature says who carries out its commands."""

    def handle(self, cls: type[Command], handler: Callable[[Any], CommandAck]) -> None:
        """Have `handler(command)` carry out commands of the class `cls`."""


class FeatureHost(Protocol):
    """What a feature may use of the simulation it works in."""

    @property
    def world(self) -> World:
        """The columns, the events, and the rules that features may add to."""

    @property
    def pipeline(self) -> Pipeline:
        """Where systems are added."""

    @property
    def dispatcher(self) -> CommandHandlers:
        """Where handlers of commands are added."""

    @property
    def checkpoints(self) -> Checkpoints:
        """Where a part with state outside the columns joins, with `register_late`."""


class Feature(ABC, Generic[Settings, Table]):
    """A feature as the rest of the package knows it. It holds no state: one object serves all simulations."""

    doc: ClassVar[str]
    """What the feature is, in one sentence; editors show it at its key."""

    settings: type[Settings]
    """What is written under the feature's key in a spawn entry."""

    table: type[Table]
    """Its columns."""

    @abstractmethod
    def values(self, settings: Settings) -> Mapping[str, Any]:
        """Return what an entity with `settings` begins with: values by column. Those left out keep their default."""

    def start(self, host: FeatureHost, table: Table) -> object:
        """Add systems, handlers of commands and rules to a simulation that begins to use the feature.

        What is returned is what `sim.features.use(name)` returns to users and to the feature's interface in ROS.
        """
        return None

    def handle(self, entity: Any, table: Table) -> Any:
        """Return what `entity.feature(name)` returns; by default the values of the entity's columns, by name."""
        return {name: array[entity.row].tolist() for name, _, array in table.columns()}


FEATURES: Registry[Feature[Any, Any]] = Registry("feature", instances_of(Feature), group="fleet_sim.features")
"""The features there are, by name. Each is loaded when first asked for."""


def read_features(value: object) -> dict[str, Checked]:
    """Return settings by name of feature, read where they are mappings.

    Raises UnknownNameError for an unknown feature and ConfigError for settings that are wrong.
    """
    if not isinstance(value, Mapping):
        raise InvalidValueError(f"must be a mapping of features to their settings, got {value!r}")
    return {name: read(FEATURES.get(name).settings, settings, path=name) for name, settings in value.items()}


class Features:
    """The features of one simulation (a FeatureBook)."""

    def __init__(self, host: FeatureHost) -> None:
        self._host = host
        self._parts: dict[str, object] = {}

    @property
    def used(self) -> tuple[str, ...]:
        """The features in use, in the order of their first use."""
        return tuple(self._parts)

    def use(self, name: str) -> Any:
        """Begin to use a feature, if the simulation does not yet; returns what its `start` returned.

        Inside a step its systems run from the next step on. Raises UnknownNameError with the closest name.
        """
        if name not in self._parts:
            feature, world = FEATURES.get(name), self._host.world
            table = world.add_table(name, feature.table)
            try:
                self._parts[name] = feature.start(self._host, table)
            except BaseException:
                # A feature that could not start must not count in hashes and saved states.
                del world.tables[name]
                raise
        return self._parts[name]

    def table(self, name: str) -> FeatureColumns:
        """Return the columns of a feature that is in use; raises StateError for another."""
        table = self._host.world.tables.get(name) if name in self._parts else None
        if not isinstance(table, FeatureColumns):
            raise StateError(f"nothing here has the feature {name!r}; spawn something with it, or call use({name!r})")
        return table

    def give(self, name: str, rows: Rows, settings: Any = None) -> None:
        """Give living entities a feature, as if they had been spawned with it; `settings` may be a mapping.

        Who has it already begins anew. Raises UnknownNameError and ConfigError.
        """
        given = read_features({name: {} if settings is None else settings})[name]
        self.use(name)
        table = self.table(name)
        for column, value in spawn_values(name, given).items():
            getattr(table, column)[rows] = value
        # Who has interfaces of the feature looks again at whom they are for.
        self._host.world.version += 1

    def take(self, name: str, rows: Rows) -> None:
        """Take a feature away from living entities; those that do not have it stay as they are."""
        if name in self._parts:
            self.table(name).clear_rows(np.asarray(rows))
            self._host.world.version += 1

    def handle(self, name: str, entity: Any) -> Any:
        """Return the feature of one entity; raises StateError where it has none, UnknownNameError for no feature."""
        feature = FEATURES.get(name)
        if name not in self._parts or not self.table(name).present[entity.row]:
            label = self._host.world.label(entity.row)
            raise StateError(f"{label!r} has no {name}; spawn it with features={{{name!r}: {{...}}}}")
        return feature.handle(entity, self.table(name))


def spawn_values(name: str, settings: Checked) -> dict[str, Any]:
    """Return what the columns of a feature hold for an entity with `settings`, by name of column."""
    return {"present": True, **FEATURES.get(name).values(settings)}
