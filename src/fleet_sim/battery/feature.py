"""The entry point of the feature, which `setup.cfg` declares: it connects batteries to a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Floats
from fleet_sim.battery.batteries import Batteries
from fleet_sim.battery.battery import Battery
from fleet_sim.battery.columns import BatteryColumns
from fleet_sim.battery.commands import SetCharging
from fleet_sim.battery.settings import JOULES_PER_WATT_HOUR, BatterySettings
from fleet_sim.core.features import FAULTS, Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System, each_step


class BatteryFeature(Feature[BatterySettings, BatteryColumns]):
    """Batteries: `battery:` in a spawn entry, `agent.feature("battery")`, `sim.features.use("battery")`."""

    doc = "The battery it runs on."
    settings = BatterySettings
    table = BatteryColumns

    def values(self, settings: BatterySettings) -> Mapping[str, Any]:
        """Return the columns of a battery with `settings`."""
        capacity = settings.capacity_wh * JOULES_PER_WATT_HOUR
        return {
            "energy": settings.level * capacity,
            "charging": settings.charging,
            # Both in J: the columns compare them in every step.
            "full_energy": capacity,
            "low_energy": settings.low_level * capacity,
            "idle_power": settings.idle_power,
            "drive_energy": settings.drive_energy,
            "load_energy": settings.load_energy,
            "charge_power": settings.charge_power,
            "stops_when_empty": settings.stops_when_empty,
            "voltage": settings.voltage,
        }

    def start(self, host: FeatureHost, table: BatteryColumns) -> Batteries:
        """Hold empty robots before they move; drain after all motion of a step, that of the engine included."""
        batteries = Batteries(host.world, table)
        host.pipeline.add(System("battery_hold", Phase.UPDATE, each_step(batteries.hold)), before="motion")
        host.pipeline.add(System("battery", Phase.OBSERVE, batteries.flow), before="sensors")
        host.dispatcher.handle(SetCharging, batteries.set_charging)
        return batteries

    def handle(self, entity: Any, table: BatteryColumns) -> Battery:
        """Return the Battery of `entity`."""
        return Battery(entity, table)

    def details(self, table: BatteryColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say how full it is, and whether it is charged."""
        charging = ", charging" if table.charging[row] else ""
        return [("battery", f"{100.0 * table.energy[row] / table.full_energy[row]:.0f} %{charging}")]

    def report(self, columns: Mapping[str, AnyArray]) -> Mapping[str, AnyArray]:
        """Return how full they are, which are charged, and which are empty."""
        present = columns["present"]
        return {
            "battery": np.where(present, self.levels(columns), np.nan),
            "charging": present & columns["charging"],
            "faults": FAULTS["battery_empty"] * (present & (columns["energy"] <= 0.0)),
        }

    def levels(self, columns: Mapping[str, AnyArray]) -> Floats:
        """Return how full they are."""
        full: Floats = np.maximum(columns["full_energy"], 1e-12)
        return np.clip(columns["energy"] / full, 0.0, 1.0)


FEATURE = BatteryFeature()
