"""PoseAction: move an arm's end effector to a pose."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.actions.base import Action, Until
from fleet_sim.actions.declared import DeclaredAction, Numbers, read_point, read_turn
from fleet_sim.actions.joint import JointAction
from fleet_sim.arrays import Ints
from fleet_sim.config.modes import ActionCause, ActionStatus
from fleet_sim.core.joints import DEFAULT_FORCE
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.end_effector import TOLERANCE, read_target
from fleet_sim.errors import FleetSimError
from fleet_sim.settings import setting

UNREACHABLE = "IK target was not reachable"
SETTLE_TIME = 1.0
"""Seconds that motors get, after their joints are within tolerance, to bring the end effector there too."""

log = logging.getLogger("fleet_sim.actions")


@dataclass(eq=False, repr=False)
class PoseAction(DeclaredAction):
    """Move the end effector to `target_position`, with `target_orientation` (xyzw) if that is given.

    Both are in the world frame, as it is when the action starts: the base should stay where it is. COMPLETED when the
    joints are at their targets, within the agent's `joint_tolerance`, and the end effector is within `tolerance` of
    its own.

    FAILED at once, with the cause, for an agent without joints or without that link. What cannot be reached is
    approached as far as possible, with a warning in the log; the action then ends FAILED with "IK target was not
    reachable". FAILED also where joints cannot get to their targets, see JointAction.
    """

    moves_base: ClassVar[bool] = False

    target_position: Numbers = setting(reader=read_point, unit="m", doc="Position of the end effector, world frame.")
    target_orientation: Numbers | None = setting(
        None, reader=read_turn, doc="Orientation, xyzw, world frame; None: any."
    )
    end_effector_link: int | str | None = setting(
        None, doc="End effector link by index or name; None: the one with fingers or a tool, else the last."
    )
    max_force: float = setting(
        DEFAULT_FORCE, low=0.0, unit="N m or N", doc="Maximum force of the motors, if there are any."
    )
    tolerance: float = setting(
        TOLERANCE, low=0.0, unit="m", doc="Distance to the target within which the end effector has arrived."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Read here for its checks: a wrong goal is refused when it is given, not when its turn comes.
        read_target(self.target_position, self.target_orientation)
        self._joints: JointAction | None = None
        self._reachable = True
        self._deadline: float | None = None

    def parts(self) -> list[Action]:
        """Return the action that moves the joints."""
        return [] if self._joints is None else [self._joints]

    def moves_joints(self, places: Ints) -> bool:
        """Return whether some of `places` are among the joints that lead to the end effector."""
        return self._joints is not None and self._joints.moves_joints(places)

    def start(self, agent: Agent) -> Until | None:
        """Find joint values for the target and send the joints there."""
        model = agent.robot_model
        if model is None:
            self.fail("the agent was made from shapes and has no joints", ActionCause.INVALID_GOAL)
            return None
        try:
            found = agent.find_reach(
                self.target_position, self.target_orientation, self.end_effector_link, self.tolerance
            )
        except FleetSimError as error:
            self.fail(str(error), ActionCause.INVALID_GOAL)
            return None
        self._reachable = bool(found.reachable_mask[0])
        if not self._reachable:
            log.warning(
                "%s: the end effector of %r stays %.3f m from %s; it goes as near as it can",
                UNREACHABLE,
                agent.world.label(agent.row),
                found.position_errors[0],
                np.asarray(self.target_position).tolist(),
            )
        joints = model.movable[found.slots - int(agent.world.robots.joint_start[agent.row])]
        targets = dict(zip(joints.tolist(), found.values.tolist(), strict=True))
        # In no queue: this action runs it as a part and cleans up after it.
        self._joints = JointAction(targets, self.max_force)
        return self._go_on(agent, self._joints.begin(agent))

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Check whether joints and end effector have arrived."""
        assert self._joints is not None
        if self._joints.is_complete():
            return self._settle(agent)
        return self._go_on(agent, self._joints.proceed(agent, dt))

    def stop(self, agent: Agent) -> None:
        """Hold the joints at their present positions, unless they have arrived."""
        if self._joints is not None:
            # Joints that have arrived keep their targets; held anew, these would move to where the joints sag.
            if not self._joints.is_complete():
                self._joints.cancel()
            self._joints.stop(agent)

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration and the distance (m) of the end effector from its target."""
        here = agent.get_end_effector_pose(self.end_effector_link).position
        x, y, z = (np.asarray(self.target_position) - here).tolist()
        phase = "settling" if self._deadline is not None else "moving"
        return {"phase": phase, "duration": self.get_duration(), "distance_left": (x * x + y * y + z * z) ** 0.5}

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self._joints, self._reachable, self._deadline = None, True, None

    def _go_on(self, agent: Agent, until: Until | None) -> Until | None:
        """Wait for the joints, or evaluate their final positions."""
        assert self._joints is not None
        if self._joints.status is ActionStatus.FAILED:
            if self._reachable:
                self.fail(self._joints.error_message or "the joints did not get there")
            else:
                self.fail(UNREACHABLE, ActionCause.UNREACHABLE)
            return None
        return self._settle(agent) if self._joints.is_complete() else until

    def _settle(self, agent: Agent) -> Until | None:
        """Wait until the joints, which are within tolerance, bring the end effector within its own."""
        position, orientation = self.target_position, self.target_orientation
        if self._reachable and agent.are_ee_at_target(position, orientation, self.end_effector_link, self.tolerance):
            self.complete()
            return None
        assert self._joints is not None
        now = agent.world.clock.time
        if self._deadline is None:
            self._deadline = now + SETTLE_TIME + (0.0 if agent.uses_motors else self._joints.time_left(agent))
        # Exactly there, the joints cannot bring the end effector any nearer, so there is nothing to wait for.
        there = agent.are_joints_at_targets(self._joints.target_joint_positions, 0.0)
        if not there and now < self._deadline:
            return None if agent.uses_motors else Until(joints=True, time=self._deadline)
        if self._reachable:
            left = self.progress(agent)["distance_left"]
            self.fail(f"the end effector stopped {left:.3f} m from its target; did the base move?")
        else:
            self.fail(UNREACHABLE, ActionCause.UNREACHABLE)
        return None
