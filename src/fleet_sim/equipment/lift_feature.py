"""The feature `lift`, which `setup.cfg` declares: it connects lifts to a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleet_sim.arrays import Rows
from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.core.schema import NO_ROW
from fleet_sim.equipment.lift import LiftHandle
from fleet_sim.equipment.lift_columns import LiftColumns
from fleet_sim.equipment.lift_commands import CallLift, RequestLift
from fleet_sim.equipment.lift_lines import LiftLines
from fleet_sim.equipment.lift_settings import LiftCabinSettings
from fleet_sim.equipment.lifts import Lifts
from fleet_sim.errors import InvalidValueError


class LiftFeature(Feature[LiftCabinSettings, LiftColumns]):
    """Lifts: the section `lifts`, `build_lift` in Python; `sim.features.use("lift")` is the Lifts."""

    doc = "Part of a lift; the section `lifts` builds them."
    settings = LiftCabinSettings
    table = LiftColumns

    def start(self, host: FeatureHost, table: LiftColumns) -> Lifts:
        """Move cabins before doors and robots."""
        lifts = Lifts(host.world, table, host.world.features.use("door"))
        host.pipeline.add(System("lifts", Phase.UPDATE, lifts.step), before="doors")
        host.dispatcher.handle(CallLift, lifts.handle_call)
        host.dispatcher.handle(RequestLift, lifts.handle_request)
        host.checkpoints.register_late("lifts", lifts)
        lines = LiftLines(host.world, lifts)
        host.world.routes.lifts = lines
        host.checkpoints.register_late("lift_lines", lines)
        return lifts

    def enter(self, part: Lifts, table: LiftColumns, rows: Rows) -> None:
        """Take in what `build_lift` spawns; raises InvalidValueError for anything else."""
        if not part.building:
            raise InvalidValueError("a lift has floors and doors; add it to the section `lifts`, or call build_lift")

    def handle(self, entity: Any, table: LiftColumns) -> LiftHandle:
        """Return the LiftHandle of `entity`."""
        return LiftHandle(entity, entity.world.features.use("lift"))

    def details(self, table: LiftColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say where the cabin is and where it goes; of its walls, too."""
        cabin = row if table.cabin[row] == NO_ROW else int(table.cabin[row])
        goes = f", goes to {table.goal[cabin]}" if table.goal[cabin] != table.floor[cabin] else ""
        return [("lift", f"at floor {table.floor[cabin]}{goes}")]


FEATURE = LiftFeature()
