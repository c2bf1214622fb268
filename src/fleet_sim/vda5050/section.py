"""The section `vda5050` of a scenario."""

from __future__ import annotations

from typing import Any

from fleet_sim.config.sections import SettingsSection
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.errors import ConfigError, FleetSimError, StateError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.vda5050.columns import VehicleColumns
from fleet_sim.vda5050.desk import VehicleDesk
from fleet_sim.vda5050.feature import NAME, VehicleBooth
from fleet_sim.vda5050.settings import Vda5050Settings


class Vda5050Section(SettingsSection[MultiRobotSimulationCore]):
    """Lets a master control drive robots; `sim.get_manager("vda5050")` returns the VehicleDesk."""

    doc = "Which robots a master control drives by VDA 5050, and what they tell it. `--vda5050` names the broker."
    name = NAME
    settings_class = Vda5050Settings

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Take in the robots; raises ConfigError."""
        try:
            offer_vehicles(sim, self.read(entry, source))
        except FleetSimError as error:
            raise ConfigError.of(error).within(NAME, source=source) from error


def offer_vehicles(sim: MultiRobotSimulationCore, settings: Vda5050Settings | None = None) -> VehicleDesk:
    """Let a master control drive robots of `sim`; returns the VehicleDesk, which is also the manager "vda5050".

    Raises StateError where there is one already, and InvalidValueError for two vehicles with one address.
    """
    if any(system.name == NAME for system in sim.pipeline.systems):
        raise StateError("this simulation has vehicles already: sim.get_manager('vda5050')")
    booth: VehicleBooth = sim.features.use(NAME)
    table = sim.features.table(NAME)
    assert isinstance(table, VehicleColumns)
    desk = VehicleDesk(sim, table, Vda5050Settings() if settings is None else settings)
    desk.check()
    sim.register_manager(desk, NAME)
    sim.checkpoints.register_late(NAME, desk)
    # Before the actions and the traffic: what a message says takes effect in the step that takes it.
    sim.pipeline.add(System(NAME, Phase.UPDATE, desk.run), before="actions")
    booth.desk = desk

    def leave() -> None:
        # With `sim.clear()` all robots are gone.
        sim.pipeline.remove(NAME)
        sim.unregister_manager(desk)
        booth.desk = None
        sim.events.off("cleared", leave)

    sim.events.on("cleared", leave)
    return desk


SECTION = Vda5050Section()
