"""The part of a robot's handle for its joints and for its arm's end effector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.spatial import quaternions
from fleet_sim.models.kinematics.inverse import check_ik_params
from fleet_sim.models.kinematics.params import ORIENTATION_TOLERANCE, IKParams
from fleet_sim.models.kinematics.reaching import DEFAULT_PARAMS, Reach, default_end_effector, reach
from fleet_sim.robots import attachments
from fleet_sim.robots.joint_arguments import JointNumbers, Tolerance, place_of, read_joint_numbers, read_tolerances
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import MotorParams, give_motors, motor_of
from fleet_sim.world import steering
from fleet_sim.world.joints import DEFAULT_FORCE, DEFAULT_TOLERANCE, TO_POSITION
from fleet_sim.world.shapes import RobotModel

# JointHandle: the part of a robot's handle for its description, its joints and links.


JointState = tuple[float, float]
"""Position (rad or m) and velocity (rad/s or m/s) of a joint."""


_PLURALS = {"position": "positions", "velocity": "velocities", "force": "forces"}


class JointHandle(SimObject):
    """An entity with joints, if it was spawned from a robot description.

    Joints are given by name, or by index as in PyBullet, where fixed joints are numbered too. Lists have one number per
    movable joint, in order, or one per joint, where numbers of fixed joints are ignored. Everything is read from
    columns: the state is current inside a step too, and needs no call of PyBullet.

    Targets beyond a joint's limits are clipped. A command to a joint ends the action that moves it as CANCELLED.
    A joint that mimics another one follows it, and is commanded through it; numbers for both have to agree.

    Methods raise StateError if there are no joints, UnknownNameError for unknown ones, InvalidValueError for fixed
    joints, mimic joints, a wrong number of values, and values that are not finite.
    """

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

    # ---- targets -----------------------------------------------------------------------------------------------------

    def set_joint_target(
        self, joint_index: int | str, target_position: float, max_force: float = DEFAULT_FORCE
    ) -> None:
        """Command one joint to a position. `max_force` (N m or N) is for motors; without motors it is ignored."""
        self._send({joint_index: target_position}, max_force)

    def set_joint_target_by_name(
        self, joint_name: str, target_position: float, max_force: float = DEFAULT_FORCE
    ) -> None:
        """Command one joint to a position."""
        self._send({joint_name: target_position}, max_force)

    def set_all_joints_targets(self, target_positions: JointNumbers, max_force: float = DEFAULT_FORCE) -> None:
        """Command all joints to positions, given as a list."""
        self._send(target_positions, max_force)

    def set_joints_targets_by_name(self, joint_targets: Mapping[str, float], max_force: float = DEFAULT_FORCE) -> None:
        """Command some joints to positions, given by name; the others continue their motion."""
        self._send(joint_targets, max_force)

    def set_joints_targets(self, targets: JointNumbers, max_force: float = DEFAULT_FORCE) -> None:
        """Command joints to positions: all of them by a list, or some by a mapping."""
        self._send(targets, max_force)

    @property
    def last_joint_targets(self) -> dict[int, float]:
        """The last target of each commanded joint, by joint index; clipped to its limits."""
        model = self.robot_model
        if model is None:
            return {}
        joints, span = self._world.joints, self._world.joints.of(self._world.robots, self.row)
        sent = np.flatnonzero(joints.control[span] == TO_POSITION)
        return dict(zip(model.movable[sent].tolist(), joints.target[span][sent].tolist(), strict=True))

    def set_joint_velocity(self, joint_index: int | str, velocity: float, max_force: float = DEFAULT_FORCE) -> None:
        """Command a velocity of one joint, clipped to its speed limit, until the next command or a position limit."""
        self.set_joints_velocities({joint_index: velocity}, max_force)

    def set_joint_velocity_by_name(self, joint_name: str, velocity: float, max_force: float = DEFAULT_FORCE) -> None:
        """Command a velocity of one joint."""
        self.set_joints_velocities({joint_name: velocity}, max_force)

    def set_joints_velocities(self, velocities: JointNumbers, max_force: float = DEFAULT_FORCE) -> None:
        """Command velocities of joints: of all by a list, or of some by a mapping."""
        # Checked as a whole before the actions of the robot end.
        slots, values = self._commanded(velocities, "velocity")
        force = as_float(max_force, "max_force in N m or N", low=0.0)
        self._pre_empt(slots, "velocities of joints were commanded")
        steering.give_joint_velocities(self._world, slots, values, force)

    def set_joints_forces(self, forces: JointNumbers) -> None:
        """Command forces (N) or torques (N m) of motors, without feedback; 0 releases a joint.

        Raises StateError for a robot without motors.
        """
        # Without motors there is nothing that a force could act on: joints follow their targets exactly.
        self._require_motors()
        slots, values = self._commanded(forces, "force")
        self._pre_empt(slots, "forces of joints were commanded")
        steering.give_joint_forces(self._world, slots, values)

    def set_joint_positions(self, positions: JointNumbers) -> None:
        """Set joints to positions at once, at rest: all of them by a list, or some by a mapping.

        Outside a step, objects carried by links are moved along at once.
        """
        slots, values = self._commanded(positions, "position")
        self._pre_empt(slots, "the joints were put somewhere else")
        steering.put_joints(self._world, slots, values)
        # In a step, what is carried follows at the end of phase 1 anyway.
        if not self._world.in_step:
            attachments.follow_rows(self._world, np.array([self.row]))

    def stop_joints(self) -> None:
        """Stop all joints and hold them at their present positions."""
        slots = self._world.joints.slots(self._world.robots, np.array([self.row]))
        self._pre_empt(slots, "the joints were stopped")
        steering.hold_joints(self._world, slots)

    # ---- motors ------------------------------------------------------------------------------------------------------

    def set_motors(
        self,
        joints: int | str | Iterable[int | str] | None = None,
        *,
        position_gain: float | None = None,
        velocity_gain: float | None = None,
        max_velocity: float | None = None,
        max_force: float | None = None,
    ) -> None:
        """Change gains and limits of the motors of some joints, or of all (None); what is None stays as it is.

        Takes effect in the next step and is part of the state. See MotorParams for the numbers. Raises StateError for a
        robot without motors, and InvalidValueError for a joint that mimics another one.
        """
        params = MotorParams(position_gain, velocity_gain, max_velocity, max_force)
        self._require_motors()
        if not params.is_given:
            raise InvalidValueError(
                "set_motors: nothing to set; give position_gain, velocity_gain, max_velocity or max_force"
            )
        world, model = self._world, self._model()
        if joints is None:
            slots = world.joints.slots(world.robots, np.array([self.row]))
        else:
            chosen = [joints] if isinstance(joints, (int, str)) else list(joints)
            start = int(world.robots.joint_start[self.row])
            slots = np.array([start + place_of(model, joint) for joint in chosen], np.int64)
            # A leader's motor moves both; a second one would work against it.
            if (world.joints.leader[slots] >= 0).any():
                raise InvalidValueError(f"joints that mimic others have no motors of their own: {chosen}")
        give_motors(world, slots, params)

    def get_motor(self, joint: int | str) -> MotorParams:
        """Return the gains and limits of the motor of a joint; raises StateError for a robot without motors."""
        self._require_motors()
        return motor_of(self._world, self._slot(joint))

    def _require_motors(self) -> None:
        self._model()
        if not self.uses_motors:
            raise StateError(
                f"the joints of {self!r} have no motors; they have with physics on, for a robot with mass (mass=None: "
                "the mass its description says)"
            )

    # ---- arrival -----------------------------------------------------------------------------------------------------

    @property
    def joint_tolerance(self) -> Any:
        """The tolerance (rad or m) within which a joint has reached its target, as given; default 0.01.

        One number, a list by joint index or a mapping by joint name; what these leave out gets 0.01. None resets it.
        """
        return self._world.joints.given_tolerances.get(self.row, DEFAULT_TOLERANCE)

    @joint_tolerance.setter
    def joint_tolerance(self, value: Tolerance) -> None:
        """Set the tolerances of all movable joints: one number, one per joint, or by name; None: the default."""
        row, joints, model = self.row, self._world.joints, self._model()
        tolerances = read_tolerances(model, value, np.full(len(model.movable), DEFAULT_TOLERANCE))
        joints.tolerance[joints.of(self._world.robots, row)] = tolerances
        # The column has numbers only; what was given is kept as it was, for reading it back.
        if value is None:
            joints.given_tolerances.pop(row, None)
        else:
            joints.given_tolerances[row] = value

    def is_joint_at_target(self, joint_index: int | str, target: float, tolerance: Tolerance = None) -> bool:
        """Return whether a joint is within `tolerance` (None: the agent's own) of `target`."""
        return self.are_joints_at_targets({joint_index: target}, tolerance)

    def is_joint_at_target_by_name(self, joint_name: str, target: float, tolerance: Tolerance = None) -> bool:
        """Return whether a joint is within `tolerance` of `target`."""
        return self.are_joints_at_targets({joint_name: target}, tolerance)

    def are_all_joints_at_targets(
        self, target_positions: JointNumbers | None = None, tolerance: Tolerance = None
    ) -> bool:
        """Return whether joints are at their targets; see `are_joints_at_targets`."""
        return self.are_joints_at_targets(target_positions, tolerance)

    def are_joints_at_targets_by_name(self, joint_targets: Mapping[str, float], tolerance: Tolerance = None) -> bool:
        """Return whether some joints, given by name, are at their targets."""
        return self.are_joints_at_targets(joint_targets, tolerance)

    def are_joints_at_targets(self, targets: JointNumbers | None = None, tolerance: Tolerance = None) -> bool:
        """Return whether every joint of `targets` is within `tolerance` of it; None: the targets given last.

        Without a `tolerance` the agent's own is used. True if no joint ever had a target.
        """
        model, joints = self._model(), self._world.joints
        # What a list says of fixed joints was dropped, so values go by slots.
        slots, values = self._numbers(self.last_joint_targets if targets is None else targets, "joint targets")
        start = int(self._world.robots.joint_start[self.row])
        default = joints.tolerance[joints.of(self._world.robots, self.row)]
        allowed = read_tolerances(model, tolerance, default)[slots - start]
        return bool((np.abs(joints.position[slots] - values) <= allowed).all())

    # ---- internals ---------------------------------------------------------------------------------------------------

    def _numbers(self, numbers: Any, what: str) -> tuple[Ints, Floats]:
        """Return (slots, values) of numbers for joints."""
        places, values = read_joint_numbers(self._model(), numbers, what)
        return places + int(self._world.robots.joint_start[self.row]), values

    def _commanded(self, numbers: Any, what: str) -> tuple[Ints, Floats]:
        """Return (slots, values) of a command to joints; those that mimic others are left out, or refused."""
        model, world, row = self._model(), self._world, self.row
        places, values = read_joint_numbers(model, numbers, f"joint {_PLURALS[what]}")
        if world.robots.mimics[row]:
            places, values = steering.without_followers(model, places, values, what=what)
        return places + int(world.robots.joint_start[row]), values

    def _send(self, targets: Any, max_force: float) -> None:
        slots, values = self._commanded(targets, "position")
        force = as_float(max_force, "max_force in N m or N", low=0.0)
        # Before the targets are given: an action that ends holds its joints where they are.
        self._pre_empt(slots, "new joint targets were set")
        steering.give_joint_targets(self._world, slots, values, force)

    def _pre_empt(self, slots: Ints, reason: str) -> None:
        row = self.row
        self._world.actions.cancel_joints(row, slots - int(self._world.robots.joint_start[row]), reason)


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
        steering.give_joint_targets(self._world, found.slots, found.values, force)
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
    steering.give_joint_targets(world, found.slots, found.values, force)
    reachable: list[bool] = found.reachable_mask.tolist()
    return reachable
