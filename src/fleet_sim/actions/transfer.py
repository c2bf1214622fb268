"""What Pick and Drop share: driving to an approach pose, to the place itself, and back."""

from __future__ import annotations

from typing import Any

from fleet_sim.actions.base import Action, Failure, Until
from fleet_sim.actions.move_to import immovable
from fleet_sim.arrays import as_float
from fleet_sim.entities.agent import Agent
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.modes import MovementDirection
from fleet_sim.tools import calculate_offset_pose


class TransferAction(Action):
    """Approach, move in, act, retreat. A subclass says where the place is and what to do there.

    `phase` is one of `phases`: initial, approaching, moving in, acting, retreating.
    """

    phases: tuple[Any, Any, Any, Any, Any]

    def __init__(
        self,
        *,
        use_approach: bool,
        approach_pose: Pose | None,
        approach_offset: float,
        place_offset: float,
        move_skip_threshold: float,
        timeout: float | None,
    ) -> None:
        super().__init__(timeout)
        if approach_pose is not None and not isinstance(approach_pose, Pose):
            raise InvalidValueError(f"approach_pose: expected a Pose, got {approach_pose!r}")
        self.use_approach = use_approach
        self.approach_pose = approach_pose
        self.approach_offset = as_float(approach_offset, "approach_offset in m", low=0.0)
        self.place_offset = as_float(place_offset, "offset in m", low=0.0)
        self.move_skip_threshold = as_float(move_skip_threshold, "move_skip_threshold in m", low=0.0)
        self.phase: Any = self.phases[0]
        self._away: Pose | None = None
        self._near: Pose | None = None

    # ---- to override -------------------------------------------------------------------------------------------------

    def prepare(self, agent: Agent) -> Failure | None:
        """Find out what to handle; return why that is impossible, or None."""
        raise NotImplementedError

    def hindrance(self, agent: Agent) -> Failure | None:
        """Return why going on is impossible by now, or None."""
        raise NotImplementedError

    def place(self, agent: Agent) -> Pose:
        """Return where the object is, or is to be."""
        raise NotImplementedError

    def act(self, agent: Agent) -> Failure | None:
        """Take or release the object; return why that is impossible, or None."""
        raise NotImplementedError

    # ---- the sequence ------------------------------------------------------------------------------------------------

    def start(self, agent: Agent) -> Until | None:
        """Check the request and set off."""
        self.phase = self.phases[0]
        hindrance = self.prepare(agent) or (immovable(agent) if self.use_approach else None)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        if not self.use_approach:
            return self._act(agent)
        here, place = agent.get_pose(), self.place(agent)
        self._away = self.approach_pose or calculate_offset_pose(place, here, self.approach_offset)
        self.phase = self.phases[1]
        return self._drive(agent, self._away, None) or self._move_in(agent)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Go on to the next phase when the robot has arrived."""
        if not agent.is_goal_reached():
            if agent.goal_pose is None:
                self.fail("the robot no longer drives to the goal")
            return Until(arrival=True)
        if self.phase == self.phases[1]:
            return self._move_in(agent)
        if self.phase == self.phases[2]:
            return self._act(agent)
        self.complete()
        return None

    def _move_in(self, agent: Agent) -> Until | None:
        hindrance = self.hindrance(agent)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        self.phase = self.phases[2]
        assert self._away is not None
        # Where the object is now: it may have moved while the robot was on its way.
        self._near = calculate_offset_pose(self.place(agent), self._away, self.place_offset)
        return self._drive(agent, self._near, None) or self._act(agent)

    def _act(self, agent: Agent) -> Until | None:
        self.phase = self.phases[3]
        hindrance = self.act(agent)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        if not self.use_approach or self._away is None:
            self.complete()
            return None
        self.phase = self.phases[4]
        until = self._drive(agent, self._away, MovementDirection.BACKWARD)
        if until is None:
            self.complete()
        return until

    def _drive(self, agent: Agent, pose: Pose, direction: MovementDirection | None) -> Until | None:
        """Set off to `pose`; None when the robot is there already."""
        if agent.get_pose().distance_to(pose) <= self.move_skip_threshold:
            return None
        agent.begin_path([pose], True, direction)
        return Until(arrival=True)

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self.phase = self.phases[0]
        self._away = self._near = None

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration and distance left (m) to where the robot is headed for."""
        goal = agent.goal_pose
        left = agent.get_pose().distance_to(goal) if goal is not None else 0.0
        return {"phase": str(self.phase.value), "duration": self.get_duration(), "distance_left": left}
