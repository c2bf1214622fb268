"""Pick: pick up an object."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Any

import numpy as np

from fleet_sim.actions.base import Failure
from fleet_sim.actions.declared import Numbers, read_point
from fleet_sim.actions.target import TARGET_DOC, TARGET_SCHEMA, Target, read_target, row_of_target
from fleet_sim.actions.transfer import TransferAction
from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.robot_model import BASE
from fleet_sim.entities import attachments
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import FleetSimError, InvalidValueError, UnknownNameError
from fleet_sim.geometry import Pose
from fleet_sim.saved_classes import saved
from fleet_sim.settings import setting
from fleet_sim.spatial import quaternions

NOT_FOUND = Failure("Target object not found or not pickable", ActionCause.UNKNOWN_OBJECT)


@saved
class PickPhase(Enum):
    """The phases of a Pick."""

    INIT = "init"
    APPROACHING = "approaching"
    MOVING_TO_PICK = "moving_to_pick"
    PICKING = "picking"
    RETREATING = "retreating"


@dataclass(eq=False, repr=False)
class PickAction(TransferAction):
    """Drive up to an object, attach it and drive back.

    With `use_approach` the robot goes to the approach pose, then to `pick_offset` m from the object, takes it, and goes
    back to the approach pose.

    Before it takes the object the robot moves its arm, if it is told how: to `joint_targets`, or with the end effector
    to `ee_target_position`, or, with `use_arm`, to the object. An end effector that cannot get there goes as near as it
    can. With `use_arm` the end effector takes the object where it is, unless another link or pose is given.

    The object is taken from where it is when the robot, or its arm, has done that: without `use_approach` at once, from
    any distance up to `reach`.

    FAILED with "Target object not found or not pickable" when there is none, when it has gone meanwhile, or when a bare
    number means two objects (see `row_of_target`); with "IK target was not reachable"; with the cause where the robot
    has no such link or joints, cannot drive, or stands too far away.
    """

    phases = (PickPhase.INIT, PickPhase.APPROACHING, PickPhase.MOVING_TO_PICK, PickPhase.PICKING, PickPhase.RETREATING)

    target_object_id: Target | None = setting(
        None, reader=read_target, schema=TARGET_SCHEMA, doc=TARGET_DOC + "the nearest free pickable object."
    )
    target_position: Numbers | None = setting(
        None,
        reader=read_point,
        unit="m",
        doc="Centre of the search for the nearest object, world frame; None: the robot.",
    )
    search_radius: float = setting(0.5, low=0.0, unit="m", doc="Maximum distance of the object from the search centre.")
    use_2d_search: bool = setting(True, doc="Ignore heights in the search.")
    _: KW_ONLY
    pick_offset: float = setting(0.0, low=0.0, unit="m", doc="Distance from the object at which the robot stops.")
    attach_link: int | str = setting(BASE, doc="Link that carries the object: index or name, -1 is the base.")
    attach_relative_pose: Pose | None = setting(
        None, doc="Pose of the object in that link's frame; None: the origin, or with `use_arm` its pose."
    )
    keep_world_pose: bool = setting(False, doc="Attach the object at its present pose.")
    reach: float | None = setting(
        None,
        low=0.0,
        unit="m",
        doc="Maximum distance of the object from the link that takes it, when it does; None: any, as of sim/attach.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep_world_pose and self.attach_relative_pose is not None:
            raise InvalidValueError("attach_relative_pose and keep_world_pose: give one of them")
        if self.use_arm and self.attach_relative_pose is None:
            # The arm takes the object where it is; pulling it to the origin of the link would be a jump.
            vars(self)["keep_world_pose"] = True
        self._offset = self.attach_relative_pose or Pose((0.0, 0.0, 0.0))
        self._link: int | str = self.attach_link
        self._target: SimObject | None = None

    @property
    def target(self) -> SimObject | None:
        """The object being picked, once the action has started."""
        return self._target

    @property
    def place_offset(self) -> float:
        """Distance (m) from the object at which the robot stops."""
        return self.pick_offset

    def prepare(self, agent: Agent) -> Failure | None:
        """Find link and object."""
        try:
            # A link that was named is meant, also when the arm moves.
            by_hand = self.use_arm and self.attach_link == BASE
            link = agent.end_effector(self.ee_end_effector_link) if by_hand else self.attach_link
            self._link = attachments.link_index(agent.world, agent.row, link)
        except FleetSimError as error:
            return Failure(str(error), ActionCause.INVALID_GOAL)
        try:
            self._target = self._find(agent)
        except UnknownNameError as error:
            return Failure(f"{NOT_FOUND.message}: {error}", ActionCause.UNKNOWN_OBJECT)
        return self.hindrance(agent)

    def hindrance(self, agent: Agent) -> Failure | None:
        """Check that the object still exists and is free."""
        # A robot may not pick what is not there, not free, or itself.
        target = self._target
        if target is None or not target.is_alive or not self._free(agent, target):
            return NOT_FOUND
        if _carries(target, agent):
            return Failure("the object carries the robot", ActionCause.UNKNOWN_OBJECT)
        return None

    def place(self, agent: Agent) -> Pose:
        """Return the object's place at the robot's height."""
        # The robot drives on its own level; the arm goes up or down.
        assert self._target is not None
        x, y, _ = self._target.get_pose().position
        return Pose((x, y, agent.get_pose().z))

    def reach_for(self, agent: Agent) -> Floats | None:
        """Return the end effector position at which the object can be attached without moving it."""
        assert self._target is not None
        return before_offset(self._target.position, self._offset, self.ee_target_orientation)

    def is_stopped_by(self, agent: Agent, obstacle: SimObject | None) -> bool:
        """Return whether `obstacle`, which stands before the robot, is the object to pick."""
        return obstacle is not None and obstacle == self._target

    def act(self, agent: Agent) -> Failure | None:
        """Attach the object."""
        # Asked again: others may have taken or removed the object on the way to it.
        hindrance = self.hindrance(agent)
        if hindrance is not None or self._target is None:
            return hindrance or NOT_FOUND
        far = attachments.out_of_reach(
            agent.world,
            self._target.row,
            agent.row,
            attachments.link_index(agent.world, agent.row, self._link),
            self.reach,
        )
        if far:
            return Failure(far, ActionCause.UNREACHABLE)
        offset = None if self.keep_world_pose else self._offset
        attached = agent.attach_object(self._target, self._link, offset, keep_world_pose=self.keep_world_pose)
        return None if attached else NOT_FOUND

    def _find(self, agent: Agent) -> SimObject | None:
        """Return the object to pick, the nearest one where none is named; None where there is none in reach."""
        world = agent.world
        wanted = self.target_object_id
        if wanted is None:
            # Found when it starts, not when it was made: the nearest one may be another by then.
            centre = None if self.target_position is None else np.asarray(self.target_position).tolist()
            return agent.find_nearest_pickable(self.search_radius, centre, self.use_2d_search)
        target: SimObject = world.handles[row_of_target(world, wanted)]
        return target

    @staticmethod
    def _free(agent: Agent, target: SimObject) -> bool:
        # What the robot holds already may be taken again, with another link.
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
    # Without this check a carrier would carry itself, in a circle without end.
    while holder is not None and holder != target:
        holder = holder.attached_to
    return holder is not None


@dataclass(eq=False, repr=False)
class Pick(PickAction):
    """Drive up to an object, attach it and drive back; see PickAction."""
