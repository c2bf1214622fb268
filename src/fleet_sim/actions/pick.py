"""Pick: take an object."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from fleet_sim.actions.arm import ArmMove
from fleet_sim.actions.base import Failure
from fleet_sim.actions.transfer import TransferAction
from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.joints import DEFAULT_FORCE
from fleet_sim.core.robot_model import BASE
from fleet_sim.entities import attachments
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.end_effector import TOLERANCE
from fleet_sim.entities.joint_values import JointNumbers, Tolerance
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import FleetSimError, InvalidValueError, UnknownNameError
from fleet_sim.geometry import Pose
from fleet_sim.spatial import quaternions

NOT_FOUND = Failure("Target object not found or not pickable", ActionCause.UNKNOWN_OBJECT)


class PickPhase(Enum):
    """Where a Pick stands."""

    INIT = "init"
    APPROACHING = "approaching"
    MOVING_TO_PICK = "moving_to_pick"
    PICKING = "picking"
    RETREATING = "retreating"


class PickAction(TransferAction):
    """Drive up to an object, attach it and drive back.

    The object is `target_object_id` (an object id or a name), or the nearest free pickable one within `search_radius` m
    of `target_position` (default: of the robot; `use_2d_search` ignores heights). With `use_approach` the robot goes
    to `approach_pose` (default: `approach_offset` m before the object, facing it), then to `pick_offset` m from
    it, takes it, and goes back to the approach pose. Ways shorter than `move_skip_threshold` m are skipped. Without
    `use_approach` the base stays where it is: for arms with a fixed base, or mobile ones that are there already.

    Before it takes the object the robot moves its arm, if it is told how: to `joint_targets` (see JointAction, with
    `joint_tolerance` and `joint_max_force`), or with the end effector `ee_end_effector_link` to `ee_target_position`
    (see PoseAction, with `ee_target_orientation` and `ee_tolerance`), or, with `use_arm`, to the object. An end
    effector that cannot get there goes as near as it can; the object is taken all the same unless
    `continue_on_ik_failure` is False.

    The object is attached to `attach_link` (an index or a name, -1 is the base) at `attach_relative_pose` in the frame
    of that link, or where it is with `keep_world_pose`. With `use_arm` the end effector takes it where it is, unless
    another link or pose is given.

    FAILED with "Target object not found or not pickable" when there is none, or when it has gone meanwhile; with "IK
    target was not reachable"; with the cause where the robot has no such link or joints, or cannot drive.
    """

    phases = (PickPhase.INIT, PickPhase.APPROACHING, PickPhase.MOVING_TO_PICK, PickPhase.PICKING, PickPhase.RETREATING)

    def __init__(
        self,
        target_object_id: int | str | None = None,
        target_position: Sequence[float] | None = None,
        search_radius: float = 0.5,
        use_2d_search: bool = True,
        use_approach: bool = True,
        approach_pose: Pose | None = None,
        approach_offset: float = 1.0,
        pick_offset: float = 0.0,
        move_skip_threshold: float = 0.05,
        attach_link: int | str = -1,
        attach_relative_pose: Pose | None = None,
        keep_world_pose: bool = False,
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
            place_offset=pick_offset,
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
        self.target_object_id = target_object_id
        self.target_position: Floats | None = (
            None if target_position is None else as_floats(target_position, (3,), "target_position")
        )
        self.search_radius = as_float(search_radius, "search_radius in m", low=0.0)
        self.use_2d_search = use_2d_search
        self.attach_link = attach_link
        if keep_world_pose and attach_relative_pose is not None:
            raise InvalidValueError("attach_relative_pose and keep_world_pose: give one of them")
        self.attach_relative_pose = attach_relative_pose or Pose((0.0, 0.0, 0.0))
        self.keep_world_pose = keep_world_pose
        if use_arm and attach_relative_pose is None:
            self.keep_world_pose = True
        self._link: int | str = attach_link
        self._target: SimObject | None = None

    @property
    def target(self) -> SimObject | None:
        """The object being picked, once the action has started."""
        return self._target

    def prepare(self, agent: Agent) -> Failure | None:
        """Find link and object."""
        try:
            by_hand = self.arm.use_arm and self.attach_link == BASE
            link = agent.end_effector(self.arm.link) if by_hand else self.attach_link
            self._link = attachments.link_index(agent.world, agent.row, link)
        except FleetSimError as error:
            return Failure(str(error), ActionCause.INVALID_GOAL)
        self._target = self._find(agent)
        return self.hindrance(agent)

    def hindrance(self, agent: Agent) -> Failure | None:
        """See that the object is still there and free."""
        target = self._target
        if target is None or not target.is_alive or not self._free(agent, target):
            return NOT_FOUND
        if _carries(target, agent):
            return Failure("the object carries the robot", ActionCause.UNKNOWN_OBJECT)
        return None

    def place(self, agent: Agent) -> Pose:
        """Return the object's place at the robot's height."""
        assert self._target is not None
        x, y, _ = self._target.get_pose().position
        return Pose((x, y, agent.get_pose().z))

    def reach_for(self, agent: Agent) -> Floats | None:
        """Return where the end effector is to be for the object to stay where it is when it is attached."""
        assert self._target is not None
        return before_offset(self._target.position, self.attach_relative_pose, self.arm.orientation)

    def act(self, agent: Agent) -> Failure | None:
        """Attach the object."""
        hindrance = self.hindrance(agent)
        if hindrance is not None or self._target is None:
            return hindrance or NOT_FOUND
        offset = None if self.keep_world_pose else self.attach_relative_pose
        attached = agent.attach_object(self._target, self._link, offset, keep_world_pose=self.keep_world_pose)
        return None if attached else NOT_FOUND

    def _find(self, agent: Agent) -> SimObject | None:
        world = agent.world
        wanted = self.target_object_id
        if wanted is None:
            centre = None if self.target_position is None else self.target_position.tolist()
            return agent.find_nearest_pickable(self.search_radius, centre, self.use_2d_search)
        try:
            row = world.row_named(wanted) if isinstance(wanted, str) else world.row_of(wanted)
        except UnknownNameError:
            return None
        target: SimObject = world.handles[row]
        return target

    @staticmethod
    def _free(agent: Agent, target: SimObject) -> bool:
        return target.pickable and target != agent and target.attached_to in (None, agent)

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self._target = None


def before_offset(place: Floats, offset: Pose, orientation: Any) -> Floats:
    """Return where a link is to be, (3,), for its `offset` to be at `place`; where its `orientation` is not known
    the offset is taken as none.
    """
    if orientation is None:
        return place
    turn = quaternions.normalized(np.asarray(orientation, float)[None])
    arm: Floats = quaternions.rotate(turn, np.array([offset.position]))[0]
    return place - arm


def _carries(target: SimObject, agent: Agent) -> bool:
    """Return whether `agent` stands on `target`, directly or on something it carries."""
    holder = agent.attached_to
    while holder is not None and holder != target:
        holder = holder.attached_to
    return holder is not None


class Pick(PickAction):
    """Drive up to an object, attach it and drive back; see PickAction."""
