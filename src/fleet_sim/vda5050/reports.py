"""What vehicles tell: the values of their states and visualizations, by our names; tables make messages of them.

`wire/states.py` says what each version of the standard calls these values; those that a version has no field for are
left out there.
"""

from __future__ import annotations

import math
from typing import Any

from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.vda5050.context import VehicleContext
from fleet_sim.vda5050.order import OrderEdge, OrderNode
from fleet_sim.vda5050.vehicle import ActionEntry, Vehicle, box_of


def state_values(vehicle: Vehicle, context: VehicleContext) -> dict[str, Any]:
    """Return the values of a state, without the header."""
    state, third = vehicle.state, vehicle.version.is_third
    instants = [_action_state(entry) for entry in state.instants]
    actions = [_action_state(entry) for entry in state.actions]
    return {
        "maps": [
            {"mapId": item.map_id, "mapVersion": item.version, "mapStatus": "ENABLED" if item.enabled else "DISABLED"}
            for item in state.maps
        ],
        "orderId": state.order_id,
        "orderUpdateId": state.update_id,
        "lastNodeId": state.last_node,
        "lastNodeSequenceId": state.last_sequence,
        "driving": vehicle.moves,
        "paused": state.paused,
        "newBaseRequest": needs_base(vehicle),
        "distanceSinceLastNode": vehicle.since_node,
        # Nobody drives vehicles by hand here.
        "operatingMode": "AUTOMATIC",
        "nodeStates": [_node_state(node, vehicle.version.number) for node in state.nodes],
        "edgeStates": [_edge_state(edge) for edge in state.edges],
        **motion_values(vehicle),
        "loads": _loads(vehicle),
        # Up to 2.x instant actions are in one list with those of the order.
        "actionStates": actions if third else actions + instants,
        "instantActionStates": instants,
        "batteryState": _battery(vehicle, context),
        "errors": [fault.values(third) for fault in state.faults],
        "information": [],
        # No emergency stop is simulated.
        "safetyState": {"eStop": "NONE", "fieldViolation": False},
        **_zone_values(vehicle),
    }


def _zone_values(vehicle: Vehicle) -> dict[str, Any]:
    """Return the zone sets of a vehicle and its requests to enter zones, as a state message has them."""
    return {
        "zoneSets": [
            {
                "zoneSetId": item.zone_set_id,
                "mapId": item.map_id,
                "zoneSetStatus": "ENABLED" if item.enabled else "DISABLED",
            }
            for item in vehicle.state.zone_sets
        ],
        "zoneRequests": [
            {
                "requestId": item.request_id,
                "requestType": "ACCESS",
                "zoneId": item.zone_id,
                "zoneSetId": item.zone_set_id,
                "requestStatus": item.status,
            }
            for item in vehicle.state.requests
        ],
    }


def motion_values(vehicle: Vehicle) -> dict[str, Any]:
    """Return the values of position and velocity."""
    x, y = vehicle.place
    vx, vy, omega = vehicle.velocity
    return {
        "agvPosition": {
            "x": x,
            "y": y,
            "theta": vehicle.heading,
            "mapId": vehicle.state.map_id,
            "positionInitialized": bool(vehicle.state.map_id),
        },
        "velocity": {"vx": vx, "vy": vy, "omega": omega},
    }


def needs_base(vehicle: Vehicle) -> bool:
    """Return whether the vehicle is about to brake for the end of its base, with a horizon behind that."""
    state = vehicle.state
    if state.leg is None or not state.nodes or state.nodes[-1].released:
        return False
    released = [node for node in state.nodes if node.released]
    (x, y), (vx, vy, _) = vehicle.place, vehicle.velocity
    left = 0.0
    for node in released:
        left += trig.hypot_of((node.x or 0.0) - x, node.y - y)
        x, y = node.x or 0.0, node.y
    accel = float(vehicle.world.motion.linear_accel[vehicle.row])
    braking = (vx * vx + vy * vy) / (2.0 * accel) if 0.0 < accel < math.inf else 0.0
    # A second more than it takes to brake: what an answer needs.
    return left <= braking + trig.hypot_of(vx, vy)


def _node_state(node: OrderNode, version: str) -> dict[str, Any]:
    # Up to 2.0 a position needs one, also where the order says nothing of it.
    theta = 0.0 if node.theta is None and version == "2.0.0" else node.theta
    return {
        "nodeId": node.node_id,
        "sequenceId": node.sequence,
        "nodeDescription": node.description or None,
        "released": node.released,
        "nodePosition": {"x": node.x, "y": node.y, "theta": theta, "mapId": node.map_id},
    }


def _edge_state(edge: OrderEdge) -> dict[str, Any]:
    """Return an edge that is still ahead, as a state message has it; lengths in m."""
    curve = edge.trajectory
    return {
        "edgeId": edge.edge_id,
        "sequenceId": edge.sequence,
        "edgeDescription": edge.description or None,
        "released": edge.released,
        "trajectory": None
        if curve is None
        else {
            "degree": curve.degree,
            "knotVector": curve.knots,
            "controlPoints": [{"x": x, "y": y, "weight": weight} for x, y, weight in curve.points],
        },
    }


def _action_state(entry: ActionEntry) -> dict[str, Any]:
    return {
        "actionId": entry.action.action_id,
        "actionType": entry.action.action_type,
        "actionDescription": entry.action.description or None,
        "actionStatus": entry.status,
        "resultDescription": entry.result or None,
    }


def _loads(vehicle: Vehicle) -> list[dict[str, Any]]:
    """Return what a vehicle carries, as a state message has it: boxes in the vehicle's frame, in m, masses in kg."""
    world, heading = vehicle.world, vehicle.heading
    x, y, z = world.position[vehicle.row].tolist()
    loads = []
    for load in vehicle.loads:
        middle, (length, width, height) = box_of(world, load.row)
        dx, dy = middle[0] - x, middle[1] - y
        # From the axes of the map to those of the vehicle.
        sin, cos = trig.sin_cos_of(heading)
        loads.append(
            {
                "loadId": load.name or f"#{load.object_id}",
                "loadType": vehicle.state.load_types.get(load.object_id),
                "boundingBoxReference": {
                    "x": dx * cos + dy * sin,
                    "y": dy * cos - dx * sin,
                    # The middle of the lower side of the box.
                    "z": middle[2] - 0.5 * height - z,
                    # Length and width are along the axes of the load.
                    "theta": math.remainder(quaternions.yaw_of(world.orientation, load.row) - heading, 2.0 * math.pi),
                },
                "loadDimensions": {"length": length, "width": width, "height": height},
                "weight": load.mass,
            }
        )
    return loads


def _battery(vehicle: Vehicle, context: VehicleContext) -> dict[str, Any]:
    """Return charge (%), voltage (V) and current (A) of a vehicle's battery; a vehicle without one is always full."""
    battery, row = context.battery(vehicle.row), vehicle.row
    if battery is None:
        # Each state has to tell one: without a battery a robot never runs out.
        return {"batteryCharge": 100.0, "charging": False}
    voltage = float(battery.voltage[row])
    return {
        "batteryCharge": 100.0 * float(battery.energy[row] / battery.full_energy[row]),
        "batteryVoltage": voltage,
        "batteryCurrent": float(battery.power[row]) / voltage,
        "charging": bool(battery.charging[row]),
    }
