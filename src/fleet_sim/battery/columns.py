"""The columns of batteries."""

from __future__ import annotations

from fleet_sim.arrays import Bools, Floats
from fleet_sim.core.columns import FeatureColumns, column


class BatteryColumns(FeatureColumns):
    """State and properties of each battery."""

    energy: Floats = column(float, unit="J", writer="spawning, Batteries", doc="stored, 0 to full_energy")
    charging: Bools = column(bool, writer="SetCharging, Battery", doc="is connected to a charger")
    power: Floats = column(float, unit="W", writer="Batteries", doc="into it in the last step, negative: discharges")
    begin_speed: Floats = column(
        float, unit="m/s", writer="Batteries", doc="speed at which the step began", hashed=False
    )

    full_energy: Floats = column(float, unit="J", writer="spawning")
    low_energy: Floats = column(float, unit="J", writer="spawning", doc="falling to it emits battery_low")
    idle_power: Floats = column(float, unit="W", writer="spawning", doc="drawn all the time")
    drive_energy: Floats = column(float, unit="J/m", writer="spawning", doc="drawn by driving")
    load_energy: Floats = column(float, unit="J/m/kg", writer="spawning", doc="drawn besides by driving with a load")
    charge_power: Floats = column(float, unit="W", writer="spawning", doc="what a charger gives")
    stops_when_empty: Bools = column(bool, writer="spawning")
    voltage: Floats = column(float, unit="V", writer="spawning", doc="nominal")
