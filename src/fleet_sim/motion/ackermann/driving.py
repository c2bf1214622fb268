"""Driving of cars by one step: along the pieces of a curve, or at a commanded speed with commanded steering.

Arcs are exact: a car is put at the end of a chord from where its piece began, so that rounding does not add up from
step to step.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.core.world import World
from fleet_sim.motion.ackermann.columns import AckermannColumns
from fleet_sim.motion.ackermann.planning import limits_of
from fleet_sim.motion.path import TOUCH
from fleet_sim.motion.profile import ROUNDING, SLACK, TINY
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig


def steering_angles(wheelbases: Floats, curvatures: Floats) -> Floats:
    """Return the angles (N,) of the front wheels on arcs of `curvatures`."""
    return trig.arctan2(wheelbases * curvatures, np.ones(len(curvatures)))


def curvatures_of(wheelbases: Floats, angles: Floats, radii: Floats) -> Floats:
    """Return the curvatures (N,) that front wheels at `angles` give; never more than those of `radii`."""
    sines, cosines = trig.sin_cos(angles)
    bends = sines / (cosines * wheelbases)
    # Rounding must not turn tighter than the car can.
    return np.minimum(np.maximum(bends, -1.0 / radii), 1.0 / radii)


def changed(present: Floats, wanted: Floats, rates: Floats, dt: float) -> Floats:
    """Return angles or speeds (N,) changed towards `wanted` as far as `rates` permit."""
    most = rates * dt
    change = wanted - present
    moved = present + np.minimum(np.maximum(change, -most), most)
    # Not by adding, which would miss the end by rounding.
    return np.where(np.abs(change) <= most, wanted, moved)


def roll(
    world: World,
    table: AckermannColumns,
    rows: Rows,
    wanted: Floats,
    angles: Floats,
    dt: float,
    *,
    steer_first: bool = False,
) -> None:
    """Steer `rows` by one step towards `angles`, then drive on the arc that this gives towards the speeds `wanted`.

    With `steer_first` those at rest stay there until they are steered.
    """
    motion = world.motion
    wheelbases = table.wheelbase[rows]
    goals, angles = angles, changed(table.steering[rows], angles, table.steering_rate[rows], dt)
    table.steering[rows] = angles
    bends = curvatures_of(wheelbases, angles, table.min_radius[rows])
    speeds, accels = limits_of(world, table, rows, bends, None)
    old = motion.body_linear[rows, 0]
    if steer_first:
        # At rest and not steered yet: it waits.
        wanted = np.where((old == 0.0) & (angles != goals), 0.0, wanted)
    new = changed(old, np.minimum(np.maximum(wanted, -speeds), speeds), accels, dt)
    ways = (old + new) * (0.5 * dt)
    place(world, rows, world.position[rows, :2], world.orientation[rows], ways, bends)
    give_twists(world, rows, new, bends)
    world.touch(rows[ways != 0.0])


def place(world: World, rows: Rows, start: Floats, turn: Floats, ways: Floats, bends: Floats) -> None:
    """Put `rows` where they are after `ways` (N,) m on arcs of curvatures `bends` from `start` (N, 2) and `turn`."""
    half = 0.5 * (ways * bends)
    sines, cosines = trig.sin_cos(half)
    # The chord: as long as the way, but for sin(h) / h.
    bent_mask = half != 0.0
    chords = ways * np.where(bent_mask, sines / np.where(bent_mask, half, 1.0), 1.0)
    ahead_sine, ahead_cosine = trig.sin_cos(quaternions.yaws(turn) + half)
    world.position[rows, 0] = start[:, 0] + chords * ahead_cosine
    world.position[rows, 1] = start[:, 1] + chords * ahead_sine
    zero = np.zeros(len(rows))
    # The turn of an arc is its length times its curvature, `half` is half of that.
    turned = quaternions.multiply(quaternions.stack(zero, zero, sines, cosines), turn)
    world.orientation[rows] = quaternions.normalized(turned)


def give_twists(world: World, rows: Rows, speeds: Floats, bends: Floats) -> None:
    """Write what it means for `rows` to drive at `speeds` (N,) on arcs: twists in the body and in the world."""
    motion = world.motion
    sines, cosines = trig.sin_cos(quaternions.yaws(world.orientation[rows]))
    motion.body_linear[rows] = 0.0
    motion.body_linear[rows, 0] = speeds
    motion.body_angular[rows] = 0.0
    motion.body_angular[rows, 2] = speeds * bends
    world.velocity[rows] = 0.0
    world.velocity[rows, 0], world.velocity[rows, 1] = speeds * cosines, speeds * sines
    world.angular_velocity[rows] = 0.0
    world.angular_velocity[rows, 2] = speeds * bends


def drive_curves(world: World, table: AckermannColumns, rows: Rows, dt: float) -> Rows:
    """Drive `rows`, which are steered for their pieces, one step along their curves; return those at rest at an end.

    One that is too fast to stop there passes the end, and its path is to be planned again.
    """
    motion = world.motion
    headed = motion.path_start[rows] + motion.waypoint[rows]
    piece = table.piece[rows].astype(np.int64)
    lengths, bends = table.lengths[rows, piece], table.curvatures[rows, piece]
    sign = np.where(lengths < 0.0, -1.0, 1.0)
    exits = table.exits[rows, piece]
    speeds, accels = limits_of(world, table, rows, bends, headed)
    along = motion.body_linear[rows, 0] * sign
    left = np.abs(lengths) - table.done[rows]
    # Not below 0: on a curve a car does not go back.
    new = np.maximum(_next_speeds(along, left, exits, speeds, accels, dt), 0.0)
    stopped_mask = (exits == 0.0) & _can_stop(left, along, speeds, accels, dt)
    new = np.where(stopped_mask, 0.0, new)
    ways = np.where(stopped_mask, left, (along + new) * (0.5 * dt))
    # Stopped, it is at the end of the piece bit for bit, not where a sum ends.
    done = np.where(stopped_mask, np.abs(lengths), table.done[rows] + ways)
    passing = np.flatnonzero((exits > 0.0) & (ways + TOUCH >= left))
    if len(passing):
        done[passing], new[passing] = _pass_pieces(world, table, rows[passing], headed[passing], along[passing], dt)
        piece = table.piece[rows].astype(np.int64)
        lengths, bends = table.lengths[rows, piece], table.curvatures[rows, piece]
        table.steering[rows] = steering_angles(table.wheelbase[rows], bends)
    table.done[rows] = done
    # Beyond the end of a piece that it has to stop at: from there it plans again.
    beyond_mask = (done > np.abs(lengths)) & (table.exits[rows, piece] == 0.0)
    motion.path_fresh[rows] = beyond_mask
    place(world, rows, table.start[rows], table.start_turn[rows], done * sign, bends)
    give_twists(world, rows, new * sign, bends)
    world.touch(rows[(ways != 0.0) | stopped_mask])
    stopped: Rows = rows[stopped_mask]
    return stopped


def _can_stop(left: Floats, along: Floats, speeds: Floats, accels: Floats, dt: float) -> Bools:
    """Return which rows can stop `left` m ahead within one step: as `profile.can_stop`, on a line."""
    near_mask = left <= np.minimum(accels * (0.5 * dt * dt * SLACK), speeds * (dt * SLACK))
    most = accels * dt
    rates = along * along / np.maximum(most * most, TINY)
    offsets = left - along * (0.5 * dt)
    spare = 0.25 * dt * most * np.maximum(1.0 - rates, 0.0) + ROUNDING * dt * np.minimum(most, 1.0)
    return np.asarray(near_mask & (rates <= SLACK) & (offsets * offsets <= spare * spare))


def _pass_pieces(
    world: World, table: AckermannColumns, rows: Rows, headed: Ints, along: Floats, dt: float
) -> tuple[Floats, Floats]:
    """Let `rows` pass the ends of pieces in one step; return how far (N,) they are on the last one, and their speeds.

    Their new piece begins where the one before ends. They leave each piece not faster than it may be left.
    """
    begun = np.zeros(len(rows))
    # From where it is on its piece: the part that it has driven is behind the start.
    begun -= table.done[rows]
    new = np.full(len(rows), np.inf)
    going = np.arange(len(rows))
    for _ in range(table.lengths.shape[1]):
        piece = table.piece[rows].astype(np.int64)
        sizes, exits = np.abs(table.lengths[rows, piece]), table.exits[rows, piece]
        speeds, accels = limits_of(world, table, rows, table.curvatures[rows, piece], headed)
        ends = begun + sizes
        reachable = np.maximum(_next_speeds(along, ends, exits, speeds, accels, dt), 0.0)
        capped = np.minimum(np.minimum(new, reachable), np.where(exits > 0.0, exits, np.inf))
        on_mask = (exits > 0.0) & ((along + capped) * (0.5 * dt) + TOUCH >= ends)
        on_mask &= np.isin(np.arange(len(rows)), going)
        stay_mask = ~on_mask & np.isin(np.arange(len(rows)), going)
        new = np.where(stay_mask, np.minimum(new, reachable), np.where(on_mask, capped, new))
        going = np.flatnonzero(on_mask)
        if not len(going):
            break
        some = rows[going]
        sign = np.where(table.lengths[some, piece[going]] < 0.0, -1.0, 1.0)
        _begin_next(world, table, some, sizes[going] * sign)
        begun[going] = ends[going]
    ways = (along + new) * (0.5 * dt)
    return np.maximum(ways - begun, 0.0), new


def begin_next(world: World, table: AckermannColumns, rows: Rows) -> None:
    """Begin the next piece where `rows` are at rest, at the end of the one before."""
    table.piece[rows] += 1
    table.done[rows] = 0.0
    table.start[rows], table.start_turn[rows] = world.position[rows, :2], world.orientation[rows]


def _begin_next(world: World, table: AckermannColumns, rows: Rows, ways: Floats) -> None:
    piece = table.piece[rows].astype(np.int64)
    place(world, rows, table.start[rows], table.start_turn[rows], ways, table.curvatures[rows, piece])
    begin_next(world, table, rows)


def _next_speeds(
    speeds: Floats,
    distances: Floats,
    exit_speeds: Floats | float,
    limits: Floats,
    accels: Floats,
    dt: float,
    braking: Floats | float = 1.0,
) -> Floats:
    """Return the speeds (N,) after one step towards an end point `distances` ahead, to be passed at `exit_speeds`.

    Guaranteed: not above `limits` (unless slowing down from above them), a change of at most `accels * dt`, and, where
    the present speed allows it, slow enough that braking at `braking * accels` reaches the exit speed at the end.
    Speeds may be negative (moving away); `accels` may be infinite. All arrays (N,), SI units.
    """
    # The fastest next speed w from which braking at rate s still reaches the exit speed e satisfies
    # w^2 - e^2 = 2 s (d - (v + w) dt / 2). Its root is written as A / (sqrt(A / s + dt^2 / 4) + dt / 2) with
    # A = 2 d - v dt + e^2 / s: no cancellation for small A, and finite for infinite s.
    slowing = accels * braking
    ahead = 2.0 * distances
    ahead -= speeds * dt
    if not isinstance(exit_speeds, float):
        ahead += exit_speeds * exit_speeds / slowing
    np.maximum(ahead, 0.0, out=ahead)
    root = ahead / slowing
    root += 0.25 * dt * dt
    np.sqrt(root, out=root)
    root += 0.5 * dt
    ahead /= root
    np.minimum(ahead, limits, out=ahead)
    change = accels * dt
    np.minimum(ahead, speeds + change, out=ahead)
    # The lower bound comes last: who is too fast to stop in time brakes with all there is, and no more.
    np.maximum(ahead, speeds - change, out=ahead)
    return ahead
