"""The omnidirectional law: drives straight to the goal in any direction and turns on the way."""

from __future__ import annotations

from functools import partial

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Rows
from fleet_sim.config.modes import MotionMode
from fleet_sim.core.world import World
from fleet_sim.motion import limits
from fleet_sim.motion.law import move_by_control
from fleet_sim.motion.line import drive
from fleet_sim.motion.path import prepare_paths
from fleet_sim.motion.turn import turn_to, turn_to_rest
from fleet_sim.motion.velocity import follow_velocities
from fleet_sim.spatial.components import dot, gather, vector_index


class OmnidirectionalLaw:
    """Drives and turns in any direction at the same time."""

    name = MotionMode.OMNIDIRECTIONAL.value

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        return move_by_control(world, rows, dt, partial(follow_velocities, sideways=True), follow_poses)


def follow_poses(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows` one step along their paths; return those that have arrived and are at rest.

    Where `align_final` is set, robots turn to the last waypoint's orientation on the way to it; orientations of earlier
    waypoints are ignored. Arrived rows have exactly the position and orientation of the goal.
    """
    motion = world.motion
    fresh_mask = motion.path_fresh.take(rows)
    if np.count_nonzero(fresh_mask):
        _prepare(world, rows[fresh_mask], dt)
    turning_mask = motion.turning.take(rows)
    # Turned before it drives: `drive` expects the orientations of the end of the step.
    if np.count_nonzero(turning_mask):
        _turn(world, rows[turning_mask], dt)
    stopped = drive(world, rows, dt)
    return _arrived(world, stopped) if len(stopped) else NO_ROWS


def _prepare(world: World, rows: Rows, dt: float) -> None:
    motion = world.motion
    prepare_paths(world, rows, dt, cut_corners=True)
    spinning = world.angular_velocity[rows]
    # A robot that still turns from before has to come to rest, whatever it heads for.
    spinning_mask = (spinning[:, 0] != 0.0) | (spinning[:, 1] != 0.0) | (spinning[:, 2] != 0.0)
    motion.turning[rows] = spinning_mask | ~_oriented(world, rows)


def _oriented(world: World, rows: Rows) -> Bools:
    """Return which rows have the last waypoint's orientation, or need not have it."""
    motion = world.motion
    last = motion.path_start[rows] + motion.path_length[rows] - 1
    # By equality, as it arrives with the numbers of the waypoint.
    same = world.waypoints.orientation[last] == world.orientation[rows]
    met_mask: Bools = ~motion.align_final[rows] | (same[:, 0] & same[:, 1] & same[:, 2] & same[:, 3])
    return met_mask


def _turn(world: World, rows: Rows, dt: float) -> None:
    """Turn robots towards the orientation of the last pose of their path; those that need none turn to rest.

    Only robots that are slow enough on the last stretch aim at it. `dt` in s.
    """
    motion = world.motion
    last_mask = motion.waypoint[rows] == motion.path_length[rows] - 1
    aim_mask = last_mask & motion.align_final[rows] & _slow_enough(world, rows)
    aiming = rows[aim_mask]
    if len(aiming):
        last = motion.path_start[aiming] + motion.path_length[aiming] - 1
        done_mask = turn_to(world, aiming, world.waypoints.orientation[last], dt)
        motion.turning[aiming[done_mask]] = False
    resting = rows[~aim_mask]
    if len(resting):
        # Without a wanted orientation it turns to rest, and is done with that.
        resting = resting[world.angular_velocity[resting].any(axis=1) | ~motion.align_final[resting]]
        done_mask = turn_to_rest(world, resting, dt)
        motion.turning[resting[done_mask & ~motion.align_final[resting]]] = False


def _slow_enough(world: World, rows: Rows) -> Bools:
    """Return which rows may turn: with axis limits, only those slow enough for every orientation."""
    motion = world.motion
    slow_mask = np.ones(len(rows), bool)
    at = limits.axis_limited(motion, rows)
    if len(at):
        velocity = gather(world.velocity, vector_index(rows[at]))
        fastest = limits.linear_any_way(motion, rows[at])[0] * (1.0 + 1e-9)
        slow_mask[at] = dot(velocity, velocity) <= fastest * fastest
    return slow_mask


def _arrived(world: World, stopped: Rows) -> Rows:
    """Advance rows that stopped at a waypoint to the next one; return those that have finished their last."""
    motion = world.motion
    last_mask = motion.waypoint[stopped] == motion.path_length[stopped] - 1
    motion.waypoint[stopped[~last_mask]] += 1
    ended = stopped[last_mask]
    # Who still turns stays at the goal and arrives when both are done.
    ended = ended[~motion.turning[ended]]
    oriented_mask = _oriented(world, ended)
    motion.turning[ended[~oriented_mask]] = True
    done: Rows = ended[oriented_mask]
    return done
