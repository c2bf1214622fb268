"""VDA 5050: robots that a master control drives over MQTT. `connect_vehicles` connects those of a simulation.

`desk.py` has all vehicles of a simulation, `pilot.py` carries out the order of one. `wire/` reads and writes messages
of each version, `link/` is the connection to the broker, and `work/` has the actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.vda5050.desk import VehicleDesk as VehicleDesk
    from fleet_sim.vda5050.link.session import VehicleSession as VehicleSession
    from fleet_sim.vda5050.link.session import connect_vehicles as connect_vehicles
    from fleet_sim.vda5050.section import offer_vehicles as offer_vehicles
    from fleet_sim.vda5050.settings import MapSettings as MapSettings
    from fleet_sim.vda5050.settings import Vda5050RobotSettings as Vda5050RobotSettings
    from fleet_sim.vda5050.settings import Vda5050Settings as Vda5050Settings
    from fleet_sim.vda5050.settings import VehicleFleetSettings as VehicleFleetSettings
    from fleet_sim.vda5050.vehicle import Vehicle as Vehicle
    from fleet_sim.vda5050.work.action import ActionParameter as ActionParameter
    from fleet_sim.vda5050.work.action import VehicleAction as VehicleAction
    from fleet_sim.vda5050.work.offer import VEHICLE_ACTIONS as VEHICLE_ACTIONS
else:
    __all__, __getattr__, __dir__ = lazy(globals())
