"""Keeping agents apart: discs that overlap are pushed out of each other, of polygons and of the border."""

from __future__ import annotations

import logging
import math

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.near_pairs import Bodies, Pairs, near_pairs
from fleet_sim.swarm.regions import edges, inside_polygon
from fleet_sim.swarm.swarm_state import SwarmState

log = logging.getLogger(__name__)

ROUNDS = 4
"""Rounds of pushing per step: pushing two bodies apart may push one into a third."""

FEW_OTHERS = 32
"""Number of bodies up to which one mover is compared with one after the other."""

FEW_TOGETHER = 8
"""Number of bodies up to which all are compared one after the other."""

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
    if len(movers) == 1:
        row = movers.item()
        if swarm.scalars.touching[row]:
            forget_contacts(world, movers)
        if _is_clear(world, rows, row):
            return
    else:
        forget_contacts(world, movers)
        if not len(rows) or not len(movers) or _are_clear(world, rows):
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


def _is_clear(world: SwarmState, rows: Rows, row: int) -> bool:
    """Return whether nothing is to be done after `row` alone moved: it overlaps none of `rows`, no wall, no polygon.

    With arrays of one, the rounds below take several times as long to find the same, and agents in turn ask one by one.
    """
    swarm, columns, config = world.swarm, world.columns, world.config
    scalars, place = swarm.scalars, columns.scalars.position
    if not scalars.collides[row] or scalars.grounded[row]:
        return True
    if world.polygons:
        return False
    x, y, radius = place[3 * row], place[3 * row + 1], scalars.agent_radius[row]
    if config.collide_walls and not _is_inside(config.size, x, y, radius):
        return False
    if len(rows) == 1:
        return True
    away = columns.position.take(rows, axis=0)
    if len(rows) <= FEW_OTHERS:
        radii, places = swarm.agent_radius.take(rows).tolist(), away.tolist()
        for other, (other_x, other_y, _), other_radius in zip(rows.tolist(), places, radii, strict=True):
            away_x, away_y = other_x - x, other_y - y
            if other_radius + radius - math.sqrt(away_x * away_x + away_y * away_y) > EXACT and other != row:
                return False
        return True
    ways = away[:, :2] - (x, y)
    squares = ways * ways
    depths = swarm.agent_radius.take(rows) + radius - np.sqrt(squares[:, 0] + squares[:, 1])
    # It is one of the rows, and as deep in itself as it is wide.
    return np.count_nonzero(depths > EXACT) == (2.0 * radius > EXACT)


def _are_clear(world: SwarmState, rows: Rows) -> bool:
    """Return whether nothing is to be done for `rows`: they are few, none overlaps another one, a wall, a polygon."""
    if len(rows) > FEW_TOGETHER or world.polygons:
        return False
    config = world.config
    radii, before = world.swarm.agent_radius.take(rows).tolist(), list[tuple[float, float, float]]()
    for (x, y, _), radius in zip(world.columns.position.take(rows, axis=0).tolist(), radii, strict=True):
        if config.collide_walls and not _is_inside(config.size, x, y, radius):
            return False
        for other_x, other_y, other_radius in before:
            away_x, away_y = other_x - x, other_y - y
            if other_radius + radius - math.sqrt(away_x * away_x + away_y * away_y) > EXACT:
                return False
        before.append((x, y, radius))
    return True


def _is_inside(size: tuple[float, float], x: float, y: float, radius: float) -> bool:
    """Return whether a disc is within a border of `size`."""
    width, height = size
    if radius <= x <= width - radius and radius <= y <= height - radius:
        return True
    # A disc wider than the world has its place in the middle.
    margin_x, margin_y = min(radius, 0.5 * width), min(radius, 0.5 * height)
    return margin_x <= x <= width - margin_x and margin_y <= y <= height - margin_y


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
