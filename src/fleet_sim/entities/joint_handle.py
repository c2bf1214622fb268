"""JointHandle: the part of a robot's handle that commands its joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints, as_float
from fleet_sim.core import joint_steering, mimic
from fleet_sim.core.joints import DEFAULT_FORCE, DEFAULT_TOLERANCE, TO_POSITION
from fleet_sim.entities import attachments
from fleet_sim.entities.joint_readings import JointReadings
from fleet_sim.entities.joint_values import JointNumbers, Tolerance, place_of, read_joint_numbers, read_tolerances
from fleet_sim.entities.motor_params import MotorParams, give_motors, motor_of
from fleet_sim.errors import InvalidValueError, StateError

_PLURALS = {"position": "positions", "velocity": "velocities", "force": "forces"}


class JointHandle(JointReadings):
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
        joint_steering.give_joint_velocities(self._world, slots, values, force)

    def set_joints_forces(self, forces: JointNumbers) -> None:
        """Command forces (N) or torques (N m) of motors, without feedback; 0 releases a joint.

        Raises StateError for a robot without motors.
        """
        # Without motors there is nothing that a force could act on: joints follow their targets exactly.
        self._require_motors()
        slots, values = self._commanded(forces, "force")
        self._pre_empt(slots, "forces of joints were commanded")
        joint_steering.give_joint_forces(self._world, slots, values)

    def set_joint_positions(self, positions: JointNumbers) -> None:
        """Set joints to positions at once, at rest: all of them by a list, or some by a mapping.

        Outside a step, objects carried by links are moved along at once.
        """
        slots, values = self._commanded(positions, "position")
        self._pre_empt(slots, "the joints were put somewhere else")
        joint_steering.put_joints(self._world, slots, values)
        # In a step, what is carried follows at the end of phase 1 anyway.
        if not self._world.in_step:
            attachments.follow_rows(self._world, np.array([self.row]))

    def stop_joints(self) -> None:
        """Stop all joints and hold them at their present positions."""
        slots = self._world.joints.slots(self._world.robots, np.array([self.row]))
        self._pre_empt(slots, "the joints were stopped")
        joint_steering.hold_joints(self._world, slots)

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
            places, values = mimic.without_followers(model, places, values, what=what)
        return places + int(world.robots.joint_start[row]), values

    def _send(self, targets: Any, max_force: float) -> None:
        slots, values = self._commanded(targets, "position")
        force = as_float(max_force, "max_force in N m or N", low=0.0)
        # Before the targets are given: an action that ends holds its joints where they are.
        self._pre_empt(slots, "new joint targets were set")
        joint_steering.give_joint_targets(self._world, slots, values, force)

    def _pre_empt(self, slots: Ints, reason: str) -> None:
        row = self.row
        self._world.actions.cancel_joints(row, slots - int(self._world.robots.joint_start[row]), reason)
