"""VDA 5050: robots that a master control drives over MQTT. `connect_vehicles` connects those of a simulation.

`desk.py` has all vehicles of a simulation, `pilot.py` carries out the order of one. `messages.py` has the messages of
each version, `connection.py` the connection to the broker, and `actions.py` the actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.warehouse.vda5050.actions import VEHICLE_ACTIONS as VEHICLE_ACTIONS
    from fleet_sim.warehouse.vda5050.actions import ActionParameter as ActionParameter
    from fleet_sim.warehouse.vda5050.actions import VehicleAction as VehicleAction
    from fleet_sim.warehouse.vda5050.connection import connect_vehicles as connect_vehicles
    from fleet_sim.warehouse.vda5050.desk import VehicleDesk as VehicleDesk
    from fleet_sim.warehouse.vda5050.desk import offer_vehicles as offer_vehicles
    from fleet_sim.warehouse.vda5050.session import VehicleSession as VehicleSession
    from fleet_sim.warehouse.vda5050.vehicle import MapSettings as MapSettings
    from fleet_sim.warehouse.vda5050.vehicle import Vda5050RobotSettings as Vda5050RobotSettings
    from fleet_sim.warehouse.vda5050.vehicle import Vda5050Settings as Vda5050Settings
    from fleet_sim.warehouse.vda5050.vehicle import Vehicle as Vehicle
    from fleet_sim.warehouse.vda5050.vehicle import VehicleFleetSettings as VehicleFleetSettings
else:
    __all__, __getattr__, __dir__ = lazy(globals())
