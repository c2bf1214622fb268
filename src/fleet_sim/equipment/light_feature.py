"""The key `light` of an entry, which `setup.cfg` declares: it connects lights to a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.equipment.light_columns import LightColumns
from fleet_sim.equipment.light_commands import SwitchLights
from fleet_sim.equipment.light_settings import LightSettings
from fleet_sim.equipment.lights import Lights


class LightFeature(Feature[LightSettings, LightColumns]):
    """Lights: `light:` in an entry, `sim.features.use("light")` is the Lights."""

    doc = "Makes it a signal light that is on, off or blinks."
    settings = LightSettings
    table = LightColumns

    def values(self, settings: LightSettings) -> Mapping[str, Any]:
        """Return the columns of a light with `settings`."""
        values = dict(vars(settings))
        # The column `lit` says whether it is lit now: one that blinks is not, half of the time.
        return values | {"lit": False, "switched_on": values["lit"]}

    def start(self, host: FeatureHost, table: LightColumns) -> Lights:
        """Light them as they are to be at the end of the step."""
        lights = Lights(host.world, table)
        host.pipeline.add(System("lights", Phase.UPDATE, lights.step), before="motion")
        host.dispatcher.handle(SwitchLights, lights.switch)
        return lights

    def leave(self, part: Lights, table: LightColumns, rows: Any) -> None:
        """Take back the colors that showed whether they were lit."""
        for row in rows.tolist():
            if table.present[row]:
                part.world.look.paint(row, None, None)

    def details(self, table: LightColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say whether it is on."""
        if not table.switched_on[row]:
            return [("light", "off")]
        return [("light", f"blinks, {table.blink[row]:g} Hz" if table.blink[row] else "on")]


FEATURE = LightFeature()
