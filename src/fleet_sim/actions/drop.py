"""Drop: put an object down."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from fleet_sim.actions.arm import ArmMove
from fleet_sim.actions.base import Failure
from fleet_sim.actions.pick import before_offset
from fleet_sim.actions.transfer import TransferAction
from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.joints import DEFAULT_FORCE
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.end_effector import TOLERANCE
from fleet_sim.entities.joint_values import JointNumbers, Tolerance
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose


class DropPhase(Enum):
    """Where a Drop stands."""

    INIT = "init"
    APPROACHING = "approaching"
    MOVING_TO_DROP = "moving_to_drop"
    DROPPING = "dropping"
    RETREATING = "retreating"


class DropAction(TransferAction):
    """Drive to a place, detach an object there and drive back.

    The object is `target_object_id` (an object id or a name), default the first one carried. It goes to `drop_pose`
    (a Pose or a position), `drop_height` m above it unless `place_gently`, or, with `drop_relative_pose`, to where it
    is moved by that pose, or, without `use_approach` and `drop_pose`, stays where it is. The way there is as in
    PickAction, with `drop_offset` m between robot and place, and so is what the arm does before the object is let go;
    with `use_arm` it goes to `drop_pose`.

    FAILED with the cause when the agent does not carry the object, and as PickAction does.
    """

    phases = (DropPhase.INIT, DropPhase.APPROACHING, DropPhase.MOVING_TO_DROP, DropPhase.DROPPING, DropPhase.RETREATING)

    def __init__(
        self,
        drop_pose: Pose | Sequence[float] | None = None,
        use_approach: bool = True,
        approach_pose: Pose | None = None,
        approach_offset: float = 1.0,
        drop_offset: float = 0.0,
        move_skip_threshold: float = 0.05,
        place_gently: bool = True,
        drop_height: float = 0.1,
        target_object_id: int | str | None = None,
        drop_relative_pose: Pose | None = None,
        joint_targets: JointNumbers | None = None,
        joint_tolerance: Tolerance = None,
        joint_max_force: float = DEFAULT_FORCE,
        ee_target_position: Sequence[float] | Floats | None = None,
        ee_target_orientation: Sequence[float] | Floats | None = None,
        ee_end_effector_link: int | str | None = None,
        ee_tolerance: float = TOLERANCE,
        continue_on_ik_failure: bool = True,
        use_arm: bool = False,
        timeout: float | None = None,
    ) -> None:
        super().__init__(
            use_approach=use_approach,
            approach_pose=approach_pose,
            approach_offset=approach_offset,
            place_offset=drop_offset,
            move_skip_threshold=move_skip_threshold,
            arm=ArmMove(
                joint_targets,
                joint_tolerance,
                joint_max_force,
                ee_target_position,
                ee_target_orientation,
                ee_end_effector_link,
                ee_tolerance,
                continue_on_ik_failure,
                use_arm,
            ),
            timeout=timeout,
        )
        if drop_pose is None and (use_approach or use_arm):
            raise InvalidValueError("drop_pose: needed, unless use_approach is False and the arm need not find it")
        self.drop_pose = (
            Pose(as_floats(drop_pose, (3,), "drop_pose").tolist())
            if drop_pose is not None and not isinstance(drop_pose, Pose)
            else drop_pose
        )
        self.place_gently = place_gently
        self.drop_height = as_float(drop_height, "drop_height in m", low=0.0)
        self.target_object_id = target_object_id
        self.drop_relative_pose = drop_relative_pose

    def prepare(self, agent: Agent) -> Failure | None:
        """See that the object is carried."""
        return self.hindrance(agent)

    def hindrance(self, agent: Agent) -> Failure | None:
        """See that the object is still carried."""
        return None if self._carried(agent) is not None else self._missing()

    def place(self, agent: Agent) -> Pose:
        """Return the place at the robot's height."""
        assert self.drop_pose is not None
        x, y, _ = self.drop_pose.position
        return Pose((x, y, agent.get_pose().z))

    def reach_for(self, agent: Agent) -> Floats | None:
        """Return where the end effector is to be for the object to come to its place."""
        target = self._carried(agent)
        if target is None or self.drop_pose is None:
            return None
        world, row = agent.world, target.row
        held = Pose(world.attach_position[row].tolist(), world.attach_orientation[row].tolist())
        return before_offset(np.array(self.drop_pose.position), held, self.arm.orientation)

    def act(self, agent: Agent) -> Failure | None:
        """Detach the object."""
        target = self._carried(agent)
        if target is None:
            return self._missing()
        if self.drop_relative_pose is not None:
            agent.detach_object(target, drop_relative_pose=self.drop_relative_pose)
            return None
        pose = self.drop_pose
        if pose is not None and not self.place_gently:
            pose = Pose((pose.x, pose.y, pose.z + self.drop_height), pose.orientation)
        agent.detach_object(target, drop_pose=pose)
        return None

    def _carried(self, agent: Agent) -> SimObject | None:
        wanted = self.target_object_id
        for carried in agent.get_attached_objects():
            if wanted is None or wanted in (carried.object_id, carried.name):
                return carried
        return None

    def _missing(self) -> Failure:
        wanted = self.target_object_id
        message = "No object attached" if wanted is None else f"Object {wanted!r} is not attached to the agent"
        return Failure(message, ActionCause.UNKNOWN_OBJECT)


class Drop(DropAction):
    """Drive to a place, detach an object there and drive back; see DropAction."""
