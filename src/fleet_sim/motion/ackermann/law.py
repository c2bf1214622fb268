"""The law of cars: no turn on the spot, no arc tighter than they can steer, no steering faster than they can.

To a goal a car drives a shortest curve of arcs and straight lines (`reeds_shepp`, `dubins`). Between pieces it stops
where it has to steer, unless steering takes no time.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Rows
from fleet_sim.config.modes import ControllerMode, MotionMode
from fleet_sim.core.world import World
from fleet_sim.errors import StateError
from fleet_sim.motion.ackermann.columns import FEATURE, AckermannColumns
from fleet_sim.motion.ackermann.compiled import CompiledCars
from fleet_sim.motion.ackermann.driving import (
    begin_next,
    changed,
    drive_curves,
    roll,
    steering_angles,
)
from fleet_sim.motion.ackermann.planning import plan_curves
from fleet_sim.motion.law import move_by_control
from fleet_sim.motion.velocity import expire_commands

IDLE = ControllerMode.IDLE.code


class AckermannLaw:
    """Drives like a car; the origin of the robot is the middle of its rear axle."""

    name = MotionMode.ACKERMANN.value
    feature = FEATURE
    """The feature whose columns the law needs."""

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        table = cars(world)
        if not world.compiled:
            return move_by_control(world, rows, dt, follow_velocities, follow_poses)
        left, ended = CompiledCars.of(world, table).advance(world, rows, dt)
        if not len(left):
            return ended
        more = move_by_control(world, left, dt, follow_velocities, follow_poses)
        return np.concatenate((ended, more))


def cars(world: World) -> AckermannColumns:
    """Return the table of cars; raises StateError where the feature is not in use."""
    table = world.tables.get(FEATURE)
    if not isinstance(table, AckermannColumns):
        raise StateError(f"the feature {FEATURE!r} is not in use; spawn robots with it, or call use({FEATURE!r})")
    return table


def follow_velocities(world: World, rows: Rows, dt: float) -> None:
    """Drive `rows` at the speed commanded, on the arc that speed and turning commanded give, as far as they can steer.

    From rest it steers before it drives. A command to turn without driving steers nothing and moves nothing. An expired
    command counts as zero.
    """
    table, motion = cars(world), world.motion
    expire_commands(world, rows)
    wanted, spins = motion.command_linear[rows, 0], motion.command_angular[rows, 2]
    wheelbases, tightest = table.wheelbase[rows], 1.0 / table.min_radius[rows]
    driving_mask = wanted != 0.0
    # Tiny speeds give infinite curvatures, which the next line limits.
    with np.errstate(over="ignore"):
        bends = spins / np.where(driving_mask, wanted, 1.0)
    bends = np.minimum(np.maximum(bends, -tightest), tightest)
    # To brake, the wheels stay as they are.
    angles = np.where(driving_mask, steering_angles(wheelbases, bends), table.steering[rows])
    roll(world, table, rows, wanted, angles, dt, steer_first=True)
    resting = rows[~driving_mask & (motion.body_linear[rows, 0] == 0.0)]
    motion.control[resting] = IDLE
    motion.command_expiry[resting] = -1


def follow_poses(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows` one step along their paths; return those that have arrived and are at rest.

    Arrived rows have exactly the position of the goal, and its heading where `align_final` is set. Their height, roll
    and pitch do not change. Where a car is not where the law left it, its path is planned again from there.
    """
    table, motion = cars(world), world.motion
    astray_mask = motion.path_fresh[rows] | _is_moved(world, table, rows)
    fresh = rows[astray_mask]
    if len(fresh):
        plan_curves(world, table, fresh)
        motion.path_fresh[fresh] = False
    piece, count = table.piece[rows].astype(np.int64), table.pieces[rows]
    some_mask = piece < count
    piece = np.minimum(piece, table.lengths.shape[1] - 1)
    sign = np.where(table.lengths[rows, piece] < 0.0, -1.0, 1.0)
    speeds, steering = motion.body_linear[rows, 0], table.steering[rows]
    angles = steering_angles(table.wheelbase[rows], table.curvatures[rows, piece])
    rates = table.steering_rate[rows]
    steered_mask = (steering == angles) | np.isinf(rates)
    wrong_mask = (speeds != 0.0) & ~(some_mask & steered_mask & (speeds * sign >= 0.0))
    if np.count_nonzero(wrong_mask):
        _brake(world, table, rows[wrong_mask], dt)
    still_mask = some_mask & ~steered_mask & ~wrong_mask
    if np.count_nonzero(still_mask):
        standing = rows[still_mask]
        table.steering[standing] = changed(steering[still_mask], angles[still_mask], rates[still_mask], dt)
        world.rest(standing)
    going_mask = some_mask & steered_mask & ~wrong_mask
    ended = rows[~some_mask & ~wrong_mask]
    if np.count_nonzero(going_mask):
        going = rows[going_mask]
        table.steering[going] = angles[going_mask]
        stopped = drive_curves(world, table, going, dt)
        last_mask = table.piece[stopped] + 1 == table.pieces[stopped]
        begin_next(world, table, stopped[~last_mask])
        ended = np.concatenate((ended, stopped[last_mask]))
    arrived = _end(world, table, ended) if len(ended) else NO_ROWS
    table.left_at[rows], table.left_turn[rows] = world.position[rows, :2], world.orientation[rows]
    return arrived


def _is_moved(world: World, table: AckermannColumns, rows: Rows) -> Bools:
    """Return which rows are not where the law left them, bit for bit."""
    at, was = world.position[rows], table.left_at[rows]
    turn, old = world.orientation[rows], table.left_turn[rows]
    same = (at[:, 0] == was[:, 0]) & (at[:, 1] == was[:, 1])
    same &= (turn[:, 0] == old[:, 0]) & (turn[:, 1] == old[:, 1])
    same &= (turn[:, 2] == old[:, 2]) & (turn[:, 3] == old[:, 3])
    return np.asarray(~same)


def _brake(world: World, table: AckermannColumns, rows: Rows, dt: float) -> None:
    """Brake with the wheels as they are; the path is planned again from where the car is then."""
    roll(world, table, rows, np.zeros(len(rows)), table.steering[rows], dt)
    world.motion.path_fresh[rows] = True


def _end(world: World, table: AckermannColumns, rows: Rows) -> Rows:
    """Put rows at the ends of their curves exactly there; return those at the last waypoint of their path."""
    motion, pool = world.motion, world.waypoints
    headed = motion.path_start[rows] + motion.waypoint[rows]
    last_mask = motion.waypoint[rows] == motion.path_length[rows] - 1
    exact_mask = table.exact[rows]
    exact = rows[exact_mask]
    # Curves that lead to the goal itself end with its numbers, without the rounding of the drive.
    world.position[exact, :2] = pool.position[headed[exact_mask], :2]
    aligned_mask = last_mask & motion.align_final[rows] & exact_mask
    aligned = rows[aligned_mask]
    world.orientation[aligned] = pool.orientation[headed[aligned_mask]]
    world.rest(rows)
    world.touch(rows)
    onward = rows[~last_mask]
    motion.waypoint[onward] += 1
    motion.path_fresh[onward] = True
    done: Rows = rows[last_mask]
    return done
