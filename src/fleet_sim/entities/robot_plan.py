"""The joints of a robot to spawn: their start positions and tolerances, and whether motors move them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core import joint_steering, mimic
from fleet_sim.core.joints import DEFAULT_TOLERANCE
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.world import World
from fleet_sim.entities.joint_values import limits_cause, read_joint_numbers, read_tolerances
from fleet_sim.entities.motor_params import MotorPlan, plan_motors
from fleet_sim.entities.spawn_params import AgentSpawnParams
from fleet_sim.entities.wheels import TURNING, Wheels, find_wheels, turns_wheels
from fleet_sim.errors import InvalidValueError
from fleet_sim.kinematics.inverse import check_ik_params

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RobotPlan:
    """The joints of a robot to spawn: (M,) start positions and tolerances of the movable joints of `model`."""

    model: RobotModel
    motors: bool
    positions: Floats
    tolerances: Floats
    wheels: Wheels
    mimics: bool = False
    joint_tolerance: Any = None
    ik_params: Any = None
    motor_plan: MotorPlan | None = None

    @property
    def rolls(self) -> bool:
        """Whether the robot can drive with the motors of its wheels."""
        return self.motors and self.wheels.driven

    def write(self, world: World, rows: Rows) -> None:
        """Create the joints of `rows` (N,)."""
        robots, joints = world.robots, world.joints
        robots.model[rows] = _number(world, self.model)
        robots.motors[rows], robots.mimics[rows] = self.motors, self.mimics
        slots = joints.assign(robots, rows, self.model)
        if slots.size:
            self._write_joints(world, slots)
        for values, value in ((joints.given_tolerances, self.joint_tolerance), (joints.ik_params, self.ik_params)):
            if value is not None:
                # By row, and only where given: most robots have the default.
                values.update(dict.fromkeys(rows.tolist(), value))
        if self.motors:
            # Last of all: motors hold positions, which have to be there.
            _start_motors(world, rows, self.model)
        if self.motor_plan is not None:
            self.motor_plan.write(world, slots)

    def _write_joints(self, world: World, slots: Ints) -> None:
        """Fill the columns of the joints in `slots` (N, M)."""
        joints = world.joints
        if self.mimics:
            # Before positions are written: followers are clipped with their leaders.
            mimic.link(world, slots, self.model)
        joints.position[slots] = joints.target[slots] = self.positions
        joints.tolerance[slots] = self.tolerances
        joints.wheel_rate[slots], joints.wheel_offset[slots] = self.wheels.rates, self.wheels.offsets


def plan_robot(params: AgentSpawnParams, model: RobotModel, *, motors: bool) -> RobotPlan:
    """Check the joint settings in `params` against `model`; raises InvalidValueError and UnknownNameError."""
    count, mimics = len(model.movable), params.mimic_joints and bool(model.mimics)
    if params.ik_params is not None:
        check_ik_params(model, params.ik_params)
    limited_mask = model.limited_mask[model.movable]
    lower = np.where(limited_mask, model.lower[model.movable], -np.inf)
    upper = np.where(limited_mask, model.upper[model.movable], np.inf)
    # 0, or the nearest value within the limits, is where a robot starts.
    positions = np.clip(np.zeros(count), lower, upper)
    if params.joint_positions is not None:
        places, values = read_joint_numbers(model, params.joint_positions, "joint_positions")
        if mimics:
            places, values = mimic.without_followers(model, places, values)
        cause = limits_cause(model, places, values)
        if cause:
            raise InvalidValueError(f"joint_positions: {cause}")
        positions[places] = values
        # What was accepted just beyond a limit, see LIMIT_SLACK, starts at the limit.
        positions = np.clip(positions, lower, upper)
    if mimics:
        positions = mimic.led_positions(model, positions)
    return RobotPlan(
        model=model,
        motors=motors and count > 0,
        mimics=mimics,
        positions=positions,
        tolerances=read_tolerances(model, params.joint_tolerance, np.full(count, DEFAULT_TOLERANCE)),
        wheels=find_wheels(model, params.wheel_radius, params.wheel_separation),
        joint_tolerance=params.joint_tolerance,
        ik_params=params.ik_params,
        motor_plan=plan_motors(model, params.motors, params.joint_motors, motored=motors and count > 0, mimics=mimics),
    )


def adopt_joints(world: World, row: int, model: RobotModel, positions: Floats) -> None:
    """Give the robot in `row`, whose body the user made, the joints of `model`, at positions (M,) of those that move.

    A dynamic robot moves them with motors. The joints of a robot made from a description are given when it is spawned.
    """
    count = len(model.movable)
    tolerances = np.full(count, DEFAULT_TOLERANCE)
    motors = bool(world.dynamic[row]) and count > 0
    rows = np.array([row])
    RobotPlan(model, motors, positions, tolerances, find_wheels(model)).write(world, rows)
    if not motors and world.motion.law[row] and turns_wheels(model):
        world.features.give(TURNING, rows)


def plan_still(model: RobotModel) -> RobotPlan:
    """Return the plan of an object made from `model`; raises InvalidValueError where joints would stand still."""
    if len(model.movable):
        # A few names tell which model it is; a hand has dozens.
        names = ", ".join(model.movable_names[:4]) + (", ..." if len(model.movable) > 4 else "")
        raise InvalidValueError(
            f"urdf_path: {model.name!r} has joints that move ({names}), and objects have none; spawn it as an Agent "
            "(robots:), with use_fixed_base where it stays in its place"
        )
    none = np.zeros(0)
    return RobotPlan(model, motors=False, mimics=False, positions=none, tolerances=none, wheels=Wheels(none, none))


def _number(world: World, model: RobotModel) -> int:
    """Return the number of `model` in the world, adding it if needed."""
    # By identity: the loader returns the same object for the same file.
    for number, known in enumerate(world.models):
        if known is model:
            return number
    world.models.append(model)
    if model.held:
        # Once for all robots of this kind.
        log.warning(
            "%s: joints that are spherical or planar have no single position; they are held fixed: %s",
            model.name,
            ", ".join(model.held),
        )
    return len(world.models) - 1


def _start_motors(world: World, rows: Rows, model: RobotModel) -> None:
    """Hold joints with limits at their positions, like brakes; wheels, which have no limits, roll freely."""
    slots = world.joints.slots(world.robots, rows)
    # 0 means that the file says nothing.
    efforts = np.tile(model.max_forces[model.movable], len(rows))
    world.joints.max_force[slots] = np.where(efforts > 0.0, efforts, world.joints.max_force[slots])
    limited_mask = np.tile(model.limited_mask[model.movable], len(rows))
    joint_steering.hold_joints(world, slots[limited_mask])
    free = slots[~limited_mask]
    # PyBullet's joints begin with a motor that brakes; commanding a force of 0 releases it.
    joint_steering.give_joint_forces(world, free, np.zeros(len(free)))
