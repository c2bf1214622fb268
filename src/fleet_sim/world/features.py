"""Features: optional capabilities of robots and objects, each with its own columns.

A feature (a battery, a load) is a folder with its settings, columns, systems, commands, events and ROS 2 interface. Its
entry is an object of a class derived from `Feature`, declared as an entry point of the group `fleet_sim.features`. The
entry point's name is the feature's key in spawn entries, the name of its table in the world, and the name for look-ups;
no other part of the package refers to it.

A simulation has no table and no systems of a feature until the first entity is spawned with its key or
`sim.features.use(name)` is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Rows
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.registry import Registry, instances_of
from fleet_sim.base.settings import Checked, read
from fleet_sim.world.checkpoint import Checkpoints
from fleet_sim.world.columns import FeatureColumns
from fleet_sim.world.pipeline import Pipeline
from fleet_sim.world.world import World

Settings = TypeVar("Settings", bound=Checked)
Table = TypeVar("Table", bound=FeatureColumns)

FAULTS = {"breakdown": 1, "battery_empty": 2, "emergency_stop": 4, "localization_lost": 8, "field_violation": 16}
"""Why a robot may be out of order, as bits of `faults`: the numbers are those of fleet_sim_msgs/msg/RobotState."""


class FeatureHost(Protocol):
    """The parts of a simulation that a feature may use."""

    world: World
    """The columns, the events, and the rules that features may add to."""
    pipeline: Pipeline
    """To which systems are added."""
    dispatcher: Any
    """To which handlers of commands are added by `handle(cls, handler)`."""
    checkpoints: Checkpoints
    """Register parts with state outside the columns by `register_late`."""


class Feature(Generic[Settings, Table]):
    """The interface of a feature to the rest of the package. It has no state: one object serves all simulations."""

    doc: ClassVar[str]
    """One sentence about the feature, shown by editors at its key."""

    settings: type[Settings]
    """The settings class of the feature's key in spawn entries."""

    table: type[Table]
    """Its columns."""

    goal_tolerance: ClassVar[float] = 0.0
    """In m: how far from a point that views send an entity to the place may be that it goes to; 0: it goes there."""

    def values(self, settings: Settings) -> Mapping[str, Any]:
        """Return the initial values of an entity with `settings`, by column; omitted columns keep their defaults.

        By default each setting fills the column of its name: override it where names or units differ.
        """
        return dict(vars(settings))

    def start(self, host: FeatureHost, table: Table) -> object:
        """Add systems, command handlers and rules to a simulation that starts to use the feature.

        `sim.features.use(name)` returns the result to users and to the feature's ROS interface.
        """
        return None

    def enter(self, part: Any, table: Table, rows: Rows) -> None:
        """Take in entities that were spawned with the feature or given it; `part` is what `start` returned.

        Their columns are filled. What it raises refuses them: nothing is spawned then, or given; before, it clears the
        columns of those that it refuses.
        """

    def leave(self, part: Any, table: Table, rows: Rows) -> None:
        """Let go of living entities that the feature is taken from; their columns are cleared afterwards."""

    def handle(self, entity: Any, table: Table) -> Any:
        """Return the result of `entity.feature(name)`; by default the values of the entity's columns, by name."""
        return {name: array[entity.row].tolist() for name, _, array in table.columns()}

    def details(self, table: Table, row: int) -> Sequence[tuple[str, str]]:
        """Return what views say of the entity in `row`, which has the feature: what it is about, and a text."""
        return ()

    def report(self, columns: Mapping[str, AnyArray]) -> Mapping[str, AnyArray]:
        """Return what the state of entities tells of the feature, (N,) each by name, given its columns of all of them.

        Names are `battery` (0 to 1, NaN without one), `charging` (bool), `faults` (the sum of those of FAULTS) and
        `operating_mode` (the code of an OperatingMode).
        """
        return {}

    def orders(self, part: Any, table: Table, rows: Rows) -> Sequence[str]:
        """Return the ids of the orders that the entities in `rows` (N,) serve, "" for none; empty: nobody serves any.

        `part` is what `start` returned.
        """
        return ()

    def levels(self, columns: Mapping[str, AnyArray]) -> Floats:
        """Return how well off all entities of a snapshot are, (N,) from 0 to 1, given their columns.

        Views color robots by it, under the name of the feature, where it is defined.
        """
        raise NotImplementedError


FEATURES: Registry[Feature[Any, Any]] = Registry("feature", instances_of(Feature), group="fleet_sim.features")
"""The available features by name. Each is loaded at its first use."""


def read_features(value: object) -> dict[str, Checked]:
    """Return settings by feature name; mappings are read into the feature's settings class.

    Raises UnknownNameError for an unknown feature and ConfigError for invalid settings.
    """
    if not isinstance(value, Mapping):
        raise InvalidValueError(f"must be a mapping of features to their settings, got {value!r}")
    return {name: read(FEATURES.get(name).settings, settings, path=name) for name, settings in value.items()}


class Features:
    """The features of one simulation (a EntityFeatures)."""

    def __init__(self, host: FeatureHost) -> None:
        self._host = host
        self._parts: dict[str, object] = {}

    @property
    def used(self) -> tuple[str, ...]:
        """The features in use, in the order of their first use."""
        return tuple(self._parts)

    def use(self, name: str) -> Any:
        """Start to use a feature, unless it is in use; return the result of its `start`.

        Inside a step its systems run from the next step on. Raises UnknownNameError with the closest name.
        """
        if name not in self._parts:
            feature, world = FEATURES.get(name), self._host.world
            table = world.add_table(name, feature.table)
            try:
                self._parts[name] = feature.start(self._host, table)
            except BaseException:
                # The table of a feature that failed to start must not enter hashes and saved states.
                del world.tables[name]
                raise
        return self._parts[name]

    def table(self, name: str) -> FeatureColumns:
        """Return the columns of a feature in use; raises StateError if it is not in use."""
        table = self._host.world.tables.get(name) if name in self._parts else None
        if not isinstance(table, FeatureColumns):
            raise StateError(f"the feature {name!r} is not in use; spawn something with it, or call use({name!r})")
        return table

    def give(self, name: str, rows: Rows, settings: Any = None) -> None:
        """Give living entities a feature, as if they had been spawned with it; `settings` may be a mapping.

        Entities that have it already start again with these settings. Raises UnknownNameError and ConfigError.
        """
        # Read before the feature is used: invalid settings must not leave a table behind.
        given = read_features({name: {} if settings is None else settings})[name]
        self.use(name)
        table = self.table(name)
        for column, value in spawn_values(name, given).items():
            getattr(table, column)[rows] = value
        # Users that cache the entities with this feature compare the version.
        self._host.world.version += 1
        self.enter([name], np.asarray(rows, np.int64))

    def enter(self, names: Sequence[str], rows: Rows) -> None:
        """Let features take in entities whose columns are filled; raises what a feature refuses them with."""
        for name in names:
            FEATURES.get(name).enter(self._parts[name], self.table(name), rows)

    def take(self, name: str, rows: Rows) -> None:
        """Remove a feature from living entities; entities without it are not changed."""
        if name in self._parts:
            table, having = self.table(name), np.asarray(rows)
            FEATURES.get(name).leave(self._parts[name], table, table.among(having))
            table.clear_rows(having)
            self._host.world.version += 1

    def handle(self, name: str, entity: Any) -> Any:
        """Return the feature of one entity; raises StateError if it has none, UnknownNameError for no feature."""
        feature = FEATURES.get(name)
        if name not in self._parts or not self.table(name).present[entity.row]:
            label = self._host.world.label(entity.row)
            raise StateError(f"{label!r} has no {name}; spawn it with features={{{name!r}: {{...}}}}")
        return feature.handle(entity, self.table(name))


def spawn_values(name: str, settings: Checked) -> dict[str, Any]:
    """Return the values of a feature's columns for an entity with `settings`, by column name."""
    return {"present": True, **FEATURES.get(name).values(settings)}


# Deliveries: what managers count, and views plot.


@runtime_checkable
class CountsDeliveries(Protocol):
    """A manager that counts what its robots have delivered; live views plot how many that are per hour."""

    @property
    def delivered(self) -> int:
        """How many there were since the beginning."""
