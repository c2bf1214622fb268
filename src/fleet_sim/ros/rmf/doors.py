"""Doors in ROS: requests, and the mode of each door."""

from __future__ import annotations

from rmf_door_msgs.msg import DoorMode as DoorModeMsg
from rmf_door_msgs.msg import DoorRequest, DoorState

from fleet_sim.core.schema import NO_ROW
from fleet_sim.equipment import DoorMode, Doors, MoveDoors
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.rmf.inbox import RequestTopic

REQUESTS = "door_requests"
MODES = {
    DoorMode.CLOSED: DoorModeMsg.MODE_CLOSED,
    DoorMode.MOVING: DoorModeMsg.MODE_MOVING,
    DoorMode.OPEN: DoorModeMsg.MODE_OPEN,
}


class DoorTopics:
    """The topics of all doors but those of lifts, which their lifts speak for."""

    def __init__(self, bridge: Bridge, doors: Doors) -> None:
        self._bridge = bridge
        self._doors = doors
        self._publisher = bridge.robots.create_publisher(DoorState, "door_states", qos.FLEET_COMMAND)
        self.topics = [RequestTopic(bridge, DoorRequest, REQUESTS, self._request)]

    def publish(self, now: int) -> None:
        """Publish the mode of each door."""
        if not self._publisher.get_subscription_count():
            return
        doors, world = self._doors, self._bridge.sim.world
        rows = doors.rows
        rows = rows[doors.table.lift[rows] == NO_ROW]
        stamp = time_to_msg(now)
        for row, mode in zip(rows.tolist(), doors.modes(rows), strict=True):
            state = DoorModeMsg(value=MODES[mode])
            self._publisher.publish(DoorState(door_time=stamp, door_name=world.label(row), current_mode=state))

    def _request(self, message: DoorRequest) -> MoveDoors:
        # Whatever is not "open" closes, as in Open-RMF's simulation.
        is_open = message.requested_mode.value == DoorModeMsg.MODE_OPEN
        return MoveDoors(names=(message.door_name,), open=is_open, source=REQUESTS)
