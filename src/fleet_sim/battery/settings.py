"""The settings under `battery:`, in the entry of a robot and as a section of a scenario."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import Checked, setting

JOULES_PER_WATT_HOUR = 3600.0

LARGEST = 1e9
"""Upper limit of every number here. Entries come over ROS too, and products of larger ones could be infinite."""


@dataclass
class BatterySettings(Checked):
    """The battery of a robot: power is drawn all the time, and by driving, at the mean speed of each step."""

    capacity_wh: float = setting(100.0, low=1e-6, high=LARGEST, unit="Wh", doc="What it holds when full.")
    level: float = setting(1.0, low=0, high=1, doc="How full it is at first.")
    idle_power: float = setting(10.0, low=0, high=LARGEST, unit="W", doc="Drawn all the time.")
    drive_energy: float = setting(50.0, low=0, high=LARGEST, unit="J/m", doc="Drawn for each metre driven: W at 1 m/s.")
    load_energy: float = setting(
        0.0, low=0, high=LARGEST, unit="J/m/kg", doc="Drawn besides for each metre and kg of mass that it carries."
    )
    charge_power: float = setting(200.0, low=0, high=LARGEST, unit="W", doc="What a charger gives.")
    charging: bool = setting(False, doc="Whether it is being charged at first.")
    low_level: float = setting(0.2, low=0, high=1, doc="Falling to it is the event battery_low.")
    stops_when_empty: bool = setting(True, doc="Whether the robot stands still and cannot be driven while empty.")
    voltage: float = setting(24.0, low=1e-3, high=LARGEST, unit="V", doc="Nominal; messages in ROS count in Ah.")


@dataclass
class BatterySectionSettings(Checked):
    """Settings that hold for all batteries of a simulation."""

    publish_rate: float | None = setting(
        1.0, low=0, unit="Hz", doc="Of <robot>/battery_state, per simulated second; null: at each step, 0: never."
    )
