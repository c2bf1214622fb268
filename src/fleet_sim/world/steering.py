"""Writes commands to the columns: limits, paths, velocities, halts, and targets of joints, mimic joints included.

These are the only writers of commands; the motion laws read them in the next step. The last command wins.
All take `rows` (N,) and write them at once. Callers must have checked the values.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ControllerMode
from fleet_sim.world.joints import AT_FORCE, AT_VELOCITY, HOLD, ON_CURVE, TO_POSITION
from fleet_sim.world.shapes import Mimic, RobotModel
from fleet_sim.world.world import World

IDLE, VELOCITY, POSE = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code, ControllerMode.POSE.code


def give_limits(
    world: World,
    rows: Rows,
    *,
    linear_speed: AnyArray | float,
    linear_accel: AnyArray | float,
    angular_speed: AnyArray | float,
    angular_accel: AnyArray | float,
) -> None:
    """Set the limits of `rows`.

    A number or an array (N,) limits the norm, an array (N, 3) each axis of the body frame; inf is no limit.
    """
    motion = world.motion
    per_axis = False
    for value, norms, axes in (
        (linear_speed, motion.linear_limit, motion.linear_limits),
        (linear_accel, motion.linear_accel, motion.linear_accels),
        (angular_speed, motion.angular_limit, motion.angular_limits),
        (angular_accel, motion.angular_accel, motion.angular_accels),
    ):
        array = np.asarray(value, np.float64)
        norms[rows] = np.inf if array.ndim == 2 else array
        axes[rows] = array if array.ndim == 2 else np.inf
        per_axis = per_axis or array.ndim == 2
    # Few robots have such limits; the flag spares the others the arithmetic for each axis.
    motion.axis_limited[rows] = per_axis


def give_paths(
    world: World,
    rows: Rows,
    lengths: Ints,
    positions: Floats,
    orientations: Floats,
    *,
    align_final: AnyArray | bool = True,
    direction: AnyArray | int | None = None,
    tolerance: AnyArray | float = 0.0,
    speed_limits: Floats | None = None,
) -> None:
    """Command `rows` to follow paths of `lengths` (N,) >= 1 waypoints, from their present poses and velocities.

    `positions` (M, 3) and unit `orientations` (M, 4) are the concatenated waypoints of all rows, in the world frame.
    `direction` is the code of a MovementDirection (None: each row's default); `speed_limits` (M,) in m/s hold on the
    lines that end at the waypoints.
    """
    motion = world.motion
    world.waypoints.assign(motion, rows, lengths, positions, orientations, speed_limits)
    motion.direction[rows] = motion.default_direction[rows] if direction is None else direction
    motion.align_final[rows] = align_final
    motion.tolerance[rows] = tolerance
    motion.path_fresh[rows] = True
    motion.reached[rows] = False
    motion.control[rows] = POSE


def give_velocities(world: World, rows: Rows, linear: Floats, angular: Floats, timeout: float | None = None) -> None:
    """Command `rows` to follow body twists `linear` and `angular` (N, 3) for `timeout` s; 0: without end.

    None uses each row's own `command_timeout`. A path being followed is dropped.
    """
    motion = world.motion
    world.waypoints.discard(motion, rows)
    motion.command_linear[rows] = linear
    motion.command_angular[rows] = angular
    motion.command_expiry[rows] = _expiries(world, rows, timeout)
    motion.reached[rows] = False
    motion.control[rows] = VELOCITY


def _expiries(world: World, rows: Rows, timeout: float | None) -> Ints | int:
    """Return the ticks at which commands given now end, -1 for never."""
    clock = world.clock
    if timeout is not None:
        return clock.tick + clock.ticks(timeout) if timeout > 0.0 else -1
    timeouts = world.motion.command_timeout[rows]
    if not np.count_nonzero(timeouts):
        return -1
    # 0.07 / 0.01 is slightly above 7 in floats: without the tolerance that command would last a tick longer.
    ticks = np.ceil(timeouts / clock.dt - 1e-9).astype(np.int64)
    return np.where(timeouts > 0.0, clock.tick + ticks, -1)


def halt(world: World, rows: Rows) -> None:
    """Stop `rows` at once and drop their commands; acceleration limits do not apply."""
    motion = world.motion
    world.waypoints.discard(motion, rows)
    motion.control[rows] = IDLE
    motion.command_expiry[rows] = -1
    motion.turning[rows] = False
    world.rest(rows)


# Mimic joints: joints that follow another joint of their robot, their leader, at a fixed ratio. A follower's position
# is `multiplier` times the leader's plus `offset`. It is commanded through its leader; its limits do not count, as it
# has no motion of its own.


AGREEMENT = 1e-6
"""How far, in rad or m, a number for a follower may be from what its leader gives."""


def places_of(model: RobotModel, mimic: Mimic) -> tuple[int, int]:
    """Return the indices of follower and leader among the joints that move."""
    return int(model.slots[mimic.follower]), int(model.slots[mimic.leader])


def led_positions(model: RobotModel, positions: Floats) -> Floats:
    """Return `positions` (M,) of the joints that move with followers where their leaders bring them."""
    led = positions.copy()
    for mimic in model.mimics:
        follower, leader = places_of(model, mimic)
        # Leaders follow nobody: chains of followers were resolved when the model was read.
        led[follower] = mimic.multiplier * led[leader] + mimic.offset
    return led


def without_followers(
    model: RobotModel, places: Ints, values: Floats, *, what: str = "position"
) -> tuple[Ints, Floats]:
    """Return the `places` (K,) and `values` (..., K) of a command without those of followers.

    Raises InvalidValueError where a follower is commanded to anything but what its leader, commanded too, gives.
    `what` is "position", "velocity" or "force"; of forces a follower has none.
    """
    if not model.mimics:
        return places, values
    keep_mask = np.ones(len(places), np.bool_)
    for mimic in model.mimics:
        follower, leader = (np.flatnonzero(places == place) for place in places_of(model, mimic))
        if not len(follower):
            continue
        keep_mask[follower] = False
        ratio = 0.0 if what == "force" else mimic.multiplier
        expected = ratio * values[..., leader] + (mimic.offset if what == "position" else 0.0)
        if not len(leader) or bool((np.abs(values[..., follower] - expected) > AGREEMENT).any()):
            raise InvalidValueError(_refusal(model, mimic, what))
    return places[keep_mask], values[..., keep_mask]


def _refusal(model: RobotModel, mimic: Mimic, what: str) -> str:
    name, leader = model.joint_names[mimic.follower], model.joint_names[mimic.leader]
    law = f"{mimic.multiplier:g} * {leader}" + (f" + {mimic.offset:g}" if mimic.offset else "")
    return (
        f"joint {name!r} of {model.name!r} mimics {leader!r} ({name} = {law}) and takes no {what} of its own; "
        f"command {leader!r}, or spawn the robot with mimic_joints: false"
    )


def link(world: World, slots: Ints, model: RobotModel) -> None:
    """Let the followers among the joints in `slots` (N, M) of robots of `model` follow from now on."""
    joints = world.joints
    for mimic in model.mimics:
        follower, leader = places_of(model, mimic)
        own, led_by = slots[:, follower], slots[:, leader]
        joints.leader[own], joints.multiplier[own], joints.offset[own] = led_by, mimic.multiplier, mimic.offset
        joints.max_velocity[own] = abs(mimic.multiplier) * joints.max_velocity[led_by]
        # The leader's limits bound the follower too; limits of its own could tear the two apart.
        joints.lower[own], joints.upper[own] = -np.inf, np.inf
    joints.find_followers()


def follow(world: World, *, of: Ints | None = None) -> None:
    """Bring the followers of kinematic robots to where their leaders are; with `of` those of these slots, of any robot.

    With motors the engine holds them together.
    """
    joints = world.joints
    followers = joints.followers
    if not len(followers):
        return
    if of is None:
        followers = followers[~world.robots.motors[joints.robot[followers]]]
    else:
        followers = followers[np.isin(joints.leader[followers], of)]
    leaders, multiplier = joints.leader[followers], joints.multiplier[followers]
    joints.position[followers] = multiplier * joints.position[leaders] + joints.offset[followers]
    joints.velocity[followers] = multiplier * joints.velocity[leaders]


def pass_on(world: World, slots: Ints) -> None:
    """Give the followers of the joints in `slots` the targets that follow from those of their leaders.

    Followers that are among `slots` themselves were commanded to the same, so nothing is lost.
    """
    joints = world.joints
    followers = joints.followers
    if not len(followers):
        return
    followers = followers[np.isin(joints.leader[followers], slots)]
    leaders, multiplier = joints.leader[followers], joints.multiplier[followers]
    joints.control[followers] = joints.control[leaders]
    joints.target[followers] = multiplier * joints.target[leaders] + joints.offset[followers]
    # The leader's motor brings up the force for both.
    forced_mask = joints.control[leaders] == AT_FORCE
    joints.command[followers] = np.where(forced_mask, 0.0, multiplier * joints.command[leaders])
    joints.moving[followers] = joints.motor_behind[followers] = False


# Writes joint commands to the columns: targets, velocities, forces, holds, positions. These are the only writers of
# joint commands; joint motion or the engine's motors read them in the next step. The last command wins. All take
# `slots` (K,) of `World.joints` and write them at once. Callers must have checked the values.


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
    follow(world)


def put_joints(world: World, slots: Ints, positions: Floats) -> None:
    """Set joints to `positions` (K,), clipped to their limits, at rest, and hold them there."""
    joints = world.joints
    joints.position[slots] = np.clip(positions, joints.lower[slots], joints.upper[slots])
    joints.velocity[slots] = 0.0
    follow(world, of=slots)
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
    pass_on(world, slots)


def _motors_mask(world: World, slots: Ints) -> AnyArray:
    mask: AnyArray = world.robots.motors[world.joints.robot[slots]]
    return mask
