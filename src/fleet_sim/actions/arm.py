"""ArmMove: the arm motion before an object is picked or dropped."""

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
from fleet_sim.saved_classes import saved
from fleet_sim.settings import setting
from fleet_sim.settings.fields import fields_of
from fleet_sim.spatial import quaternions


@dataclass(kw_only=True)
class ArmTarget:
    """The arm settings of Pick and Drop: joint targets, or an end effector target, or neither."""

    joint_targets: JointNumbers | None = setting(
        None, reader=as_given, unit="rad or m", doc="Joint targets before acting, see JointAction."
    )
    joint_tolerance: Tolerance = setting(None, reader=as_given, unit="rad or m", doc="Of `joint_targets`.")
    joint_max_force: float = setting(
        DEFAULT_FORCE, low=0.0, unit="N m or N", doc="Maximum force of the joints' motors."
    )
    ee_target_position: Numbers | None = setting(
        None, reader=read_point, unit="m", doc="End effector position before acting, world frame, see PoseAction."
    )
    ee_target_orientation: Numbers | None = setting(
        None, reader=read_turn, doc="End effector orientation there, xyzw, world frame."
    )
    ee_end_effector_link: int | str | None = setting(None, doc="Link used as end effector; None: the robot's own.")
    ee_tolerance: float = setting(TOLERANCE, low=0.0, unit="m", doc="How near it has to come.")
    continue_on_ik_failure: bool = setting(True, doc="Continue even if the end effector cannot reach its target.")
    use_arm: bool = setting(False, doc="Move the end effector to the object, or to its drop place.")


@saved
@dataclass
class ArmMove(ArmTarget):
    """The arm motion before the robot attaches or detaches an object; none if no target is given.

    Raises InvalidValueError for more than one of `joint_targets`, `ee_target_position` and `use_arm`.
    """

    def __post_init__(self) -> None:
        """Check that one way at most says where the arm goes; raises InvalidValueError.

        An orientation needs a position, or `use_arm`, and must be a quaternion (4,) xyzw of a length above 0.
        """
        ways = {
            "joint_targets": self.joint_targets is not None,
            "ee_target_position": self.ee_target_position is not None,
            "use_arm": self.use_arm,
        }
        given = [name for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise InvalidValueError(f"{' and '.join(given)}: give one of them; both say where the arm goes")
        if self.ee_target_orientation is not None:
            # Without a position there is nothing that the orientation could be of.
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
        """Return why the agent cannot make this motion at all, or None."""
        cause = self._cause(agent) if self.is_given else ""
        return Failure(cause, ActionCause.INVALID_GOAL) if cause else None

    def _cause(self, agent: Agent) -> str:
        """Return why the arm of `agent` cannot make this move; "" where it can, as far as its model tells."""
        model = agent.robot_model
        if model is None:
            return "the agent was made from shapes and has no joints"
        try:
            if self.joint_targets is not None:
                # Read only to find out whether they can be: the action itself reads them again when it runs.
                read_tolerances(model, self.joint_tolerance, np.zeros(len(model.movable)))
                return limits_cause(model, *read_joint_numbers(model, self.joint_targets, "joint targets"))
            if self.ee_end_effector_link is not None:
                model.link_index(self.ee_end_effector_link)
        except FleetSimError as error:
            return str(error)
        return ""

    def make(self, reach_for: Any) -> Action | None:
        """Return the action that moves the arm, None if it stays; `reach_for` is its target with `use_arm`."""
        if self.joint_targets is not None:
            return JointAction(self.joint_targets, self.joint_max_force, self.joint_tolerance)
        position = reach_for if self.use_arm else self.ee_target_position
        if position is None:
            return None
        link, force = self.ee_end_effector_link, self.joint_max_force
        return PoseAction(position, self.ee_target_orientation, link, force, self.ee_tolerance)

    def forgives(self, action: Action) -> bool:
        """Return whether the sequence may continue although the move failed."""
        return self.continue_on_ik_failure and action.error_message == UNREACHABLE
