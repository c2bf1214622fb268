"""Equipment of buildings: doors, lifts, conveyors, lights, dispensers and ingestors. Import these names from here.

Each kind has its settings, columns, commands and a `..._feature.py`, which connects it to a simulation; doors and lifts
also have sections of a scenario. `storeys.py` finds routes that take lifts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.equipment.conveyor_commands import RunConveyors as RunConveyors
    from fleet_sim.equipment.conveyor_settings import ConveyorSettings as ConveyorSettings
    from fleet_sim.equipment.conveyors import Conveyors as Conveyors
    from fleet_sim.equipment.door import DoorHandle as DoorHandle
    from fleet_sim.equipment.door_building import build_door as build_door
    from fleet_sim.equipment.door_commands import MoveDoors as MoveDoors
    from fleet_sim.equipment.door_settings import DoorKind as DoorKind
    from fleet_sim.equipment.door_settings import DoorMode as DoorMode
    from fleet_sim.equipment.door_settings import DoorSettings as DoorSettings
    from fleet_sim.equipment.doors import Doors as Doors
    from fleet_sim.equipment.lift import LiftHandle as LiftHandle
    from fleet_sim.equipment.lift_building import build_lift as build_lift
    from fleet_sim.equipment.lift_commands import CallLift as CallLift
    from fleet_sim.equipment.lift_commands import RequestLift as RequestLift
    from fleet_sim.equipment.lift_settings import LiftDoorSettings as LiftDoorSettings
    from fleet_sim.equipment.lift_settings import LiftFloorSettings as LiftFloorSettings
    from fleet_sim.equipment.lift_settings import LiftSettings as LiftSettings
    from fleet_sim.equipment.lifts import Lifts as Lifts
    from fleet_sim.equipment.light_commands import SwitchLights as SwitchLights
    from fleet_sim.equipment.light_settings import LightSettings as LightSettings
    from fleet_sim.equipment.lights import Lights as Lights
    from fleet_sim.equipment.storeys import StoreyRouter as StoreyRouter
    from fleet_sim.equipment.storeys import offer_building_routes as offer_building_routes
    from fleet_sim.equipment.workcell_commands import ServeRobot as ServeRobot
    from fleet_sim.equipment.workcell_settings import WorkcellKind as WorkcellKind
    from fleet_sim.equipment.workcell_settings import WorkcellSettings as WorkcellSettings
    from fleet_sim.equipment.workcells import Workcells as Workcells
else:
    __all__, __getattr__, __dir__ = lazy(globals())
