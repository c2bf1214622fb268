"""/fleet/...: the whole fleet in one message, commands to many robots, and pairs in collision."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, Twist

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.cdr import ROBOT_STATE, ColumnsTemplate, ElementsTemplate, Text
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.robots.actions.action import Action
from fleet_sim.ros import messages as qos
from fleet_sim.ros.actions import cause_of_action
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.messages import Roster, ack_to_msg, poses_from_msgs, time_to_msg, to_cdr, twists_from_msgs
from fleet_sim.ros.robot_states import body_twists
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.commands import CancelActions, Command, CommandAck, Navigate, SetPoses, SetVelocity, Stop
from fleet_sim.world.conditions import told_charge
from fleet_sim.world.features import FEATURES
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World
from fleet_sim_msgs.msg import (
    Cause,
    CollisionPair,
    Collisions,
    CommandResult,
    FleetColumns,
    FleetCommand,
    FleetState,
    RobotState,
)
from fleet_sim_msgs.srv import SendFleetCommand

POSE = ControllerMode.POSE.code
NO_TEXTS: tuple[Text, ...] = ("", (), "", "")
"""Those of a robot that nothing blocks, and that has no loads, no order and no error."""


def states_template(map_frame: str) -> ElementsTemplate:
    """Return the template of a FleetState without robots; its numbers are those of ROBOT_STATE."""
    message = FleetState(robots=[RobotState()])
    message.header.frame_id = map_frame
    return ElementsTemplate(message, "robots", ROBOT_STATE, to_cdr)


FLEET_COLUMNS = {
    "positions": ("f8", 3),
    "orientations": ("f8", 4),
    "linear_velocities": ("f8", 3),
    "angular_velocities": ("f8", 3),
    "distances_left": ("f8", 1),
    "batteries": ("f8", 1),
    "goal_positions": ("f8", 3),
    "goal_orientations": ("f8", 4),
    **dict.fromkeys(("faults", "load_counts"), ("u4", 1)),
    **dict.fromkeys(("modes", "operating_modes", "last_causes"), ("u1", 1)),
    **dict.fromkeys(("moving", "busy", "blocked", "carrying", "charging", "has_goal"), ("?", 1)),
}
"""The columns of a FleetColumns, those of a type in the order of ROBOT_STATE: the type, and how many a robot has."""

FLEET_TEXTS = ("names", "blocked_by", "loads", "orders", "last_errors")
"""The columns of texts of a FleetColumns; they follow the numbers."""


def columns_template(map_frame: str, names: Sequence[str]) -> ColumnsTemplate:
    """Return the template of a FleetColumns of the robots called `names`."""
    message = FleetColumns()
    message.header.frame_id = map_frame
    template = ColumnsTemplate(message, FLEET_COLUMNS, FLEET_TEXTS, len(names), to_cdr)
    template.set_texts("names", names)
    return template


def goals_of(world: World, rows: Rows) -> tuple[Floats, Bools]:
    """Return where `rows` are to stand in the end (N, 7), zeros without a goal, and which have one (N,).

    That is the end of its path, and of a robot in the traffic where that was told to bring it: its plan may lead there
    only in part, or not yet.
    """
    paths = world.waypoints.paths(world.motion, rows)
    goals = np.zeros((len(rows), 7))
    has_goal: Bools = paths.lengths > 0
    ends = np.cumsum(paths.lengths)[has_goal] - 1
    goals[has_goal, :3], goals[has_goal, 3:] = paths.positions[ends], paths.orientations[ends]
    if world.routes.conveyance is not None:
        points, headings, sent_mask = world.routes.conveyance.goals(rows)
        sent = rows[sent_mask]
        goals[sent_mask, :2], goals[sent_mask, 2] = points[sent_mask], world.position[sent, 2]
        # Where any heading will do, the one that it has.
        turned, headings = ~np.isnan(headings[sent_mask]), headings[sent_mask]
        goals[sent_mask, 3:] = world.orientation[sent]
        goals[np.flatnonzero(sent_mask)[turned], 3:] = quaternions.from_yaws(headings[turned])
        has_goal = has_goal | sent_mask
    return goals, has_goal


def flags_of(world: World, rows: Rows) -> Bools:
    """Return who is moving, busy, blocked and carrying, (N, 4)."""
    motion = world.motion
    speed = (world.velocity[rows] != 0.0).any(axis=1) | (world.angular_velocity[rows] != 0.0).any(axis=1)
    # Columns know the carrier of what is carried, not the other way round, so the carriers are marked.
    carriers = np.zeros(world.capacity, np.bool_)
    carriers[world.parent[(world.parent != NO_ROW) & world.alive]] = True
    return np.stack(
        [
            (motion.control[rows] == POSE) | speed,
            world.tables["actions"].waiting[rows] != 0,  # type: ignore[attr-defined]  # ActionColumns
            motion.blocked_by[rows] != NO_ROW,
            carriers[rows],
        ],
        axis=1,
    )


def reported(sim: MultiRobotSimulationCore, rows: Rows) -> tuple[Floats, Bools, Ints, Ints]:
    """Return what the features in use tell of `rows`: charge, NaN without a battery, who is charged, faults, modes."""
    battery, charging, faults, modes = (
        np.full(len(rows), np.nan),
        np.zeros(len(rows), np.bool_),
        np.zeros(len(rows), np.int64),
        np.full(len(rows), RobotState.AUTOMATIC, np.int64),
    )
    for name in sim.features.used:
        columns = {column: values for column, _, values in sim.features.table(name).columns()}
        told = FEATURES.get(name).report(columns)
        if "battery" in told:
            battery = told["battery"][rows]
        if "charging" in told:
            charging = charging | told["charging"][rows]
        if "faults" in told:
            faults = faults | told["faults"][rows].astype(np.int64)
        if "operating_mode" in told:
            modes = np.maximum(modes, told["operating_mode"][rows])
    return told_charge(sim.world, rows, battery), charging, faults, modes


class RobotTexts:
    """The texts of the robots in `rows`: each kind is looked up again only where numbers say that it changed."""

    def __init__(self, sim: MultiRobotSimulationCore, rows: Rows) -> None:
        self._sim, self._rows = sim, rows
        self._blockers = self._carried = b""
        self._blocked_by: list[str] = [""] * len(rows)
        self._loads: list[tuple[str, ...]] = [()] * len(rows)
        self._orders: list[str] = [""] * len(rows)
        self._errors: list[str] = [""] * len(rows)

    def changed(self, errors: list[str]) -> list[tuple[Text, ...]] | None:
        """Return the texts of each robot, given its last error; None if they are as they were."""
        parts = self._look_for_blockers(), self._look_for_loads(), self._look_for_orders()
        if not any(parts) and errors is self._errors:
            return None
        self._errors = errors
        return list(zip(self._blocked_by, self._loads, self._orders, errors, strict=True))

    def _look_for_blockers(self) -> bool:
        world = self._sim.world
        rows = world.routes.blockers(self._rows, world.motion.blocked_by[self._rows])
        blockers = np.where(rows == NO_ROW, -1, world.object_id[rows]).tobytes()
        if blockers == self._blockers:
            return False
        self._blockers = blockers
        self._blocked_by = ["" if row == NO_ROW else world.label(row) for row in rows.tolist()]
        return True

    def _look_for_loads(self) -> bool:
        world = self._sim.world
        loads = np.flatnonzero((world.parent != NO_ROW) & world.alive)
        loads = loads[np.argsort(world.object_id[loads])]
        carried = world.object_id[loads].tobytes() + world.parent[loads].tobytes()
        if carried == self._carried:
            return False
        self._carried = carried
        of: dict[int, list[str]] = {}
        for load, carrier in zip(loads.tolist(), world.parent[loads].tolist(), strict=True):
            of.setdefault(carrier, []).append(world.label(load))
        self._loads = [tuple(of.get(row, ())) for row in self._rows.tolist()]
        return True

    def _look_for_orders(self) -> bool:
        features, orders = self._sim.features, [""] * len(self._rows)
        for name in features.used:
            told = FEATURES.get(name).orders(features.use(name), features.table(name), self._rows)
            if told:
                orders = [new or old for new, old in zip(told, orders, strict=True)]
        changed = orders != self._orders
        self._orders = orders
        return changed


class LastErrors:
    """Why the last action of each robot ended; of those that ended since this was made, or since a reset."""

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._world = sim.world
        self._of: dict[int, tuple[int, str]] = {}
        self._ids: list[int] = []
        self._changed = True
        sim.events.on("action_completed", self._note)

    def clear(self) -> None:
        """Forget all."""
        self._of.clear()
        self._changed = True

    def follow(self, rows: Rows) -> None:
        """Keep those of the robots in `rows` only, and return theirs from now on."""
        self._ids = self._world.object_id[rows].tolist()
        kept = set(self._ids)
        self._of = {id: error for id, error in self._of.items() if id in kept}
        self._changed = True

    def look(self) -> tuple[Bytes, list[str]]:
        """Return causes and texts of the robots; the same objects as before while nothing changes."""
        if self._changed:
            self._changed = False
            errors = [self._of.get(id, (Cause.NONE, "")) for id in self._ids]
            self._causes = np.array([cause for cause, _ in errors], np.uint8)
            self._texts = [text for _, text in errors]
        return self._causes, self._texts

    def _note(self, action: Action, agent: Any, **details: object) -> None:
        id, (cause, text) = int(self._world.object_id[agent.row]), cause_of_action(action)
        if cause != Cause.NONE:
            self._of[id], self._changed = (cause, text), True
        elif self._of.pop(id, None) is not None:
            self._changed = True


class FleetStatesTopic(Interface):
    """Publishes the states of all robots, whether or not they have interfaces of their own.

    On fleet/states, a FleetState, and on fleet/columns, a FleetColumns, at `ros.rates.fleet_states` and only while
    somebody is subscribed. Poses are in the frame of the map, twists in that of the robot; distances left are in m.
    This is the cheapest way to watch a large fleet; columns are the cheapest to read.
    """

    rate = "fleet_states"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.node.create_publisher(FleetState, "fleet/states", qos.STATE)
        self._column_publisher = bridge.node.create_publisher(FleetColumns, "fleet/columns", qos.STATE)
        self._rows = NO_ROWS
        self._names: Sequence[str] = ()
        self._template = states_template(bridge.frames.map)
        self._columns: ColumnsTemplate | None = None
        self._errors = LastErrors(bridge.sim)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Lay the messages out anew."""
        self._rows, self._names = roster.rows, roster.names
        self._errors.follow(roster.rows)
        self._looked_up = RobotTexts(self.bridge.sim, roster.rows)
        self._texts: list[tuple[Text, ...]] = [NO_TEXTS] * len(roster.names)
        self._present = self._texts
        self._known: dict[int, tuple[list[AnyArray], tuple[Text, ...]]] = {}
        """Of robots whose radio is disturbed: the numbers and texts that came last, by row."""
        self._template.set_elements(roster.names, self._texts)
        self._columns = None

    def on_reset(self) -> None:
        """Forget errors of before."""
        self._errors.clear()

    def publish(self, now: int) -> None:
        """Publish the states of all robots in one message, while somebody is subscribed."""
        states, columns = (one.get_subscription_count() > 0 for one in (self._publisher, self._column_publisher))
        if not (states or columns):
            return
        if columns and self._columns is None:
            self._columns = columns_template(self.bridge.frames.map, self._names)
            self._set_columns_of_texts()
        if len(self._rows):
            self._write(states)
        if states:
            self._template.write_stamp(now)
            self._publisher.publish(self._template.data())
        if columns and self._columns is not None:
            self._column_publisher.publish(self._columns.data(now))

    def _write(self, states: bool) -> None:
        """Write the present state of all robots to the templates."""
        sim, rows, template = self.bridge.sim, self._rows, self._template
        world = sim.world
        causes, errors = self._errors.look()
        texts = self._looked_up.changed(errors)
        if texts is not None:
            self._present = texts
        battery, charging, faults, modes = reported(sim, rows)
        goals, has_goal = goals_of(world, rows)
        motion = np.empty((len(rows), 22))
        motion[:, :3], motion[:, 3:7] = world.believed_poses(rows)
        motion[:, 7:13] = body_twists(world, rows)
        motion[:, 13] = np.where(has_goal, np.linalg.norm(goals[:, :3] - motion[:, :3], axis=1), 0.0)
        motion[:, 14], motion[:, 15:] = battery, goals
        codes = np.zeros((len(rows), 3), np.uint8)
        codes[:, 0], codes[:, 1], codes[:, 2] = world.motion.control[rows], modes, causes
        flags = np.column_stack([flags_of(world, rows), charging, has_goal])
        # Also while the traffic has it wait.
        flags[:, 0] |= has_goal
        texts = self._keep_known(motion, faults, codes, flags) or texts
        if texts is not None:
            self._texts = texts
            # Before numbers: it moves them.
            template.set_texts(texts)
            self._set_columns_of_texts()
        if states:
            template.write("motion", motion)
            template.write("faults", faults[:, None])
            template.write("codes", codes)
            template.write("flags", flags)
        if self._columns is not None:
            # Of numbers of four bytes the message has others, too.
            self._columns.columns["faults"][:] = faults
            groups: dict[str, AnyArray] = {"f8": motion, "u1": codes, "?": flags}
            begins = Counter[str]()
            for name, (kind, width) in FLEET_COLUMNS.items():
                if kind in groups:
                    column, begin = self._columns.columns[name], begins[kind]
                    column[:] = groups[kind][:, begin : begin + width].reshape(column.shape)
                    begins[kind] += width

    def _keep_known(self, *numbers: AnyArray) -> list[tuple[Text, ...]] | None:
        """Put what is known of robots whose radio is disturbed in place of their present numbers (N, ...) and texts.

        Returns the texts of all where some may be of before, else None.
        """
        apart, before = self.bridge.disturbed(self._rows), bool(self._known)
        if apart is None:
            self._known.clear()
            return self._present if before else None
        texts = list(self._present)
        for index in np.flatnonzero(apart).tolist():
            row = int(self._rows[index])
            now = ([column[index].copy() for column in numbers], texts[index])
            # Nothing is known to have changed before the first message comes.
            self._known.setdefault(row, now)
            self.bridge.send_from(row, "fleet_states", partial(self._known.__setitem__, row, now))
            known, texts[index] = self._known[row]
            for column, value in zip(numbers, known, strict=True):
                column[index] = value
        for row in self._known.keys() - set(self._rows[apart].tolist()):
            del self._known[row]
        return texts

    def _set_columns_of_texts(self) -> None:
        if self._columns is None:
            return
        blocked_by, loads, orders, errors = zip(*self._texts, strict=True) if self._texts else ((), (), (), ())
        self._columns.columns["load_counts"][:] = [len(own) for own in loads]
        for name, texts in zip(FLEET_TEXTS[1:], (blocked_by, chain(*loads), orders, errors), strict=True):
            self._columns.set_texts(name, list(texts))


# /fleet/command: one command to many robots, as a topic and as a service.


KINDS = ("NAVIGATE", "VELOCITY", "STOP", "SET_POSES", "CANCEL")


class FleetCommandInterface(Interface):
    """Applies fleet commands and returns the accepted names and the reasons for the others.

    The result is the response of the service; for the topic it is published on /fleet/command_result.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._results = bridge.node.create_publisher(CommandResult, "fleet/command_result", qos.FLEET_COMMAND)
        bridge.subscribe(FleetCommand, "fleet/command", self._on_message, qos.FLEET_COMMAND)
        bridge.serve(SendFleetCommand, "fleet/command", self._on_request)

    async def _on_message(self, message: FleetCommand) -> None:
        result = await self._apply(message)
        self._results.publish(result)
        # The sender on a topic may not listen to the results, so rejections are logged too.
        for name, reason in zip(result.rejected, result.reasons, strict=True):
            self.bridge.reject(f"fleet/command {name}", reason)
        if result.error:
            self.bridge.reject("fleet/command", result.error)

    async def _on_request(self, request: Any, response: Any) -> None:
        response.result = await self._apply(request.command)

    async def _apply(self, message: FleetCommand) -> CommandResult:
        try:
            # The command is made between two steps, as its frames are looked up in the world.
            ack = await self.bridge.carry_out(lambda: self._command(message))
        except FleetSimError as error:
            return ack_to_msg(CommandAck(message.command_id, message.source), self.bridge.time.last, str(error))
        return ack_to_msg(ack, self.bridge.time.last)

    def _command(self, message: FleetCommand) -> Command:
        """Return the command in `message`; raises FleetSimError if it is invalid as a whole."""
        common = {"command_id": message.command_id, "source": message.source}
        names = tuple(message.names)
        if message.kind in (FleetCommand.NAVIGATE, FleetCommand.SET_POSES):
            # Checked before frames are looked up: a wrong length is wrong in every frame.
            _check_length("poses", message.poses, names)
            positions, orientations = self._poses(message.header.frame_id, message.poses)
            goals = {"names": names, "positions": positions, "orientations": orientations}
            if message.kind == FleetCommand.NAVIGATE:
                return Navigate(route=message.route, **goals, **common)
            return SetPoses(**goals, **common)
        if message.kind == FleetCommand.VELOCITY:
            _check_length("twists", message.twists, names)
            linear, angular = twists_from_msgs(message.twists)
            if math.isnan(message.timeout):
                # A comparison with NaN is false, so a NaN would silently become the default.
                raise InvalidValueError("timeout: expected seconds, 0 for ever, negative: the default; got nan")
            timeout = message.timeout if message.timeout >= 0.0 else self.bridge.params.cmd_vel_timeout
            return SetVelocity(names=names, linear=linear, angular=angular, timeout=timeout, **common)
        if message.kind == FleetCommand.STOP:
            return Stop(names=names, **common)
        if message.kind == FleetCommand.CANCEL:
            # Without a reason of its own; that of the command's default says who cancelled.
            return CancelActions(names=names, **common)
        allowed = ", ".join(f"{name} ({getattr(FleetCommand, name)})" for name in KINDS)
        raise InvalidValueError(f"kind: expected one of {allowed}, got {message.kind}")

    def _poses(self, frame: str, poses: list[Pose]) -> Any:
        return self.bridge.transforms.to_map(frame, *poses_from_msgs(poses))


def _check_length(what: str, values: list[Pose] | list[Twist], names: tuple[str, ...]) -> None:
    if len(values) != len(names):
        raise InvalidValueError(f"{what}: expected one for each of the {len(names)} names, got {len(values)}")


# /fleet/collisions: the pairs in collision.


Pair = tuple[str, str]


class CollisionsTopic(Interface):
    """Publishes the pairs in collision in each step in which they change; latched.

    On fleet/collisions, a Collisions: all pairs in contact, and those that began or ended since the last message.
    Entities without a name are called #<object id>.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.node.create_publisher(Collisions, "fleet/collisions", qos.LATCHED)
        # A dict as an ordered set: messages list the pairs in the order in which they began.
        self._active: dict[Pair, None] = {}
        self._started: list[Pair] = []
        self._ended: list[Pair] = []
        events = bridge.sim.events
        events.on("collision_started", self._on_started)
        events.on("collision_ended", self._on_ended)
        # Latched at once, so that a subscriber learns that there is no collision yet.
        self._send(0)

    def on_reset(self) -> None:
        """Find out which pairs a reset or a restored state has begun and ended."""
        pairs = dict.fromkeys(_pair(a, b) for a, b in self.bridge.sim.get_active_collision_pairs())
        # Pairs are restored without events, so the difference is worked out here. Added, not put in place: a restore
        # that removed an entity has emitted the end of its pairs already.
        self._started += [pair for pair in pairs if pair not in self._active]
        self._ended += [pair for pair in self._active if pair not in pairs]
        self._active = pairs

    def publish(self, now: int) -> None:
        """Publish the pairs, if one has begun or ended."""
        if self._started or self._ended:
            self._send(now)

    def _on_started(self, obj_a: object, obj_b: object) -> None:
        pair = _pair(obj_a, obj_b)
        self._active[pair] = None
        self._started.append(pair)

    def _on_ended(self, obj_a: object, obj_b: object) -> None:
        pair = _pair(obj_a, obj_b)
        self._active.pop(pair, None)
        self._ended.append(pair)

    def _send(self, now: int) -> None:
        message = Collisions(active=_msgs(self._active), started=_msgs(self._started), ended=_msgs(self._ended))
        message.header.frame_id = self.bridge.frames.map
        message.header.stamp = time_to_msg(now)
        self._publisher.publish(message)
        self._started, self._ended = [], []


def _pair(obj_a: object, obj_b: object) -> Pair:
    return _label(obj_a), _label(obj_b)


def _label(entity: object) -> str:
    return str(entity.name or f"#{entity.object_id}")  # type: ignore[attr-defined]


def _msgs(pairs: Iterable[Pair]) -> list[CollisionPair]:
    return [CollisionPair(first=first, second=second) for first, second in pairs]
