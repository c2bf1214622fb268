"""Equipment of buildings: doors, lifts, conveyors, lights, dispensers and ingestors. Import these names from here.

Each kind is one file: settings, columns, commands and the feature that connects it to a simulation. `building.py`
builds doors and lifts, and reads their sections of a scenario; `storeys.py` finds routes that take lifts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.warehouse.equipment.building import build_door as build_door
    from fleet_sim.warehouse.equipment.building import build_lift as build_lift
    from fleet_sim.warehouse.equipment.conveyor import Conveyors as Conveyors
    from fleet_sim.warehouse.equipment.conveyor import ConveyorSettings as ConveyorSettings
    from fleet_sim.warehouse.equipment.conveyor import RunConveyors as RunConveyors
    from fleet_sim.warehouse.equipment.door import DoorHandle as DoorHandle
    from fleet_sim.warehouse.equipment.door import DoorKind as DoorKind
    from fleet_sim.warehouse.equipment.door import DoorMode as DoorMode
    from fleet_sim.warehouse.equipment.door import Doors as Doors
    from fleet_sim.warehouse.equipment.door import DoorSettings as DoorSettings
    from fleet_sim.warehouse.equipment.door import MoveDoors as MoveDoors
    from fleet_sim.warehouse.equipment.lift import CallLift as CallLift
    from fleet_sim.warehouse.equipment.lift import LiftDoorSettings as LiftDoorSettings
    from fleet_sim.warehouse.equipment.lift import LiftFloorSettings as LiftFloorSettings
    from fleet_sim.warehouse.equipment.lift import LiftHandle as LiftHandle
    from fleet_sim.warehouse.equipment.lift import Lifts as Lifts
    from fleet_sim.warehouse.equipment.lift import LiftSettings as LiftSettings
    from fleet_sim.warehouse.equipment.lift import RequestLift as RequestLift
    from fleet_sim.warehouse.equipment.light import Lights as Lights
    from fleet_sim.warehouse.equipment.light import LightSettings as LightSettings
    from fleet_sim.warehouse.equipment.light import SwitchLights as SwitchLights
    from fleet_sim.warehouse.equipment.storeys import StoreyRouter as StoreyRouter
    from fleet_sim.warehouse.equipment.storeys import offer_building_routes as offer_building_routes
    from fleet_sim.warehouse.equipment.workcell import ServeRobot as ServeRobot
    from fleet_sim.warehouse.equipment.workcell import WorkcellKind as WorkcellKind
    from fleet_sim.warehouse.equipment.workcell import Workcells as Workcells
    from fleet_sim.warehouse.equipment.workcell import WorkcellSettings as WorkcellSettings
else:
    __all__, __getattr__, __dir__ = lazy(globals())
