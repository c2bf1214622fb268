"""The parts of a ROS 2 action: how goals are read, and how results and feedback are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped

from fleet_sim.actions.base import Action
from fleet_sim.config.ros_params import RosParams
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, UnknownNameError
from fleet_sim.geometry import Pose
from fleet_sim.ros.conversions import pose_from_msg, time_from_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.trajectories import start_time


class GoalReader:
    """Reads the parts of a goal that depend on the world: in the simulation's thread, between two steps."""

    is_final = True
    """Whether everything read so far is independent of the world's state."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def pose(self, stamped: PoseStamped) -> Pose:
        """Return a pose in the map frame; raises UnknownNameError for its frame."""
        return self._bridge.transforms.pose_to_map(stamped.header.frame_id, pose_from_msg(stamped.pose))

    @property
    def has_routes(self) -> bool:
        """Whether robots can be routed around walls: from the start of a simulation on, or never."""
        return self._bridge.sim.world.routes.known

    @property
    def params(self) -> RosParams:
        """The settings of the node."""
        return self._bridge.params

    def time(self, stamp: Time) -> float | None:
        """Return the simulation time of a stamp, None to start at once."""
        return start_time(self._bridge, stamp)

    def station(self, name: str) -> Pose:
        """Return the pose of a station of the scenario's site; raises InvalidValueError where there is none."""
        try:
            station = self._bridge.sim.get_manager("site").station(name)
        except UnknownNameError as error:
            raise InvalidValueError(f"dock_id: {error}") from error
        return Pose.from_euler(station.x, station.y, 0.0, 0.0, 0.0, station.yaw)


class ArrivalReader(GoalReader):
    """Reads a goal when it arrives, in the executor's thread, which must not access the world.

    Poses in the map frame, the usual case, are final. Goals with poses in other frames can be checked, but must be read
    again in the simulation's thread.
    """

    def pose(self, stamped: PoseStamped) -> Pose:
        """Return a pose in its own frame; raises InvalidValueError."""
        # Other frames depend on where things are when the goal starts.
        if stamped.header.frame_id.removeprefix("/") not in ("", self._bridge.frames.map):
            self.is_final = False
        return pose_from_msg(stamped.pose)

    def station(self, name: str) -> Pose:
        """Return a placeholder."""
        # The scenario, and its site with it, may be another one when the goal starts.
        self.is_final = False
        return Pose((0.0, 0.0, 0.0))

    def time(self, stamp: Time) -> float | None:
        """Return a placeholder time, None to start at once."""
        # 0 is a stamp that nobody set: start at once.
        if time_from_msg(stamp) == 0:
            return None
        self.is_final = False
        # Any time will do: only the form of the goal is checked here.
        return 0.0


@dataclass(frozen=True)
class GoalOutcome:
    """How a goal ended: `cause` is a value of fleet_sim_msgs/msg/Cause, NONE for success; `duration` in s.

    `action` is the action of the goal, None if it never began.
    """

    cause: int
    text: str
    duration: float = 0.0
    action: Action | None = None
    request: Any = None
    """The goal's message."""

    @property
    def success(self) -> bool:
        """Whether the goal was reached."""
        return self.cause == 0


@dataclass(frozen=True)
class Progress:
    """Progress of a running goal: the robot's pose, distance left in m, share of it done, time since start in s."""

    phase: str
    pose: PoseStamped
    distance_left: float
    fraction: float
    duration: float
    details: Mapping[str, Any] = field(default_factory=dict)
    """The feedback of the action itself."""
    action: Action | None = None
    request: Any = None
    """The goal's message."""
    speed: float = 0.0
    """Of the robot, in m/s."""
    blocked_by: str = ""
    """Name of what keeps the action from going on; empty: nothing."""


def _everyone(world: World, robot: str) -> bool:
    return True


def _always(params: RosParams) -> bool:
    return True


@dataclass(frozen=True)
class ActionKind:
    """An action by `name`: its interface `type`, and how a goal becomes an action of the simulation.

    `build(goal, reader)` raises FleetSimError if the goal is invalid. `result(outcome)` and
    `feedback(progress)` return messages. `per_fleet`: the goal names the robot, so one server can serve the fleet.
    `serves(world, robot)` says which robots have it, `asked_for(params)` whether anybody has. Goals of `navigation` are
    rejected while the navigation of their robot is deactivated. `succeeded(bridge, robot)` is called for each success.
    """

    name: str
    type: Any
    build: Callable[[Any, GoalReader], Action]
    result: Callable[[GoalOutcome], Any]
    feedback: Callable[[Progress], Any]
    per_fleet: bool = True
    serves: Callable[[World, str], bool] = _everyone
    asked_for: Callable[[RosParams], bool] = _always
    navigation: bool = False
    succeeded: Callable[[Bridge, str], None] | None = None
    of_joints: bool = False
    """Whether it is offered under the name of a controller of joints, where the settings have one."""

    def topic(self, params: RosParams) -> str:
        """Return its name below that of a robot."""
        return params.in_joint_controller(self.name) if self.of_joints else self.name


def own_kind(name: str, kind: Any, build: Callable[[Any, GoalReader], Action]) -> ActionKind:
    """Return an action of fleet_sim_msgs; all of them share the fields of result and feedback."""

    def result(outcome: GoalOutcome) -> Any:
        return kind.Result(success=outcome.success, cause=outcome.cause, text=outcome.text, duration=outcome.duration)

    def feedback(progress: Progress) -> Any:
        return kind.Feedback(
            phase=progress.phase,
            pose=progress.pose,
            distance_left=progress.distance_left,
            progress=progress.fraction,
            blocked_by=progress.blocked_by,
        )

    return ActionKind(name, kind, build, result, feedback)


def patience_of(goal: Any) -> float | None:
    """Return how long a goal lets its robot stand before a static body, in s; 0: for ever, None: as the run does."""
    return None if goal.blocked_timeout < 0.0 else goal.blocked_timeout


def timeout_of(goal: Any) -> float | None:
    """Return the timeout of a goal in s; None for no timeout."""
    return None if goal.timeout == 0.0 else goal.timeout
