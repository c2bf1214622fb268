"""What vehicles report: states, visualizations and the factsheet, in each version of the standard.

`messages.py` says what each version of the standard calls these values; those that a version has no field for are
left out there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools
from fleet_sim.base.limits import LONGEST_TEXT
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.warehouse.vda5050 import messages
from fleet_sim.warehouse.vda5050.actions import VehicleAction
from fleet_sim.warehouse.vda5050.desk import VehicleDesk
from fleet_sim.warehouse.vda5050.driving import drives_sideways
from fleet_sim.warehouse.vda5050.order import SUPPORTED, OrderEdge, OrderNode
from fleet_sim.warehouse.vda5050.vehicle import ActionEntry, Vehicle, VehicleContext, VehicleIdentity, box_of
from fleet_sim.world.conditions import EmergencyStop, OperatingMode, conditions_of, told_charge
from fleet_sim.world.features import FAULTS
from fleet_sim.world.world import World


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
        "nodeStates": [_node_state(node, vehicle.version.number) for node in state.nodes],
        "edgeStates": [_edge_state(edge) for edge in state.edges],
        **motion_values(vehicle),
        "loads": _loads(vehicle),
        # Up to 2.x instant actions are in one list with those of the order.
        "actionStates": actions if third else actions + instants,
        "instantActionStates": instants,
        "batteryState": _battery(vehicle, context),
        "errors": [fault.values(third) for fault in (*context.disturbances_of(vehicle), *state.faults)],
        "information": [],
        **_conditions(vehicle),
        **_zone_values(vehicle),
    }


def _conditions(vehicle: Vehicle) -> dict[str, Any]:
    """Return in which mode a vehicle is, and what holds it for safety, as a state message has it."""
    conditions, row = conditions_of(vehicle.world), vehicle.row
    mode, stop, violated = OperatingMode.AUTOMATIC, EmergencyStop.NONE, False
    if conditions is not None:
        mode = OperatingMode.from_code(int(conditions.operating_mode[row]))
        stop = EmergencyStop.from_code(int(conditions.emergency_stop[row]))
        violated = bool(conditions.faults[row] & FAULTS["field_violation"])
        if vehicle.version.is_third and stop is EmergencyStop.AUTOACK:
            # Version 3 has no such stop: nobody has to release it, and the field says why the vehicle stands.
            stop, violated = EmergencyStop.NONE, True
    return {
        "operatingMode": mode.value.upper(),
        "safetyState": {"eStop": stop.value.upper(), "fieldViolation": violated},
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
    x, y, heading = vehicle.believed
    vx, vy, omega = vehicle.velocity
    quality = vehicle.pose_quality
    known = {} if quality is None else {"localizationScore": quality.score, "deviationRange": quality.deviation}
    return {
        "agvPosition": {
            "x": x,
            "y": y,
            "theta": heading,
            "mapId": vehicle.state.map_id,
            "positionInitialized": bool(vehicle.state.map_id) and (quality is None or quality.localized),
            **known,
        },
        "velocity": {"vx": vx, "vy": vy, "omega": omega},
    }


def needs_base(vehicle: Vehicle) -> bool:
    """Return whether the vehicle stands at the end of its base, or soon brakes for it, with a horizon behind that."""
    state = vehicle.state
    if not state.nodes or state.nodes[-1].released:
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
    rows, voltage = np.array([row]), float(battery.voltage[row])
    charges = battery.energy[rows] / battery.full_energy[rows]
    return {
        "batteryCharge": 100.0 * float(told_charge(vehicle.world, rows, charges)[0]),
        "batteryVoltage": voltage,
        "batteryCurrent": float(battery.power[row]) / voltage,
        "charging": bool(battery.charging[row]),
    }


# The factsheet of a vehicle: what it is, its limits, and the actions and fields that it understands.


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
        "order.nodes": messages.MOST_NODES,
        "order.edges": messages.MOST_NODES,
        "node.actions": messages.MOST_ACTIONS,
        "edge.actions": messages.MOST_ACTIONS,
        "actions.actionsParameters": messages.MOST_PARAMETERS,
        "instantActions": messages.MOST_ACTIONS,
        "trajectory.knotVector": 2 * messages.MOST_POINTS,
        "trajectory.controlPoints": messages.MOST_POINTS,
    }
    if vehicle.version.is_third:
        lengths["zoneSet.zones"] = messages.MOST_ZONES
    return {
        "maxStringLens": {
            "msgLen": LONGEST_TEXT,
            "topicSerialLen": 100,
            "topicElemLen": 100,
            "idLen": messages.LONGEST_ID,
            "idNumericalOnly": False,
            "enumLen": messages.LONGEST_ID,
            "loadIdLen": messages.LONGEST_ID,
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
    "nodes.nodePosition": "a node without one is the station of its name",
    "nodes.nodePosition.theta": "turns to it",
    "nodes.nodePosition.allowedDeviationXY": "of the first node of an order; all others are passed exactly",
    "nodes.nodePosition.allowedDeviationTheta": "turns only where it is off by more",
    "edges.maxHeight": "compared with the vehicle and its loads",
    "edges.maxRotationSpeed": "compared with how fast the vehicle turns",
}
"""What a master control must not send to vehicles that do not list it."""
OPTIONAL_ALONE = {
    "edges.maxSpeed": "",
    "edges.orientation": "0 and pi; any for omnidirectional vehicles",
    "edges.orientationType": "",
    "edges.trajectory": "driven as it is",
    "edges.corridor": "never left, as the vehicle stays on the edge",
}
"""The same, of vehicles that no traffic drives."""
IN_THIRD = {"edges.maxSpeed": "edges.maximumSpeed", "edges.maxHeight": "edges.maximumMobileRobotHeight"}


def _features(vehicle: Vehicle, desk: VehicleDesk) -> dict[str, Any]:
    offer, version = desk.offer_of(vehicle), vehicle.version
    alone = OPTIONAL_ALONE if desk.context.traffic_of(vehicle.row) is None else {}
    known = {
        name: text for name, text in (OPTIONAL | alone).items() if name != "edges.corridor" or version.number != "2.0.0"
    }
    names = IN_THIRD if version.is_third else {}
    return {
        "optionalParameters": [
            {"parameter": f"order.{names.get(name, name)}", "support": "SUPPORTED", "description": text or None}
            for name, text in known.items()
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


# VehicleOutbox: turns what vehicles have to tell into bodies of messages, in the step, for whoever sends them.


MOVES_SQUARED = 1e-6
"""Squared speed above which a vehicle counts as driving."""


class VehicleBody(NamedTuple):
    """The body of a message: JSON without the opening brace and the header."""

    identity: VehicleIdentity
    topic: str
    text: str


Sink = Callable[[list[VehicleBody]], object]


class VehicleOutbox:
    """Looks at all vehicles at the end of a step, and hands their messages to `sink`.

    States are sent on changes and at the latest after `state_interval`; visualizations at their rate, spread over the
    vehicles. Times are simulated ones; whoever sends the messages adds wall time.
    """

    def __init__(self, desk: VehicleDesk, world: World, sink: Sink) -> None:
        self._desk, self._world, self._sink = desk, world, sink
        self._bodies = {name: version.body("state") for name, version in messages.VERSIONS.items()}
        self._factsheets = {name: version.body("factsheet") for name, version in messages.VERSIONS.items()}
        self._due: dict[str, int] = {}
        self._moved: Bools = np.empty(0, bool)

    def publish(self, dt: float) -> None:
        """Hand over the messages of this step."""
        vehicles = self._desk.vehicles
        self._note_changes(vehicles)
        tick, found = self._world.clock.tick, list[VehicleBody]()
        for index, vehicle in enumerate(vehicles):
            key = vehicle.identity.prefix
            if vehicle.changed or tick >= self._due.get(key, 0):
                # First: what changes while it is written belongs to the next one.
                vehicle.changed = False
                self._due[key] = tick + vehicle.steps_of(vehicle.settings.state_interval)
                found.append(self._state(vehicle))
            if vehicle.wants_factsheet:
                vehicle.wants_factsheet = False
                shape = self._factsheets[vehicle.identity.version]
                found.append(_body(vehicle, "factsheet", shape.write(factsheet_values(vehicle, self._desk))))
            if vehicle.settings.visualization_rate > 0.0:
                self._visualize(vehicle, index, tick, found)
        if found:
            self._sink(found)

    def _note_changes(self, vehicles: list[Vehicle]) -> None:
        """Mark vehicles that began to drive or stopped, or that need more of their order."""
        world, rows = self._world, np.array([vehicle.row for vehicle in vehicles], np.int64)
        velocity, spin = world.velocity[rows], world.angular_velocity[rows, 2]
        moved_mask: Bools = velocity[:, 0] ** 2 + velocity[:, 1] ** 2 > MOVES_SQUARED
        moved_mask |= np.abs(spin) > 1e-3
        if len(moved_mask) != len(self._moved):
            self._moved = np.zeros(len(moved_mask), bool)
        for index in np.flatnonzero(moved_mask != self._moved).tolist():
            vehicles[index].changed = True
        self._moved = moved_mask
        for vehicle in vehicles:
            wanted = needs_base(vehicle)
            vehicle.changed |= wanted != vehicle.asked_for_base
            vehicle.asked_for_base = wanted

    def _state(self, vehicle: Vehicle) -> VehicleBody:
        shape = self._bodies[vehicle.identity.version]
        return _body(vehicle, "state", shape.write(state_values(vehicle, self._desk.context)))

    def _visualize(self, vehicle: Vehicle, index: int, tick: int, found: list[VehicleBody]) -> None:
        period = vehicle.steps_of(1.0 / vehicle.settings.visualization_rate)
        # Not all vehicles in one step: a broker likes an even load.
        if (tick + index) % period:
            return
        found.append(VehicleBody(vehicle.identity, "visualization", _visualization(vehicle)))


def _body(vehicle: Vehicle, topic: str, message: dict[str, object]) -> VehicleBody:
    return VehicleBody(vehicle.identity, topic, json.dumps(message, separators=(",", ":"))[1:])


def _visualization(vehicle: Vehicle) -> str:
    """Return the body of a visualization; written by hand, as it is by far the most frequent message."""
    x, y, heading = vehicle.believed
    vx, vy, omega = vehicle.velocity
    third = vehicle.version.is_third
    state, quality = vehicle.state, vehicle.pose_quality
    localized = state.map_id and (quality is None or quality.localized)
    return (
        f'"{"mobileRobotPosition" if third else "agvPosition"}":'
        f'{{"x":{x:.4f},"y":{y:.4f},"theta":{heading:.5f},'
        f'"mapId":{json.dumps(state.map_id)},"{"localized" if third else "positionInitialized"}":'
        f'{"true" if localized else "false"}}},"velocity":{{"vx":{vx:.4f},"vy":{vy:.4f},"omega":{omega:.5f}}}}}'
    )
