"""What an action of ROS 2 is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped

from fleet_sim.actions.base import Action
from fleet_sim.core.world import World
from fleet_sim.geometry import Pose
from fleet_sim.ros.conversions import pose_from_msg, time_from_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.trajectories import start_time


class GoalReader:
    """Reads what of a goal depends on the state of the world: in the simulation's thread, between two steps."""

    is_final = True
    """Whether all that was read holds for good."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def pose(self, stamped: PoseStamped) -> Pose:
        """Return a pose in the map frame; raises UnknownNameError for its frame."""
        return self._bridge.transforms.pose_to_map(stamped.header.frame_id, pose_from_msg(stamped.pose))

    def time(self, stamp: Time) -> float | None:
        """Return the simulation time of a stamp, None for at once."""
        return start_time(self._bridge, stamp)


class ArrivalReader(GoalReader):
    """Reads a goal when it arrives, in the executor's thread, where the world may not be looked at.

    Poses in the map frame, which are most, are final. A goal with others can be checked with it, and has to be read
    again.
    """

    def pose(self, stamped: PoseStamped) -> Pose:
        """Return a pose in its own frame; raises InvalidValueError."""
        if stamped.header.frame_id.removeprefix("/") not in ("", self._bridge.frames.map):
            self.is_final = False
        return pose_from_msg(stamped.pose)

    def time(self, stamp: Time) -> float | None:
        """Return some time, None for at once."""
        if time_from_msg(stamp) == 0:
            return None
        self.is_final = False
        return 0.0


@dataclass(frozen=True)
class Outcome:
    """How a goal ended: `cause` is a value of fleet_sim_msgs/msg/Cause, NONE for success; `duration` in s.

    `action` is what did it, None where it never began.
    """

    cause: int
    text: str
    duration: float = 0.0
    action: Action | None = None

    @property
    def success(self) -> bool:
        """Whether the goal was reached."""
        return self.cause == 0


@dataclass(frozen=True)
class Progress:
    """How far a running goal is: where the robot is, m left and the share done by distance, s since the begin."""

    phase: str
    pose: PoseStamped
    distance_left: float
    fraction: float
    duration: float
    details: Mapping[str, Any] = field(default_factory=dict)
    """All the action tells of itself."""


def _everyone(world: World, robot: str) -> bool:
    return True


@dataclass(frozen=True)
class ActionKind:
    """An action by `name`: its interface `type`, and how a goal becomes an action of the simulation.

    `build(goal, reader)` raises FleetSimError for what is wrong with the goal. `result(outcome)` and
    `feedback(progress)` return messages. `per_fleet`: the goal names the robot, so one server can serve the fleet.
    `serves(world, robot)` says which robots have it.
    """

    name: str
    type: Any
    build: Callable[[Any, GoalReader], Action]
    result: Callable[[Outcome], Any]
    feedback: Callable[[Progress], Any]
    per_fleet: bool = True
    serves: Callable[[World, str], bool] = _everyone


def own_kind(name: str, kind: Any, build: Callable[[Any, GoalReader], Action]) -> ActionKind:
    """Return an action of fleet_sim_msgs: their results and feedbacks are alike."""

    def result(outcome: Outcome) -> Any:
        return kind.Result(success=outcome.success, cause=outcome.cause, text=outcome.text, duration=outcome.duration)

    def feedback(progress: Progress) -> Any:
        return kind.Feedback(
            phase=progress.phase,
            pose=progress.pose,
            distance_left=progress.distance_left,
            progress=progress.fraction,
        )

    return ActionKind(name, kind, build, result, feedback)


def timeout_of(goal: Any) -> float | None:
    """Return the goal's timeout as actions have it: None for never."""
    return None if goal.timeout == 0.0 else goal.timeout
