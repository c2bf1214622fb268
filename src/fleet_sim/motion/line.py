"""Driving along straight lines from waypoint to waypoint: shared by all laws that follow poses exactly."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.core.world import World
from fleet_sim.motion import limits
from fleet_sim.motion.path import aligned_exits, cross_waypoints
from fleet_sim.motion.profile import SLACK, Approach, approach, can_stop, stopping_reach, units
from fleet_sim.spatial.components import dot, gather, gather_quaternions, scatter, to_body, vector_index


def drive(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows` one step towards their current waypoints; return those that stopped at theirs.

    A stopped robot has exactly the waypoint's position. A waypoint with a pass speed is driven through, and the rest of
    the step is on the next segment. Writes position, velocity, body_linear and waypoint; orientations must already be
    those at the end of the step.
    """
    motion, pool = world.motion, world.waypoints
    headed = motion.path_start.take(rows)
    headed += motion.waypoint.take(rows)
    index = vector_index(rows)
    position = gather(world.position, index)
    velocity = gather(world.velocity, index)
    delta = gather(pool.position, vector_index(headed))
    delta -= position
    directions, distances = units(delta)
    speed_limits, accels = limits.linear(world, rows, directions)
    exits: Floats | float = pool.pass_speed.take(headed)
    braking: Floats | float = 1.0
    passing = np.count_nonzero(exits) > 0
    if passing:
        exits = aligned_exits(world, rows, np.asarray(exits), directions, velocity)
        braking = pool.braking.take(headed)
    else:
        exits = 0.0
    step = approach(directions, distances, velocity, exits, speed_limits, accels, dt, braking)
    limits.respect_axes(world, rows, velocity, step, motion.linear_accel, motion.linear_accels, dt)
    position += step.displacements
    stopped = _stop(world, rows, headed, delta, velocity, position, step, exits, speed_limits, accels, dt)
    if passing:
        cross_waypoints(world, rows, headed, np.asarray(exits), position, step, speed_limits, accels, dt)
    scatter(world.position, index, position)
    scatter(world.velocity, index, step.velocities)
    body = to_body(gather_quaternions(world.orientation, rows), step.velocities)
    scatter(motion.body_linear, index, body)
    if np.count_nonzero(distances) < len(rows):
        rows = rows[dot(step.displacements, step.displacements) > 0.0]
    world.touch(rows)
    return stopped


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
) -> Rows:
    """Stop the rows that can reach their waypoint by the end of the step; return them."""
    motion = world.motion
    tolerances = motion.tolerance.take(rows)
    near_mask = step.distances <= np.maximum(stopping_reach(speed_limits, accels, dt), tolerances)
    if not isinstance(exits, float):
        near_mask &= exits == 0.0
    if not np.count_nonzero(near_mask):
        return NO_ROWS
    near = np.flatnonzero(near_mask)
    deltas, velocities = delta[:, near], velocity[:, near]
    rates = _stopping_accels(world, rows[near], velocities, step.along[near], accels[near])
    exact_mask = can_stop(deltas, velocities, rates, dt)
    exact_mask &= step.distances[near] <= stopping_reach(speed_limits[near], accels[near], dt)
    exact = near[exact_mask]
    target = gather(world.waypoints.position, vector_index(headed[exact]))
    step.displacements[:, exact] = target - (position[:, exact] - step.displacements[:, exact])
    position[:, exact] = target
    step.velocities[:, exact] = 0.0
    stopped_mask = exact_mask
    if tolerances.any():
        close_mask = ~exact_mask & _close_enough(world, rows[near], deltas, velocities, rates, dt)
        close = near[close_mask]
        position[:, close] += velocity[:, close] * (0.5 * dt) - step.displacements[:, close]
        step.displacements[:, close] = velocity[:, close] * (0.5 * dt)
        step.velocities[:, close] = 0.0
        stopped_mask = exact_mask | close_mask
    at_rest: Rows = rows[near[stopped_mask]]
    return at_rest


def _close_enough(world: World, rows: Rows, deltas: Floats, velocities: Floats, accels: Floats, dt: float) -> Bools:
    """Return which rows stop in this step within the tolerance of the last waypoint if they brake evenly."""
    motion = world.motion
    last_mask = motion.waypoint[rows] == motion.path_length[rows] - 1
    most = accels * dt
    offsets = deltas - velocities * (0.5 * dt)
    tolerances = motion.tolerance[rows]
    slow_mask = dot(velocities, velocities) <= most * most * SLACK
    close_mask: Bools = last_mask & slow_mask & (dot(offsets, offsets) <= tolerances * tolerances)
    return close_mask


def _stopping_accels(world: World, rows: Rows, velocities: Floats, along: Floats, accels: Floats) -> Floats:
    """Return the accelerations for stopping: of the weakest axis where a robot with axis limits drifts sideways."""
    motion = world.motion
    if not motion.axis_limited[rows].any():
        return accels
    squares = dot(velocities, velocities)
    drifting_mask = motion.axis_limited[rows] & (squares - along * along > 1e-12 * squares)
    return np.where(drifting_mask, np.minimum(accels, limits.linear_any_way(motion, rows)[1]), accels)
