"""Drop: put a carried object down."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import Enum

import numpy as np

from fleet_sim.actions.base import Failure
from fleet_sim.actions.declared import Numbers
from fleet_sim.actions.pick import before_offset
from fleet_sim.actions.target import TARGET_DOC, TARGET_SCHEMA, Target, read_target, row_of_target
from fleet_sim.actions.transfer import TransferAction
from fleet_sim.arrays import Floats, as_floats
from fleet_sim.config.modes import ActionCause
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError, UnknownNameError
from fleet_sim.geometry import Pose
from fleet_sim.saved_classes import saved
from fleet_sim.settings import setting


@saved
class DropPhase(Enum):
    """The phases of a Drop."""

    INIT = "init"
    APPROACHING = "approaching"
    MOVING_TO_DROP = "moving_to_drop"
    DROPPING = "dropping"
    RETREATING = "retreating"


def read_place(value: object) -> Pose | None:
    """Return a Pose, or a position (3,) as a Pose without rotation; raises InvalidValueError."""
    if value is None or isinstance(value, Pose):
        return value
    return Pose(as_floats(value, (3,), "a Pose or a position").tolist())


@dataclass(eq=False, repr=False)
class DropAction(TransferAction):
    """Drive to a place, detach an object there and drive back.

    The object goes to `drop_pose`, `drop_height` m above it unless `place_gently`, or, with `drop_relative_pose`, to
    where it is moved by that pose, or, without `use_approach` and `drop_pose`, stays where it is. The way there is as
    in PickAction, and so is what the arm does before the object is let go; with `use_arm` it goes to `drop_pose`.

    FAILED with the cause when the agent does not carry the object, and as PickAction does.
    """

    phases = (DropPhase.INIT, DropPhase.APPROACHING, DropPhase.MOVING_TO_DROP, DropPhase.DROPPING, DropPhase.RETREATING)

    drop_pose: Pose | Numbers | None = setting(
        None, reader=read_place, unit="m", doc="Pose or position to put the object at, world frame."
    )
    _: KW_ONLY
    drop_offset: float = setting(0.0, low=0.0, unit="m", doc="Distance from the drop place at which the robot stops.")
    place_gently: bool = setting(True, doc="Put the object exactly at its place; False: `drop_height` above.")
    drop_height: float = setting(
        0.1, low=0.0, unit="m", doc="Height from which the object is dropped, without `place_gently`."
    )
    target_object_id: Target | None = setting(
        None, reader=read_target, schema=TARGET_SCHEMA, doc=TARGET_DOC + "the first one carried."
    )
    drop_relative_pose: Pose | None = setting(None, doc="Move the object by this pose, relative to its present pose.")

    def __post_init__(self) -> None:
        super().__post_init__()
        # A place is needed to drive to, and for the arm to reach; dropping on the spot needs none.
        if self.drop_pose is None and (self.use_approach or self.use_arm):
            raise InvalidValueError("drop_pose: needed, unless use_approach is False and the arm need not find it")
        self._place = read_place(self.drop_pose)

    @property
    def place_offset(self) -> float:
        """Distance (m) from the place at which the robot stops."""
        return self.drop_offset

    # The object may be dropped, removed or taken away while the robot drives.
    def prepare(self, agent: Agent) -> Failure | None:
        """Check that the object is carried."""
        return self.hindrance(agent)

    def hindrance(self, agent: Agent) -> Failure | None:
        """Check that the object is still carried."""
        try:
            return None if self._carried(agent) is not None else self._missing()
        except UnknownNameError as error:
            return Failure(f"{self._missing().message}: {error}", ActionCause.UNKNOWN_OBJECT)

    def place(self, agent: Agent) -> Pose:
        """Return the place at the robot's height."""
        assert self._place is not None
        x, y, _ = self._place.position
        # The robot drives on its own level; only the object goes up or down.
        return Pose((x, y, agent.get_pose().z))

    def reach_for(self, agent: Agent) -> Floats | None:
        """Return the end effector position that brings the object to its place."""
        target = self._carried(agent)
        if target is None or self._place is None:
            return None
        world, row = agent.world, target.row
        # Where the object is held, so that the object and not the hand comes to the place.
        held = Pose(world.attach_position[row].tolist(), world.attach_orientation[row].tolist())
        return before_offset(np.array(self._place.position), held, self.ee_target_orientation)

    def act(self, agent: Agent) -> Failure | None:
        # Asked again: much may have happened on the way.
        """Detach the object."""
        hindrance = self.hindrance(agent)
        target = None if hindrance is not None else self._carried(agent)
        if target is None:
            return hindrance or self._missing()
        if self.drop_relative_pose is not None:
            agent.detach_object(target, drop_relative_pose=self.drop_relative_pose)
            return None
        pose = self._place
        if pose is not None and not self.place_gently:
            pose = Pose((pose.x, pose.y, pose.z + self.drop_height), pose.orientation)
        agent.detach_object(target, drop_pose=pose)
        return None

    def _carried(self, agent: Agent) -> SimObject | None:
        wanted = self.target_object_id
        carried = agent.get_attached_objects()
        if wanted is None:
            return carried[0] if carried else None
        # Any carried object has a handle; another robot's does not count.
        target: SimObject = agent.world.handles[row_of_target(agent.world, wanted)]
        return target if target in carried else None

    def _missing(self) -> Failure:
        wanted = self.target_object_id
        message = "No object attached" if wanted is None else f"Object {wanted!r} is not attached to the agent"
        return Failure(message, ActionCause.UNKNOWN_OBJECT)


@dataclass(eq=False, repr=False)
class Drop(DropAction):
    """Drive to a place, detach an object there and drive back; see DropAction."""
