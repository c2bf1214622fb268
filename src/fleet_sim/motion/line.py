"""Driving along straight lines from waypoint to waypoint: shared by all laws that follow poses exactly."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.core.world import World
from fleet_sim.motion import limits
from fleet_sim.motion.path import aligned_exits, cross_waypoints
from fleet_sim.motion.profile import TINY, Approach, approach, can_stop, stopping_reach, units
from fleet_sim.spatial.components import dot, gather, gather_quaternions, scatter, to_body, vector_index


def drive(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows` one step towards their current waypoints; return those that stopped at theirs.

    A robot at rest has exactly the waypoint's position, or, with a tolerance, is that near to its last one: at the near
    side, unless it was nearer already or cannot brake so early. Waypoints with a pass speed are driven through, the
    rest of the step on the next segment. Writes position, velocity, body_linear and waypoint; the orientations are
    those of the step's end.
    """
    motion, pool = world.motion, world.waypoints
    headed = motion.path_start.take(rows)
    headed += motion.waypoint.take(rows)
    index = vector_index(rows)
    position = gather(world.position, index)
    velocity = gather(world.velocity, index)
    delta = gather(pool.position, vector_index(headed))
    delta -= position
    tolerant_mask = _stop_short(world, rows, delta)
    directions, distances = units(delta)
    speed_limits, accels = limits.linear(world, rows, directions)
    # Speed limits of waypoints are rare, and looking them up for all is not free.
    if pool.limited:
        np.minimum(speed_limits, pool.speed_limit.take(headed), out=speed_limits)
    passing, exits, braking = _exits(world, rows, headed, directions, velocity)
    step = approach(directions, distances, velocity, exits, speed_limits, accels, dt, braking)
    limits.respect_axes(world, rows, velocity, step, motion.linear_accel, motion.linear_accels, dt)
    position += step.displacements
    stopped = _stop(
        world, rows, headed, delta, velocity, position, step, exits, speed_limits, accels, dt, tolerant_mask
    )
    if passing:
        cross_waypoints(world, rows, headed, np.asarray(exits), position, step, speed_limits, accels, dt)
    scatter(world.position, index, position)
    scatter(world.velocity, index, step.velocities)
    body = to_body(gather_quaternions(world.orientation, rows), step.velocities)
    scatter(motion.body_linear, index, body)
    if np.count_nonzero(distances) < len(rows):
        # Rows that were at their waypoint already have not moved: their boxes and grid cells stay.
        rows = rows[(distances != 0.0) | (dot(step.displacements, step.displacements) > 0.0)]
    world.touch(rows)
    return stopped


def _exits(
    world: World, rows: Rows, headed: Ints, directions: Floats, velocity: Floats
) -> tuple[bool, Floats | float, Floats | float]:
    """Return whether any robot drives through its waypoint, the speeds there, and the shares of braking before it."""
    pool = world.waypoints
    exits = pool.pass_speed.take(headed)
    # Most robots head for a last waypoint: with an exit speed of 0 for all, whole terms drop out.
    if np.count_nonzero(exits) == 0:
        return False, 0.0, 1.0
    return True, aligned_exits(world, rows, exits, directions, velocity), pool.braking.take(headed)


def _stop(
    world: World,
    rows: Rows,
    headed: Ints,
    delta: Floats,
    velocity: Floats,
    position: Floats,
    step: Approach,
    exits: Floats | float,
    speed_limits: Floats,
    accels: Floats,
    dt: float,
    tolerant_mask: Bools | None,
) -> Rows:
    """Bring to rest the rows that can be at their target by the end of the step; return them.

    The target is `delta` away; only the rows of `tolerant_mask` have another one than their waypoint.
    """
    near_mask = step.distances <= stopping_reach(speed_limits, accels, dt)
    if not isinstance(exits, float):
        near_mask &= exits == 0.0
    if not np.count_nonzero(near_mask):
        return NO_ROWS
    near = np.flatnonzero(near_mask)
    deltas, velocities = delta[:, near], velocity[:, near]
    rates = _stopping_accels(world, rows[near], velocities, step.along[near], accels[near])
    exact_mask = can_stop(deltas, velocities, rates, dt)
    exact = near[exact_mask]
    target = gather(world.waypoints.position, vector_index(headed[exact]))
    if tolerant_mask is not None:
        short = position[:, exact] - step.displacements[:, exact] + delta[:, exact]
        target = np.where(tolerant_mask[exact], short, target)
    step.displacements[:, exact] = target - (position[:, exact] - step.displacements[:, exact])
    position[:, exact] = target
    step.velocities[:, exact] = 0.0
    at_rest: Rows = rows[exact]
    return at_rest


def _stop_short(world: World, rows: Rows, delta: Floats) -> Bools | None:
    """Take the tolerance off the ways `delta` (3, N) to last waypoints; return where, None for nowhere.

    Within the tolerance no way is left: a robot that still drives there brakes.
    """
    motion = world.motion
    tolerances = motion.tolerance.take(rows)
    if not np.count_nonzero(tolerances):
        return None
    mask: Bools = (tolerances > 0.0) & (motion.waypoint[rows] == motion.path_length[rows] - 1)
    ways = delta[:, mask]
    # A little less, so that rounding does not leave a robot just outside.
    shares = tolerances[mask] * (1.0 - 1e-9) / np.maximum(np.sqrt(dot(ways, ways)), TINY)
    delta[:, mask] = ways * np.maximum(1.0 - shares, 0.0)
    return mask


def _stopping_accels(world: World, rows: Rows, velocities: Floats, along: Floats, accels: Floats) -> Floats:
    """Return the accelerations for stopping: of the weakest axis where a robot with axis limits drifts sideways."""
    motion = world.motion
    if not motion.axis_limited[rows].any():
        return accels
    squares = dot(velocities, velocities)
    drifting_mask = motion.axis_limited[rows] & (squares - along * along > 1e-12 * squares)
    return np.where(drifting_mask, np.minimum(accels, limits.linear_any_way(motion, rows)[1]), accels)
