"""FrankaArm: PyBullet's panda, moved by the motors of the engine, with its gripper and inverse kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import count

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows, as_float, as_floats, as_whole
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.kernels import is_usable
from fleet_sim.base.params import CompiledCodeUse
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.bullet.handle import BulletHandle
from fleet_sim.learning.manipulation.config import Client, simulation_of
from fleet_sim.models.kinematics.params import IKParams
from fleet_sim.models.kinematics.reaching import solver_of
from fleet_sim.robots.actions.pick_and_drop import row_of_target
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams
from fleet_sim.world.ports import Contact
from fleet_sim.world.shapes import RobotModel

Forces = dict[str, list[float]]
"""Reaction forces in N of both fingers, one number per step: `end_effector_a` and `end_effector_b`."""


def no_forces() -> Forces:
    """Return a record without steps."""
    return {"end_effector_a": [], "end_effector_b": []}


TIP_OFFSET = 0.009
"""Distance in m from the controlled point between the fingers to below their tips: they touch at 0.0082, and an arm on
its way is up to half a millimetre lower than it is to be."""
FLOOR = 0.004
"""Thickness in m of the floor of a bin, under which the origin of the bin is."""
REACH = (0.048, 0.016)
"""Distance in m that the open gripper reaches from its middle, along the line of the fingers and across it, with 2 mm
to spare: so far it keeps from the walls."""


def workspace_limits(
    origin: Sequence[float], dimensions: Sequence[float], yaw: float | None = None
) -> list[list[float]]:
    """Return the lower and upper limit of x, y and z; there is no upper limit in z.

    `origin` (3,) is that of the bin in m, world frame; `dimensions` (3,) are its length, width and height inside. With
    the `yaw` of the gripper, the line of whose fingers is along y at 0, the open gripper fits in between the walls;
    without, a gripper fits that is turned as is best for each wall.
    """
    centre = as_floats(origin, (3,), "workspace_origin")
    size = as_floats(dimensions, (3,), "workspace_dimensions")
    along, across = REACH
    margins = np.array([across, across])
    if yaw is not None:
        sine, cosine = abs(np.sin(yaw)), abs(np.cos(yaw))
        margins = np.array([cosine * across + sine * along, sine * across + cosine * along])
    room = np.maximum(0.5 * size[:2] - margins, 0.0)
    sides = [[float(centre[axis] - room[axis]), float(centre[axis] + room[axis])] for axis in range(2)]
    return [*sides, [float(centre[2]) + FLOOR + TIP_OFFSET, float("inf")]]


# Inverse kinematics of a hand: joint positions that bring one link of an arm to a pose.


ONE_DESCENT = IKParams(max_outer_iterations=1, seed_quartiles=())
"""One descent from where the arm is, and if that fails one from its rest posture. Others may reach the target too, but
the arm would sweep through the bin on its way to them."""
MANY = 100
"""Solutions of a process from which on compiled code is loaded: so many without take as long as loading it."""


def joints_for(
    agent: Agent,
    model: RobotModel,
    link: int,
    position: Sequence[float],
    orientation: Sequence[float] | None = None,
    rest: dict[str, float] | None = None,
    compiled_code: CompiledCodeUse = "auto",
) -> Floats:
    """Return positions of all movable joints that bring a link to a pose, world frame, within the limits.

    Joints that do not lead to the link keep their positions. What is out of reach is approached. With `rest`, joint
    positions by name, the posture is the one nearest to it. Compiled code gives the same result; `auto` uses it once it
    pays.
    """
    place = as_floats(position, (3,), "target_ee_position")[None]
    # Any orientation will do then; something has to go through the frames all the same.
    turn = quaternions.IDENTITY[None]
    if orientation is not None:
        given = as_floats(orientation, (4,), "target_ee_orientation")
        turn = quaternions.normalized(given[None], "target_ee_orientation")
    base = agent.get_pose()
    # The solver works in the frame of the base.
    positions, orientations = quaternions.relative(np.array([base.position]), np.array([base.orientation]), place, turn)
    solver = solver_of(model, link, ONE_DESCENT if rest is None else replace(ONE_DESCENT, rest_posture=rest))
    wanted = compiled_code == "always" or (compiled_code == "auto" and solver.solved >= MANY)
    solution = solver.solve(
        agent.joint_positions[None],
        positions,
        None if orientation is None else orientations,
        compiled=wanted and _can_compile(),
    )
    found: Floats = solution.values[0]
    return found


@cache
def _can_compile() -> bool:
    return is_usable()


VELOCITY_CONTROL, POSITION_CONTROL = 0, 2
"""Modes of `FrankaArm.apply_action`: PyBullet's numbers."""

AIMED = 0.001
"""Distance in m within which the hand is where it was to move; farther away something holds it."""
CENTRED, SQUEEZE = 0.001, 0.001
"""Difference in m of the fingers' positions up to which what they hold is in the middle; how far into it they aim."""
SHAKE = 0.03
"""Distance in m by which the hand is lifted to test a grip."""


class FrankaArm:
    """PyBullet's panda: an arm with seven joints and a gripper of two fingers, on a fixed base.

    Movable joints are ordered: seven revolute joints of the arm, then the two fingers. Their limits are those of the
    model: they cannot be set. Methods that move the arm step the simulation until the joints have arrived, at most
    `max_steps` times. Positions are in the world frame, in m.
    """

    end_effector_indices = (9, 10)
    gripper_index = 11
    """The point between the fingers."""
    revolute_joints = tuple(range(7))
    acceptable_proximity_to_target = 0.0008
    """Tolerance of the arm's joints in rad: about half a millimetre at the gripper."""
    acceptable_gripper_proximity_to_target = 0.0005
    max_gripper_force = 80.0
    max_steps = 120
    open_position, closed_position = 0.02, 0.0
    """Target of each finger when the gripper opens and when it closes, in m."""

    def __init__(
        self,
        arm_base_position: Sequence[float],
        arm_base_orientation: Sequence[float],
        bullet_client: Client,
        default_joint_positions: Sequence[float],
        get_end_effector_force_sensor_readings: bool = False,
        clip_delta_actions_to_workspace: bool = False,
        workspace_origin: Sequence[float] | None = None,
        workspace_dimensions: Sequence[float] | None = None,
        name: str | None = None,
    ) -> None:
        """Spawn an arm in a simulation with physics, or the one of a `sim.bullet`; else raises InvalidValueError.

        `default_joint_positions` has one number per joint, fixed ones included: 12. The workspace is given by the
        origin of a bin and its length, width and height; both or neither, and both for an arm that clips to it.
        """
        if (workspace_origin is None) != (workspace_dimensions is None):
            raise InvalidValueError("workspace_origin and workspace_dimensions belong together; give both or neither")
        if clip_delta_actions_to_workspace and workspace_origin is None:
            raise InvalidValueError(
                "clip_delta_actions_to_workspace: this arm has no workspace; give workspace_origin and "
                "workspace_dimensions"
            )
        sim = simulation_of(bullet_client)
        if not sim.params.physics:
            raise InvalidValueError("a FrankaArm is moved by motors; make the simulation with physics=True")
        self.sim = sim
        params = AgentSpawnParams(
            name=name,
            urdf_path="panda",
            initial_pose=Pose(arm_base_position, arm_base_orientation),
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
        self.default_joint_pos = self.read_joint_positions(default_joint_positions)
        self.clips_to_workspace = clip_delta_actions_to_workspace
        self.reads_forces = False
        """Whether the methods that move the arm return the forces of the fingers."""
        self.workspace: list[list[float]] | None = None
        self._bin: tuple[Sequence[float], Sequence[float]] | None = None
        if workspace_origin is not None and workspace_dimensions is not None:
            self.workspace = self.get_workspace(workspace_origin, workspace_dimensions)
            self._bin = workspace_origin, workspace_dimensions
        self.gripper_is_open = True
        self._closed_to = self.closed_position
        """Target of each finger of the closed gripper: a little inside what it holds."""
        self._aim: Floats | None = None
        """Where the last move by a displacement led to: x, y, z and yaw; None after any other move."""
        self._seen: tuple[object, Floats, Floats] | None = None
        """Where base and joints were when it was last asked where the gripper is, and the answer; a step asks often."""
        self.null_space_limits()
        self.reset()
        if get_end_effector_force_sensor_readings:
            self.enable_joint_force_torque_sensor_on_end_effectors()

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
        base = self.agent.get_pose()
        now = base.position, base.orientation, self.agent.joint_positions.tobytes()
        if self._seen is None or self._seen[0] != now:
            pose = self.agent.get_link_pose(self.gripper_index)
            turn = quaternions.to_eulers(np.array([pose.orientation]))[0]
            self._seen = now, np.array(pose.position), turn
        # Copies: who asked may change them.
        return self._seen[1].copy(), self._seen[2].copy()

    # ---- settings ---------------------------------------------------------------------------------------------------

    @property
    def default_joint_pos(self) -> list[float]:
        """The default positions of all 12 joints, as a list; setting it counts from the next reset on."""
        return list(self.default_joint_positions.tolist())

    @default_joint_pos.setter
    def default_joint_pos(self, positions: Sequence[float]) -> None:
        self.default_joint_positions: Floats = np.array(self.read_joint_positions(positions))

    def read_joint_positions(self, default_joint_positions: Sequence[float]) -> list[float]:
        """Return one position per joint, checked; raises InvalidValueError."""
        return list(as_floats(default_joint_positions, (12,), "default_joint_positions").tolist())

    def null_space_limits(self) -> None:
        """Set the rest position for inverse kinematics in the null space, `rest_poses`, to the default position.

        `lower_limits`, `upper_limits` and `joint_ranges` are those of the model; the solver always keeps them.
        """
        self.rest_poses: list[float] = self.default_joint_positions[self._movable].tolist()

    def get_workspace(
        self, workspace_origin: Sequence[float], workspace_dimensions: Sequence[float]
    ) -> list[list[float]]:
        """Return the lower and upper limit of x, y and z; there is no upper limit in z."""
        return workspace_limits(workspace_origin, workspace_dimensions)

    # ---- forces ---------------------------------------------------------------------------------------------------

    def enable_joint_force_torque_sensor_on_end_effectors(self) -> None:
        """Let the engine measure the forces in the finger joints, from its next step on.

        Rebuilding the engine disables that; `BinScene.reset` calls this again.
        """
        self.sim.engine.reactions.want(*self._finger_joints())
        self.reads_forces = True

    def get_end_effector_reaction_forces(self) -> tuple[float, float]:
        """Return the reaction forces in N along the z axes of the two fingers, as of the last step."""
        # Across the axes of the joints, which are along y: the forces of their motors are no part of it.
        wrenches = self.sim.engine.reactions.wrenches(*self._finger_joints())
        return float(wrenches[0, 2]), float(wrenches[1, 2])

    def _finger_joints(self) -> tuple[Rows, Ints]:
        """Return the row of the arm and the joint of each finger."""
        return np.full(2, self.agent.row, np.int64), np.array(self.end_effector_indices, np.int64)

    # ---- moving ------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Set all joints to their default positions, at rest, with the gripper open."""
        positions = self.default_joint_positions[self._movable]
        self.agent.set_joint_positions(positions)
        self._aim = None
        self._hold(positions)
        self.gripper_is_open = True

    def apply_action(self, control_mode: int, target: Sequence[float]) -> Forces:
        """Move all nine joints: to positions (until they have arrived), or at velocities (for one step).

        `control_mode` is PyBullet's number, as POSITION_CONTROL and VELOCITY_CONTROL of this module. Returns the
        forces of the fingers if they are measured, else empty lists.
        """
        if control_mode == VELOCITY_CONTROL:
            return self.apply_action_vel(target)
        if control_mode != POSITION_CONTROL:
            raise InvalidValueError(
                f"control_mode: expected POSITION_CONTROL or VELOCITY_CONTROL, got {control_mode!r}"
            )
        return self.apply_action_pos(target)

    def apply_action_pos(self, target_joint_poses: Sequence[float]) -> Forces:
        """Move the nine joints to positions, clipped to their limits."""
        target = np.clip(as_floats(target_joint_poses, (9,), "target_joint_poses"), self._lower, self._upper)
        self._aim = None
        self._hold(target)
        return self.at_target(target, 9)

    def apply_action_vel(self, target_joint_velocities: Sequence[float]) -> Forces:
        """Move the nine joints at velocities, clipped to their limits, for one step."""
        wanted = as_floats(target_joint_velocities, (9,), "target_joint_velocities")
        self._aim = None
        self.agent.set_joints_velocities(np.clip(wanted, -self._velocities, self._velocities).tolist())
        forces = no_forces()
        self.sim.step_once()
        self._measure(forces)
        return forces

    def apply_action_delta(self, delta_action: Sequence[float]) -> Forces:
        """Move the gripper by dx, dy, dz (m) and rotate it about the vertical (rad); then open (> 0) or close it.

        The hand points straight down. The last of the five numbers opens or closes the gripper after the move.
        """
        delta = as_floats(delta_action, (5,), "delta_action")
        position, angles = self.get_gripper_state()
        yaw = float(angles[2])
        if self._aim is not None and np.abs(position - self._aim[:3]).max() < AIMED:
            # It is where the last move aimed at, but for the tolerance: or what is left of each move would add up.
            position, yaw = self._aim[:3], float(self._aim[3])
        target = position + delta[:3]
        yaw += float(delta[3])
        if self.clips_to_workspace:
            target = self.clip_to_workspace(target, yaw)
        self._aim = np.array([*target, yaw])
        down = quaternions.from_eulers(np.array([[np.pi, 0.0, yaw]]))[0]
        joints = self.get_joint_poses_ik(target.tolist(), down.tolist(), use_null_space=True)
        # The gripper keeps its state during the move, wherever an object holds its fingers.
        joints[7:] = self.open_position if self.gripper_is_open else self._closed_to
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

        At least two steps are made: after one, a third of a small move is still left. Returns the forces of the
        fingers if they are measured, else empty lists. Raises InvalidValueError for fewer targets than joints to check.
        """
        checked = as_whole(num_joints_to_check, "num_joints_to_check")
        if checked > min(9, len(target)):
            raise InvalidValueError(f"num_joints_to_check: {checked} of 9 joints, and {len(target)} targets are given")
        wanted = as_floats(target, (len(target),), "target")[:checked]
        # As numbers: mostly the first joint already tells that there is more to do.
        near = [self.acceptable_proximity_to_target] * 7 + [self.acceptable_gripper_proximity_to_target] * 2
        targets = list(zip(wanted.tolist(), near[:checked], strict=True))
        forces, steps = no_forces(), count()

        def is_there() -> bool:
            step = next(steps)
            self._measure(forces)
            now = self.agent.joint_positions[:checked].tolist()
            if step and all(abs(value - goal) <= room for value, (goal, room) in zip(now, targets, strict=True)):
                return True
            # Fingers that hold an object, or an arm that presses on something, never reach their targets. The first
            # steps are not tested, because a move begins at rest.
            return step >= 10 and all(abs(speed) < 1e-3 for speed in self.agent.joint_velocities[:checked].tolist())

        self.sim.runner.step_until(is_there, self.max_steps)
        return forces

    def get_joint_poses_ik(
        self,
        target_ee_position: Sequence[float],
        target_ee_orientation: Sequence[float] | None = None,
        use_null_space: bool = False,
    ) -> Floats:
        """Return the nine joint positions that bring the point between the fingers to a pose, world frame.

        They are within the limits; the fingers keep their positions. What is out of reach is approached. With
        `use_null_space` the posture is the one nearest to `rest_poses`, so the arm does not drift.
        """
        rest = None
        if use_null_space:
            names = [self.agent.joint_names[joint] for joint in self.moveable_joints[:7]]
            rest = dict(zip(names, self.rest_poses[:7], strict=True))
        return joints_for(
            self.agent,
            self._model,
            self.gripper_index,
            target_ee_position,
            target_ee_orientation,
            rest,
            self.sim.params.compiled_code,
        )

    def clip_to_workspace(self, desired_target_pos: Sequence[float] | Floats, yaw: float | None = None) -> Floats:
        """Return the nearest position (3,) at which the open gripper, turned by `yaw`, touches no wall of its bin.

        Without `yaw` it is turned as it is now. Raises InvalidValueError without a workspace.
        """
        if self.workspace is None or self._bin is None:
            raise InvalidValueError("this arm has no workspace; give it workspace_origin and workspace_dimensions")
        turn = float(self.get_gripper_state()[1][2]) if yaw is None else yaw
        outer, limits = np.array(self.workspace), np.array(workspace_limits(*self._bin, turn))
        low, high = np.maximum(outer[:, 0], limits[:, 0]), np.minimum(outer[:, 1], limits[:, 1])
        nearest: Floats = np.clip(as_floats(desired_target_pos, (3,), "desired_target_pos"), low, high)
        return nearest

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
        """Close the gripper, as far as an object between the fingers allows, which ends in the middle.

        In the real hand one motor moves both fingers. Here each has its own: two that push alike against each other
        would slide along with the object, wherever a third force moves it.
        """
        self.gripper_is_open, self._closed_to = False, self.closed_position
        forces = self.apply_action_to_gripper(self.closed_position, self.closed_position)
        first, second = self.agent.joint_positions[7:].tolist()
        self._closed_to = max(0.5 * (first + second) - SQUEEZE, self.closed_position)
        if abs(first - second) <= CENTRED:
            self._move_fingers(self._closed_to, self._closed_to)
            return forces
        more = self.apply_action_to_gripper(self._closed_to, self._closed_to)
        return {finger: forces[finger] + more[finger] for finger in forces}

    def apply_action_to_gripper(self, target_position_a: float, target_position_b: float) -> Forces:
        """Move only the fingers; the arm does not move."""
        a, b = self.check_target_position_bounds(target_position_a, target_position_b)
        self._move_fingers(a, b)
        target = self.agent.joint_positions.copy()
        target[7:] = a, b
        return self.at_target(target, 9)

    def check_target_position_bounds(self, target_pos_a: float, target_pos_b: float) -> tuple[float, float]:
        """Return the fingers' targets, clipped to their limits."""
        # Clipped, not refused: policies ask for more than fingers can do, and mean "as far as it goes".
        wanted = as_floats((target_pos_a, target_pos_b), (2,), "target positions of the fingers")
        first, second = np.clip(wanted, self._lower[7:], self._upper[7:]).tolist()
        return first, second

    def touched_objects(self, things: Sequence[SimObject]) -> list[int]:
        """Return the indices of those of `things` that one of the fingers touches."""
        touching = [contact.other for contact in self._touching()]
        return [index for index, thing in enumerate(things) if any(other is thing for other in touching)]

    def holds(self, thing: SimObject) -> bool:
        """Return whether the fingers touch an object from two sides: on its top they hold nothing."""
        first, second = self.end_effector_indices
        sides: dict[int, Floats] = {first: np.zeros(3), second: np.zeros(3)}
        for contact in self._touching():
            if contact.other is thing:
                sides[contact.link] += contact.normal
        return float(sides[first] @ sides[second]) < 0.0

    def check_grab(self, obj_id: int | SimObject) -> bool:
        """Return whether one of the fingers touches an object, given as a handle, an object id or a body id.

        Raises UnknownNameError for an id that no object has, or that two have.
        """
        world = self.sim.world
        thing = world.handles[row_of_target(world, obj_id)]
        return any(contact.other is thing for contact in self._touching())

    def _touching(self) -> list[Contact]:
        """Return the contacts of the fingers."""
        # A link has the number of the joint that moves it.
        return [contact for contact in self.agent.get_contacts() if contact.link in self.end_effector_indices]

    def _hold(self, positions: Floats) -> None:
        """Set position targets: of the arm with the full force of its motors, of the fingers with the gripper's."""
        arm = dict(zip(self._movable[:7].tolist(), positions[:7].tolist(), strict=True))
        names = self.agent.joint_names
        self.agent.set_joints_targets({names[joint]: value for joint, value in arm.items()})
        self._move_fingers(float(positions[7]), float(positions[8]))

    def _move_fingers(self, a: float, b: float) -> None:
        for joint, position in zip(self.end_effector_indices, (a, b), strict=True):
            self.agent.set_joint_target(joint, position, self.max_gripper_force)

    def _measure(self, forces: Forces) -> None:
        if self.reads_forces:
            a, b = self.get_end_effector_reaction_forces()
            forces["end_effector_a"].append(a)
            forces["end_effector_b"].append(b)
