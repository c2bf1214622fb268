"""MoveTo: drive to a pose, or along a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleet_sim.actions.base import Action, Failure, Until
from fleet_sim.arrays import as_float
from fleet_sim.config.modes import ActionCause, MovementDirection
from fleet_sim.entities.agent import Agent, require_approach
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Path, Pose


class MoveAction(Action):
    """Follow `path`; COMPLETED at its last waypoint.

    FAILED at once, with the cause, for an empty path or an agent that cannot move. `tolerance` in m ends the action
    that near to the last waypoint; 0 arrives exactly. The robot drives to the first waypoint from wherever it is, so
    `auto_approach` can only be True; raises InvalidValueError for anything else.
    """

    def __init__(
        self,
        path: Path | Sequence[Pose],
        auto_approach: bool = True,
        final_orientation_align: bool = True,
        direction: MovementDirection | str | None = None,
        tolerance: float = 0.0,
        timeout: float | None = None,
    ) -> None:
        super().__init__(timeout)
        self.path = path if isinstance(path, Path) else Path(list(path))
        require_approach(auto_approach)
        self.final_orientation_align = final_orientation_align
        self.direction = None if direction is None else MovementDirection.parse(direction)
        self.tolerance = as_float(tolerance, "tolerance in m", low=0.0)

    def start(self, agent: Agent) -> Until | None:
        """Set off."""
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
        """See whether the robot is there."""
        if agent.is_goal_reached():
            self.complete()
        elif agent.goal_pose is None:
            self.fail("the robot no longer drives to the goal")
        return Until(arrival=True)

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration, distance left (m, straight line) and the waypoint headed for."""
        return {
            "phase": "moving",
            "duration": self.get_duration(),
            "distance_left": agent.get_pose().distance_to(self.path[-1]) if len(self.path) else 0.0,
            "waypoint": agent.current_waypoint_index,
        }


class MoveTo(MoveAction):
    """Drive to `target_pose`; `tolerance` in m ends the action that near to it, 0 arrives exactly."""

    def __init__(
        self,
        target_pose: Pose,
        tolerance: float = 0.0,
        final_orientation_align: bool = True,
        direction: MovementDirection | str | None = None,
        timeout: float | None = None,
    ) -> None:
        if not isinstance(target_pose, Pose):
            raise InvalidValueError(f"target_pose: expected a Pose, got {target_pose!r}")
        super().__init__(
            Path([target_pose]),
            final_orientation_align=final_orientation_align,
            direction=direction,
            tolerance=tolerance,
            timeout=timeout,
        )
        self.target_pose = target_pose


def immovable(agent: Agent) -> Failure | None:
    """Return why the agent cannot drive, or None."""
    if not agent.can_move:
        return Failure("the agent has a fixed base and cannot move", ActionCause.UNREACHABLE)
    holder = agent.attached_to
    if holder is None:
        return None
    return Failure(f"the agent is carried by {holder!r} and cannot move by itself", ActionCause.UNREACHABLE)
