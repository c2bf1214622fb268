"""What Open-RMF has between its tasks and a simulation: supervisors of doors and lifts, a docker, and a fleet adapter.

They follow the order of messages of rmf_fleet_adapter (full_control, door_supervisor, lift_supervisor) and of the mock
docker of rmf_demos, over the same topics, with the same repetitions.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from node_program import Client
from rclpy.qos import DurabilityPolicy, QoSProfile
from rmf_door_msgs.msg import DoorMode, DoorRequest, DoorSessions, DoorState, Session, SupervisorHeartbeat
from rmf_fleet_msgs.msg import Location, ModeParameter, ModeRequest, PathRequest, RobotMode, RobotState
from rmf_lift_msgs.msg import LiftRequest, LiftState

REPEAT = 0.2
"""Seconds after which a path or mode request that a robot does not tell is sent again."""
AGAIN = 1.0
"""Seconds after which requests for doors, lifts and work cells are sent again, until they are fulfilled."""
CLOSE = 1.0
"""Distance in m within which a robot whose path is done has arrived."""
TRANSIENT = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class DoorSupervisor:
    """Opens doors while somebody has a session with them, and tells who has."""

    def __init__(self, node: Any) -> None:
        self.sessions: dict[str, dict[str, Any]] = {}
        self._node = node
        self._requests = node.create_publisher(DoorRequest, "door_requests", 10)
        self._heartbeat = node.create_publisher(SupervisorHeartbeat, "door_supervisor_heartbeat", 10)
        node.create_subscription(DoorRequest, "adapter_door_requests", self._take, 10)
        node.create_subscription(DoorState, "door_states", self._remind, 10)

    def _take(self, request: DoorRequest) -> None:
        own = self.sessions.setdefault(request.door_name, {})
        if request.requested_mode.value == DoorMode.MODE_OPEN:
            own[request.requester_id] = request.request_time
            self._send(request.door_name, DoorMode.MODE_OPEN)
        elif own.pop(request.requester_id, None) is not None and not own:
            self._send(request.door_name, DoorMode.MODE_CLOSED)
        told = [
            DoorSessions(
                door_name=door, sessions=[Session(request_time=at, requester_id=name) for name, at in held.items()]
            )
            for door, held in self.sessions.items()
        ]
        self._heartbeat.publish(SupervisorHeartbeat(all_sessions=told))

    def _remind(self, state: DoorState) -> None:
        wanted = DoorMode.MODE_OPEN if self.sessions.get(state.door_name) else DoorMode.MODE_CLOSED
        if state.current_mode.value != wanted:
            self._send(state.door_name, wanted)

    def _send(self, door: str, mode: int) -> None:
        now = self._node.get_clock().now().to_msg()
        mine = DoorRequest(request_time=now, requester_id="door_supervisor", door_name=door)
        mine.requested_mode.value = mode
        self._requests.publish(mine)


class LiftSupervisor:
    """Gives each lift to one session at a time, and repeats its request until the lift tells it."""

    def __init__(self, node: Any) -> None:
        self.active: dict[str, LiftRequest] = {}
        self._requests = node.create_publisher(LiftRequest, "lift_requests", TRANSIENT)
        node.create_subscription(LiftRequest, "adapter_lift_requests", self._take, TRANSIENT)
        node.create_subscription(LiftState, "lift_states", self._remind, 10)

    def _take(self, request: LiftRequest) -> None:
        present = self.active.get(request.lift_name)
        if present is not None and present.session_id != request.session_id:
            return
        if request.request_type == LiftRequest.REQUEST_END_SESSION:
            if self.active.pop(request.lift_name, None) is not None:
                self._requests.publish(request)
            return
        self.active[request.lift_name] = request
        self._requests.publish(request)

    def _remind(self, state: LiftState) -> None:
        present = self.active.get(state.lift_name)
        if present is not None:
            told = state.destination_floor or state.current_floor
            wanted = (present.destination_floor, present.door_state, present.session_id)
            if wanted != (told, state.door_state, state.session_id):
                self._requests.publish(present)
        elif state.session_id:
            end = LiftRequest(lift_name=state.lift_name, destination_floor=state.current_floor)
            end.session_id, end.request_type = state.session_id, LiftRequest.REQUEST_END_SESSION
            self._requests.publish(end)


class Docker:
    """Answers requests to dock with the path of the dock, and ends the docking where it ends."""

    def __init__(self, node: Any, docks: dict[str, Sequence[tuple[float, float]]]) -> None:
        self._docks = docks
        self._under_way: dict[str, PathRequest] = {}
        self._paths = node.create_publisher(PathRequest, "robot_path_requests", 10)
        self._modes = node.create_publisher(ModeRequest, "robot_mode_requests", 10)
        node.create_subscription(ModeRequest, "robot_mode_requests", self._take, 10)
        node.create_subscription(RobotState, "robot_state", self._watch, 100)

    def _take(self, request: ModeRequest) -> None:
        if request.mode.mode == RobotMode.MODE_DOCKING:
            path = [Location(x=x, y=y) for x, y in self._docks[request.parameters[0].value]]
            order = PathRequest(robot_name=request.robot_name, task_id=request.task_id, path=path)
            self._under_way[request.robot_name] = order
            self._paths.publish(order)

    def _watch(self, state: RobotState) -> None:
        order = self._under_way.get(state.name)
        if order is None or state.task_id != order.task_id or state.path or distance(order.path[-1], state) > CLOSE:
            return
        ended = ModeRequest(robot_name=state.name, task_id=order.task_id, mode=RobotMode(mode=RobotMode.MODE_PAUSED))
        self._modes.publish(ended)
        if state.mode.mode != RobotMode.MODE_DOCKING:
            del self._under_way[state.name]


class RobotCommands:
    """A robot under full control: paths, docks and stops with numbers that go up, and sessions in its name."""

    def __init__(self, client: Client, fleet: str, robot: str) -> None:
        self.client, self.fleet, self.robot = client, fleet, robot
        self.requester = f"{fleet}/{robot}"
        self.state: Any = None
        self.doors: dict[str, int] = {}
        self.lifts: dict[str, LiftState] = {}
        self.held: dict[str, set[str]] = {}
        self.interruptions = 0
        self._numbers = itertools.count(1)
        self._order: Any = None
        self._sent = 0.0
        node = client.node
        make = node.create_publisher
        self.path_requests = make(PathRequest, "robot_path_requests", 10)
        self.mode_requests = make(ModeRequest, "robot_mode_requests", 10)
        self._doors = make(DoorRequest, "adapter_door_requests", 10)
        self._lifts = make(LiftRequest, "adapter_lift_requests", TRANSIENT)
        node.create_subscription(RobotState, "robot_state", self._hear, 100)
        node.create_subscription(
            DoorState, "door_states", lambda one: self.doors.update({one.door_name: one.current_mode.value}), 100
        )
        node.create_subscription(LiftState, "lift_states", lambda one: self.lifts.update({one.lift_name: one}), 100)
        node.create_subscription(SupervisorHeartbeat, "door_supervisor_heartbeat", self._beat, 10)
        client.until(lambda: self.state is not None and self.path_requests.get_subscription_count())

    # ---- paths -------------------------------------------------------------------------------------------------------

    def follow(self, *places: tuple[float, float], begin: tuple[float, float] | None = None) -> PathRequest:
        """Ask for a path from where the robot is, or from `begin`."""
        here = begin or (self.state.location.x, self.state.location.y)
        path = [Location(x=x, y=y, yaw=0.0, level_name=self.state.location.level_name) for x, y in (here, *places)]
        return self._command(self.path_requests, PathRequest(path=path))

    def stop(self) -> PathRequest:
        """Ask for a path that ends where the robot is."""
        return self._command(self.path_requests, PathRequest(path=[self.state.location]))

    def dock(self, name: str) -> ModeRequest:
        """Ask for docking."""
        order = ModeRequest(mode=RobotMode(mode=RobotMode.MODE_DOCKING))
        order.parameters = [ModeParameter(name="docking", value=name)]
        return self._command(self.mode_requests, order)

    def arrive(self, *places: tuple[float, float]) -> None:
        """Follow a path to its end."""
        order = self.follow(*places)
        self.client.until(lambda: self.has_finished(order), f"arrival at {places[-1]}")

    def has_finished(self, order: PathRequest) -> bool:
        """Return whether the robot tells the task, without anything left of its path, and is there."""
        state = self.state
        return bool(state.task_id == order.task_id and not state.path and distance(order.path[-1], state) < CLOSE)

    def _command(self, topic: Any, order: Any) -> Any:
        order.fleet_name, order.robot_name, order.task_id = self.fleet, self.robot, str(next(self._numbers))
        self._order, self._sent = (topic, order), time.monotonic()
        topic.publish(order)
        return order

    def _hear(self, state: RobotState) -> None:
        if state.name != self.robot:
            return
        known, self.state = self.state, state
        if self._order is None:
            return
        topic, order = self._order
        if state.task_id != order.task_id:
            if time.monotonic() - self._sent > REPEAT:
                self._sent = time.monotonic()
                topic.publish(order)
        elif state.mode.mode == RobotMode.MODE_ADAPTER_ERROR and known.mode.mode != RobotMode.MODE_ADAPTER_ERROR:
            self.interruptions += 1

    # ---- doors and lifts ---------------------------------------------------------------------------------------------

    def open_door(self, name: str) -> None:
        """Ask for a door until it is open, and held open for this robot."""
        self.repeat(
            lambda: self.ask_door(name, DoorMode.MODE_OPEN),
            lambda: self.doors.get(name) == DoorMode.MODE_OPEN and self.requester in self.held.get(name, ()),
        )

    def release_door(self, name: str) -> None:
        """Give up a door, until nobody holds it for this robot."""
        self.repeat(
            lambda: self.ask_door(name, DoorMode.MODE_CLOSED), lambda: self.requester not in self.held.get(name, ())
        )

    def ask_door(self, name: str, mode: int) -> None:
        """Send one request for a door."""
        now = self.client.node.get_clock().now().to_msg()
        request = DoorRequest(request_time=now, requester_id=self.requester, door_name=name)
        request.requested_mode.value = mode
        self._doors.publish(request)

    def request_lift(self, name: str, floor: str) -> None:
        """Ask for a lift until it is there for this robot, with open doors."""
        self.repeat(lambda: self.ask_lift(name, floor), lambda: self.has_lift(name, floor))

    def has_lift(self, name: str, floor: str) -> bool:
        """Return whether the lift waits for this robot on the floor, with open doors."""
        told = self.lifts.get(name)
        return told is not None and (told.current_floor, told.door_state, told.session_id) == (
            floor,
            LiftState.DOOR_OPEN,
            self.requester,
        )

    def end_lift(self, name: str) -> None:
        """End the session with a lift."""
        self.repeat(
            lambda: self.ask_lift(name, "", LiftRequest.REQUEST_END_SESSION),
            lambda: self.lifts[name].session_id != self.requester,
        )

    def ask_lift(self, name: str, floor: str, kind: int = LiftRequest.REQUEST_AGV_MODE) -> None:
        """Send one request for a lift."""
        request = LiftRequest(lift_name=name, session_id=self.requester, request_type=kind)
        # The end of a session has neither: lifts refuse it, until the supervisor repeats it with the floor.
        if kind != LiftRequest.REQUEST_END_SESSION:
            request.destination_floor, request.door_state = floor, LiftRequest.DOOR_OPEN
        self._lifts.publish(request)

    def repeat(self, ask: Callable[[], None], is_done: Callable[[], bool]) -> None:
        """Ask at once and each second until it is done."""
        ask()
        timer = self.client.node.create_timer(AGAIN, ask)
        try:
            self.client.until(is_done)
        finally:
            timer.cancel()

    def _beat(self, heartbeat: SupervisorHeartbeat) -> None:
        self.held = {
            one.door_name: {session.requester_id for session in one.sessions} for one in heartbeat.all_sessions
        }


def distance(place: Location, state: RobotState) -> float:
    """Return how far the robot is from a place, in m."""
    return math.hypot(place.x - state.location.x, place.y - state.location.y)
