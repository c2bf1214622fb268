"""Writes joint commands to the columns: targets, velocities, forces, holds, positions.

These are the only writers of joint commands; joint motion or the engine's motors read them in the next step. The last
command wins. All take `slots` (K,) of `World.joints` and write them at once. Callers must have checked the values.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints
from fleet_sim.core import mimic
from fleet_sim.core.joints import AT_FORCE, AT_VELOCITY, HOLD, ON_CURVE, TO_POSITION
from fleet_sim.core.world import World


def give_joint_targets(world: World, slots: Ints, targets: Floats, forces: AnyArray | float | None = None) -> None:
    """Command joints to `targets` (K,), clipped to their limits; `forces` None keeps the motors' maximum forces."""
    joints = world.joints
    joints.target[slots] = np.clip(targets, joints.lower[slots], joints.upper[slots])
    _command(world, slots, TO_POSITION, 0.0, forces)


def give_joint_velocities(
    world: World, slots: Ints, velocities: Floats, forces: AnyArray | float | None = None
) -> None:
    """Command joints to move at `velocities` (K,), clipped to their speed limits, until the next command.

    A joint stops at a limit of its range. A velocity of 0 holds the joint.
    """
    joints = world.joints
    limits = joints.max_velocity[slots]
    speeds = np.clip(velocities, -limits, limits)
    _command(world, slots, AT_VELOCITY, speeds, forces)
    # A motor at velocity 0 would yield slowly to a load; at a position it does not.
    hold_joints(world, slots[speeds == 0.0])


def give_joint_forces(world: World, slots: Ints, forces: Floats) -> None:
    """Command motors to apply `forces` (K,) in N or N m, without feedback, clipped to their force limits.

    Only for robots with motors.
    """
    limits = world.joints.force_limit[slots]
    forces = np.clip(forces, -limits, limits)
    _command(world, slots, AT_FORCE, forces, None)


def give_joint_curves(world: World, slots: Ints, coefficients: Floats, begin: float, span: float) -> None:
    """Command joints without motors to follow c0 + c1 u + c2 u^2 + c3 u^3 at simulation time `begin` + u `span`, within
    their speed limits; they stay at the end of the curve. `coefficients` are (4, K).
    """
    joints = world.joints
    joints.curve_begin[slots], joints.curve_span[slots] = begin, span
    for column, values in zip(
        (joints.curve_0, joints.curve_1, joints.curve_2, joints.curve_3), coefficients, strict=True
    ):
        column[slots] = values
    # The value at u = 1, where they stay. `target` says where a joint goes, whatever the kind of command.
    end = coefficients[0] + coefficients[1] + coefficients[2] + coefficients[3]
    joints.target[slots] = np.clip(end, joints.lower[slots], joints.upper[slots])
    _command(world, slots, ON_CURVE, 0.0, None)


def hold_joints(world: World, slots: Ints) -> None:
    """Hold joints at their present positions."""
    joints = world.joints
    # The present position is the target, so a joint that is held has also arrived.
    joints.target[slots] = joints.position[slots]
    _command(world, slots, HOLD, 0.0, None)
    # With motors it is what the engine measured: such a joint comes to rest in its own time.
    still = slots[~_motors_mask(world, slots)]
    joints.velocity[still] = 0.0
    mimic.follow(world)


def put_joints(world: World, slots: Ints, positions: Floats) -> None:
    """Set joints to `positions` (K,), clipped to their limits, at rest, and hold them there."""
    joints = world.joints
    joints.position[slots] = np.clip(positions, joints.lower[slots], joints.upper[slots])
    joints.velocity[slots] = 0.0
    mimic.follow(world, of=slots)
    hold_joints(world, slots)
    world.touch_joints(np.unique(joints.robot[slots]))


def _command(
    world: World, slots: Ints, control: int, command: AnyArray | float, forces: AnyArray | float | None
) -> None:
    """Give joints `slots` (K,) a way of control and its numbers; joints that mimic them follow."""
    joints = world.joints
    joints.control[slots] = control
    joints.command[slots] = command
    if forces is not None:
        joints.max_force[slots] = forces
    motors_mask = _motors_mask(world, slots)
    # Joints with motors are moved by the engine, those at rest by nobody.
    joints.moving[slots] = False if control in (HOLD, AT_FORCE) else ~motors_mask
    joints.motor_behind[slots] = motors_mask
    mimic.pass_on(world, slots)


def _motors_mask(world: World, slots: Ints) -> AnyArray:
    mask: AnyArray = world.robots.motors[world.joints.robot[slots]]
    return mask
