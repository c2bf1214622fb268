"""The differential law: turn towards the waypoint, drive straight to it, at the end turn to the final orientation."""

from __future__ import annotations

from functools import partial

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Rows
from fleet_sim.config.modes import MotionMode, MovementDirection, PosePhase
from fleet_sim.core.world import World
from fleet_sim.motion.law import move_by_control
from fleet_sim.motion.line import drive
from fleet_sim.motion.path import prepare_paths
from fleet_sim.motion.turn import turn_to
from fleet_sim.motion.velocity import follow_velocities, move_by_twist
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

ROTATE, FORWARD = PosePhase.ROTATE.code, PosePhase.FORWARD.code
BACKWARD, AUTO = MovementDirection.BACKWARD.code, MovementDirection.AUTO.code

AHEAD = 1e-9
"""A waypoint less than this (rad) off the heading is straight ahead; nearer than this (m) it has no direction."""


class DifferentialLaw:
    """Drives along its heading and turns about its vertical axis."""

    name = MotionMode.DIFFERENTIAL.value

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        return move_by_control(world, rows, dt, partial(follow_velocities, sideways=False), follow_poses)


def follow_poses(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows` one step along their paths; return those that have arrived and are at rest.

    Lines may climb. The heading is the yaw; roll and pitch do not change until the turn to the final orientation.
    Arrived rows have exactly the position of the goal, and its orientation where `align_final` is set.
    """
    motion = world.motion
    fresh_mask = motion.path_fresh.take(rows)
    if np.count_nonzero(fresh_mask):
        fresh = rows[fresh_mask]
        # It cannot change direction while driving, so it stops at every corner.
        prepare_paths(world, fresh, dt, cut_corners=False)
        motion.turning[fresh] = False
        begin_segments(world, fresh)
    # All masks are taken before anybody moves: who ends one phase begins the next one in the next step.
    turning_mask = motion.turning.take(rows)
    phase_mask = motion.phase.take(rows) == FORWARD
    arrived = NO_ROWS
    if np.count_nonzero(turning_mask):
        arrived = _turn_to_final(world, rows[turning_mask], dt)
    rotate_mask = ~phase_mask & ~turning_mask
    if np.count_nonzero(rotate_mask):
        _rotate(world, rows[rotate_mask], dt)
    forward_mask = phase_mask & ~turning_mask
    if np.count_nonzero(forward_mask):
        stopped = drive(world, rows if np.count_nonzero(forward_mask) == len(rows) else rows[forward_mask], dt)
        if len(stopped):
            arrived = np.concatenate((arrived, _stopped(world, stopped)))
    return arrived


def begin_segments(world: World, rows: Rows) -> None:
    """Choose forward or backward, and whether to turn before driving to the current waypoint."""
    motion = world.motion
    motion.reverse[rows] = motion.direction[rows] == BACKWARD
    errors = _heading_errors(world, rows)
    around = rows[(motion.direction[rows] == AUTO) & (np.abs(errors) > 0.5 * np.pi)]
    if len(around):
        # Now the rear end leads, so the errors are measured again.
        motion.reverse[around] = True
        errors = _heading_errors(world, rows)
    straight_mask = (np.abs(errors) <= AHEAD) & _in_line(world, rows)
    motion.phase[rows] = np.where(straight_mask, FORWARD, ROTATE)


def _heading_errors(world: World, rows: Rows) -> Floats:
    """Return the angles (rad) by which the leading end of `rows` has to turn to point at the current waypoint."""
    motion = world.motion
    delta = world.waypoints.position[motion.path_start[rows] + motion.waypoint[rows]] - world.position[rows]
    x, y = delta[:, 0], delta[:, 1]
    sign = np.where(motion.reverse[rows], -1.0, 1.0)
    heading = quaternions.yaws(world.orientation[rows])
    sine, cosine = (part * sign for part in trig.sin_cos(heading))
    errors = trig.arctan2(cosine * y - sine * x, cosine * x + sine * y)
    flat = x * x + y * y
    near_mask = flat <= AHEAD * AHEAD
    tolerances = motion.tolerance.take(rows)
    if np.count_nonzero(tolerances):
        # At the goal already, as near as it was asked for: there is no need to turn towards it.
        last_mask = motion.waypoint[rows] == motion.path_length[rows] - 1
        near_mask |= last_mask & (flat + delta[:, 2] ** 2 <= tolerances * tolerances)
    return np.where(near_mask, 0.0, errors)


def _in_line(world: World, rows: Rows) -> Bools:
    """Return which rows are at rest, or drive exactly towards their waypoint without turning."""
    motion = world.motion
    velocity, spin = world.velocity[rows], world.angular_velocity[rows]
    delta = world.waypoints.position[motion.path_start[rows] + motion.waypoint[rows]] - world.position[rows]
    speeds = np.sqrt(velocity[:, 0] ** 2 + velocity[:, 1] ** 2 + velocity[:, 2] ** 2)
    distances = np.sqrt(delta[:, 0] ** 2 + delta[:, 1] ** 2 + delta[:, 2] ** 2)
    along = velocity[:, 0] * delta[:, 0] + velocity[:, 1] * delta[:, 1] + velocity[:, 2] * delta[:, 2]
    # |v . d| = |v| |d| only where both are parallel.
    off_mask = np.abs(along) < speeds * distances * (1.0 - 1e-12)
    still_mask = (spin[:, 0] == 0.0) & (spin[:, 1] == 0.0) & (spin[:, 2] == 0.0)
    return np.asarray(still_mask & ~off_mask)


def _rotate(world: World, rows: Rows, dt: float) -> None:
    """Brake on the present course to a stop, then turn towards the waypoint."""
    motion = world.motion
    linear = motion.body_linear[rows]
    driving_mask = (linear[:, 0] != 0.0) | (linear[:, 1] != 0.0) | (linear[:, 2] != 0.0)
    driving = rows[driving_mask]
    if len(driving):
        rest = np.zeros((3, len(driving)))
        move_by_twist(world, driving, rest, rest, dt)
        _begin_rest(world, driving)
    rows = rows[~driving_mask]
    if len(rows):
        half = 0.5 * _heading_errors(world, rows)
        zero = np.zeros(len(rows))
        turns = quaternions.stack(zero, zero, *trig.sin_cos(half))
        # Turned about the vertical axis of the world: roll and pitch stay as they are.
        goals = quaternions.normalized(quaternions.multiply(turns, world.orientation[rows]))
        done_mask = turn_to(world, rows, goals, dt)
        motion.phase[rows[done_mask]] = FORWARD


def _begin_rest(world: World, rows: Rows) -> None:
    """Choose forward or backward again for the rows that have stopped, as braking moved them."""
    motion = world.motion
    linear, angular = motion.body_linear[rows], motion.body_angular[rows]
    rest_mask = ~(linear.any(axis=1) | angular.any(axis=1))
    if rest_mask.any():
        begin_segments(world, rows[rest_mask])


def _turn_to_final(world: World, rows: Rows, dt: float) -> Rows:
    motion = world.motion
    last = motion.path_start[rows] + motion.path_length[rows] - 1
    done: Rows = rows[turn_to(world, rows, world.waypoints.orientation[last], dt)]
    motion.turning[done] = False
    return done


def _stopped(world: World, stopped: Rows) -> Rows:
    """Advance rows that stopped at a waypoint to the next one; return those that have finished their last."""
    motion = world.motion
    last_mask = motion.waypoint[stopped] == motion.path_length[stopped] - 1
    onward = stopped[~last_mask]
    if len(onward):
        motion.waypoint[onward] += 1
        begin_segments(world, onward)
    ended = stopped[last_mask]
    goal = motion.path_start[ended] + motion.path_length[ended] - 1
    # Compared bit for bit: `turn_to` ends by writing the goal itself.
    same = world.waypoints.orientation[goal] == world.orientation[ended]
    done_mask = ~motion.align_final[ended] | (same[:, 0] & same[:, 1] & same[:, 2] & same[:, 3])
    motion.turning[ended[~done_mask]] = True
    done: Rows = ended[done_mask]
    return done
