"""The factsheet of a vehicle: what it is, its limits, and the actions and fields that it understands."""

from __future__ import annotations

from typing import Any

from fleet_sim.entities import drive
from fleet_sim.gate.data import LONGEST_TEXT
from fleet_sim.vda5050.desk import VehicleDesk
from fleet_sim.vda5050.legs import drives_sideways
from fleet_sim.vda5050.vehicle import Vehicle
from fleet_sim.vda5050.wire.orders import MOST_ACTIONS, MOST_NODES, MOST_PARAMETERS, MOST_POINTS, MOST_ZONES
from fleet_sim.vda5050.wire.shapes import LONGEST_ID
from fleet_sim.vda5050.work.action import VehicleAction
from fleet_sim.vda5050.zones import SUPPORTED

FASTEST = 1e6
"""What is told of a robot without a limit."""
HEAVIEST = 1e6
"""In kg: robots here carry anything."""


def factsheet_values(vehicle: Vehicle, desk: VehicleDesk) -> dict[str, Any]:
    """Return the values of a factsheet, by our names and without the header."""
    third = vehicle.version.is_third
    kinematics = "OMNI" if drives_sideways(vehicle) else "DIFF"
    return {
        "typeSpecification": {
            "seriesName": f"fleet_sim {vehicle.agent.name or 'robot'}",
            # Version 3 has other words for the two.
            "agvKinematic": {"OMNI": "OMNIDIRECTIONAL", "DIFF": "DIFFERENTIAL"}[kinematics] if third else kinematics,
            "kinematics": {"OMNI": "OMNIDIRECTIONAL", "DIFF": "DIFFERENTIAL"}[kinematics],
            "agvClass": "CARRIER",
            "maxLoadMass": HEAVIEST,
            "localizationTypes": ["NATURAL"],
            "navigationTypes": ["VIRTUAL_LINE_GUIDED"],
            "supportedZones": list(SUPPORTED),
        },
        "physicalParameters": _physical(vehicle),
        "protocolLimits": _limits(vehicle),
        "protocolFeatures": _features(vehicle, desk),
        "agvGeometry": {},
        "loadSpecification": {},
    }


def _physical(vehicle: Vehicle) -> dict[str, float]:
    """Return size (m), speeds (m/s, rad/s) and accelerations (m/s2) of a vehicle; no limit is told as FASTEST."""
    speed, accel = (min(limit, FASTEST) for limit in drive.limits_ahead(vehicle.world, vehicle.row))
    x, y, z = vehicle.size
    return {
        "speedMin": 0.0,
        "speedMax": speed,
        "accelerationMax": accel,
        "decelerationMax": accel,
        "heightMin": z,
        "heightMax": z,
        # Along the x axis of the robot is its length, as in loads.
        "width": y,
        "length": x,
        "maximumAngularSpeed": min(float(vehicle.world.motion.angular_limit[vehicle.row]), FASTEST),
    }


def _limits(vehicle: Vehicle) -> dict[str, Any]:
    """Return the longest texts and arrays that are taken in, and the shortest times between messages, in s."""
    settings, dt = vehicle.settings, vehicle.world.clock.dt
    rate = settings.visualization_rate
    lengths = {
        "order.nodes": MOST_NODES,
        "order.edges": MOST_NODES,
        "node.actions": MOST_ACTIONS,
        "edge.actions": MOST_ACTIONS,
        "actions.actionsParameters": MOST_PARAMETERS,
        "instantActions": MOST_ACTIONS,
        "trajectory.knotVector": 2 * MOST_POINTS,
        "trajectory.controlPoints": MOST_POINTS,
    }
    if vehicle.version.is_third:
        lengths["zoneSet.zones"] = MOST_ZONES
    return {
        "maxStringLens": {
            "msgLen": LONGEST_TEXT,
            "topicSerialLen": 100,
            "topicElemLen": 100,
            "idLen": LONGEST_ID,
            "idNumericalOnly": False,
            "enumLen": LONGEST_ID,
            "loadIdLen": LONGEST_ID,
        },
        "maxArrayLens": lengths,
        "timing": {
            "minOrderInterval": dt,
            "minStateInterval": dt,
            # In whole steps, as they are sent.
            "defaultStateInterval": vehicle.steps_of(settings.state_interval) * dt,
            # A rate of 0 sends none, so there is no time between two.
            "visualizationInterval": vehicle.steps_of(1.0 / rate) * dt if rate > 0.0 else None,
        },
    }


OPTIONAL = {
    "order.nodes.nodePosition.theta": "turns to it",
    "order.nodes.nodePosition.allowedDeviationXY": "of the first node of an order; all others are passed exactly",
    "order.nodes.nodePosition.allowedDeviationTheta": "turns only where it is off by more",
    "order.edges.maxSpeed": "not for vehicles in the traffic of a site",
    "order.edges.orientation": "0 and pi; any for omnidirectional vehicles",
    "order.edges.trajectory": "driven as it is",
}


def _features(vehicle: Vehicle, desk: VehicleDesk) -> dict[str, Any]:
    offer = desk.offer_of(vehicle)
    return {
        "optionalParameters": [
            {"parameter": name, "support": "SUPPORTED", "description": text} for name, text in OPTIONAL.items()
        ],
        "agvActions": [_action(vehicle, name, action) for name, action in offer.actions.items()],
    }


def _action(vehicle: Vehicle, name: str, action: VehicleAction) -> dict[str, Any]:
    """Return what a vehicle says of an action that it offers, in the words of its version of the standard."""
    third = vehicle.version.is_third
    # Version 3 has lists as values of parameters.
    kinds = {"LABELS": "ARRAY" if third else "STRING"}
    return {
        "actionType": name,
        "actionDescription": action.doc or None,
        "actionScopes": list(action.scopes),
        "actionParameters": [
            {
                "key": item.key,
                "valueDataType": kinds.get(item.kind, item.kind),
                "description": item.doc or None,
                "isOptional": item.optional,
            }
            for item in action.parameters
        ],
        "blockingTypes": ["NONE", "SOFT", "SINGLE", "HARD"],
        "pauseAllowed": "true" if action.can_pause else "false",
        "cancelAllowed": "true" if action.can_cancel else "false",
    }
