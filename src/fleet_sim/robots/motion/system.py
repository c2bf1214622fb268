"""The system that moves agents: in each step it passes the moving rows to their laws."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bytes, Floats, Ints, Rows
from fleet_sim.base.params import ControllerMode
from fleet_sim.robots.motion.driving import DIFFERENTIAL, OMNI, advance
from fleet_sim.robots.motion.laws import motion_law
from fleet_sim.world import steering
from fleet_sim.world.joints import AT_VELOCITY, HOLD, ON_CURVE, TO_POSITION
from fleet_sim.world.waypoints import keep_freed_memory
from fleet_sim.world.world import World

IDLE = ControllerMode.IDLE.code


class MotionSystem:
    """Moves every living agent that follows a path or a velocity command, grouped by motion law.

    Attached rows, rows of law 0 and idle rows are not changed.
    """

    name = "motion"

    def __init__(self, among: Rows | None = None) -> None:
        """`among` are the rows, ascending, that can move at all, where these are few; each is left to its own law."""
        keep_freed_memory()
        self._among = among
        self._all = NO_ROWS

    def run(self, world: World, dt: float) -> Rows:
        """Move agents by one step; return the rows that arrived in it, in ascending order.

        An arrived row is idle and at rest, has `reached` set, and has no path any more.
        """
        return self.settle(world, self.advance(world, dt))

    def settle(self, world: World, done: Rows) -> Rows:
        """End the paths of the rows that arrived, and return them."""
        # Their paths are of no use any more, and their waypoints are free for others.
        if len(done):
            world.waypoints.discard(world.motion, done)
            world.motion.control[done] = IDLE
            world.motion.reached[done] = True
        return done

    def advance(self, world: World, dt: float) -> Rows:
        """Move agents by one step; return the rows at the end of their paths, in ascending order."""
        ended, left = advance(world, self._rows(world), dt, omni=OMNI, differential=DIFFERENTIAL)
        if not len(left):
            return ended
        arrived = [ended]
        for law, rows in _by_law(left, world.motion.law[left]):
            arrived.append(motion_law(law).step(world, rows, dt))
        done: Rows = np.sort(np.concatenate(arrived))
        return done

    def _rows(self, world: World) -> Rows:
        """Return rows that may move, ascending: machine code finds out faster by itself which do."""
        if self._among is not None:
            return self._among[world.motion.control.take(self._among) != IDLE]
        if not world.compiled:
            return world.motion.control.nonzero()[0]
        if len(self._all) != world.capacity:
            self._all = np.arange(world.capacity)
        return self._all


def _by_law(rows: Rows, laws: Bytes) -> list[tuple[int, Rows]]:
    """Return (law, its rows) in order of the laws."""
    # Fleets of one law are the usual case, and need no sorting.
    first = int(laws[0])
    if np.count_nonzero(laws == first) == len(rows):
        return [(first, rows)]
    return [(index, rows[laws == index]) for index in np.flatnonzero(np.bincount(laws)).tolist()]


# Joint motion: all moving joints of all robots are advanced in one call. A joint moves to its target at its maximum
# velocity and ends exactly there, or keeps a velocity until it reaches a limit of its range, or follows a curve in
# time as fast as it can. Joints driven by motors are left to the physics engine.


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
    steering.follow(world)
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
