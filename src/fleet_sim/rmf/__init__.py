"""Slotcars: robots that follow the paths of a fleet manager as those of Open-RMF's simulations do.

`feature.py` connects slotcars to a simulation; `slotcars.py` and `law.py` drive them. The topics and services by which
a fleet manager talks to them are in `ros/rmf`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.rmf.chargers import Charger as Charger
    from fleet_sim.rmf.chargers import Chargers as Chargers
    from fleet_sim.rmf.chargers import ChargerState as ChargerState
    from fleet_sim.rmf.commands import CancelCharge as CancelCharge
    from fleet_sim.rmf.commands import FollowWaypoints as FollowWaypoints
    from fleet_sim.rmf.commands import PauseSlotcar as PauseSlotcar
    from fleet_sim.rmf.commands import RequestCharge as RequestCharge
    from fleet_sim.rmf.commands import SetSlotcarMode as SetSlotcarMode
    from fleet_sim.rmf.settings import SlotcarSettings as SlotcarSettings
    from fleet_sim.rmf.slotcars import Slotcars as Slotcars
    from fleet_sim.rmf.states import Pause as Pause
    from fleet_sim.rmf.states import SlotcarMode as SlotcarMode
    from fleet_sim.rmf.states import Waypoint as Waypoint
else:
    __all__, __getattr__, __dir__ = lazy(globals())
