"""FrankaArm: PyBullet's panda, moved by the motors of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import quaternions

Forces = dict[str, list[float]]
"""Reaction forces in N of both fingers, one number per step: `end_effector_a` and `end_effector_b`."""

SHAKE = 0.03
"""Distance in m by which the hand is lifted to test a grip."""
TIP_OFFSET = 0.0075
"""Distance in m from the controlled point between the fingers to the finger tips."""
WALL_MARGIN = 0.02
"""Distance in m that the gripper keeps from the sides of its workspace."""


class FrankaArm:
    """An arm with seven joints and a gripper of two fingers, on a fixed base.

    Movable joints are ordered: seven revolute joints of the arm, then the two fingers. Methods that move the arm step
    the simulation until the joints have arrived, at most `max_steps` times. Positions are in the world frame, in m.
    """

    acceptable_proximity_to_target = 0.0008
    """Tolerance of the arm's joints in rad: about half a millimetre at the gripper."""
    acceptable_gripper_proximity_to_target = 0.0005
    end_effector_indices = (9, 10)
    gripper_index = 11
    max_gripper_force = 80.0
    max_steps = 120
    revolute_joints = tuple(range(7))
    open_position, closed_position = 0.02, 0.0
    """Target of each finger when the gripper opens and when it closes, in m. Fingers whose target is only slightly less
    than half the width of the object hold it in the middle; otherwise the object slides along with both fingers."""

    def __init__(
        self,
        arm_base_position: Sequence[float],
        arm_base_orientation: Sequence[float],
        bullet_client: MultiRobotSimulationCore,
        default_joint_positions: Sequence[float],
        get_end_effector_force_sensor_readings: bool = False,
        clip_delta_actions_to_workspace: bool = False,
        workspace_origin: Sequence[float] | None = None,
        workspace_dimensions: Sequence[float] | None = None,
        name: str | None = None,
    ) -> None:
        """Spawn an arm in a simulation (`bullet_client`) with physics; raises InvalidValueError without physics.

        `default_joint_positions` has one number per joint, fixed ones included: 12. The workspace is given by the
        centre of its floor and its length, width and height.
        """
        sim = bullet_client
        if not sim.params.physics:
            raise InvalidValueError("a FrankaArm is moved by motors; make the simulation with physics=True")
        self.sim = sim
        self.default_joint_positions: Floats = as_floats(default_joint_positions, (12,), "default_joint_positions")
        self.reads_forces = get_end_effector_force_sensor_readings
        self.clips_to_workspace = clip_delta_actions_to_workspace
        self.agent, model = _spawn_panda(sim, name, Pose(arm_base_position, arm_base_orientation))
        self._movable = model.movable
        self._lower, self._upper = model.lower[self._movable], model.upper[self._movable]
        self._velocities = model.max_velocities[self._movable]
        self.default_joint_pos = self.read_joint_positions(default_joint_positions)
        self.workspace = None
        if workspace_origin is not None and workspace_dimensions is not None:
            self.workspace = self.get_workspace(workspace_origin, workspace_dimensions)
        self.gripper_is_open = True
        self.null_space_limits()
        self.reset()
        if self.reads_forces:
            self.enable_joint_force_torque_sensor_on_end_effectors()

    # ---- the model ---------------------------------------------------------------------------------------------------

    @property
    def arm_id(self) -> int:
        """The PyBullet body id of the arm."""
        return self.sim.world.bodies.body_id(self.agent.row)

    def read_joint_positions(self, default_joint_positions: Sequence[float]) -> list[float]:
        """Return one position per joint, checked; raises InvalidValueError."""
        return list(as_floats(default_joint_positions, (12,), "default_joint_positions").tolist())

    def null_space_limits(self) -> None:
        """Set the limits, ranges and rest positions for inverse kinematics in the null space."""
        self.lower_limits = self._lower.tolist()
        self.upper_limits = self._upper.tolist()
        self.joint_ranges = (self._upper - self._lower).tolist()
        self.rest_poses = self.default_joint_positions[self._movable].tolist()

    def get_workspace(
        self, workspace_origin: Sequence[float], workspace_dimensions: Sequence[float]
    ) -> list[list[float]]:
        """Return the lower and upper limit of x, y and z; there is no upper limit in z."""
        origin = as_floats(workspace_origin, (3,), "workspace_origin")
        size = as_floats(workspace_dimensions, (3,), "workspace_dimensions")
        reach = np.maximum(0.5 * size[:2] - WALL_MARGIN, 0.0)
        sides = [[float(origin[axis] - reach[axis]), float(origin[axis] + reach[axis])] for axis in range(2)]
        return [*sides, [float(origin[2]) + TIP_OFFSET, float("inf")]]

    # ---- the state ---------------------------------------------------------------------------------------------------

    def get_position_velocity_state(self) -> Floats:
        """Return the positions of the nine movable joints and then their velocities, (18,)."""
        return np.concatenate([self.agent.joint_positions, self.agent.joint_velocities])

    def get_gripper_state(self) -> tuple[Floats, Floats]:
        """Return position (3,) and Euler angles (3,) of the point between the fingers, world frame."""
        pose = self.agent.get_link_pose(self.gripper_index)
        turn = np.array([pose.orientation])
        return np.array(pose.position), quaternions.to_eulers(turn)[0]

    def enable_joint_force_torque_sensor_on_end_effectors(self) -> None:
        """Enable the engine's force sensors in the finger joints.

        Rebuilding the engine disables them; `BinScene.reset` calls this again.
        """
        for joint in self.end_effector_indices:
            self.sim.bullet.enableJointForceTorqueSensor(self.arm_id, joint, True)
        self.reads_forces = True

    def get_end_effector_reaction_forces(self) -> tuple[float, float]:
        """Return the reaction forces in N along the z axes of the two fingers, as of the last step."""
        states = self.sim.bullet.getJointStates(self.arm_id, self.end_effector_indices)
        return float(states[0][2][2]), float(states[1][2][2])

    def stiffen(self, gain: float) -> None:
        """Set the position gain of the arm's motors: the fraction of the error to correct per substep (default 0.2).

        A stiffer arm needs fewer steps for the end of a move, but stops harder with the object it holds. The gain of
        the fingers does not change: stiffer fingers push small objects away.
        """
        joints = self.sim.world.joints
        slots = joints.of(self.sim.world.robots, self.agent.row)
        joints.position_gain[slots][:7] = as_float(gain, "gain", low=1e-3, high=1.0)
        # Says that the motors lag behind the columns, so that the engine gets the new gain.
        joints.motor_behind[slots] = True

    # ---- moving ------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Set all joints to their default positions, at rest, with the gripper open."""
        positions = self.default_joint_positions[self._movable]
        self.agent.set_joint_positions(positions)
        self._hold(positions)
        self.gripper_is_open = True

    def apply_action(self, control_mode: int, target: Sequence[float]) -> Forces:
        """Move all nine joints: to positions (until they have arrived), or at velocities (for one step).

        `control_mode` is `sim.bullet.POSITION_CONTROL` or `VELOCITY_CONTROL`. Returns the forces of the fingers if they
        are measured, else empty lists.
        """
        if control_mode == self.sim.bullet.VELOCITY_CONTROL:
            return self.apply_action_vel(target)
        if control_mode != self.sim.bullet.POSITION_CONTROL:
            raise InvalidValueError(
                f"control_mode: expected POSITION_CONTROL or VELOCITY_CONTROL, got {control_mode!r}"
            )
        return self.apply_action_pos(target)

    def apply_action_pos(self, target_joint_poses: Sequence[float]) -> Forces:
        """Move the nine joints to positions, clipped to their limits."""
        target = np.clip(as_floats(target_joint_poses, (9,), "target_joint_poses"), self._lower, self._upper)
        self._hold(target)
        return self.at_target(target, 9)

    def apply_action_vel(self, target_joint_velocities: Sequence[float]) -> Forces:
        """Move the nine joints at velocities, clipped to their limits, for one step."""
        wanted = as_floats(target_joint_velocities, (9,), "target_joint_velocities")
        self.agent.set_joints_velocities(np.clip(wanted, -self._velocities, self._velocities).tolist())
        forces: Forces = {"end_effector_a": [], "end_effector_b": []}
        self._step(forces)
        return forces

    def apply_action_delta(self, delta_action: Sequence[float]) -> Forces:
        """Move the gripper by dx, dy, dz (m) and rotate it about the vertical (rad); then open (> 0) or close it.

        The hand points straight down. The last of the five numbers opens or closes the gripper after the move.
        """
        delta = as_floats(delta_action, (5,), "delta_action")
        position, angles = self.get_gripper_state()
        target = position + delta[:3]
        if self.clips_to_workspace:
            target = self.clip_to_workspace(target)
        down = quaternions.from_eulers(np.array([[np.pi, 0.0, angles[2] + delta[3]]]))[0]
        joints = self.get_joint_poses_ik(target.tolist(), down.tolist(), use_null_space=True)
        # The solver also moves the fingers; the gripper keeps its state during the move.
        joints[7:] = self.open_position if self.gripper_is_open else self.closed_position
        joints = np.clip(joints, self._lower, self._upper)
        self._hold(joints)
        forces = self.at_target(joints, 7)
        if delta[4] > 0.0 and not self.gripper_is_open:
            self.open_gripper()
        elif delta[4] <= 0.0 and self.gripper_is_open:
            self.close_gripper()
        return forces

    def at_target(self, target: Sequence[float] | Floats, num_joints_to_check: int = 9) -> Forces:
        """Step until the first joints are near their targets or have stopped, at most `max_steps` times.

        At least one step is made, so that each action takes time. Returns the forces of the fingers if they are
        measured, else empty lists.
        """
        wanted = np.asarray(target, np.float64)[:num_joints_to_check]
        near = np.full(9, self.acceptable_proximity_to_target)
        near[7:] = self.acceptable_gripper_proximity_to_target
        near = near[:num_joints_to_check]
        forces: Forces = {"end_effector_a": [], "end_effector_b": []}
        for step in range(self.max_steps):
            self._step(forces)
            now = self.agent.joint_positions[:num_joints_to_check]
            if (np.abs(now - wanted) <= near).all():
                break
            # Fingers that hold an object, or an arm that presses on something, never reach their targets. The first
            # steps are not tested, because a move begins at rest.
            if step >= 10 and (np.abs(self.agent.joint_velocities[:num_joints_to_check]) < 1e-3).all():
                break
        return forces

    def get_joint_poses_ik(
        self,
        target_ee_position: Sequence[float],
        target_ee_orientation: Sequence[float] | None = None,
        use_null_space: bool = False,
    ) -> Floats:
        """Return the nine joint positions that bring the point between the fingers to a pose, world frame.

        With `use_null_space` the arm stays near its rest position and within its limits.
        """
        place = list(as_floats(target_ee_position, (3,), "target_ee_position").tolist())
        options: dict[str, Any] = {"maxNumIterations": 100, "residualThreshold": 1e-5}
        if target_ee_orientation is not None:
            turn = as_floats(target_ee_orientation, (4,), "target_ee_orientation")
            options["targetOrientation"] = turn.tolist()
        if use_null_space:
            options |= {
                "lowerLimits": self.lower_limits,
                "upperLimits": self.upper_limits,
                "jointRanges": self.joint_ranges,
                "restPoses": self.rest_poses,
            }
        found = self.sim.bullet.calculateInverseKinematics(self.arm_id, self.gripper_index, place, **options)
        return np.array(found)

    def clip_to_workspace(self, desired_target_pos: Sequence[float] | Floats) -> Floats:
        """Return the nearest position (3,) in the workspace; raises InvalidValueError without a workspace."""
        target: Floats = np.array(desired_target_pos, np.float64)
        if self.workspace is None:
            raise InvalidValueError("this arm has no workspace; give it workspace_origin and workspace_dimensions")
        limits = np.array(self.workspace)
        clipped: Floats = np.clip(target, limits[:, 0], limits[:, 1])
        return clipped

    def shake(self) -> None:
        """Lift the hand slightly and lower it again, to test the grip."""
        # The last number of an action opens or closes the gripper; this one keeps it as it is.
        height = 1.0 if self.gripper_is_open else -1.0
        # A shake goes straight up and down; clipping could move the hand sideways, with the object in it.
        clips, self.clips_to_workspace = self.clips_to_workspace, False
        self.apply_action_delta([0.0, 0.0, SHAKE, 0.0, height])
        self.apply_action_delta([0.0, 0.0, -SHAKE, 0.0, height])
        self.clips_to_workspace = clips

    # ---- the gripper -------------------------------------------------------------------------------------------------

    def open_gripper(self) -> Forces:
        """Open the gripper: 2 cm per finger, in total 1 cm more than the largest object."""
        self.gripper_is_open = True
        return self.apply_action_to_gripper(self.open_position, self.open_position)

    def close_gripper(self) -> Forces:
        """Close the gripper, as far as an object between the fingers allows."""
        self.gripper_is_open = False
        return self.apply_action_to_gripper(self.closed_position, self.closed_position)

    def apply_action_to_gripper(self, target_position_a: float, target_position_b: float) -> Forces:
        """Move only the fingers; the arm does not move."""
        a, b = self.check_target_position_bounds(target_position_a, target_position_b)
        self._move_fingers(a, b)
        target = self.agent.joint_positions.copy()
        target[7:] = a, b
        return self.at_target(target, 9)

    def check_target_position_bounds(self, target_pos_a: float, target_pos_b: float) -> tuple[float, float]:
        """Return the fingers' targets, clipped to their limits."""
        wanted = as_floats((target_pos_a, target_pos_b), (2,), "target positions of the fingers")
        a, b = np.clip(wanted, self._lower[7:], self._upper[7:]).tolist()
        return a, b

    def check_grab(self, obj_id: int | SimObject) -> bool:
        """Return whether one of the fingers touches an object, given as a handle or by its object id."""
        world = self.sim.world
        row = obj_id.row if isinstance(obj_id, SimObject) else world.index.row_of(obj_id)
        body = world.bodies.body_id(row)
        contacts = self.sim.bullet.getContactPoints
        return any(contacts(self.arm_id, body, joint, -1) for joint in self.end_effector_indices)

    def _hold(self, positions: Floats) -> None:
        """Set position targets: of the arm with the full force of its motors, of the fingers with the gripper's."""
        arm = dict(zip(self._movable[:7].tolist(), positions[:7].tolist(), strict=True))
        names = self.agent.joint_names
        self.agent.set_joints_targets({names[joint]: value for joint, value in arm.items()})
        self._move_fingers(float(positions[7]), float(positions[8]))

    def _move_fingers(self, a: float, b: float) -> None:
        for joint, position in zip(self.end_effector_indices, (a, b), strict=True):
            self.agent.set_joint_target(joint, position, self.max_gripper_force)

    def _step(self, forces: Forces) -> None:
        self.sim.step_once()
        if self.reads_forces:
            a, b = self.get_end_effector_reaction_forces()
            forces["end_effector_a"].append(a)
            forces["end_effector_b"].append(b)


def _spawn_panda(sim: MultiRobotSimulationCore, name: str | None, pose: Pose) -> tuple[Agent, RobotModel]:
    """Spawn the arm with its base fixed at `pose`; return it and its model."""
    params = AgentSpawnParams(
        name=name,
        urdf_path="panda",
        initial_pose=pose,
        use_fixed_base=True,
        mass=1.0,
        pickable=False,
        # The fingers move apart from each other here.
        mimic_joints=False,
    )
    agent: Agent = sim.spawn(params)
    model = agent.robot_model
    assert model is not None
    return agent, model
