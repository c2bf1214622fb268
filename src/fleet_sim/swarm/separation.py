"""How agents of a swarm move and are kept apart: the motion law of unicycles, and discs pushed out of each other."""

from __future__ import annotations

import logging
import math
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.quaternions import wrapped
from fleet_sim.base.spatial.rotations import heading, sin_cos
from fleet_sim.robots.motion import driving
from fleet_sim.robots.motion.laws import Law, register_motion_law
from fleet_sim.robots.motion.rows import BodyArrays, SpeedLimits, quaternion_of, touch
from fleet_sim.sensing.collision.broad import MIN_AUTO_CELL_SIZE, candidate_pairs
from fleet_sim.swarm.swarm_state import SwarmState, edges, inside_polygon
from fleet_sim.world.columns import ColumnTable, named_columns, numbers_of
from fleet_sim.world.world import World

_IDLE, _VELOCITY, _POSE = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code, ControllerMode.POSE.code


class AxisLimits(NamedTuple):
    """Columns of the limits of motion along each axis (N, 3)."""

    linear_limits: Floats
    linear_accels: Floats
    angular_limits: Floats
    angular_accels: Floats


class Driving(NamedTuple):
    """Columns of motion that unicycles read and write."""

    control: Bytes
    law: Bytes
    waypoint: Ints
    reached: Bools
    command_timeout: Floats
    command_linear: Floats
    command_angular: Floats
    command_expiry: Ints
    body_linear: Floats
    body_angular: Floats


class Held(NamedTuple):
    """Columns of a swarm: who rests, for how many steps who only turns, and who rests after that."""

    halted: Bools
    stopped: Ints
    catastrophic: Bools


class UnicycleArrays(NamedTuple):
    """The columns of a world that its unicycles are moved by."""

    bodies: BodyArrays
    driving: Driving
    norms: SpeedLimits
    axes: AxisLimits


_KNOWN: WeakKeyDictionary[object, tuple[Any, ...]] = WeakKeyDictionary()


def unicycle_arrays(world: World) -> UnicycleArrays:
    """Return the columns of `world`: arrays with compiled code, else their numbers."""
    motion, known = world.motion, _KNOWN.get(world)
    # A table that grows gets other arrays, and other scalars with them. Looking up thirty names takes as long as what
    # is done with twenty agents.
    if known is None or known[0] is not motion.scalars or known[1] is not world.scalars:
        arrays = UnicycleArrays(
            named_columns(BodyArrays, world),
            named_columns(Driving, motion),
            named_columns(SpeedLimits, motion),
            named_columns(AxisLimits, motion),
        )
        known = _KNOWN[world] = motion.scalars, world.scalars, arrays, numbers_of(arrays)
    found: UnicycleArrays = known[2 if world.compiled else 3]
    return found


def held_arrays(swarm: ColumnTable, *, compiled: bool) -> Held:
    """Return the columns of a swarm: arrays with compiled code, else their numbers."""
    known = _KNOWN.get(swarm)
    if known is None or known[0] is not swarm.scalars:
        arrays = named_columns(Held, swarm)
        known = _KNOWN[swarm] = swarm.scalars, arrays, numbers_of(arrays)
    found: Held = known[1 if compiled else 2]
    return found


LAW = "unicycle"


def drive_unicycles(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows` along arcs in the plane by `dt` seconds; return those that arrived.

    In a step by the chord `2 sin(w dt / 2) v / w`, with the heading half-way. Speeds and their changes stay within the
    agent's limits. Goals and paths are driven as a differential base does.
    """
    arrays, tick = unicycle_arrays(world), world.clock.tick
    if follow(rows, dt, tick, arrays) if world.compiled else follow.in_python(rows.tolist(), dt, tick, arrays):
        return NO_ROWS
    return driving.follow_poses(world, rows[world.motion.control.take(rows) == _POSE], dt)


@compiled_step
def follow(rows: Rows, dt: float, tick: int, arrays: UnicycleArrays) -> bool:
    """Move those of `rows` that follow a velocity command by one step of `dt` s along arcs; return whether all do.

    One at rest with a command of zero becomes idle. An engine is told at the end of the simulation's step.
    """
    bodies, driving, norms, axes = arrays.bodies, arrays.driving, arrays.norms, arrays.axes
    all_moved = True
    for row in rows:
        if driving.control[row] != _VELOCITY:
            all_moved = False
            continue
        if 0 <= driving.command_expiry[row] <= tick:
            for axis in range(3):
                driving.command_linear[row, axis] = driving.command_angular[row, axis] = 0.0
            driving.command_expiry[row] = -1
        wanted, wanted_turn = driving.command_linear[row, 0], driving.command_angular[row, 2]
        speed = _next_speed(
            driving.body_linear[row, 0],
            _within(wanted, norms.linear_limit[row], axes.linear_limits[row, 0]),
            norms.linear_accel[row] * dt,
            axes.linear_accels[row, 0] * dt,
        )
        turn = _next_speed(
            driving.body_angular[row, 2],
            _within(wanted_turn, norms.angular_limit[row], axes.angular_limits[row, 2]),
            norms.angular_accel[row] * dt,
            axes.angular_accels[row, 2] * dt,
        )
        before = heading(quaternion_of(bodies.orientation, row))
        half, after = turn * (0.5 * dt), before + turn * dt
        # The chord is shorter than the arc, and has the direction of the heading half-way.
        chord = speed * dt * (sin_cos(half)[0] / half if half != 0.0 else 1.0)
        sine, cosine = sin_cos(before + half)
        bodies.position[row, 0] += chord * cosine
        bodies.position[row, 1] += chord * sine
        bodies.orientation[row, 0] = bodies.orientation[row, 1] = 0.0
        bodies.orientation[row, 2], bodies.orientation[row, 3] = sin_cos(0.5 * after)
        sine, cosine = sin_cos(after)
        bodies.velocity[row, 0], bodies.velocity[row, 1] = speed * cosine, speed * sine
        bodies.angular_velocity[row, 2] = driving.body_angular[row, 2] = turn
        driving.body_linear[row, 0] = speed
        # All components, as another law may have left some of the others.
        bodies.velocity[row, 2] = bodies.angular_velocity[row, 0] = bodies.angular_velocity[row, 1] = 0.0
        driving.body_linear[row, 1] = driving.body_linear[row, 2] = 0.0
        driving.body_angular[row, 0] = driving.body_angular[row, 1] = 0.0
        if speed != 0.0 or turn != 0.0:
            touch(bodies, row)
        elif wanted == 0.0 and wanted_turn == 0.0:
            driving.control[row], driving.command_expiry[row] = _IDLE, -1
    return all_moved


@compiled_step
def _within(speed: float, norm_limit: float, axis_limit: float) -> float:
    """Return `speed` about one axis within a limit of the norm, then within that of the axis."""
    # As of vectors: the norm of large numbers overflows.
    size = math.sqrt(speed * speed)
    if size > norm_limit:
        speed = speed / size * norm_limit
    speed = speed if speed > -axis_limit else -axis_limit
    return speed if speed < axis_limit else axis_limit


@compiled_step
def _next_speed(present: float, wanted: float, norm_change: float, axis_change: float) -> float:
    """Return the speed after a step: as near to the one `wanted` as the changes allow."""
    change = wanted - present
    allowed = _within(change, norm_change, axis_change)
    # Not `present + change`, which would miss it by rounding.
    return wanted if allowed == change else present + allowed


@compiled_step
def give(
    rows: Rows, twists: Floats, dt: float, tick: int, held: Held, alive: Bools, driving: Driving, given: Rows
) -> int:
    """Give the agents of `rows` body twists (N, 2), m/s and rad/s, as velocity commands; NaN leaves one to others.

    Halted agents rest; stopped ones only turn, and a step of their stop is over with that. One that is `catastrophic`
    is halted by it. The rows that were commanded are written to `given`; returns how many.
    """
    count = 0
    for number in range(len(rows)):
        row = rows[number]
        speed, turn = twists[number, 0], twists[number, 1]
        stopped = held.stopped[row] > 0
        if stopped:
            held.stopped[row] -= 1
            held.halted[row] = held.halted[row] or held.catastrophic[row]
        if held.halted[row] or stopped:
            # Other commands, which NaN stands for, do not drive them either.
            speed = 0.0
            turn = 0.0 if held.halted[row] or math.isnan(turn) else turn
        # Controllers are user code and may have removed agents.
        if math.isnan(speed) or math.isnan(turn) or not alive[row] or driving.law[row] == 0:
            continue
        driving.waypoint[row] = 0
        driving.command_linear[row, 0], driving.command_angular[row, 2] = speed, turn
        driving.command_linear[row, 1] = driving.command_linear[row, 2] = 0.0
        driving.command_angular[row, 0] = driving.command_angular[row, 1] = 0.0
        timeout = driving.command_timeout[row]
        # 0.07 / 0.01 is slightly above 7 in floats: without the tolerance that command would last a tick longer.
        driving.command_expiry[row] = tick + math.ceil(timeout / dt - 1e-9) if timeout > 0.0 else -1
        driving.reached[row] = False
        driving.control[row] = _VELOCITY
        given[count] = row
        count += 1
    return count


@compiled_step
def look(rows: Rows, orientation: Floats, angles: Floats, sines: Floats) -> None:
    """Write sines of the headings of `rows`, turned by `angles` (N,), which become their cosines."""
    for number in range(len(rows)):
        sines[number], angles[number] = sin_cos(heading(quaternion_of(orientation, rows[number])) + angles[number])


register_motion_law(LAW, Law(LAW, drive_unicycles))


def steered(headings: Floats, x: Floats, y: Floats, *, top_speed: float, turn_gain: float, top_turn: float) -> Floats:
    """Return actions (N, 2) that turn `headings` (N,) to wanted velocities (x, y) and drive as far as they point there.

    The turning speed is `turn_gain` (1/s) times the bearing, within `top_turn` rad/s; the speed is the wanted one's
    share along the heading, from 0 to `top_speed`.
    """
    sizes = np.sqrt(x * x + y * y)
    bearings = np.where(sizes > 0.0, wrapped(trig.arctan2(y, x) - headings), 0.0)
    turns = np.minimum(np.maximum(turn_gain * bearings, -top_turn), top_turn)
    speeds = np.minimum(np.maximum(sizes * trig.cos(bearings), 0.0), top_speed)
    return np.stack((speeds, turns), axis=1)


# Keeping agents apart: discs that overlap are pushed out of each other, of polygons and of the border.


PUSHED = 0.5
"""Margin of the candidate pairs, in largest radii: bodies that near may be pushed into each other."""

FEW = 64
"""Number of bodies up to which all pairs are tested."""

Pairs: TypeAlias = tuple[Rows, Rows]


class Bodies(NamedTuple):
    """Discs that collide: rows, centres (N, 2), radii (N,), and which of them may be pushed (N,)."""

    rows: Rows
    centres: Floats
    radii: Floats
    movable_mask: Bools


def near_pairs(bodies: Bodies, *, compiled: bool = False) -> Pairs:
    """Return the indices of pairs of bodies that may come to overlap in this step, and of which one may move.

    With `compiled`, compiled code finds the same.
    """
    movable = bodies.movable_mask.nonzero()[0]
    # With few bodies a list of all pairs, kept from step to step, is cheaper than sorting boxes.
    if len(bodies.rows) <= FEW:
        if len(movable) == 1:
            # Agents updated in turn move one by one, so this is the common case there.
            return _pairs_with(len(bodies.rows), int(movable[0]))
        first, second = all_pairs(len(bodies.rows))
        if len(movable) == len(bodies.rows):
            return first, second
        wanted_mask = bodies.movable_mask[first] | bodies.movable_mask[second]
        return first[wanted_mask], second[wanted_mask]
    if len(movable) == 1:
        others = np.flatnonzero(np.arange(len(bodies.rows)) != movable[0])
        return np.broadcast_to(movable, others.shape), others
    least, most = float(bodies.radii.min()), float(bodies.radii.max())
    margin = PUSHED * most
    lower, upper = np.zeros((len(bodies.rows), 3)), np.zeros((len(bodies.rows), 3))
    # Flat boxes: all agents are in one plane, so z stays 0 for all.
    for axis in (0, 1):
        np.subtract(bodies.centres[:, axis], bodies.radii, out=lower[:, axis])
        np.add(bodies.centres[:, axis], bodies.radii, out=upper[:, axis])
    static_mask = ~bodies.movable_mask
    # Of bodies of about one size, nobody has to look for the middle one.
    cell = max(4.0 * most, MIN_AUTO_CELL_SIZE) if 0.0 < most <= 2.0 * least else None
    pairs = candidate_pairs(
        lower, upper, margin=margin, static_mask=static_mask, ignore_static=False, cell_size=cell, compiled=compiled
    )
    return pairs[:, 0], pairs[:, 1]


@lru_cache(maxsize=FEW + 1)
def all_pairs(count: int) -> Pairs:
    """Return all pairs of `count` bodies, sorted; the arrays are shared, so they cannot be written."""
    first, second = np.triu_indices(count, 1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


@lru_cache(maxsize=FEW * FEW)
def _pairs_with(count: int, one: int) -> Pairs:
    """Return the pairs of `count` bodies in which `one` is, as they come in `all_pairs`."""
    first, second = all_pairs(count)
    mask = (first == one) | (second == one)
    first, second = first[mask], second[mask]
    first.flags.writeable = second.flags.writeable = False
    return first, second


log = logging.getLogger(__name__)

ROUNDS = 4
"""Rounds of pushing per step: pushing two bodies apart may push one into a third."""

FEW_TOGETHER = 8
"""Number of bodies up to which it is worth a look whether all of them are apart, where that is not compiled."""

EXACT = 1e-9
"""Overlaps below this, in m, are rounding."""


def warn_of_outsiders(world: SwarmState) -> None:
    """Log which bodies are beyond a border that holds them in: the first step puts them inside."""
    rows = world.collidable_rows
    rows = rows[~world.swarm.grounded[rows]]
    if not world.config.collide_walls or not len(rows):
        return
    places = world.columns.position[rows, :2]
    outside = np.flatnonzero(((places < 0.0) | (places > world.config.size)).any(axis=1))
    if len(outside):
        # Worlds of RobotSwarmSimulator count on walls that hold nobody, as theirs do.
        name, (x, y) = world.columns.label(int(rows[outside[0]])), places[outside[0]].tolist()
        log.warning(
            "%d of the agents begin outside the world, %s at (%g, %g). Its border puts them inside; "
            "`collide_walls: false` leaves them there.",
            *(len(outside), name, x, y),
        )


def keep_apart(world: SwarmState, movers: Rows) -> None:
    """Separate `movers` from bodies that they overlap after a move, and record contacts.

    Two agents that may be pushed are moved by half of the overlap each. An agent with `stop_on_collision` goes back to
    its previous position instead. With `catastrophic` a collision with another agent or object halts it. Velocities
    become those of the motion that took place.
    """
    swarm, columns, rows = world.swarm, world.columns, world.collidable_rows
    # Before the early returns below: contacts of the last step must not stay.
    if len(movers) > 1 or (len(movers) == 1 and swarm.scalars.touching[movers.item()]):
        forget_contacts(world, movers)
    if not len(rows) or not len(movers) or _are_apart(world, rows, movers):
        return
    moving_mask = np.zeros(columns.capacity, np.bool_)
    moving_mask[movers] = True
    movable_mask = moving_mask[rows] & ~swarm.grounded[rows]
    bodies = Bodies(rows, columns.position[rows, :2], swarm.agent_radius[rows], movable_mask)
    pairs = near_pairs(bodies, compiled=columns.compiled)
    if len(pairs[0]) or world.config.collide_walls or world.polygons:
        separate(world, bodies, pairs)


def forget_contacts(world: SwarmState, movers: Rows) -> None:
    """Note that `movers` touch nothing; those that were pushed in the last step and stand in this one are at rest."""
    swarm, columns = world.swarm, world.columns
    met = movers[swarm.touching[movers]]
    if not len(met):
        return
    swarm.touching[met] = False
    still = met[(columns.position[met, :2] == swarm.previous[met]).all(axis=1)]
    columns.velocity[still] = columns.motion.body_linear[still] = 0.0


def separate(world: SwarmState, bodies: Bodies, pairs: Pairs) -> None:
    """Do what `keep_apart` says for `bodies`, of which `pairs` may come to overlap."""
    swarm, columns, rows = world.swarm, world.columns, bodies.rows
    # Kept to tell who was moved: only those are written back and marked as changed.
    first = bodies.centres.copy()
    # First, since who goes back cannot be pushed any more: the others then make all of the correction.
    bodies = _stop_short(world, bodies, pairs)
    # The pairs stay the same in all rounds; their margin covers what pushing may bring together.
    for _ in range(ROUNDS):
        shift, met_mask, walled_mask = _pushes(world, bodies, pairs)
        swarm.touching[rows[met_mask | walled_mask]] = True
        swarm.halted[rows[met_mask & swarm.catastrophic[rows]]] = True
        if not np.count_nonzero(shift):
            break
        bodies.centres[:] += shift
    changed_mask = (bodies.centres[:, 0] != first[:, 0]) | (bodies.centres[:, 1] != first[:, 1])
    if np.count_nonzero(changed_mask):
        changed = rows[changed_mask]
        columns.position[changed, :2] = bodies.centres[changed_mask]
        x, y = (columns.position[changed, :2] - swarm.previous[changed]).T / columns.clock.dt
        sines, cosines = trig.sin_cos(quaternions.yaws(columns.orientation[changed]))
        columns.velocity[changed, 0], columns.velocity[changed, 1] = x, y
        motion = columns.motion.body_linear
        motion[changed, 0], motion[changed, 1] = x * cosines + y * sines, y * cosines - x * sines
        columns.touch(changed)


def _are_apart(world: SwarmState, rows: Rows, movers: Rows) -> bool:
    """Return whether `movers` overlap none of `rows`, no wall, no polygon: then nothing is to be done.

    False says nothing where many move: the rounds of pushing find out as fast.
    """
    swarm, columns, config = world.swarm, world.columns, world.config
    alone = len(movers) == 1
    if alone and (not swarm.scalars.collides[movers.item()] or swarm.scalars.grounded[movers.item()]):
        return True
    if world.polygons or not (alone or len(rows) <= (FEW if columns.compiled else FEW_TOGETHER)):
        return False
    # Where several move, those who do not are looked at as well, which is the same or more.
    moving_mask = rows == movers if alone else np.ones(len(rows), np.bool_)
    radii, walls = swarm.agent_radius.take(rows), config.collide_walls
    if columns.compiled:
        return not is_busy(columns.position, rows, radii, moving_mask, *config.size, walls)
    position, run = numbers_of(columns.position), cast("Any", is_busy.in_python)
    return not run(position, rows.tolist(), radii.tolist(), moving_mask.tolist(), *config.size, walls)


@compiled_step
def is_busy(
    position: Floats, rows: Rows, radii: Floats, moving_mask: Bools, width: float, height: float, walls: bool
) -> bool:
    """Return whether one of `rows` (B,) that moves overlaps another one, or with `walls` the border."""
    for one in range(len(rows)):
        if not moving_mask[one]:
            continue
        x, y, radius = position[rows[one], 0], position[rows[one], 1], radii[one]
        # Of a disc wider than the world this says so always, and the rounds of pushing know its place.
        if walls and not (radius <= x <= width - radius and radius <= y <= height - radius):
            return True
        for other in range(len(rows)):
            # Of two that move, one look is enough.
            if other == one or (other < one and moving_mask[other]):
                continue
            away_x, away_y = position[rows[other], 0] - x, position[rows[other], 1] - y
            if radii[other] + radius - math.sqrt(away_x * away_x + away_y * away_y) > EXACT:
                return True
    return False


def _stop_short(world: SwarmState, bodies: Bodies, pairs: Pairs) -> Bodies:
    """Put agents with `stop_on_collision` that touch something back to where they were; nothing moves them there."""
    swarm = world.swarm
    careful_mask = swarm.stop_on_collision[bodies.rows] & bodies.movable_mask
    if not np.count_nonzero(careful_mask):
        return bodies
    _, met_mask, walled_mask = _pushes(world, bodies, pairs)
    back_mask = careful_mask & (met_mask | walled_mask)
    rows = bodies.rows[back_mask]
    swarm.touching[rows] = True
    bodies.centres[back_mask] = swarm.previous[rows]
    world.columns.rest(rows)
    return bodies._replace(movable_mask=bodies.movable_mask & ~back_mask)


def _pushes(world: SwarmState, bodies: Bodies, pairs: Pairs) -> tuple[Floats, Bools, Bools]:
    """Return how far each body is to be pushed (N, 2), and which met another body, or a wall or polygon (N,)."""
    shift = np.zeros_like(bodies.centres)
    met_mask = np.zeros(len(shift), np.bool_)
    if len(pairs[0]):
        _push_apart(world, bodies, pairs, shift, met_mask)
    walled_mask = _push_from_walls(world, bodies, shift)
    shift[~bodies.movable_mask] = 0.0
    return shift, met_mask, walled_mask


def _push_apart(world: SwarmState, bodies: Bodies, pairs: Pairs, shift: Floats, met_mask: Bools) -> None:
    """Add to `shift` what brings bodies out of each other, and note in `met_mask` which overlap."""
    first, second = pairs
    x, y = (bodies.centres[first] - bodies.centres[second]).T
    distances = np.sqrt(x * x + y * y)
    depths = bodies.radii[first] + bodies.radii[second] - distances
    hits = (depths > EXACT).nonzero()[0]
    if len(hits):
        # Only overlapping pairs are examined further; they are few.
        met = np.stack((bodies.rows[first[hits]], bodies.rows[second[hits]]), axis=1)
        hits = hits[world.columns.collision_rules.may_collide(met)]
    if len(hits):
        first, second, depths = first[hits], second[hits], depths[hits]
        distances, x, y = distances[hits], x[hits], y[hits]
        met_mask[first] = met_mask[second] = True
        # Two centres in one place have no direction between them, so these are pushed apart along x.
        same_mask = distances == 0.0
        x, y = np.where(same_mask, 1.0, x), np.where(same_mask, 0.0, y)
        distances = np.where(same_mask, 1.0, distances)
        # 1, 1/2 or 0: the share of the first one, who makes the whole correction where the other cannot move.
        weights = bodies.movable_mask[first] / np.maximum(
            bodies.movable_mask[first].astype(float) + bodies.movable_mask[second], 1.0
        )
        for axis, along in ((0, x), (1, y)):
            # `add.at`, as a body may be in several pairs; a plain += would keep only the last push.
            push = depths * along / distances
            np.add.at(shift[:, axis], first, push * weights)
            np.add.at(shift[:, axis], second, -push * (bodies.movable_mask[second] * (1.0 - weights)))


def _push_from_walls(world: SwarmState, bodies: Bodies, shift: Floats) -> Bools:
    """Add to `shift` what brings movable bodies back inside the border and out of polygons; return whom."""
    walled_mask = np.zeros(len(shift), np.bool_)
    for polygon in world.polygons:
        push, inside_mask = _push_from_polygon(bodies, polygon)
        shift += push
        walled_mask |= inside_mask
    if world.config.collide_walls:
        size = np.array(world.config.size)
        # A disc wider than the world is kept in its middle: otherwise the lower limit would be above the upper one.
        margins = np.minimum(bodies.radii[:, None], 0.5 * size)
        # Clipped after all pushes are added up: nobody is pushed out of the world.
        after = bodies.centres + shift
        inside = np.minimum(np.maximum(after, margins), size - margins)
        outside_mask = (inside[:, 0] != after[:, 0]) | (inside[:, 1] != after[:, 1])
        if np.count_nonzero(outside_mask):
            walled_mask |= outside_mask
            shift += inside - after
    return walled_mask & bodies.movable_mask


def _push_from_polygon(bodies: Bodies, polygon: Floats) -> tuple[Floats, Bools]:
    """Return pushes (N, 2) out of a polygon (K, 2), the shortest way, and which bodies overlap it (N,)."""
    push = np.zeros_like(bodies.centres)
    reach = bodies.radii[:, None]
    near_mask = ((bodies.centres > polygon.min(axis=0) - reach) & (bodies.centres < polygon.max(axis=0) + reach)).all(
        axis=1
    ) & bodies.movable_mask
    hit_mask = np.zeros(len(push), np.bool_)
    near = np.flatnonzero(near_mask)
    if not len(near):
        return push, hit_mask
    centres = bodies.centres[near]
    away, distances = _from_border(centres, polygon)
    inside_mask = inside_polygon(centres, polygon)
    depths = bodies.radii[near] + np.where(inside_mask, distances, -distances)
    over_mask = depths > EXACT
    signs = np.where(inside_mask, -1.0, 1.0)
    # A centre exactly on the border has no direction to go; it stays for this round.
    factors = np.where(over_mask, signs * depths / np.where(distances > 0.0, distances, 1.0), 0.0)
    push[near] = away * factors[:, None]
    hit_mask[near] = over_mask
    return push, hit_mask


def _from_border(points: Floats, polygon: Floats) -> tuple[Floats, Floats]:
    """Return the vectors (N, 2) to `points` from the nearest point on a polygon's border, and their lengths (N,)."""
    best, away = np.full(len(points), np.inf), np.zeros_like(points)
    for x1, y1, x2, y2 in edges(polygon).tolist():
        side_x, side_y = x2 - x1, y2 - y1
        x, y = points[:, 0] - x1, points[:, 1] - y1
        length = side_x * side_x + side_y * side_y
        along = np.clip((x * side_x + y * side_y) / length, 0.0, 1.0) if length > 0.0 else np.zeros(len(x))
        x, y = x - along * side_x, y - along * side_y
        squares = x * x + y * y
        better_mask = squares < best
        best = np.where(better_mask, squares, best)
        away[better_mask] = np.stack((x, y), axis=1)[better_mask]
    return away, np.sqrt(best)
