"""The kinds of actions that are served: move_to, pick, drop, execute, and those of other parts."""

from __future__ import annotations

import traceback
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from threading import Event
from types import FunctionType
from typing import Any

from geometry_msgs.msg import PoseStamped

from fleet_sim.base.arrays import Rows
from fleet_sim.base.errors import DuplicateNameError, FleetSimError, InvalidValueError, StateError
from fleet_sim.base.geometry import Path
from fleet_sim.base.params import MovementDirection
from fleet_sim.base.registry import Registry, instances_of
from fleet_sim.robots.actions.action import Action
from fleet_sim.robots.actions.drive import MoveAction
from fleet_sim.robots.actions.pick_and_drop import Drop as DropAction
from fleet_sim.robots.actions.pick_and_drop import Pick as PickAction
from fleet_sim.robots.actions.registry import parse_action_goal
from fleet_sim.ros import actions
from fleet_sim.ros.interface import Bridge, Endpoints, Interface
from fleet_sim.ros.messages import Roster, TopicNode, pose_from_msg
from fleet_sim.world.shapes import BASE
from fleet_sim_msgs.action import Drop, Execute, MoveTo, Pick

# move_to: drive to a pose.


DIRECTIONS: dict[int, MovementDirection | None] = {
    MoveTo.Goal.AS_CONFIGURED: None,
    MoveTo.Goal.FORWARD: MovementDirection.FORWARD,
    MoveTo.Goal.BACKWARD: MovementDirection.BACKWARD,
    MoveTo.Goal.AUTO: MovementDirection.AUTO,
}


def _build(goal: Any, reader: actions.GoalReader) -> Action:
    """Return the action of a goal; raises InvalidValueError for an unknown direction."""
    if goal.direction not in DIRECTIONS:
        raise InvalidValueError(f"direction: expected one of {sorted(DIRECTIONS)}, got {goal.direction}")
    return MoveAction(
        Path([reader.pose(stamped) for stamped in (*goal.via, goal.pose)]),
        final_orientation_align=goal.final_orientation_align,
        direction=DIRECTIONS[goal.direction],
        tolerance=goal.tolerance,
        route=goal.route,
        timeout=actions.timeout_of(goal),
        blocked_timeout=actions.patience_of(goal),
    )


MOVE_TO = actions.own_kind("move_to", MoveTo, _build)


# pick and drop: attach an object, and detach a carried one, with an arm or without.


def arm_arguments(goal: Any, reader: actions.GoalReader) -> dict[str, Any]:
    """Return the arguments of PickAction and DropAction for the arm; raises FleetSimError if they are invalid."""
    arguments: dict[str, Any] = {
        "joint_targets": _joint_targets(goal),
        "joint_tolerance": _joint_tolerance(goal),
        "joint_max_force": goal.joint_max_force,
        "ee_end_effector_link": goal.ee_link or None,
        "ee_tolerance": goal.ee_tolerance,
        "continue_on_ik_failure": goal.continue_on_ik_failure,
        "use_arm": goal.use_arm,
    }
    if goal.use_ee_target or goal.use_ee_orientation:
        target = reader.pose(goal.ee_target)
        if goal.use_ee_target:
            arguments["ee_target_position"] = target.position
        if goal.use_ee_orientation:
            arguments["ee_target_orientation"] = target.orientation
    elif _is_given(goal.ee_target):
        raise InvalidValueError("ee_target: set use_ee_target, or use_ee_orientation, to use it; or leave it empty")
    return arguments


def _joint_targets(goal: Any) -> Any:
    names, targets = list(goal.joint_names), list(goal.joint_targets)
    if not names:
        return targets or None
    if len(names) != len(targets):
        raise InvalidValueError(f"joint_targets: expected one for each of {len(names)} joint_names, got {len(targets)}")
    return dict(zip(names, targets, strict=True))


def _joint_tolerance(goal: Any) -> Any:
    names, given = list(goal.joint_names), list(goal.joint_tolerance)
    if len(given) <= 1:
        return given[0] if given else None
    if len(names) != len(given):
        raise InvalidValueError(
            f"joint_tolerance: expected one for all, or one for each of {len(names)} joint_names, got {len(given)}"
        )
    return dict(zip(names, given, strict=True))


def _is_given(message: Any) -> bool:
    """Return whether a part of a goal differs from that of a goal in which nobody set it."""
    stamped = hasattr(message, "header")
    # A stamp alone says nothing of where.
    frame = message.header.frame_id if stamped else ""
    place = (message.pose if hasattr(message, "pose") else message.point) if stamped else message
    return bool(frame) or place != type(place)()


def drive_arguments(goal: Any, reader: actions.GoalReader) -> dict[str, Any]:
    """Return the arguments of PickAction and DropAction for the way there and back; raises FleetSimError."""
    away = reader.pose(goal.approach_pose) if goal.use_approach_pose or _is_given(goal.approach_pose) else None
    if away is not None and not goal.use_approach:
        raise InvalidValueError("approach_pose: use_approach is false, so the robot does not drive there")
    return {
        "use_approach": goal.use_approach,
        "approach_pose": away,
        "approach_offset": goal.approach_offset,
        "move_skip_threshold": goal.move_skip_threshold,
        "timeout": actions.timeout_of(goal),
        "blocked_timeout": actions.patience_of(goal),
    }


def _build_pick(goal: Any, reader: actions.GoalReader) -> Action:
    """Return the action of a goal: the object by its name, else the nearest one to a position or to the robot."""
    # A point has no orientation; as a pose it goes through the same frames.
    around = PoseStamped(header=goal.position.header)
    around.pose.position = goal.position.point
    if _is_given(goal.position) and not goal.use_position:
        raise InvalidValueError("position: set use_position to search around it, or leave it empty")
    return PickAction(
        target_object_id=goal.object or None,
        target_position=reader.pose(around).position if goal.use_position else None,
        search_radius=goal.search_radius,
        use_2d_search=goal.use_2d_search,
        reach=None if goal.reach < 0.0 else goal.reach,
        pick_offset=goal.pick_offset,
        attach_link=goal.attach_link or BASE,
        attach_relative_pose=pose_from_msg(goal.attach_pose) if _is_given(goal.attach_pose) else None,
        keep_world_pose=goal.keep_pose,
        **drive_arguments(goal, reader),
        **arm_arguments(goal, reader),
    )


def _result(outcome: actions.GoalOutcome) -> Any:
    result = _KIND.result(outcome)
    # The action may have ended before it found its object.
    target = outcome.action.target if isinstance(outcome.action, PickAction) else None
    if outcome.success and target is not None and target.is_alive:
        result.object = target.name or f"#{target.object_id}"
    return result


_KIND = actions.own_kind("pick", Pick, _build_pick)
PICK = replace(_KIND, result=_result)


def _build_drop(goal: Any, reader: actions.GoalReader) -> Action:
    """Return the action of a goal, whose pose may be in any frame that TF can resolve.

    Fields of messages cannot be absent: a pose that nobody set is the origin of the map, and is taken as none, unless
    its flag says that it is meant.
    """
    place = reader.pose(goal.pose) if goal.use_pose or _is_given(goal.pose) else None
    moved = pose_from_msg(goal.relative_pose) if goal.use_relative_pose or _is_given(goal.relative_pose) else None
    if place is None and goal.use_approach:
        raise InvalidValueError(
            "pose: needed to drive there (use_pose, where it is the origin of the map); to let go of the object where "
            "the robot is, set use_approach to false"
        )
    return DropAction(
        place,
        drop_relative_pose=moved,
        drop_offset=goal.drop_offset,
        place_gently=not goal.fall,
        drop_height=goal.drop_height,
        target_object_id=goal.object or None,
        **drive_arguments(goal, reader),
        **arm_arguments(goal, reader),
    )


DROP = actions.own_kind("drop", Drop, _build_drop)


def _parsed_action(goal: Any, reader: actions.GoalReader) -> Action:
    return parse_action_goal(goal.action, goal.parameters)


EXECUTE = actions.own_kind("execute", Execute, _parsed_action)


def offers(module: str, *names: str) -> bool:
    """Return whether a module of a message package is installed and has `names`: older versions have fewer."""
    # Asked for beforehand: an import of ours that fails must not look like a package that is missing.
    return find_spec(module.partition(".")[0]) is not None and all(
        hasattr(import_module(module), name) for name in names
    )


OPTIONAL: dict[str, actions.ActionKind] = {}
if offers("control_msgs.action", "FollowJointTrajectory"):
    from fleet_sim.ros.follow_joint_trajectory import FOLLOW_JOINT_TRAJECTORY

    OPTIONAL["follow_joint_trajectory"] = FOLLOW_JOINT_TRAJECTORY

ACTION_SETS = Registry("set of ROS actions", instances_of(FunctionType, "a function"), group="fleet_sim.ros_actions")
"""Functions of other parts that return kinds of actions by name, of those whose message packages are installed."""


def built_in() -> dict[str, actions.ActionKind]:
    """Return our kinds and those of other parts; raises DuplicateNameError where two have one name."""
    kinds = {"move_to": MOVE_TO, "pick": PICK, "drop": DROP, "execute": EXECUTE, **OPTIONAL}
    for find_kinds in ACTION_SETS.all().values():
        for name, kind in find_kinds().items():
            if kinds.setdefault(name, kind) is not kind:
                raise DuplicateNameError(f"the ROS action {name!r} exists already; choose another name")
    return kinds


KINDS = Registry("ROS action", instances_of(actions.ActionKind), group="fleet_sim.ros_action", built_in=built_in)
"""Each is served for every robot that supports it and, if its goals name a robot, for the fleet."""


# The actions of each robot, /<robot>/move_to, and of the fleet, /fleet/move_to with the robot named in the goal.


class ActionInterface(Interface):
    """Serves all actions.

    An invalid goal, or one for an unknown robot, is rejected with a log line; any other failure ends the goal with a
    cause in its result.
    """

    rate = "feedback"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._goals = actions.Goals(bridge)
        self._known: frozenset[str] = frozenset()
        bridge.sim.world.on_remove.append(self._forget)
        self._spinning = False
        # Only the goal checked last: rclpy accepts it right after the check, in the same turn of the executor.
        self._read: tuple[Any, Action | None] = (None, None)
        self._kinds = [kind for kind in KINDS.all().values() if kind.asked_for(bridge.params)]
        for kind in (kind for kind in self._kinds if kind.per_fleet):
            self._serve(kind, f"fleet/{kind.name}", "")
        self._endpoints = Endpoints(bridge, "actions", self._serve_robot, self._destroy)

    @property
    def server_count(self) -> int:
        """The number of action servers."""
        return sum(kind.per_fleet for kind in self._kinds) + sum(map(len, self._endpoints.items))

    def on_fleet_changed(self, roster: Roster) -> None:
        """Serve the actions of new robots, and end those of robots that are gone, in the executor's thread."""
        self._known = roster.known
        follow = partial(self._endpoints.follow, roster)
        if self._spinning:
            # Servers belong to the executor's thread. A task runs after the results of goals that just ended.
            self.bridge.mailbox.post(lambda: self.bridge.node.executor.create_task(follow))
        else:
            follow()

    def _forget(self, rows: Rows) -> None:
        """Reject goals for robots as soon as they are removed, not only from the end of that step."""
        label = self.bridge.sim.world.label
        self._known = self._known.difference(label(row) for row in rows.tolist())

    def watch_clients(self, timeout: float) -> actions.ClientLeases:
        """Return what looks after goals whose client is gone; they end after `timeout` s, or never if it is 0."""
        return actions.ClientLeases(self.bridge, self._goals, timeout)

    def end_all(self, ended: Event) -> None:
        """End every goal, in the executor's thread; `ended` is set when all results are out."""
        self._goals.end_all(ended)

    def receive(self) -> None:
        # The first step: from now on the servers belong to the executor.
        self._spinning = True

    def publish(self, now: int) -> None:
        """Publish feedback of all running goals at `ros.rates.feedback`."""
        self._goals.publish_feedback(now)

    def end_step(self) -> None:
        """End goals whose actions were cancelled before they began."""
        self._goals.end_unannounced()

    def on_reset(self) -> None:
        """End goals whose actions a reset or a restored state has ended."""
        self._goals.end_unannounced()

    def _serve_robot(self, robot: str) -> list[actions.SimulatedActionServer]:
        servers: list[actions.SimulatedActionServer] = []
        # Asked per robot: what has no joints gets no server for joints.
        for kind in (kind for kind in self._kinds if kind.serves(self.bridge.sim.world, robot)):
            name = kind.topic(self.bridge.params)
            server = self.bridge.lacking.make(name, robot, partial(self._serve, kind, f"{robot}/{name}", robot))
            servers += [] if server is None else [server]
        return servers

    def _destroy(self, servers: list[actions.SimulatedActionServer]) -> None:
        for server in servers:
            server.destroy()

    def _serve(self, kind: actions.ActionKind, name: str, robot: str) -> actions.SimulatedActionServer:
        """Return a server for `robot`, or, if it is "", for the robots named in the goals."""

        def make(node: TopicNode) -> actions.SimulatedActionServer:
            return actions.SimulatedActionServer(
                node,
                kind,
                name,
                wants=lambda goal: self._wants(kind, name, robot or goal.robot, goal),
                accepted=lambda server, handle: self._accept(robot or handle.request.robot, server, handle),
                cancel=self._goals.cancel,
                group=self.bridge.group,
            )

        return self.bridge.node.with_room(make)

    def _wants(self, kind: actions.ActionKind, name: str, robot: str, goal: Any) -> bool:
        """Return whether a goal is valid as far as its arrival tells; one that is not is rejected with the reason."""
        reader = actions.ArrivalReader(self.bridge)
        try:
            self.bridge.gateway.permissions.check_change()
            if kind.navigation and robot in self.bridge.resting:
                raise StateError("navigation is not active; start it up by its lifecycle manager")
            action = kind.build(goal, reader)
        except FleetSimError as error:
            self.bridge.reject(f"goal of {name}", error)
            return False
        except Exception:
            # Whatever it is, it must not end the executor, and all services and actions with it.
            self.bridge.refusals.tell(f"goal of {name}: fault\n{traceback.format_exc()}")
            return False
        # After the goal itself: what is wrong with it is of more use than who it was for.
        if robot not in self._known:
            self.bridge.reject(f"goal of {name}", f"unknown robot {robot!r}")
            return False
        self._read = (goal, action if reader.is_final else None)
        return True

    def _accept(self, robot: str, server: actions.SimulatedActionServer, handle: Any) -> None:
        # By identity: another goal may have been checked in between.
        """Start a goal that was just checked, with the action that was built for the check."""
        goal, action = self._read
        self._goals.accept(robot, server, handle, action if goal is handle.request else None)
