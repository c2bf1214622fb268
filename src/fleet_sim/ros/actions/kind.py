"""What an action of ROS 2 is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from geometry_msgs.msg import PoseStamped

from fleet_sim.actions.base import Action
from fleet_sim.geometry import Pose
from fleet_sim.ros.conversions import pose_from_msg

Place = Callable[[Any], Pose]
"""Returns the pose of a PoseStamped in the map frame; raises UnknownNameError for its frame."""


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


def _everyone(robot: str) -> bool:
    return True


@dataclass(frozen=True)
class ActionKind:
    """An action by `name`: its interface `type`, and how a goal becomes an action of the simulation.

    `build(goal, place)` raises FleetSimError for what is wrong with the goal. `result(outcome)` and
    `feedback(progress)` return messages. `per_fleet`: the goal names the robot, so one server can serve the fleet.
    `serves(robot)` says which robots have it.
    """

    name: str
    type: Any
    build: Callable[[Any, Place], Action]
    result: Callable[[Outcome], Any]
    feedback: Callable[[Progress], Any]
    per_fleet: bool = True
    serves: Callable[[str], bool] = _everyone

    def check(self, goal: Any) -> None:
        """Raise FleetSimError where the goal is wrong whatever the state of the world."""
        self.build(goal, lambda stamped: pose_from_msg(stamped.pose))


def own_kind(name: str, kind: Any, build: Callable[[Any, Place], Action]) -> ActionKind:
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
