"""Writes commands of agents to the columns: limits, paths, velocity commands, halts.

These are the only writers of commands; the motion laws read them in the next step. The last command wins.
All take `rows` (N,) and write them at once. Callers must have checked the values.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.world import World

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
