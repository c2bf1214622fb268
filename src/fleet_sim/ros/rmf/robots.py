"""Slotcars in ROS: requests for paths, modes and pauses, and the state of each robot."""

from __future__ import annotations

import math

import numpy as np
from rmf_fleet_msgs.msg import Location, ModeRequest, PathRequest, PauseRequest, RobotMode, RobotState

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.energy import EnergyColumns, energy_columns
from fleet_sim.rmf.commands import FollowWaypoints, PauseSlotcar, SetSlotcarMode
from fleet_sim.rmf.slotcars import Slotcars
from fleet_sim.rmf.states import Waypoint
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_from_msg, time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.rmf.inbox import RequestTopic, fields_from
from fleet_sim.spatial import quaternions

PATHS, MODES, PAUSES = "/robot_path_requests", "/robot_mode_requests", "/robot_pause_requests"
MODE_FIELDS = {"robot": "robot_name", "mode": "mode.mode", "request": "mode.mode_request_id"} | {
    "action": "mode.performing_action"
}
PAUSE_FIELDS = {"robot": "robot_name", "pause": "type", "request": "mode_request_id", "checkpoint": "at_checkpoint"}
"""Fields of commands, with those of the messages."""


def waypoint_from_msg(message: Location) -> Waypoint:
    """Return a place of a path."""
    return Waypoint(
        message.x,
        message.y,
        message.yaw,
        time_from_msg(message.t),
        message.approach_speed_limit,
        message.obey_approach_speed_limit,
        message.level_name,
        message.index,
    )


def waypoint_to_msg(waypoint: Waypoint) -> Location:
    """Return a place of a path as a message."""
    return Location(
        t=time_to_msg(waypoint.time),
        x=waypoint.x,
        y=waypoint.y,
        yaw=waypoint.yaw,
        obey_approach_speed_limit=waypoint.obeys,
        approach_speed_limit=waypoint.limit,
        level_name=waypoint.level,
        index=waypoint.number,
    )


class RobotTopics:
    """The topics of all slotcars.

    States on /robot_state; path, mode and pause requests become commands to the slotcar that they name. Slotcars that
    have not been on a level of the building yet are not published.
    """

    def __init__(self, bridge: Bridge, slotcars: Slotcars) -> None:
        self._bridge = bridge
        self._slotcars = slotcars
        self._publisher = bridge.robots.create_publisher(RobotState, "/robot_state", qos.STATE)
        self.topics = [
            RequestTopic(bridge, PathRequest, PATHS, self._path),
            RequestTopic(bridge, ModeRequest, MODES, self._mode),
            RequestTopic(bridge, PauseRequest, PAUSES, self._pause),
        ]

    def publish(self, now: int) -> None:
        """Publish the state of each slotcar that has been on a level; numbers go up by one with each."""
        slotcars, world = self._slotcars, self._bridge.sim.world
        rows = slotcars.rows
        rows = rows[slotcars.table.level[rows] >= 0]
        if not len(rows):
            return
        slotcars.table.sequence[rows] += 1
        if not self._publisher.get_subscription_count():
            return
        table = slotcars.table
        requests = np.maximum(table.mode_request[rows], table.pause_request[rows]).tolist()
        columns = zip(
            rows.tolist(),
            slotcars.level_names(rows),
            slotcars.shown_modes(rows),
            requests,
            _charges(energy_columns(world), rows).tolist(),
            world.position[rows, :2].tolist(),
            quaternions.yaws(world.orientation[rows]).tolist(),
            table.sequence[rows].tolist(),
            strict=True,
        )
        stamp = time_to_msg(now)
        for row, level, mode, request, charge, (x, y), yaw, number in columns:
            own = slotcars.tasks(row)
            self._publisher.publish(
                RobotState(
                    name=world.label(row),
                    task_id=own.task,
                    seq=number,
                    mode=RobotMode(mode=mode, mode_request_id=request, performing_action=own.action),
                    # A whole number of percent, rounded up, as slotcars tell it.
                    battery_percent=float(math.ceil(100.0 * charge)),
                    location=Location(t=stamp, x=x, y=y, yaw=yaw, level_name=level),
                    path=[waypoint_to_msg(one) for one in own.told],
                )
            )

    # Requests are for the robot that they name: the name of the fleet counts for nothing, as for slotcars.

    def _path(self, message: PathRequest) -> FollowWaypoints:
        path = tuple(map(waypoint_from_msg, message.path))
        return FollowWaypoints(robot=message.robot_name, task=message.task_id, path=path, source=PATHS)

    def _mode(self, message: ModeRequest) -> SetSlotcarMode:
        return SetSlotcarMode(**fields_from(message, MODE_FIELDS), source=MODES)

    def _pause(self, message: PauseRequest) -> PauseSlotcar:
        return PauseSlotcar(**fields_from(message, PAUSE_FIELDS), source=PAUSES)


def _charges(table: EnergyColumns | None, rows: Rows) -> Floats:
    """Return the states of charge (N,) of `rows`, 1 without a battery."""
    charges = np.ones(len(rows))
    if table is not None:
        have = table.present[rows]
        charges[have] = table.energy[rows[have]] / table.full_energy[rows[have]]
    return charges
