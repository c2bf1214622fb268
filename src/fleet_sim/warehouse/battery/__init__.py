"""Batteries: what robots run on. Import the names below from here.

Energy is in J in the columns and in Wh in settings. `battery.py` drains and charges all batteries in one call per step,
and connects them to a simulation. It uses all that a feature can have: read it before you write your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.warehouse.battery.battery import Battery as Battery
    from fleet_sim.warehouse.battery.battery import BatterySettings as BatterySettings
    from fleet_sim.warehouse.battery.battery import SetCharging as SetCharging
else:
    __all__, __getattr__, __dir__ = lazy(globals())
