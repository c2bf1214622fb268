"""The key `conveyor` of an object's entry, which `setup.cfg` declares: it connects conveyors to a simulation."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.equipment.conveyor_columns import ConveyorColumns
from fleet_sim.equipment.conveyor_commands import RunConveyors
from fleet_sim.equipment.conveyor_settings import ConveyorSettings
from fleet_sim.equipment.conveyors import Conveyors


class ConveyorFeature(Feature[ConveyorSettings, ConveyorColumns]):
    """Conveyors: `conveyor:` in an object's entry, `sim.features.use("conveyor")` is the Conveyors."""

    doc = "Makes its top a belt that carries what lies on it."
    settings = ConveyorSettings
    table = ConveyorColumns

    def start(self, host: FeatureHost, table: ConveyorColumns) -> Conveyors:
        """Carry before robots move."""
        conveyors = Conveyors(host.world, table)
        host.pipeline.add(System("conveyors", Phase.UPDATE, conveyors.step), before="motion")
        host.dispatcher.handle(RunConveyors, conveyors.run)
        return conveyors

    def details(self, table: ConveyorColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say how fast the belt is."""
        return [("belt", f"{table.speed[row]:.2f} m/s" if table.running[row] else "stands")]


FEATURE = ConveyorFeature()
