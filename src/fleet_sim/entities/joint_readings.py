"""JointReadings: the part of a robot's handle that tells its description, and the state of its joints and links."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.entities.joint_values import place_of
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import StateError
from fleet_sim.geometry import Pose

JointState = tuple[float, float]
"""Position (rad or m) and velocity (rad/s or m/s) of a joint."""


class JointReadings(SimObject):
    """An entity with joints, to be read; see JointHandle."""

    __slots__ = ()

    # ---- the model ---------------------------------------------------------------------------------------------------

    @property
    def robot_model(self) -> RobotModel | None:
        """The content of the robot's description, None for an agent made from shapes."""
        return self._world.model_of(self.row)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of all joints, by index."""
        model = self.robot_model
        return () if model is None else model.joint_names

    @property
    def movable_joint_names(self) -> tuple[str, ...]:
        """The names of the joints that move, in order."""
        model = self.robot_model
        return () if model is None else model.movable_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """The names of all links except the base, by index."""
        model = self.robot_model
        return () if model is None else model.link_names

    def get_num_joints(self) -> int:
        """Return the number of joints, fixed ones included; 0 for an agent made from shapes."""
        return len(self.joint_names)

    def get_joint_limits(self, joint: int | str) -> tuple[float, float]:
        """Return the lower and upper limit of a movable joint; infinite if it has no limits."""
        slot = self._slot(joint)
        joints = self._world.joints
        return float(joints.lower[slot]), float(joints.upper[slot])

    @property
    def uses_motors(self) -> bool:
        """Whether motors of the physics engine move the joints; otherwise they are interpolated exactly."""
        return bool(self._world.robots.motors[self.row])

    def get_link_pose(self, link: int | str) -> Pose:
        """Return the world pose of a link, -1 for the base."""
        model = self._model()
        position, orientation = self._world.link_poses(np.array([self.row]), np.array([model.link_index(link)]))
        return Pose(position[0].tolist(), orientation[0].tolist())

    def get_link_velocity(self, link: int | str) -> tuple[Floats, Floats]:
        """Return the linear velocity (3,) in m/s of a link's frame and the angular one in rad/s; -1 is the base.

        Both are in the world frame, and follow from the velocities of the base and of the joints.
        """
        # Of the frame, not of the centre of mass: it is what forward kinematics gives.
        row, links = np.array([self.row]), np.array([self._model().link_index(link)])
        points, _ = self._world.link_poses(row, links)
        linear, angular = self._world.links.link_velocities(row, links, points)
        return linear[0], angular[0]

    # ---- state -------------------------------------------------------------------------------------------------------

    def get_joint_state(self, joint_index: int | str) -> JointState:
        """Return position and velocity of a joint; a fixed one is at 0 and at rest."""
        model = self._model()
        place = int(model.slots[model.joint_index(joint_index)])
        # It has no slot, so the columns say nothing of it.
        if place < 0:
            return 0.0, 0.0
        joints = self._world.joints
        slot = int(self._world.robots.joint_start[self.row]) + place
        return float(joints.position[slot]), float(joints.velocity[slot])

    def get_joint_state_by_name(self, joint_name: str) -> JointState:
        """Return position and velocity of a joint."""
        return self.get_joint_state(joint_name)

    def get_all_joints_state(self) -> list[JointState]:
        """Return position and velocity of every joint, by index; none for an agent made from shapes."""
        model = self.robot_model
        if model is None:
            return []
        span = self._world.joints.of(self._world.robots, self.row)
        # Fixed joints keep their zeros.
        states = np.zeros((model.num_joints, 2))
        states[model.movable, 0] = self._world.joints.position[span]
        states[model.movable, 1] = self._world.joints.velocity[span]
        return [(position, velocity) for position, velocity in states.tolist()]

    def get_all_joints_state_by_name(self) -> dict[str, JointState]:
        """Return position and velocity of every joint, by name."""
        return dict(zip(self.joint_names, self.get_all_joints_state(), strict=True))

    def get_joints_state_by_name(self, joint_names: Iterable[str]) -> dict[str, JointState]:
        """Return position and velocity of some joints, by name."""
        return {name: self.get_joint_state(name) for name in joint_names}

    @property
    def joint_positions(self) -> Floats:
        """A copy of the positions (M,) of the joints that move, in order."""
        values: Floats = self._world.joints.position[self._world.joints.of(self._world.robots, self.row)].copy()
        return values

    @property
    def joint_velocities(self) -> Floats:
        """A copy of the velocities (M,) of the joints that move, in order."""
        values: Floats = self._world.joints.velocity[self._world.joints.of(self._world.robots, self.row)].copy()
        return values

    @property
    def joint_efforts(self) -> Floats:
        """A copy of what motors applied in the last step (M,), in N m or N, of the joints that move, in order.

        NaN for a robot without motors, whose joints move as commanded, by no force.
        """
        row, world = self.row, self._world
        values: Floats = world.joints.effort[world.joints.of(world.robots, row)].copy()
        # Interpolated joints need no effort; 0 would look like a measurement.
        if not world.robots.motors[row]:
            values.fill(np.nan)
        return values

    # ---- internals ---------------------------------------------------------------------------------------------------

    def _model(self) -> RobotModel:
        model = self.robot_model
        if model is None:
            raise StateError(f"{self!r} was made from shapes and has no joints; spawn it from a robot description")
        return model

    def _slot(self, joint: int | str) -> int:
        return int(self._world.robots.joint_start[self.row]) + place_of(self._model(), joint)
