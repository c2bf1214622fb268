"""Paths: the speeds at which waypoints may be passed, and passing several of them within one step.

At a corner the direction of the velocity jumps, so the robot passes it slowly enough that the change stays within the
acceleration limit times one step. Half of the limit is reserved for corners, half for changes of speed near them.
Waypoints on a straight line do not slow a robot down.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.core.waypoints import WaypointPool
from fleet_sim.core.world import World
from fleet_sim.motion.limits import UNLIMITED, linear_any_way
from fleet_sim.motion.profile import Approach, next_speeds
from fleet_sim.spatial.components import dot, gather, vector_index

STRAIGHT = 1e-9
"""Directions that differ by less than this (rad) are one straight line."""
COINCIDENT = 1e-12
"""Waypoints closer together than this (m) are one point."""
TOUCH = 1e-9
"""A step that ends this close (m) before a waypoint has passed it: so near, the waypoint gives no direction."""


def prepare_paths(world: World, rows: Rows, dt: float, *, cut_corners: bool) -> None:
    """Set the pass speeds of the fresh paths of `rows`, starting at the robots' present positions.

    With `cut_corners` robots pass corners at the speed the acceleration limit allows; without, they stop at them.
    """
    motion = world.motion
    motion.path_fresh[rows] = False
    # A path of one waypoint has no corners.
    many = rows[motion.path_length[rows] > 1]
    if not len(many):
        return
    _skip_here(world, many)
    left = motion.path_length[many] - motion.waypoint[many]
    many, left = many[left > 1], left[left > 1]
    if len(many):
        _set_pass_speeds(world, many, left, dt, cut_corners)


def _skip_here(world: World, rows: Rows) -> None:
    """Skip waypoints at the robot's present position, but never the last one."""
    motion, pool = world.motion, world.waypoints
    while len(rows):
        rows = rows[motion.waypoint[rows] < motion.path_length[rows] - 1]
        headed = motion.path_start[rows] + motion.waypoint[rows]
        delta = np.abs(pool.position[headed] - world.position[rows])
        rows = rows[(delta[:, 0] <= COINCIDENT) & (delta[:, 1] <= COINCIDENT) & (delta[:, 2] <= COINCIDENT)]
        motion.waypoint[rows] += 1


def _set_pass_speeds(world: World, rows: Rows, left: Ints, dt: float, cut_corners: bool) -> None:
    """Set the pass speeds from the last waypoint of each path back to the first, all rows at once."""
    motion, pool = world.motion, world.waypoints
    # Longest paths first: the rows that still have a waypoint `back` from their end are then the first `count` rows.
    order = np.argsort(-left, kind="stable")
    rows, left = rows[order], left[order]
    last = motion.path_start[rows] + motion.path_length[rows] - 1
    speeds, accels = linear_any_way(motion, rows)
    accels = np.minimum(accels, UNLIMITED)
    speeds = np.minimum(speeds, UNLIMITED)
    pool.pass_speed[last] = 0.0
    pool.braking[last] = 1.0
    squares, braking = np.zeros(len(rows)), np.ones(len(rows))
    ahead, ahead_length = _segments(world, rows, last, left == 1)
    # The leg ahead that has a length, and how many waypoints before it are at its first point.
    leg, repeats = ahead_length.copy(), np.zeros(len(rows), np.int64)
    for back in range(1, int(left[0])):
        count = int(np.searchsorted(-left, -back, side="left"))
        at = last[:count] - back
        here, length = _segments(world, rows[:count], at, left[:count] == back + 1)
        turn = ahead[:, :count] - here
        chords = np.sqrt(dot(turn, turn))
        point_mask = (leg[:count] <= COINCIDENT) | (length <= COINCIDENT)
        corner_mask = (chords > STRAIGHT) & ~point_mask
        shortest = np.minimum(length, leg[:count])
        caps = _corner_speeds(chords, shortest, accels[:count], dt) if cut_corners else np.zeros(count)
        caps = np.where(corner_mask, np.minimum(caps, speeds[:count]), speeds[:count])
        if pool.limited:
            # Slow enough for the line that ends here and for the one that begins.
            caps = np.minimum(caps, np.minimum(pool.speed_limit[at], pool.speed_limit[at + 1]))
        # Half of the acceleration is for the corner, the other half for braking before it.
        share = np.where(corner_mask, 0.5, braking[:count])
        # Not faster than the robot can brake on the segment that follows: v^2 = v_next^2 + 2 a s.
        reachable = squares[:count] + 2.0 * accels[:count] * share * ahead_length[:count]
        squares[:count] = np.minimum(caps * caps, reachable)
        braking[:count] = np.where(corner_mask, 0.5 if cut_corners else 1.0, braking[:count])
        pool.pass_speed[at] = np.sqrt(squares[:count])
        pool.braking[at] = braking[:count]
        # A segment without length has no direction: the next corner is measured against the last one that has.
        real_mask = length > COINCIDENT
        _slow_repeats(pool, at, np.where(corner_mask, repeats[:count], 0))
        repeats[:count] = np.where(real_mask, 0, repeats[:count] + 1)
        ahead[:, :count] = np.where(real_mask, here, ahead[:, :count])
        leg[:count] = np.where(real_mask, length, leg[:count])
        ahead_length[:count] = length


def _slow_repeats(pool: WaypointPool, corners: Ints, repeats: Ints) -> None:
    """Let the `repeats` (N,) waypoints that follow at the point of `corners` (N,) be passed as slowly as these."""
    for number in range(1, int(repeats.max(initial=0)) + 1):
        at = corners[repeats >= number]
        pool.pass_speed[at + number] = np.minimum(pool.pass_speed[at + number], pool.pass_speed[at])


def _segments(world: World, rows: Rows, at: Ints, first_mask: Bools) -> tuple[Floats, Floats]:
    """Return unit directions (3, N) and lengths (N,) of the segments that end at waypoints `at`."""
    pool = world.waypoints
    end = gather(pool.position, vector_index(at))
    before = gather(pool.position, vector_index(np.maximum(at - 1, 0)))
    start = np.where(first_mask, gather(world.position, vector_index(rows)), before)
    delta = end - start
    lengths = np.sqrt(dot(delta, delta))
    return delta / np.where(lengths > 0.0, lengths, 1.0), lengths


def _corner_speeds(chords: Floats, shortest: Floats, accels: Floats, dt: float) -> Floats:
    """Return the speeds (N,) at which corners may be passed.

    `chords` (N,) are the distances between the unit directions before and after, `shortest` the shorter segments.
    Where several corners may fall into one step, they share the change of velocity that a single one may use.
    """
    # The change of velocity in one step is speed times chord.
    single = accels * (0.5 * dt) / np.maximum(chords, STRAIGHT)
    shared = np.minimum(0.5 * single, np.sqrt(0.5 * single * shortest / dt))
    return np.where(shortest < (single + accels * dt) * dt, shared, single)


def aligned_exits(world: World, rows: Rows, exits: Floats, directions: Floats, velocities: Floats) -> Floats:
    """Return pass speeds (N,), 0 where the robot does not move along its segment yet and has to join it first.

    Such a robot reaches the first corner at a different angle than planned, so its path is prepared again in the next
    step.
    """
    along = dot(velocities, directions)
    squares = dot(velocities, velocities)
    # Off its segment by more than a thousandth, or on the way back.
    astray_mask = (squares - along * along > 1e-6 * squares) | (along < 0.0)
    astray_mask &= exits > 0.0
    if not astray_mask.any():
        return exits
    world.motion.path_fresh[rows[astray_mask]] = True
    return np.where(astray_mask, 0.0, exits)


def cross_waypoints(
    world: World,
    rows: Rows,
    headed: Ints,
    exits: Floats,
    position: Floats,
    step: Approach,
    limits: Floats,
    accels: Floats,
    dt: float,
) -> None:
    """Move the rows whose step leads beyond a waypoint along the following segments for the rest of the step.

    Changes `position`, the velocities and displacements in `step`, and the column `waypoint` of those rows.
    """
    motion, pool = world.motion, world.waypoints
    reach = 0.5 * dt * (step.along + step.speeds)
    # A robot that cannot brake to the pass speed by then does not pass the waypoint in this step.
    slow_mask = step.along - accels * (pool.braking[headed] * dt) <= exits * (1.0 + 1e-6)
    at = np.flatnonzero((exits > 0.0) & (reach + TOUCH >= step.distances) & slow_mask)
    if not len(at):
        return
    before = position[:, at] - step.displacements[:, at]
    lasts = motion.path_start[rows[at]] + motion.path_length[rows[at]] - 1
    passed, travels, speeds = _passed(
        world, headed[at], lasts, step.along[at], step.distances[at], limits[at], accels[at], dt
    )
    directions, start = step.directions[:, at], before.copy()
    crossed = np.flatnonzero(passed >= 0)
    corner = gather(pool.position, vector_index(headed[at][crossed] + passed[crossed]))
    onward = gather(pool.position, vector_index(headed[at][crossed] + passed[crossed] + 1)) - corner
    lengths = np.sqrt(dot(onward, onward))
    # Two equal waypoints have no line between them: the robot goes on as it came.
    ahead = onward / np.where(lengths > 0.0, lengths, 1.0)
    directions[:, crossed] = np.where(lengths > 0.0, ahead, directions[:, crossed])
    start[:, crossed] = corner
    position[:, at] = start + directions * travels
    step.velocities[:, at] = directions * speeds
    step.displacements[:, at] = position[:, at] - before
    motion.waypoint[rows[at]] += passed + 1


def _passed(
    world: World,
    headed: Ints,
    lasts: Ints,
    along: Floats,
    distances: Floats,
    limits: Floats,
    accels: Floats,
    dt: float,
) -> tuple[Ints, Floats, Floats]:
    """Return the number of waypoints passed minus one, the distance since the last of them, and the new speeds.

    The new speed respects the pass speed of every waypoint passed, and still allows braking for the next one.
    """
    pool = world.waypoints
    speeds = np.minimum(along + accels * (pool.braking[headed] * dt), limits)
    passed = np.full(len(headed), -1)
    start = np.zeros(len(headed))
    ends = distances.copy()
    going = np.arange(len(headed))
    # A step may pass several waypoints; rows drop out as soon as their step ends.
    while len(going):
        onto = headed[going] + passed[going] + 1
        capped = np.minimum(speeds[going], pool.pass_speed[onto])
        beyond_mask = (0.5 * dt * (along[going] + capped) + TOUCH >= ends[going]) & (onto < lasts[going])
        ending, onto = going[~beyond_mask], onto[~beyond_mask]
        exits, brakes = pool.pass_speed[onto], pool.braking[onto]
        feasible = next_speeds(along[ending], ends[ending], exits, limits[ending], accels[ending], dt, brakes)
        speeds[ending] = np.minimum(speeds[ending], feasible)
        going = going[beyond_mask]
        speeds[going] = capped[beyond_mask]
        passed[going] += 1
        start[going] = ends[going]
        ends[going] += _leg_lengths(pool, headed[going] + passed[going])
    travels = 0.5 * dt * (along + speeds)
    return passed, np.maximum(travels - start, 0.0), speeds


def _leg_lengths(pool: WaypointPool, corners: Ints) -> Floats:
    """Return the distances (N,) from the waypoints `corners` (N,) to the next ones."""
    leg = pool.position[corners + 1] - pool.position[corners]
    lengths: Floats = np.sqrt(leg[:, 0] * leg[:, 0] + leg[:, 1] * leg[:, 1] + leg[:, 2] * leg[:, 2])
    return lengths
