"""MoveTo: drive to a pose, or along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fleet_sim.actions.base import Failure, Until
from fleet_sim.actions.declared import DeclaredAction
from fleet_sim.config.modes import ActionCause, MovementDirection
from fleet_sim.entities.agent import Agent, checked_approach
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Path, Pose
from fleet_sim.settings import setting


def _read_direction(value: object) -> MovementDirection | None:
    return None if value is None else MovementDirection.parse(value)


def _read_path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidValueError(f"must be a list of poses, got {value!r}")
    return Path(value)


@dataclass(eq=False, repr=False)
class MoveAction(DeclaredAction):
    """Follow `path`; COMPLETED at its last waypoint.

    FAILED at once, with the cause, for an empty path or an agent that cannot move.
    """

    path: Path | Sequence[Pose] = setting(reader=_read_path, doc="Waypoints, world frame.")
    auto_approach: bool = setting(
        True,
        reader=checked_approach,
        doc="Drive to the first waypoint first: always true.",
    )
    final_orientation_align: bool = setting(True, doc="Turn to the last waypoint's orientation at the end.")
    direction: MovementDirection | str | None = setting(
        None, reader=_read_direction, doc="End of a differential base that leads; None: the robot's default."
    )
    tolerance: float = setting(
        0.0, low=0.0, unit="m", doc="Distance to the last waypoint at which to end; 0: arrive exactly."
    )

    def start(self, agent: Agent) -> Until | None:
        """Start driving."""
        if len(self.path) == 0:
            self.fail("the path is empty", ActionCause.INVALID_GOAL)
            return None
        hindrance = immovable(agent)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        agent.begin_path(self.path, self.final_orientation_align, self.direction, self.tolerance)
        return Until(arrival=True)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Check whether the robot has arrived."""
        if agent.is_goal_reached():
            self.complete()
        elif agent.goal_pose is None:
            self.fail("the robot no longer drives to the goal")
        return Until(arrival=True)

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration, remaining distance (m, straight line) and the current waypoint."""
        return {
            "phase": "moving",
            "duration": self.get_duration(),
            "distance_left": agent.get_pose().distance_to(self.path[-1]) if len(self.path) else 0.0,
            "waypoint": agent.current_waypoint_index,
        }


@dataclass(eq=False, repr=False, init=False)
class MoveTo(MoveAction):
    """Drive to `target_pose`: a path of one waypoint."""

    path: Path = field(init=False)
    auto_approach: bool = field(init=False, default=True)
    target_pose: Pose = setting(doc="Where to, world frame.")

    # Written by hand: a dataclass would put inherited parameters first, and users pass the tolerance by position.
    def __init__(
        self,
        target_pose: Pose,
        tolerance: float = 0.0,
        final_orientation_align: bool = True,
        direction: MovementDirection | str | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        self.target_pose, self.tolerance, self.timeout = target_pose, tolerance, timeout
        self.final_orientation_align, self.direction = final_orientation_align, direction
        self.__post_init__()
        self.path = Path([self.target_pose])


def immovable(agent: Agent) -> Failure | None:
    """Return why the agent cannot drive, or None."""
    if not agent.can_move:
        return Failure("the agent has a fixed base and cannot move", ActionCause.UNREACHABLE)
    holder = agent.attached_to
    if holder is None:
        return None
    return Failure(f"the agent is carried by {holder!r} and cannot move by itself", ActionCause.UNREACHABLE)
