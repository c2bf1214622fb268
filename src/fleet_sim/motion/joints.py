"""Joint motion: all moving joints of all robots are advanced in one call.

A joint moves to its target at its maximum velocity and ends exactly there, or keeps a velocity until it reaches a limit
of its range, or follows a curve in time as fast as it can. Joints driven by motors are left to the physics engine.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Ints, Rows
from fleet_sim.core import mimic
from fleet_sim.core.joints import AT_VELOCITY, HOLD, ON_CURVE, TO_POSITION
from fleet_sim.core.world import World

CHUNK = 16384
"""Joints advanced at once, few enough that the temporary arrays stay in the processor's cache."""


def advance_joints(world: World, dt: float) -> Rows:
    """Advance all moving joints by `dt` seconds; return the rows whose last joint reached its target in this step.

    A joint that arrived is at rest, exactly at its target. The motion of a joint does not depend on which others move.
    Rows are in ascending order.
    """
    joints = world.joints
    if not joints.used:
        return NO_ROWS
    slots = np.flatnonzero(joints.moving[: joints.used])
    if not len(slots):
        return NO_ROWS
    arrived = [_advance(world, slots[at : at + CHUNK], dt) for at in range(0, len(slots), CHUNK)]
    mimic.follow(world)
    owners = joints.robot[slots]
    # The slots of a robot are contiguous, so equal owners are adjacent.
    movers = owners[np.flatnonzero(np.diff(owners, prepend=-1))]
    world.touch_joints(movers)
    ended = np.concatenate(arrived)
    return _settled(world, ended) if len(ended) else NO_ROWS


def _advance(world: World, slots: Ints, dt: float) -> Ints:
    """Move the joints in `slots`; return those that reached their targets."""
    joints = world.joints
    position, limit = joints.position[slots], joints.max_velocity[slots]
    control = joints.control[slots]
    velocity_mask, curve_mask = control == AT_VELOCITY, control == ON_CURVE
    goal, speed = joints.target[slots], limit
    if velocity_mask.any():
        command = joints.command[slots]
        # A joint at a velocity heads for its limit, so it stops there by the same rule as at a target.
        bounds = np.where(command > 0.0, joints.upper[slots], joints.lower[slots])
        goal = np.where(velocity_mask, bounds, goal)
        speed = np.where(velocity_mask, np.abs(command), limit)
    if curve_mask.any():
        goal = np.where(curve_mask, curve_positions(world, slots, world.clock.time + dt), goal)
    left, reach = goal - position, speed * dt
    # With a target a whole number of steps away, the last step may be short by rounding.
    there_mask = np.abs(left) <= reach * (1.0 + 1e-9)
    joints.position[slots] = np.where(there_mask, goal, position + np.copysign(reach, left))
    # A joint that reached its point of a curve is not at rest there: the curve goes on.
    joints.velocity[slots] = np.where(there_mask, np.where(curve_mask, left / dt, 0.0), np.copysign(speed, left))
    there_mask &= ~curve_mask
    ended = slots[there_mask]
    joints.moving[ended] = False
    if not velocity_mask.any():
        return ended
    stopped = slots[there_mask & velocity_mask]
    joints.control[stopped] = HOLD
    joints.target[stopped] = joints.position[stopped]
    return slots[there_mask & ~velocity_mask]


def curve_positions(world: World, slots: Ints, time: float) -> Floats:
    """Return the positions of the curves of the joints in `slots` at a simulation time, within the joint limits."""
    joints = world.joints
    u = np.clip((time - joints.curve_begin[slots]) / joints.curve_span[slots], 0.0, 1.0)
    value = joints.curve_2[slots] + u * joints.curve_3[slots]
    value = joints.curve_0[slots] + u * (joints.curve_1[slots] + u * value)
    return np.clip(value, joints.lower[slots], joints.upper[slots])


def curve_velocities(world: World, slots: Ints, time: float) -> Floats:
    """Return the velocities of the curves of the joints in `slots` at a simulation time; 0 before and after them."""
    joints = world.joints
    spans = joints.curve_span[slots]
    u = (time - joints.curve_begin[slots]) / spans
    rate = joints.curve_1[slots] + u * (2.0 * joints.curve_2[slots] + u * 3.0 * joints.curve_3[slots])
    return np.where((u >= 0.0) & (u <= 1.0), rate / spans, 0.0)


def _settled(world: World, ended: Ints) -> Rows:
    """Return the rows of the joints `ended` that have no other joint moving to a target."""
    joints = world.joints
    rows = np.unique(joints.robot[ended])
    slots = joints.slots(world.robots, rows)
    busy_mask = joints.moving[slots] & (joints.control[slots] == TO_POSITION)
    if not busy_mask.any():
        return rows
    return rows[~np.isin(rows, joints.robot[slots[busy_mask]])]
