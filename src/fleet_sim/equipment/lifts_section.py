"""The section `lifts` of a scenario."""

from __future__ import annotations

from functools import partial

from fleet_sim.equipment.building_section import EquipmentSection, Pieces
from fleet_sim.equipment.lift_building import build_lift
from fleet_sim.equipment.lift_settings import LiftsSettings
from fleet_sim.simulation import MultiRobotSimulationCore


class LiftsSection(EquipmentSection):
    """Builds the lifts of a scenario; `sim.features.use("lift")` returns the Lifts."""

    doc = "Lifts between the levels of a building."
    name = "lifts"
    settings_class = LiftsSettings

    def pieces(self, sim: MultiRobotSimulationCore, settings: LiftsSettings) -> Pieces:
        """Yield what builds each lift."""
        for index, lift in enumerate(settings.list):
            yield f"lifts.list[{index}]", partial(build_lift, sim, lift)


SECTION = LiftsSection()
