"""Drop: put an object down."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from fleet_sim.actions.base import Failure
from fleet_sim.actions.transfer import TransferAction
from fleet_sim.arrays import as_float, as_floats
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.geometry import Pose
from fleet_sim.modes import ActionCause


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
    is moved by that pose. The way there is as in PickAction, with `drop_offset` m between robot and place.

    FAILED with the cause when the agent does not carry the object.
    """

    phases = (DropPhase.INIT, DropPhase.APPROACHING, DropPhase.MOVING_TO_DROP, DropPhase.DROPPING, DropPhase.RETREATING)

    def __init__(
        self,
        drop_pose: Pose | Sequence[float],
        use_approach: bool = True,
        approach_pose: Pose | None = None,
        approach_offset: float = 1.0,
        drop_offset: float = 0.0,
        move_skip_threshold: float = 0.05,
        place_gently: bool = True,
        drop_height: float = 0.1,
        target_object_id: int | str | None = None,
        drop_relative_pose: Pose | None = None,
        timeout: float | None = None,
    ) -> None:
        super().__init__(
            use_approach=use_approach,
            approach_pose=approach_pose,
            approach_offset=approach_offset,
            place_offset=drop_offset,
            move_skip_threshold=move_skip_threshold,
            timeout=timeout,
        )
        self.drop_pose = (
            drop_pose if isinstance(drop_pose, Pose) else Pose(as_floats(drop_pose, (3,), "drop_pose").tolist())
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
        x, y, _ = self.drop_pose.position
        return Pose((x, y, agent.get_pose().z))

    def act(self, agent: Agent) -> Failure | None:
        """Detach the object."""
        target = self._carried(agent)
        if target is None:
            return self._missing()
        if self.drop_relative_pose is not None:
            agent.detach_object(target, drop_relative_pose=self.drop_relative_pose)
            return None
        pose = self.drop_pose
        if not self.place_gently:
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
