"""Equipment of buildings: doors. Import the names below from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.equipment.door import DoorHandle as DoorHandle
    from fleet_sim.equipment.door_building import build_door as build_door
    from fleet_sim.equipment.door_commands import MoveDoors as MoveDoors
    from fleet_sim.equipment.door_settings import DoorKind as DoorKind
    from fleet_sim.equipment.door_settings import DoorMode as DoorMode
    from fleet_sim.equipment.door_settings import DoorSettings as DoorSettings
    from fleet_sim.equipment.doors import Doors as Doors
else:
    __all__, __getattr__, __dir__ = lazy(globals())
