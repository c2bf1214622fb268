"""EndEffectorHandle: the part of a robot's handle for its arm's end effector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.core import joint_steering
from fleet_sim.core.joints import DEFAULT_FORCE
from fleet_sim.entities.joint_handle import JointHandle
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.kinematics.inverse import check_ik_params
from fleet_sim.kinematics.params import ORIENTATION_TOLERANCE, IKParams
from fleet_sim.kinematics.reaching import DEFAULT_PARAMS, Reach, default_end_effector, reach
from fleet_sim.spatial import quaternions

TOLERANCE = 0.02
"""Distance (m) within which an end effector has reached its target."""
ELSEWHERE = "the end effector was sent elsewhere"


class EndEffectorHandle(JointHandle):
    """A robot with an arm, if its description has one.

    The end effector is any link, given by name or index. None is the link that carries fingers or a tool, as
    `auto_detect_profile` finds it, and the last link of a robot without an arm. Targets are in the world frame, in m,
    orientations as quaternions xyzw. Methods raise StateError where there are no joints, UnknownNameError for unknown
    links, InvalidValueError for anything not finite or a zero quaternion.
    """

    __slots__ = ()

    @property
    def ik_params(self) -> IKParams:
        """The inverse kinematics parameters of this robot."""
        return self._world.joints.ik_params.get(self.row) or DEFAULT_PARAMS

    @ik_params.setter
    def ik_params(self, value: IKParams | None) -> None:
        if value is not None and not isinstance(value, IKParams):
            raise InvalidValueError(f"ik_params: expected IKParams or None, got {value!r}")
        if value is not None:
            check_ik_params(self._model(), value)
        self._world.joints.ik_params[self.row] = value or DEFAULT_PARAMS

    def get_end_effector_pose(self, end_effector_link: int | str | None = None) -> Pose:
        """Return the world pose of the end effector."""
        return self.get_link_pose(self.end_effector(end_effector_link))

    def move_end_effector(
        self,
        target_position: Sequence[float] | Floats,
        target_orientation: Sequence[float] | Floats | None = None,
        end_effector_link: int | str | None = None,
        max_force: float = DEFAULT_FORCE,
        tolerance: float | None = None,
    ) -> bool:
        """Command the joints to values that bring the end effector to a target; return whether it is reachable.

        If it is not, the joints go as near as possible. It counts as reachable within `tolerance` m (None: the
        `reachability_tolerance` of the agent's IKParams). Without `target_orientation` any orientation will do. The
        base does not move, nor do joints that do not lead to the end effector.
        """
        found = self.find_reach(target_position, target_orientation, end_effector_link, tolerance)
        force = as_float(max_force, "max_force in N m or N", low=0.0)
        # Other joints of the robot, such as wheels, keep what they do.
        self._pre_empt(found.slots, ELSEWHERE)
        joint_steering.give_joint_targets(self._world, found.slots, found.values, force)
        return bool(found.reachable_mask[0])

    def find_reach(
        self,
        target_position: Sequence[float] | Floats,
        target_orientation: Sequence[float] | Floats | None = None,
        end_effector_link: int | str | None = None,
        tolerance: float | None = None,
    ) -> Reach:
        """Return the solution that `move_end_effector` would use, without moving."""
        link = self.end_effector(end_effector_link)
        position, orientation = read_target(target_position, target_orientation)
        limit = None if tolerance is None else as_float(tolerance, "tolerance in m", low=0.0)
        return reach(self._world, np.array([self.row]), [link], position, orientation, limit)

    def are_ee_at_target(
        self,
        target_position: Sequence[float] | Floats,
        target_orientation: Sequence[float] | Floats | None = None,
        end_effector_link: int | str | None = None,
        tolerance: float = TOLERANCE,
        orientation_tolerance: float = ORIENTATION_TOLERANCE,
    ) -> bool:
        """Return whether the end effector is within `tolerance` m and, if given, `orientation_tolerance` rad."""
        links = np.array([self.end_effector(end_effector_link)])
        position, orientation = read_target(target_position, target_orientation)
        here, turn = self._world.link_poses(np.array([self.row]), links)
        # Squares are added by component: a norm of NumPy would round differently alone and in company.
        x, y, z = (here - position)[0].tolist()
        if (x * x + y * y + z * z) ** 0.5 > as_float(tolerance, "tolerance in m", low=0.0):
            return False
        if orientation is None:
            return True
        # The rotation between both as a vector: its length is the angle, whatever the axis.
        apart = quaternions.to_rotation_vectors(quaternions.multiply(orientation, quaternions.conjugate(turn)))
        x, y, z = apart[0].tolist()
        return bool((x * x + y * y + z * z) ** 0.5 <= as_float(orientation_tolerance, "orientation_tolerance", low=0.0))

    def end_effector(self, link: int | str | None = None) -> int:
        """Return the index of a link given by name or index; None: the default end effector."""
        model = self._model()
        return default_end_effector(model) if link is None else model.link_index(link)


def read_target(position: Any, orientation: Any) -> tuple[Floats, Floats | None]:
    """Return a target as arrays (1, 3) and (1, 4) or None; raises InvalidValueError."""
    place = as_floats(position, (3,), "target_position in m")[None]
    if orientation is None:
        return place, None
    turn = as_floats(orientation, (4,), "target_orientation")[None]
    return place, quaternions.normalized(turn, "target_orientation")


def move_end_effectors(
    agents: Sequence[EndEffectorHandle],
    positions: Any,
    orientations: Any = None,
    link: int | str | None = None,
    max_force: float = DEFAULT_FORCE,
    tolerance: float | None = None,
) -> list[bool]:
    """Do for N agents of one world, in one call, what `EndEffectorHandle.move_end_effector` does for one.

    `positions` are (N, 3), `orientations` (N, 4) or None for all.
    """
    count = len(agents)
    if not count and not len(positions):
        return []
    places = as_floats(positions, (None, 3), "target_positions in m")
    turns = None if orientations is None else as_floats(orientations, (None, 4), "target_orientations")
    for what, array in (("target_positions", places), ("target_orientations", turns)):
        if array is not None and len(array) != count:
            raise InvalidValueError(f"{what}: expected one for each of {count} agents, got {len(array)}")
    limit = None if tolerance is None else as_float(tolerance, "tolerance in m", low=0.0)
    force = as_float(max_force, "max_force in N m or N", low=0.0)
    world, rows = agents[0].world, np.array([agent.row for agent in agents])
    links = [agent.end_effector(link) for agent in agents]
    turned = None if turns is None else quaternions.normalized(turns, "target_orientations")
    found = reach(world, rows, links, places, turned, limit)
    owners = world.joints.robot[found.slots]
    for row in rows.tolist():
        # Asked first: where nothing runs, the row's joints need not be picked out of all.
        if world.actions.current(row) is not None:
            places_moved = found.slots[owners == row] - int(world.robots.joint_start[row])
            world.actions.cancel_joints(row, places_moved, ELSEWHERE)
    joint_steering.give_joint_targets(world, found.slots, found.values, force)
    reachable: list[bool] = found.reachable_mask.tolist()
    return reachable
