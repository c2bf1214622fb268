"""ArmMove: how the arm of a robot is brought to the object before it is taken, or to the place before it is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fleet_sim.actions.base import Action, Failure
from fleet_sim.actions.joint import JointAction
from fleet_sim.actions.pose import UNREACHABLE, PoseAction
from fleet_sim.arrays import Floats, as_float
from fleet_sim.config.modes import ActionCause
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.end_effector import read_target
from fleet_sim.entities.joint_values import JointNumbers, Tolerance, limits_cause, read_joint_numbers, read_tolerances
from fleet_sim.errors import FleetSimError, InvalidValueError


class ArmMove:
    """Joint targets, or a target of the end effector, or neither: the arm stays as it is.

    Raises InvalidValueError for more than one of `joint_targets`, `ee_target_position` and `use_arm`.
    """

    def __init__(
        self,
        joint_targets: JointNumbers | None,
        joint_tolerance: Tolerance,
        joint_max_force: float,
        ee_target_position: Sequence[float] | Floats | None,
        ee_target_orientation: Sequence[float] | Floats | None,
        ee_end_effector_link: int | str | None,
        ee_tolerance: float,
        continue_on_ik_failure: bool,
        use_arm: bool,
    ) -> None:
        ways = {
            "joint_targets": joint_targets is not None,
            "ee_target_position": ee_target_position is not None,
            "use_arm": use_arm,
        }
        given = [name for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise InvalidValueError(f"{' and '.join(given)}: give one of them; both say where the arm goes")
        if ee_target_orientation is not None and not (use_arm or ee_target_position is not None):
            raise InvalidValueError("ee_target_orientation needs ee_target_position or use_arm")
        read_target(ee_target_position if ee_target_position is not None else (0.0, 0.0, 0.0), ee_target_orientation)
        self.joint_targets, self.joint_tolerance = joint_targets, joint_tolerance
        self.max_force = as_float(joint_max_force, "joint_max_force in N m or N", low=0.0)
        self.position, self.orientation = ee_target_position, ee_target_orientation
        self.link = ee_end_effector_link
        self.tolerance = as_float(ee_tolerance, "ee_tolerance in m", low=0.0)
        self.continue_on_ik_failure = continue_on_ik_failure
        self.use_arm = use_arm

    @property
    def is_given(self) -> bool:
        """Whether the arm moves at all."""
        return self.use_arm or self.joint_targets is not None or self.position is not None

    def hindrance(self, agent: Agent) -> Failure | None:
        """Return why the agent can never do this, or None."""
        cause = self._cause(agent) if self.is_given else ""
        return Failure(cause, ActionCause.INVALID_GOAL) if cause else None

    def _cause(self, agent: Agent) -> str:
        model = agent.robot_model
        if model is None:
            return "the agent was made from shapes and has no joints"
        try:
            if self.joint_targets is not None:
                read_tolerances(model, self.joint_tolerance, np.zeros(len(model.movable)))
                return limits_cause(model, *read_joint_numbers(model, self.joint_targets, "joint targets"))
            if self.link is not None:
                model.link_index(self.link)
        except FleetSimError as error:
            return str(error)
        return ""

    def make(self, reach_for: Any) -> Action | None:
        """Return the action that moves the arm, None where it stays; `reach_for` is where it goes with `use_arm`."""
        if self.joint_targets is not None:
            return JointAction(self.joint_targets, self.max_force, self.joint_tolerance)
        position = reach_for if self.use_arm else self.position
        if position is None:
            return None
        return PoseAction(position, self.orientation, self.link, self.max_force, self.tolerance)

    def forgives(self, action: Action) -> bool:
        """Return whether a move that failed is good enough to go on."""
        return self.continue_on_ik_failure and action.error_message == UNREACHABLE
