"""ArmMove: how an arm is brought to an object before it is taken, or to the place before it is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.actions.base import Action, Failure
from fleet_sim.actions.declared import Numbers, as_given, read_point, read_turn
from fleet_sim.actions.joint import JointAction
from fleet_sim.actions.pose import UNREACHABLE, PoseAction
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.joints import DEFAULT_FORCE
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.end_effector import TOLERANCE
from fleet_sim.entities.joint_values import JointNumbers, Tolerance, limits_cause, read_joint_numbers, read_tolerances
from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.settings.fields import fields_of
from fleet_sim.spatial import quaternions


@dataclass(kw_only=True)
class ArmTarget:
    """What Pick and Drop take about the arm: joint targets, or a target of the end effector, or neither."""

    joint_targets: JointNumbers | None = setting(
        None, reader=as_given, unit="rad or m", doc="Where the joints go first, see JointAction."
    )
    joint_tolerance: Tolerance = setting(None, reader=as_given, unit="rad or m", doc="Of `joint_targets`.")
    joint_max_force: float = setting(DEFAULT_FORCE, low=0.0, unit="N m or N", doc="Of the motors of the joints.")
    ee_target_position: Numbers | None = setting(
        None, reader=read_point, unit="m", doc="Where the end effector goes first, world frame, see PoseAction."
    )
    ee_target_orientation: Numbers | None = setting(
        None, reader=read_turn, doc="How it is turned there, xyzw, world frame."
    )
    ee_end_effector_link: int | str | None = setting(None, doc="Which link it is; None: the robot's end effector.")
    ee_tolerance: float = setting(TOLERANCE, low=0.0, unit="m", doc="How near it has to come.")
    continue_on_ik_failure: bool = setting(True, doc="Act all the same where the end effector cannot get there.")
    use_arm: bool = setting(False, doc="Let the end effector go to the object, or to where it is to be.")


@dataclass
class ArmMove(ArmTarget):
    """How the arm moves before the robot takes or releases something; nowhere, where no target is given.

    Raises InvalidValueError for more than one of `joint_targets`, `ee_target_position` and `use_arm`.
    """

    def __post_init__(self) -> None:
        ways = {
            "joint_targets": self.joint_targets is not None,
            "ee_target_position": self.ee_target_position is not None,
            "use_arm": self.use_arm,
        }
        given = [name for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise InvalidValueError(f"{' and '.join(given)}: give one of them; both say where the arm goes")
        if self.ee_target_orientation is not None:
            if not (self.use_arm or self.ee_target_position is not None):
                raise InvalidValueError("ee_target_orientation needs ee_target_position or use_arm")
            quaternions.normalized(np.asarray(self.ee_target_orientation)[None], "ee_target_orientation")

    @classmethod
    def of(cls, settings: ArmTarget) -> ArmMove:
        """Return the arm's part of an action's settings."""
        return cls(**{name: getattr(settings, name) for name in fields_of(cls)})

    @property
    def is_given(self) -> bool:
        """Whether the arm moves at all."""
        return self.use_arm or self.joint_targets is not None or self.ee_target_position is not None

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
            if self.ee_end_effector_link is not None:
                model.link_index(self.ee_end_effector_link)
        except FleetSimError as error:
            return str(error)
        return ""

    def make(self, reach_for: Any) -> Action | None:
        """Return the action that moves the arm, None where it stays; `reach_for` is where it goes with `use_arm`."""
        if self.joint_targets is not None:
            return JointAction(self.joint_targets, self.joint_max_force, self.joint_tolerance)
        position = reach_for if self.use_arm else self.ee_target_position
        if position is None:
            return None
        link, force = self.ee_end_effector_link, self.joint_max_force
        return PoseAction(position, self.ee_target_orientation, link, force, self.ee_tolerance)

    def forgives(self, action: Action) -> bool:
        """Return whether a move that failed is good enough to go on."""
        return self.continue_on_ik_failure and action.error_message == UNREACHABLE
