"""Equipment of buildings: doors, lifts, conveyors, lights, dispensers and ingestors. Import these names from here.

Each kind is a file: its settings, commands, columns and the feature that connects it to a simulation. `building.py`
builds doors and lifts, `storeys.py` finds routes that take lifts, `fittings.py` has what doors and lifts share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.equipment.building import build_door as build_door
    from fleet_sim.equipment.building import build_lift as build_lift
    from fleet_sim.equipment.conveyor import Conveyors as Conveyors
    from fleet_sim.equipment.conveyor import ConveyorSettings as ConveyorSettings
    from fleet_sim.equipment.conveyor import RunConveyors as RunConveyors
    from fleet_sim.equipment.door import DoorHandle as DoorHandle
    from fleet_sim.equipment.door import DoorKind as DoorKind
    from fleet_sim.equipment.door import DoorMode as DoorMode
    from fleet_sim.equipment.door import Doors as Doors
    from fleet_sim.equipment.door import DoorSettings as DoorSettings
    from fleet_sim.equipment.door import MoveDoors as MoveDoors
    from fleet_sim.equipment.lift import CallLift as CallLift
    from fleet_sim.equipment.lift import LiftDoorSettings as LiftDoorSettings
    from fleet_sim.equipment.lift import LiftFloorSettings as LiftFloorSettings
    from fleet_sim.equipment.lift import LiftHandle as LiftHandle
    from fleet_sim.equipment.lift import Lifts as Lifts
    from fleet_sim.equipment.lift import LiftSettings as LiftSettings
    from fleet_sim.equipment.lift import RequestLift as RequestLift
    from fleet_sim.equipment.light import Lights as Lights
    from fleet_sim.equipment.light import LightSettings as LightSettings
    from fleet_sim.equipment.light import SwitchLights as SwitchLights
    from fleet_sim.equipment.storeys import StoreyRouter as StoreyRouter
    from fleet_sim.equipment.storeys import offer_building_routes as offer_building_routes
    from fleet_sim.equipment.workcell import ServeRobot as ServeRobot
    from fleet_sim.equipment.workcell import WorkcellKind as WorkcellKind
    from fleet_sim.equipment.workcell import Workcells as Workcells
    from fleet_sim.equipment.workcell import WorkcellSettings as WorkcellSettings
else:
    __all__, __getattr__, __dir__ = lazy(globals())
