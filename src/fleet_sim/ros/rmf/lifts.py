"""Lifts in ROS: requests, and the state of each lift, at once where it changes."""

from __future__ import annotations

from rmf_lift_msgs.msg import LiftRequest, LiftState

from fleet_sim.equipment import DoorMode, Doors, Lifts, RequestLift
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.rmf.inbox import RequestTopic, fields_from

REQUESTS = "lift_requests"
FIELDS = {"lift": "lift_name", "floor": "destination_floor", "session": "session_id", "kind": "request_type"}
"""Of a RequestLift, with those of the message."""


class LiftTopics:
    """The topics of all lifts."""

    def __init__(self, bridge: Bridge, lifts: Lifts, doors: Doors) -> None:
        self._bridge = bridge
        self._lifts = lifts
        self._doors = doors
        self._shown: dict[int, tuple[object, ...]] = {}
        self._publisher = bridge.robots.create_publisher(LiftState, "lift_states", qos.FLEET_COMMAND)
        self.topics = [RequestTopic(bridge, LiftRequest, REQUESTS, self._request)]

    def publish(self, now: int, *, due: bool) -> None:
        """Publish the state of each lift that has changed, of all where it is `due`."""
        if not self._publisher.get_subscription_count():
            return
        for row in self._lifts.rows.tolist():
            state = self._state(row)
            if due or self._shown.get(row) != state:
                self._shown[row] = state
                self._publisher.publish(self._message(row, state, now))

    def _state(self, row: int) -> tuple[str, str, int, int, str]:
        """Return floor, destination, state of the doors, motion and session of the lift in `row`."""
        table, plan = self._lifts.table, self._lifts.plan(row)
        floor, goal = int(table.floor[row]), int(table.goal[row])
        # Without anything left to do it is where it is.
        busy = bool(table.busy[row])
        way = float(plan.heights[goal]) - float(table.height[row]) if busy else 0.0
        motion = LiftState.MOTION_UP if way > 0.0 else LiftState.MOTION_DOWN if way < 0.0 else LiftState.MOTION_STOPPED
        session = self._lifts.session(row).name
        return plan.names[floor], plan.names[goal if busy else floor], self._door_state(row, floor), motion, session

    def _door_state(self, row: int, floor: int) -> int:
        rows = self._lifts.leaves(row, self._lifts.plan(row).doors[floor])
        modes = set(self._doors.modes(rows))
        if modes <= {DoorMode.OPEN}:
            return int(LiftState.DOOR_OPEN)
        return int(LiftState.DOOR_CLOSED if modes == {DoorMode.CLOSED} else LiftState.DOOR_MOVING)

    def _message(self, row: int, state: tuple[str, str, int, int, str], now: int) -> LiftState:
        """Return the state of the lift in `row` as a message."""
        floor, destination, doors, motion, session = state
        return LiftState(
            lift_time=time_to_msg(now),
            lift_name=self._bridge.sim.world.label(row),
            available_floors=list(self._lifts.plan(row).names),
            current_floor=floor,
            destination_floor=destination,
            door_state=doors,
            motion_state=motion,
            current_mode=LiftState.MODE_AGV,
            session_id=session,
        )

    def _request(self, message: LiftRequest) -> RequestLift:
        return RequestLift(
            **fields_from(message, FIELDS),
            open=message.door_state == LiftRequest.DOOR_OPEN,
            end=message.request_type == LiftRequest.REQUEST_END_SESSION,
            source=REQUESTS,
        )
