"""A small feature, whole in one file, as another package would bring it: a load that grows by 1 kg/s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fleet_sim.base.arrays import Floats
from fleet_sim.base.settings import Checked, setting
from fleet_sim.robots.drive import Recipients
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import Command, CommandAck
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.world import World


class LoadColumns(FeatureColumns):
    """What an entity carries."""

    mass: Floats = column(float, unit="kg", writer="spawning, Loads")


@dataclass
class LoadSettings(Checked):
    """What an entity carries at first."""

    mass: float = setting(0.0, low=0, unit="kg", doc="At first.")


@dataclass(frozen=True, kw_only=True, eq=False)
class Drop(Command):
    """Drop what is carried."""

    feature: ClassVar[str] = "load"

    names: tuple[str, ...]


class Loads:
    """The loads of a simulation; `steps` were counted, which no column holds."""

    def __init__(self, world: World, table: LoadColumns) -> None:
        self._world = world
        self._table = table
        self.steps = 0

    def grow(self, dt: float) -> None:
        """Let every load grow."""
        self.steps += 1
        self._table.mass[self._table.among(self._world.rows)] += dt

    def drop(self, command: Drop) -> CommandAck:
        """Carry a Drop out."""
        to = Recipients(self._world, command.names)
        to.keep(self._table.present[to.rows], "it has no load")
        self._table.mass[to.rows] = 0.0
        return CommandAck(command.command_id, command.source, self._world.clock.time, to.names, to.rejected)

    def save(self) -> int:
        """Return the count."""
        return self.steps

    def restore(self, saved: int) -> None:
        """Take the count back."""
        self.steps = saved


class LoadFeature(Feature[LoadSettings, LoadColumns]):
    """The front door of the feature."""

    doc = "What it carries."
    settings = LoadSettings
    table = LoadColumns

    def values(self, settings: LoadSettings) -> Mapping[str, Any]:
        """Return the values of the columns."""
        return {"mass": settings.mass}

    def start(self, host: FeatureHost, table: LoadColumns) -> Loads:
        """Let loads grow after the robots have moved."""
        loads = Loads(host.world, table)
        host.pipeline.add(System("load", Phase.UPDATE, loads.grow), after="motion")
        host.dispatcher.handle(Drop, loads.drop)
        host.checkpoints.register_late("load", loads)
        return loads


FEATURE = LoadFeature()
