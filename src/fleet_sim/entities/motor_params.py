"""MotorParams: how the engine's motors move the joints of a robot, for its spawn params and at run time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.core.joints import AT_FORCE, AT_VELOCITY
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.joint_values import place_of
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LARGEST_FORCE, LARGEST_SPEED
from fleet_sim.settings import Checked, read, setting


@dataclass
class MotorParams(Checked):
    """The gains and limits of motors; None: as described, or the default."""

    position_gain: float | None = setting(
        None, low=0, high=1, doc="Share of a position error that is corrected in an engine step; null: 0.2."
    )
    velocity_gain: float | None = setting(
        None, low=0, high=1, doc="Share of a velocity error that is corrected in an engine step; null: 1."
    )
    max_velocity: float | None = setting(
        None, above=0, high=LARGEST_SPEED, unit="rad/s or m/s", doc="Speed limit; null: as described."
    )
    max_force: float | None = setting(
        None, low=0, high=LARGEST_FORCE, unit="N m or N", doc="Limit of what any command may use; null: no other limit."
    )

    @property
    def is_given(self) -> bool:
        """Whether anything is set."""
        return any(getattr(self, item.name) is not None for item in fields(self))


def read_joint_motors(value: object) -> dict[str, MotorParams]:
    """Return motors by joint name; raises InvalidValueError, and ConfigError for what a motor does not have."""
    if not isinstance(value, Mapping):
        raise InvalidValueError(f"must be a mapping of joint names to settings of their motors, got {value!r}")
    return {
        str(name): motor if isinstance(motor, MotorParams) else read(MotorParams, motor, path=str(name))
        for name, motor in value.items()
    }


@dataclass(frozen=True)
class MotorPlan:
    """The motors of a robot to spawn: settings for all of its joints, then those of single ones by place."""

    motors: MotorParams
    joint_motors: Mapping[int, MotorParams]

    def write(self, world: World, slots: Ints) -> None:
        """Set the motors of the joints in `slots` (N, M)."""
        give_motors(world, slots.reshape(-1), self.motors)
        # Afterwards, so that a single joint's settings win over those for all.
        for place, params in self.joint_motors.items():
            give_motors(world, slots[:, place], params)


def plan_motors(
    model: RobotModel,
    motors: MotorParams | None,
    joint_motors: Mapping[str, MotorParams],
    *,
    motored: bool,
    mimics: bool,
) -> MotorPlan | None:
    """Check the settings of motors of `model`; None where nothing is set.

    Raises InvalidValueError and UnknownNameError.
    """
    given = motors or MotorParams()
    if not given.is_given and not any(params.is_given for params in joint_motors.values()):
        return None
    # Settings that could not act are a mistake.
    if not motored:
        raise InvalidValueError(
            f"motors, joint_motors: {model.name!r} has no motors here; robots have them with physics on, with "
            "joints that move, and with a mass (mass: null is that of the description)"
        )
    places = {place_of(model, name): params for name, params in joint_motors.items()}
    if mimics:
        for mimic in model.mimics:
            if int(model.slots[mimic.follower]) in places:
                name, leader = model.joint_names[mimic.follower], model.joint_names[mimic.leader]
                raise InvalidValueError(f"joint_motors: joint {name!r} mimics {leader!r}, whose motor moves both")
    return MotorPlan(given, places)


def give_motors(world: World, slots: Ints, params: MotorParams) -> None:
    """Set what `params` has of the motors of the joints in `slots` (K,); followers of other joints have none."""
    joints = world.joints
    # Joints that mimic others have no motor.
    own = slots[joints.leader[slots] == NO_ROW]
    columns = {
        "position_gain": joints.position_gain,
        "velocity_gain": joints.velocity_gain,
        "max_velocity": joints.max_velocity,
        "max_force": joints.force_limit,
    }
    for name, column in columns.items():
        value = getattr(params, name)
        if value is not None:
            column[own] = value
    # What runs already was clipped to the limits of then; after spawning nothing runs.
    for control, limit in ((AT_VELOCITY, joints.max_velocity), (AT_FORCE, joints.force_limit)):
        running = own[joints.control[own] == control]
        joints.command[running] = np.clip(joints.command[running], -limit[running], limit[running])
    # Marks the motors, so that the engine gets the new values.
    joints.motor_behind[own] = True


def motor_of(world: World, slot: int) -> MotorParams:
    """Return the gains and limits in use of the motor of a joint."""
    joints = world.joints
    limit = float(joints.force_limit[slot])
    return MotorParams(
        position_gain=float(joints.position_gain[slot]),
        velocity_gain=float(joints.velocity_gain[slot]),
        max_velocity=float(joints.max_velocity[slot]),
        # In the columns no limit is infinity, in settings it is null.
        max_force=limit if np.isfinite(limit) else None,
    )
