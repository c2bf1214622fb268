"""The key `workcell` of an object's entry, which `setup.cfg` declares: it connects work cells to a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.equipment.workcell_columns import WorkcellColumns
from fleet_sim.equipment.workcell_commands import ServeRobot
from fleet_sim.equipment.workcell_settings import WorkcellKind, WorkcellSettings
from fleet_sim.equipment.workcells import Workcells


class WorkcellFeature(Feature[WorkcellSettings, WorkcellColumns]):
    """Dispensers and ingestors: `workcell:` in an object's entry, `sim.features.use("workcell")` is the Workcells."""

    doc = "Makes it a dispenser or an ingestor of objects that robots carry."
    settings = WorkcellSettings
    table = WorkcellColumns

    def values(self, settings: WorkcellSettings) -> Mapping[str, Any]:
        """Return the columns of a work cell with `settings`."""
        return {"ingests": settings.kind is WorkcellKind.INGESTOR, "reach": settings.reach, "keep": settings.keep}

    def start(self, host: FeatureHost, table: WorkcellColumns) -> Workcells:
        """Look before robots move."""
        cells = Workcells(host.world, table)
        host.pipeline.add(System("workcells", Phase.UPDATE, cells.step), before="motion")
        host.dispatcher.handle(ServeRobot, cells.serve)
        host.checkpoints.register_late("workcells", cells)
        return cells

    def details(self, table: WorkcellColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say whether it has its object."""
        return [("ingestor" if table.ingests[row] else "dispenser", "full" if table.filled[row] else "empty")]


FEATURE = WorkcellFeature()
