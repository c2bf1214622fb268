"""The sequence shared by Pick and Drop: drive to an approach pose, to the place, move the arm, act, drive back."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.actions.arm import ArmMove, ArmTarget
from fleet_sim.actions.base import BLOCKED_DOC, Action, Failure, Until
from fleet_sim.actions.conveyed import immovable
from fleet_sim.actions.declared import DeclaredAction
from fleet_sim.arrays import Floats, Ints
from fleet_sim.config.modes import ActionCause, ActionStatus, MovementDirection
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.gate.bounds import LONGEST_TIME
from fleet_sim.geometry import Path, Pose
from fleet_sim.settings import setting
from fleet_sim.tools import calculate_offset_pose


@dataclass(eq=False, repr=False)
class TransferAction(ArmTarget, DeclaredAction):
    """Approach, move in, reach out, act, retreat. A subclass defines the place and the act.

    `phase` is one of `phases`: initial, approaching, moving in, acting, retreating.
    """

    heeds_obstacles: ClassVar[bool] = True
    phases: ClassVar[tuple[Any, Any, Any, Any, Any]]

    _: KW_ONLY
    use_approach: bool = setting(
        True, doc="Drive there and back; False: the base stays, for arms with a fixed base or robots that are there."
    )
    approach_pose: Pose | None = setting(
        None, doc="Pose to drive to first and to retreat to; None: `approach_offset` before the place, facing it."
    )
    approach_offset: float = setting(1.0, low=0.0, unit="m", doc="Distance from the place to the approach pose.")
    move_skip_threshold: float = setting(
        0.05, low=0.0, unit="m", doc="Minimum distance to drive; shorter moves are skipped."
    )
    blocked_timeout: float | None = setting(None, low=0.0, high=LONGEST_TIME, unit="s", doc=BLOCKED_DOC)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.arm = ArmMove.of(self)
        self.phase: Any = self.phases[0]
        self._arm_action: Action | None = None
        self._away: Pose | None = None
        self._near: Pose | None = None

    # ---- to override -------------------------------------------------------------------------------------------------

    @property
    def place_offset(self) -> float:
        """Distance (m) from the place at which the robot stops."""
        raise NotImplementedError

    def prepare(self, agent: Agent) -> Failure | None:
        """Find the object; return why that is impossible, or None."""
        raise NotImplementedError

    def hindrance(self, agent: Agent) -> Failure | None:
        """Return why the action cannot continue, or None."""
        raise NotImplementedError

    def place(self, agent: Agent) -> Pose:
        """Return the place of the object, or its drop place."""
        raise NotImplementedError

    def reach_for(self, agent: Agent) -> Floats | None:
        """Return the target (3,) of the arm with `use_arm`."""
        raise NotImplementedError

    def is_stopped_by(self, agent: Agent, obstacle: SimObject | None) -> bool:
        """Return whether `obstacle`, which stands before the robot, is what it was to come to."""
        return False

    def act(self, agent: Agent) -> Failure | None:
        """Attach or detach the object; return why that is impossible, or None."""
        raise NotImplementedError

    # ---- the sequence ------------------------------------------------------------------------------------------------

    def start(self, agent: Agent) -> Until | None:
        """Check the request and start driving."""
        self.phase = self.phases[0]
        # Before driving: what is wrong with the arm's target is said at once and not at the object.
        hindrance = self.arm.hindrance(agent) or self.prepare(agent)
        if hindrance is None and self.use_approach:
            hindrance = immovable(agent)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        if not self.use_approach:
            return self._reach(agent)
        here, place = agent.get_pose(), self.place(agent)
        self._away = self.approach_pose or calculate_offset_pose(place, here, self.approach_offset)
        self.phase = self.phases[1]
        # Only the pose to approach from: what is picked may be a static body, or stand in one.
        if self.fail_inside(agent, Path([self._away])):
            return None
        return self._drive(agent, self._away, None) or self._move_in(agent)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Start the next phase when the robot, or its arm, has arrived."""
        if self._arm_action is not None:
            return self._follow_arm(agent, self._arm_action, self._arm_action.proceed(agent, dt))
        if not agent.is_goal_reached():
            # It has come as near to the object as it gets.
            if self.phase == self.phases[2] and self.is_stopped_by(agent, agent.blocked_by):
                drive.stop(agent.world, np.array([agent.row]))
                return self._reach(agent)
            if self.fail_blocked(agent):
                return None
            # Its path was taken away, as by a stop.
            if agent.goal_pose is None:
                self.fail("the robot no longer drives to the goal")
            return Until(arrival=True)
        if self.phase == self.phases[1]:
            return self._move_in(agent)
        if self.phase == self.phases[2]:
            return self._reach(agent)
        self.complete()
        return None

    def _fails(self, hindrance: Failure | None) -> bool:
        """Fail where there is a hindrance; return whether there is."""
        if hindrance is not None:
            self.fail(*hindrance)
        return hindrance is not None

    def _move_in(self, agent: Agent) -> Until | None:
        """Drive from the approach pose to the object, then reach for it; fails where something is in the way now."""
        # Asked again before each phase: somebody else may have taken the object meanwhile.
        if self._fails(self.hindrance(agent)):
            return None
        self.phase = self.phases[2]
        assert self._away is not None
        # Computed again, as the object may have moved while the robot was driving.
        self._near = calculate_offset_pose(self.place(agent), self._away, self.place_offset)
        return self._drive(agent, self._near, None) or self._reach(agent)

    def _reach(self, agent: Agent) -> Until | None:
        """Move the arm, if it is used, then act."""
        self.phase = self.phases[3]
        if self._fails(self.hindrance(agent)):
            return None
        action = self._arm_action = self.arm.make(self.reach_for(agent))
        return self._act(agent) if action is None else self._follow_arm(agent, action, action.begin(agent))

    def _follow_arm(self, agent: Agent, action: Action, until: Until | None) -> Until | None:
        """Wait for the arm's action; act when it has ended."""
        if not action.is_complete():
            return until
        # It is in no queue, so nobody else cleans up after it.
        action.stop(agent)
        self._arm_action = None
        if action.status is ActionStatus.COMPLETED or self.arm.forgives(action):
            return self._act(agent)
        self.fail(action.error_message or "the arm did not get there", action.cause or ActionCause.FAILED)
        return None

    def _act(self, agent: Agent) -> Until | None:
        """Attach or detach, then back away to the approach pose if there is one; completes where there is not."""
        if self._fails(self.act(agent)):
            return None
        if not self.use_approach or self._away is None:
            self.complete()
            return None
        self.phase = self.phases[4]
        # Backwards: in front of the object there may be no room to turn round.
        until = self._drive(agent, self._away, MovementDirection.BACKWARD)
        if until is None:
            self.complete()
        return until

    def _drive(self, agent: Agent, pose: Pose, direction: MovementDirection | None) -> Until | None:
        """Start driving to `pose`; return None if the robot is already there."""
        if agent.get_pose().distance_to(pose) <= self.move_skip_threshold:
            return None
        agent.begin_path([pose], True, direction, blocked_timeout=self.blocked_timeout)
        return Until(arrival=True)

    def parts(self) -> list[Action]:
        """Return the action that moves the arm."""
        return [] if self._arm_action is None else [self._arm_action]

    def moves_joints(self, places: Ints) -> bool:
        """Return whether the arm is moving some of the joints at `places`."""
        return self._arm_action is not None and self._arm_action.moves_joints(places)

    def stop(self, agent: Agent) -> None:
        """Stop the arm."""
        action = self._arm_action
        if action is not None:
            action.cancel()
            action.stop(agent)
            self._arm_action = None

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self.phase = self.phases[0]
        self._away = self._near = self._arm_action = None

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration and remaining distance (m) to the robot's current goal."""
        if self._arm_action is not None:
            left = self._arm_action.progress(agent)["distance_left"]
        else:
            goal = agent.goal_pose
            left = agent.get_pose().distance_to(goal) if goal is not None else 0.0
        return {
            "phase": str(self.phase.value),
            "blocked_by": self.blocked_by or "",
            "duration": self.get_duration(),
            "distance_left": left,
        }
