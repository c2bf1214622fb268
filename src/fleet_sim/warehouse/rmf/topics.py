"""The topics and services of Open-RMF: slotcars, doors, lifts, chargers, work cells, and the map of a building."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile
from rmf_building_map_msgs.msg import BuildingMap, Door, Graph, GraphEdge, GraphNode, Level, Lift, Param
from rmf_building_map_msgs.srv import GetBuildingMap
from rmf_charger_msgs.msg import ChargerCancel, ChargerRequest
from rmf_charger_msgs.msg import ChargerState as ChargerStateMsg
from rmf_dispenser_msgs.msg import DispenserRequest, DispenserResult, DispenserState
from rmf_door_msgs.msg import DoorMode as DoorModeMsg
from rmf_door_msgs.msg import DoorRequest, DoorState
from rmf_fleet_msgs.msg import FleetState, Location, ModeRequest, PathRequest, PauseRequest, RobotMode, RobotState
from rmf_ingestor_msgs.msg import IngestorRequest, IngestorResult, IngestorState
from rmf_lift_msgs.msg import LiftRequest, LiftState

from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.scenario import RmfParams
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.messages import decode, duration_from_msg, duration_to_msg, time_from_msg, time_to_msg
from fleet_sim.warehouse.equipment import DoorMode, Doors, Lifts, MoveDoors, RequestLift, ServeRobot
from fleet_sim.warehouse.equipment.workcell import Workcells
from fleet_sim.warehouse.rmf import slotcars as cars
from fleet_sim.warehouse.rmf.chargers import Charger, Chargers
from fleet_sim.warehouse.sites import Building
from fleet_sim.warehouse.sites.site import Door as Doorway
from fleet_sim.warehouse.sites.site import Level as Storey
from fleet_sim.warehouse.sites.site import LevelGraph, LiftShaft, Value
from fleet_sim.world.clock import Schedule
from fleet_sim.world.commands import Command
from fleet_sim.world.conditions import told_charge
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import EnergyColumns, energy_columns

# The map of a building as Open-RMF has it: levels with doors and graphs, and lifts.


DOOR_TYPES = {
    "sliding": Door.DOOR_TYPE_SINGLE_SLIDING,
    "double_sliding": Door.DOOR_TYPE_DOUBLE_SLIDING,
    "hinged": Door.DOOR_TYPE_SINGLE_SWING,
    "double_hinged": Door.DOOR_TYPE_DOUBLE_SWING,
}
NODE_KEYS = (
    *("dock_name", "pickup_dispenser", "dropoff_ingestor", "mutex"),
    *("is_charger", "is_cleaning_zone", "is_holding_point", "is_parking_spot"),
)
"""Properties of vertices that the map tells."""
EDGE_KEYS = ("speed_limit", "mutex")


def building_map(building: Building) -> BuildingMap:
    """Return the map of `building` as a message."""
    return BuildingMap(
        name=building.name,
        levels=[_level(level) for level in building.levels],
        lifts=[_lift(lift) for lift in building.lifts],
    )


def _level(level: Storey) -> Level:
    return Level(
        name=level.name,
        elevation=level.elevation,
        doors=[_door(door) for door in level.site.doors],
        nav_graphs=[_graph(graph, NODE_KEYS, EDGE_KEYS) for graph in level.graphs],
        wall_graph=_graph(level.walls, (), None),
    )


def _door(door: Doorway) -> Door:
    """Return a door as Open-RMF describes it, in m and rad."""
    return Door(
        name=door.name,
        v1_x=door.begin[0],
        v1_y=door.begin[1],
        v2_x=door.end[0],
        v2_y=door.end[1],
        door_type=DOOR_TYPES.get(door.kind, Door.DOOR_TYPE_UNDEFINED),
        motion_range=math.radians(door.degrees),
        # Turns to the right count as positive there.
        motion_direction=-door.direction,
    )


def _graph(graph: LevelGraph, node_keys: tuple[str, ...], edge_keys: tuple[str, ...] | None) -> Graph:
    """Return `graph` with these properties of its nodes and edges; None: with all."""
    nodes = [
        GraphNode(x=x, y=y, name=name, params=_params(properties, node_keys))
        for (x, y), name, properties in zip(graph.positions.tolist(), graph.names, graph.properties, strict=True)
    ]
    edges = []
    for begin, end, properties in graph.edges:
        # Walls have no direction; lanes have one unless they say otherwise.
        both = edge_keys is None or bool(properties.get("bidirectional"))
        kind = GraphEdge.EDGE_TYPE_BIDIRECTIONAL if both else GraphEdge.EDGE_TYPE_UNIDIRECTIONAL
        told = {key: value for key, value in properties.items() if edge_keys is None or value}
        edges.append(GraphEdge(v1_idx=begin, v2_idx=end, edge_type=kind, params=_params(told, edge_keys)))
    return Graph(name=graph.name, vertices=nodes, edges=edges)


def _params(properties: Mapping[str, Value], keys: tuple[str, ...] | None) -> list[Param]:
    return [_param(key, value) for key, value in properties.items() if keys is None or key in keys]


def _param(name: str, value: Value) -> Param:
    """Return a property with the type that its value has."""
    # Truth first: it is an int in Python.
    if isinstance(value, bool):
        return Param(name=name, type=Param.TYPE_BOOL, value_bool=value)
    if isinstance(value, str):
        return Param(name=name, type=Param.TYPE_STRING, value_string=value)
    if isinstance(value, int):
        return Param(name=name, type=Param.TYPE_INT, value_int=value)
    return Param(name=name, type=Param.TYPE_DOUBLE, value_float=float(value))


def _lift(lift: LiftShaft) -> Lift:
    """Return a lift as Open-RMF describes it: its doors from end to end in the frame of the building."""
    doors = []
    for door in lift.doors:
        ends: list[Any] = []
        for side in (-0.5, 0.5):
            turned, straight = trig.sin_cos_of(door.yaw)
            x, y = door.x + side * door.width * straight, door.y + side * door.width * turned
            sine, cosine = trig.sin_cos_of(lift.yaw)
            ends += [lift.x + x * cosine - y * sine, lift.y + x * sine + y * cosine]
        doors.append(
            Door(
                name=door.name,
                v1_x=ends[0],
                v1_y=ends[1],
                v2_x=ends[2],
                v2_y=ends[3],
                door_type=door.kind,
                motion_range=1.571,
                motion_direction=-1,
            )
        )
    return Lift(
        name=lift.name,
        levels=list(lift.levels),
        doors=doors,
        ref_x=lift.x,
        ref_y=lift.y,
        ref_yaw=lift.yaw,
        width=lift.width,
        depth=lift.depth,
    )


# Requests of Open-RMF: one topic for all robots, doors or lifts, polled at the beginning of each step.


MOST = 1000
"""Requests of a topic that are taken in one step: who sends faster than they are read must not hold up the step."""
LARGEST = 10_000_000
"""Bytes of a request: more than the longest path has."""
QUEUE = QoSProfile(depth=MOST)
"""Reliable, and deep: one subscription stands for those that each robot has in Open-RMF's simulation."""


class RequestTopic:
    """A topic of requests, each of which becomes a command."""

    def __init__(
        self, bridge: Bridge, kind: Any, name: str, make: Callable[[Any], Command | None], profile: QoSProfile = QUEUE
    ) -> None:
        """`make(message)` returns the command; None where the request needs none."""
        self._bridge = bridge
        self._kind = kind
        self._name = name
        self._make = make
        self._subscription = bridge.node.poll(kind, name, profile)

    def receive(self) -> None:
        """Pass on the requests that have arrived, at most MOST of them, in their order."""
        for _ in range(MOST):
            taken = self._subscription.handle.take_message(self._kind, True)
            if taken is None:
                return
            try:
                if len(taken[0]) > LARGEST:
                    raise InvalidValueError(f"{len(taken[0])} bytes, at most {LARGEST} are read")
                command = self._make(decode(taken[0], self._kind))
            except InvalidValueError as error:
                self._bridge.reject(self._name, error)
                continue
            if command is not None:
                self._bridge.gateway.take(self._name, lambda command=command: command)  # type: ignore[misc]


def fields_from(message: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return what a command takes over from a message: by the field of the command, the one of the message."""
    return {name: attrgetter(theirs)(message) for name, theirs in names.items()}


# Chargers in ROS: requests and their ends, and the state of each charger.


REQUESTS, CANCELS = "rmf_charger/requests", "rmf_charger/cancel"
FIELDS = {"charger": "charger_name", "robot": "robot_name", "fleet": "fleet_name", "request": "request_id"}
"""Of a RequestCharge, with those of the message."""


class ChargerTopics:
    """The topics of all chargers of a building.

    States on rmf_charger/state, when they change and regularly; requests become the commands RequestCharge and
    CancelCharge.
    """

    def __init__(self, bridge: Bridge, chargers: Chargers) -> None:
        self._chargers = chargers
        self._publisher = bridge.node.create_publisher(ChargerStateMsg, "rmf_charger/state", qos.STATE)
        self._told: dict[str, tuple[int, str]] = {}
        self.topics = [
            RequestTopic(bridge, ChargerRequest, REQUESTS, self._request),
            RequestTopic(bridge, ChargerCancel, CANCELS, self._cancel),
        ]

    def publish(self, now: int, *, due: bool) -> None:
        """Publish the state of each charger that changed; of all of them where that is `due`."""
        for charger in self._chargers:
            told = int(charger.state), charger.request
            if due or self._told.get(charger.name) != told:
                self._told[charger.name] = told
                self._publisher.publish(self._message(charger, now))

    def _message(self, charger: Charger, now: int) -> ChargerStateMsg:
        """Return the state of a charger as a message; the time left is 0 where nobody knows it."""
        return ChargerStateMsg(
            charger_time=time_to_msg(now),
            state=int(charger.state),
            charger_name=charger.name,
            request_id=charger.request,
            robot_fleet=charger.fleet,
            robot_name=charger.robot,
            time_to_fully_charged=duration_to_msg(self._chargers.remaining(charger)),
        )

    def _request(self, message: ChargerRequest) -> cars.RequestCharge:
        timeout = duration_from_msg(message.start_timeout)
        return cars.RequestCharge(**fields_from(message, FIELDS), timeout=timeout, source=REQUESTS)

    def _cancel(self, message: ChargerCancel) -> cars.CancelCharge:
        return cars.CancelCharge(charger=message.charger_name, request=message.request_id, source=CANCELS)


# Doors in ROS: requests, and the mode of each door.


DOORS_REQUESTS = "door_requests"
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
        self._publisher = bridge.node.create_publisher(DoorState, "door_states", qos.FLEET_COMMAND)
        self.topics = [RequestTopic(bridge, DoorRequest, DOORS_REQUESTS, self._request)]

    def publish(self, now: int, *, due: bool) -> None:
        """Publish the mode of each door where that is `due`."""
        if not due or not self._publisher.get_subscription_count():
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
        return MoveDoors(names=(message.door_name,), open=is_open, source=DOORS_REQUESTS)


# Lifts in ROS: requests, and the state of each lift, at once where it changes.


LIFTS_REQUESTS = "lift_requests"
LIFTS_FIELDS = {"lift": "lift_name", "floor": "destination_floor", "session": "session_id", "kind": "request_type"}
"""Of a RequestLift, with those of the message."""


class LiftTopics:
    """The topics of all lifts."""

    def __init__(self, bridge: Bridge, lifts: Lifts, doors: Doors) -> None:
        self._bridge = bridge
        self._lifts = lifts
        self._doors = doors
        self._shown: dict[int, tuple[object, ...]] = {}
        self._publisher = bridge.node.create_publisher(LiftState, "lift_states", qos.FLEET_COMMAND)
        self.topics = [RequestTopic(bridge, LiftRequest, LIFTS_REQUESTS, self._request)]

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
            **fields_from(message, LIFTS_FIELDS),
            open=message.door_state == LiftRequest.DOOR_OPEN,
            end=message.request_type == LiftRequest.REQUEST_END_SESSION,
            source=LIFTS_REQUESTS,
        )


# Slotcars in ROS: requests for paths, modes and pauses, and the state of each robot.


PATHS, ROBOTS_MODES, PAUSES = "/robot_path_requests", "/robot_mode_requests", "/robot_pause_requests"
MODE_FIELDS = {"robot": "robot_name", "mode": "mode.mode", "request": "mode.mode_request_id"} | {
    "action": "mode.performing_action"
}
PAUSE_FIELDS = {"robot": "robot_name", "pause": "type", "request": "mode_request_id", "checkpoint": "at_checkpoint"}
"""Fields of commands, with those of the messages."""


def waypoint_from_msg(message: Location) -> cars.Waypoint:
    """Return a place of a path."""
    return cars.Waypoint(
        message.x,
        message.y,
        message.yaw,
        time_from_msg(message.t),
        message.approach_speed_limit,
        message.obey_approach_speed_limit,
        message.level_name,
        message.index,
    )


def waypoint_to_msg(waypoint: cars.Waypoint) -> Location:
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

    def __init__(self, bridge: Bridge, slotcars: cars.Slotcars) -> None:
        self._bridge = bridge
        self._slotcars = slotcars
        self._publisher = bridge.node.create_publisher(RobotState, "/robot_state", qos.STATE)
        self.topics = [
            RequestTopic(bridge, PathRequest, PATHS, self._path),
            RequestTopic(bridge, ModeRequest, ROBOTS_MODES, self._mode),
            RequestTopic(bridge, PauseRequest, PAUSES, self._pause),
        ]

    def publish(self, now: int, *, due: bool) -> None:
        """Publish the state of each slotcar that has been on a level, where `due`; numbers go up by one with each."""
        if not due:
            return
        slotcars, world = self._slotcars, self._bridge.sim.world
        rows = slotcars.rows
        rows = rows[slotcars.table.level[rows] >= 0]
        if not len(rows):
            return
        slotcars.table.sequence[rows] += 1
        if not self._publisher.get_subscription_count():
            return
        table, (positions, orientations) = slotcars.table, world.believed_poses(rows)
        requests = np.maximum(table.mode_request[rows], table.pause_request[rows]).tolist()
        columns = zip(
            rows.tolist(),
            slotcars.level_names(rows),
            slotcars.shown_modes(rows),
            requests,
            told_charge(world, rows, _charges(energy_columns(world), rows)).tolist(),
            positions[:, :2].tolist(),
            quaternions.yaws(orientations).tolist(),
            table.sequence[rows].tolist(),
            strict=True,
        )
        stamp = time_to_msg(now)
        for row, level, mode, request, charge, (x, y), yaw, number in columns:
            own = slotcars.tasks(row)
            state = RobotState(
                name=world.label(row),
                task_id=own.task,
                seq=number,
                mode=RobotMode(mode=mode, mode_request_id=request, performing_action=own.action),
                # A whole number of percent, rounded up, as slotcars tell it.
                battery_percent=float(math.ceil(100.0 * charge)),
                location=Location(t=stamp, x=x, y=y, yaw=yaw, level_name=level),
                path=[waypoint_to_msg(one) for one in own.told],
            )
            self._bridge.send_from(row, "robot_state", partial(self._publisher.publish, state))

    # Requests are for the robot that they name: the name of the fleet counts for nothing, as for slotcars.

    def _path(self, message: PathRequest) -> cars.FollowWaypoints:
        path = tuple(map(waypoint_from_msg, message.path))
        return cars.FollowWaypoints(robot=message.robot_name, task=message.task_id, path=path, source=PATHS)

    def _mode(self, message: ModeRequest) -> cars.SetSlotcarMode:
        return cars.SetSlotcarMode(**fields_from(message, MODE_FIELDS), source=ROBOTS_MODES)

    def _pause(self, message: PauseRequest) -> cars.PauseSlotcar:
        return cars.PauseSlotcar(**fields_from(message, PAUSE_FIELDS), source=PAUSES)


def _charges(table: EnergyColumns | None, rows: Rows) -> Floats:
    """Return the states of charge (N,) of `rows`, 1 without a battery."""
    charges = np.ones(len(rows))
    if table is not None:
        have = table.present[rows]
        charges[have] = table.energy[rows[have]] / table.full_energy[rows[have]]
    return charges


# Dispensers and ingestors in ROS: requests, their results, and the state of each cell.


FLEETS = "/fleet_states"
MOST_FLEETS = 1000
"""Fleets whose robots are remembered."""
MOST_ROBOTS, LONGEST_NAME = 10_000, 1000
"""Robots of a fleet, and characters of a name."""


class WorkcellTopics:
    """The topics of all dispensers and ingestors. Which robots are of a fleet is heard on `/fleet_states`."""

    def __init__(self, bridge: Bridge, cells: Workcells) -> None:
        self._bridge = bridge
        self._cells = cells
        self._fleets: dict[str, tuple[str, ...]] = {}
        self._served: list[tuple[str, bool, str, bool]] = []
        self._busy: dict[str, str] = {}
        make = bridge.node.create_publisher
        # By whether a cell ingests.
        self._states = {
            False: make(DispenserState, "/dispenser_states", qos.STATE),
            True: make(IngestorState, "/ingestor_states", qos.STATE),
        }
        self._results = {
            False: make(DispenserResult, "/dispenser_results", qos.STATE),
            True: make(IngestorResult, "/ingestor_results", qos.STATE),
        }
        self.topics = [
            RequestTopic(bridge, FleetState, FLEETS, self._hear_fleet, QoSProfile(depth=10)),
            RequestTopic(bridge, DispenserRequest, "/dispenser_requests", self._request),
            RequestTopic(bridge, IngestorRequest, "/ingestor_requests", self._request),
        ]
        bridge.sim.events.on("robot_served", self._note)

    def publish(self, now: int, *, due: bool) -> None:
        """Publish the results that there are, after the state of each cell that had something to do."""
        served, self._served = self._served, []
        world, table = self._bridge.sim.world, self._cells.table
        self._busy = {name: request for name, _, request, _ in served}
        for row in self._cells.rows.tolist():
            name = world.label(row)
            if due or name in self._busy:
                self._publish_state(name, bool(table.ingests[row]), now)
        for name, ingests, request, success in served:
            kind = IngestorResult if ingests else DispenserResult
            for status in (kind.ACKNOWLEDGED, kind.SUCCESS if success else kind.FAILED):
                self._results[ingests].publish(
                    kind(time=time_to_msg(now), request_guid=request, source_guid=name, status=status)
                )

    def _publish_state(self, name: str, ingests: bool, now: int) -> None:
        """Publish the state of a cell: BUSY with the request that it serves, else IDLE."""
        kind = IngestorState if ingests else DispenserState
        request = self._busy.get(name)
        self._states[ingests].publish(
            kind(
                time=time_to_msg(now),
                guid=name,
                mode=kind.IDLE if request is None else kind.BUSY,
                request_guid_queue=[] if request is None else [request],
            )
        )

    def _note(self, cell: Any, request: str, success: bool, reason: str) -> None:
        row = cell.row
        self._served.append((self._bridge.sim.world.label(row), bool(self._cells.table.ingests[row]), request, success))

    def _hear_fleet(self, message: FleetState) -> None:
        names = tuple(robot.name for robot in message.robots[: MOST_ROBOTS + 1])
        if len(names) > MOST_ROBOTS or max(map(len, (message.name, *names))) > LONGEST_NAME:
            most = f"at most {MOST_ROBOTS} robots, and names of {LONGEST_NAME} characters"
            raise InvalidValueError(f"expected {most}, got {len(message.robots)}")
        if message.name in self._fleets or len(self._fleets) < MOST_FLEETS:
            self._fleets[message.name] = names

    def _request(self, message: DispenserRequest | IngestorRequest) -> ServeRobot:
        robots = self._fleets.get(message.transporter_type, ())
        return ServeRobot(
            cell=message.target_guid, robots=robots, request=message.request_guid, source="workcell_requests"
        )


class RmfTopics:
    """What the plugins of Open-RMF's simulation offer."""

    def __init__(self, bridge: Bridge, params: RmfParams) -> None:
        sim = bridge.sim
        use = sim.features.use
        slotcars, doors = use("slotcar"), use("door")
        if not slotcars.levels:
            slotcars.levels = {params.level: 0.0}
        self._parts: list[tuple[Any, Schedule]] = [
            (part, sim.clock.schedule(rate))
            for part, rate in (
                (WorkcellTopics(bridge, use("workcell")), params.workcell_states),
                (RobotTopics(bridge, slotcars), params.robot_state),
                (DoorTopics(bridge, doors), params.door_states),
                (LiftTopics(bridge, use("lift"), doors), params.lift_states),
                (ChargerTopics(bridge, slotcars.chargers), params.charger_states),
            )
        ]
        building = sim.extensions.find_manager("building")
        if building is None:
            return
        self._map = building_map(building)
        bridge.node.create_publisher(BuildingMap, "map", qos.LATCHED).publish(self._map)
        bridge.serve(GetBuildingMap, "get_building_map", self._answer_map)

    def receive(self) -> None:
        """Pass on the requests that have arrived."""
        for part, _ in self._parts:
            for topic in part.topics:
                topic.receive()

    def publish(self, now: int) -> None:
        """Publish what is due, and what has changed."""
        for part, times in self._parts:
            part.publish(now, due=times.poll() is not None)

    async def _answer_map(self, request: Any, response: Any) -> None:
        response.building_map = self._map
