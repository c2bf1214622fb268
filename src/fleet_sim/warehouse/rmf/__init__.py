"""Slotcars: robots that follow the paths of a fleet manager as those of Open-RMF's simulations do.

`feature.py` connects slotcars to a simulation; `slotcars.py` drives them. The topics and services by which a fleet
manager talks to them are in `topics.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.warehouse.rmf.chargers import Charger as Charger
    from fleet_sim.warehouse.rmf.chargers import Chargers as Chargers
    from fleet_sim.warehouse.rmf.chargers import ChargerState as ChargerState
    from fleet_sim.warehouse.rmf.slotcars import CancelCharge as CancelCharge
    from fleet_sim.warehouse.rmf.slotcars import FollowWaypoints as FollowWaypoints
    from fleet_sim.warehouse.rmf.slotcars import Pause as Pause
    from fleet_sim.warehouse.rmf.slotcars import PauseSlotcar as PauseSlotcar
    from fleet_sim.warehouse.rmf.slotcars import RequestCharge as RequestCharge
    from fleet_sim.warehouse.rmf.slotcars import SetSlotcarMode as SetSlotcarMode
    from fleet_sim.warehouse.rmf.slotcars import SlotcarMode as SlotcarMode
    from fleet_sim.warehouse.rmf.slotcars import Slotcars as Slotcars
    from fleet_sim.warehouse.rmf.slotcars import SlotcarSettings as SlotcarSettings
    from fleet_sim.warehouse.rmf.slotcars import Waypoint as Waypoint
else:
    __all__, __getattr__, __dir__ = lazy(globals())
