"""Batteries: what robots run on. `feature.py` connects them to a simulation; import the names below from here.

Energy is in J in the columns and in Wh in settings. `batteries.py` drains and charges all batteries in one call per
step; `battery.py` is what users hold of one. It uses all that a feature can have: read it before you write your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.battery.battery import Battery as Battery
    from fleet_sim.battery.commands import SetCharging as SetCharging
    from fleet_sim.battery.settings import BatterySettings as BatterySettings
else:
    __all__, __getattr__, __dir__ = lazy(globals())
