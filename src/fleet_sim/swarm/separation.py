"""Keeping agents apart: discs that overlap are pushed out of each other, of polygons and of the border."""

from __future__ import annotations

import logging
import math
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.sensing.collision.broad import MIN_AUTO_CELL_SIZE, candidate_pairs
from fleet_sim.swarm.swarm_state import SwarmState, edges, inside_polygon
from fleet_sim.world.columns import numbers_of

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
