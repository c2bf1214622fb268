"""Panda: PyBullet's panda in a simulation with physics, its joints and its state; `FrankaArm` moves it."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, as_float
from fleet_sim.bullet.handle import BulletHandle
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.spawn_params import AgentSpawnParams
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import quaternions


class Panda:
    """An arm with seven revolute joints and two fingers, on a fixed base.

    The nine movable joints are in this order. Limits are those of the model: they cannot be set.
    """

    end_effector_indices = (9, 10)
    gripper_index = 11
    """The point between the fingers."""
    revolute_joints = tuple(range(7))

    def __init__(self, sim: MultiRobotSimulationCore, name: str | None, pose: Pose) -> None:
        """Spawn the arm with its base at `pose`; raises InvalidValueError without physics."""
        if not sim.params.physics:
            raise InvalidValueError("a FrankaArm is moved by motors; make the simulation with physics=True")
        self.sim = sim
        params = AgentSpawnParams(
            name=name,
            urdf_path="panda",
            initial_pose=pose,
            use_fixed_base=True,
            # As its description says, 18 kg.
            mass=None,
            pickable=False,
            # The fingers move apart from each other here.
            mimic_joints=False,
        )
        self.agent: Agent = sim.spawn(params)
        model = self.agent.robot_model
        assert model is not None
        self._model: RobotModel = model
        self._movable = model.movable
        self._lower: Floats = model.lower[self._movable]
        self._upper: Floats = model.upper[self._movable]
        self._velocities: Floats = model.max_velocities[self._movable]

    @property
    def arm_id(self) -> int:
        """The PyBullet body id of the arm."""
        return self.sim.world.bodies.body_id(self.agent.row)

    @property
    def bc(self) -> BulletHandle:
        """PyBullet's functions and constants for this simulation, `sim.bullet`."""
        return self.sim.bullet

    # ---- the joints --------------------------------------------------------------------------------------------------

    @property
    def moveable_joints(self) -> list[int]:
        """Indices of the nine movable joints."""
        joints: list[int] = self._movable.tolist()
        return joints

    @property
    def max_velocities(self) -> list[float]:
        """Largest velocities of the nine movable joints, in rad/s and m/s."""
        velocities: list[float] = self._velocities.tolist()
        return velocities

    @property
    def lower_limits(self) -> list[float]:
        """Smallest positions of the nine movable joints, in rad and m."""
        limits: list[float] = self._lower.tolist()
        return limits

    @property
    def upper_limits(self) -> list[float]:
        """Largest positions of the nine movable joints, in rad and m."""
        limits: list[float] = self._upper.tolist()
        return limits

    @property
    def joint_ranges(self) -> list[float]:
        """Distances between the limits of the nine movable joints, in rad and m."""
        ranges: list[float] = (self._upper - self._lower).tolist()
        return ranges

    def stiffen(self, gain: float) -> None:
        """Set the position gain of the arm's motors: the fraction of the error to correct per substep (default 0.2).

        A stiffer arm needs fewer steps for the end of a move, but stops harder with the object it holds. The gain of
        the fingers does not change: stiffer fingers push small objects away.
        """
        joints = self.sim.world.joints
        slots = joints.of(self.sim.world.robots, self.agent.row)
        # `slots` is a slice, so this writes to the column and not to a copy.
        joints.position_gain[slots][:7] = as_float(gain, "gain", low=1e-3, high=1.0)
        # Says that the motors lag behind the columns, so that the engine gets the new gain.
        joints.motor_behind[slots] = True

    # ---- the state ---------------------------------------------------------------------------------------------------

    def get_position_velocity_state(self) -> Floats:
        """Return the positions of the nine movable joints and then their velocities, (18,)."""
        return np.concatenate([self.agent.joint_positions, self.agent.joint_velocities])

    def get_gripper_state(self) -> tuple[Floats, Floats]:
        """Return position (3,) and Euler angles (3,) of the point between the fingers, world frame."""
        pose = self.agent.get_link_pose(self.gripper_index)
        orientation = np.array([pose.orientation])
        return np.array(pose.position), quaternions.to_eulers(orientation)[0]
