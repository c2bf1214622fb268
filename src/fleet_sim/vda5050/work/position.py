"""initPosition, from 3.0 on initializePosition: where the vehicle is, on which map."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fleet_sim.entities import attachments
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.vda5050.settings import PositionPolicy
from fleet_sim.vda5050.vehicle import ActionEntry, Vehicle
from fleet_sim.vda5050.work.action import INSTANT, NODE, ActionParameter, VehicleAction


class InitPosition(VehicleAction):
    """Puts the robot at a pose on a map, or only confirms that it is there (`init_position` of its fleet)."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT, NODE)
    versions: ClassVar[tuple[str, ...]] = ("2.0", "2.1")
    doc = "Set pose, map and last node."
    parameters: ClassVar[tuple[ActionParameter, ...]] = (
        ActionParameter("x", "NUMBER", doc="in m"),
        ActionParameter("y", "NUMBER", doc="in m"),
        ActionParameter("theta", "NUMBER", doc="in rad"),
        ActionParameter("mapId", "STRING"),
        ActionParameter("lastNodeId", "STRING", True),
    )

    def check(self, vehicle: Vehicle, parameters: Mapping[str, Any]) -> str:
        """Refuse poses beyond the world and unknown maps."""
        numbers = [parameters[key] for key in ("x", "y", "theta")]
        extent = vehicle.world.extent
        if not all(math.isfinite(number) and abs(number) <= extent for number in numbers):
            return f"x, y, theta: the world ends {extent:g} m from its origin"
        if not any(item.map_id == parameters["mapId"] and item.enabled for item in vehicle.state.maps):
            return f"map {parameters['mapId']!r} is not enabled here"
        return ""

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Place the robot, or compare."""
        given, state = entry.action.parameters, vehicle.state
        goal = (float(given["x"]), float(given["y"]), math.remainder(float(given["theta"]), 2.0 * math.pi))
        reason = self._place(vehicle, goal)
        if reason:
            self.fail(entry, reason)
            return
        state.map_id = given["mapId"]
        vehicle.pass_node(given.get("lastNodeId", ""), 0)
        vehicle.changed = True
        self.finish(entry)

    def _place(self, vehicle: Vehicle, goal: tuple[float, float, float]) -> str:
        world, rows = vehicle.world, np.array([vehicle.row])
        x, y = vehicle.place
        gap = trig.hypot_of(goal[0] - x, goal[1] - y)
        turn = abs(math.remainder(goal[2] - vehicle.heading, 2.0 * math.pi))
        if gap <= 1e-6 and turn <= 1e-6:
            return ""
        if vehicle.settings.init_position is PositionPolicy.CONFIRM:
            near = gap <= vehicle.settings.node_tolerance and turn <= max(vehicle.settings.heading_tolerance, 0.1)
            return "" if near else f"it stands {gap:.2f} m and {turn:.2f} rad away from there"
        if vehicle.moves or self.context.traffic_of(vehicle.row) is not None or world.parent[vehicle.row] >= 0:
            return "it cannot be placed elsewhere while it drives, takes part in the traffic or is carried"
        place = np.array([[goal[0], goal[1], world.position[vehicle.row, 2]]])
        world.place(rows, place, quaternions.from_yaws(np.array([goal[2]])), preserve_velocity=False)
        if not world.in_step:
            attachments.follow_rows(world, rows)
        return ""


class InitializePosition(InitPosition):
    """The same, as it is called from 3.0 on."""

    versions: ClassVar[tuple[str, ...]] = ("3.0",)
