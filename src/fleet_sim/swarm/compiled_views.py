"""Fields of view by compiled code, with the bits of `vision.Sector`: an agent that sees somebody looks no further.

Agents of small worlds look at all others, those of larger ones at the cells around them. In crowds the arrays are
quicker, and this says so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import heading, sin_cos
from fleet_sim.motion.rows import quaternion_of
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.compiled_flock import FlockCells, cells_of
from fleet_sim.swarm.vision import Sector

FEW = 64
"""Others up to which an agent looks at all of them: sorting them takes longer."""
MOST = 256
"""Others in nine cells, on average, from which on looking from near to far on arrays is faster."""


class Views(NamedTuple):
    """The field of view of each agent (N,): half angle, reach, sine and cosine of the half angle, turn to the left."""

    half_angle: Floats
    reach: Floats
    sine: Floats
    cosine: Floats
    bias: Floats


class Seen(NamedTuple):
    """Columns of who may be seen, and the one team that counts, -1 for all."""

    position: Floats
    orientation: Floats
    radius: Floats
    teams: Ints
    team: int


def views_of(sector: Sector, bias: float | Floats, count: int) -> Views:
    """Return the fields of view of `count` agents, who have one sector or one each."""
    values = (sector.half_angle, sector.reach, *sector.edge, bias)
    return Views(*(np.array(np.broadcast_to(value, count), np.float64) for value in values))


def seen_in_views(group: Group, views: Views, team: int) -> Bools | None:
    """Return which agents (N,) have somebody else of `team` in view, as `any_hit`; None where that is for arrays."""
    world, columns, swarm = group.world, group.columns, group.swarm
    others, hit_mask = world.everyone.rows, np.empty(len(group.rows), np.bool_)
    seen = Seen(columns.position, columns.orientation, swarm.agent_radius, swarm.team, team)
    # Few others are looked at one by one. So are those of several squares, as cells are for one of them.
    if len(others) <= FEW * world.squares or world.squares > 1 or len(group.rows) == 1:
        _look_at_all(group.rows, others, world.squares, views, seen, hit_mask)
        return hit_mask
    # Of others the edge is seen, so the largest radius counts too.
    reach = float(views.reach.max()) + float(swarm.agent_radius.take(others).max())
    cells = cells_of(columns.position.take(others, axis=0)[:, :2], reach)
    # In crowded cells there are too many to look at one by one.
    if cells is None or 9 * len(others) > MOST * int(cells.size[0]) * int(cells.size[1]):
        return None
    _look_near(group.rows, others, cells, views, seen, hit_mask)
    return hit_mask


@inlined
def _sees(ahead: float, aside: float, radius: float, agent: int, views: Views) -> bool:
    """Do what `Sector.sees_disc` does."""
    reach = views.reach[agent]
    inner = reach + radius
    # Not `>`, which is false of what is no number.
    if not ahead * ahead + aside * aside <= inner * inner:
        return False
    # All around there are no edges to be outside of.
    if views.half_angle[agent] >= math.pi:
        return True
    sine, cosine, off = views.sine[agent], views.cosine[agent], abs(aside)
    # How far its middle is outside of the nearer edge of the sector.
    outside = off * cosine - ahead * sine
    if not outside <= radius:
        return False
    along = ahead * cosine + off * sine
    # Its middle is between the two edges.
    if outside <= 0.0 and (along >= 0.0 or views.half_angle[agent] > 0.5 * math.pi):
        return True
    # Else it is seen if it reaches the edge: from the nearest point of that, it is within its radius.
    foot = min(max(along, 0.0), reach)
    miss_ahead, miss_off = ahead - foot * cosine, off - foot * sine
    return miss_ahead * miss_ahead + miss_off * miss_off <= radius * radius


@inlined
def _sees_other(
    row: int,
    other: int,
    away_x: float,
    away_y: float,
    sine: float,
    cosine: float,
    agent: int,
    views: Views,
    seen: Seen,
) -> bool:
    """Return whether an agent that looks along an angle sees another one of the team it looks for."""
    if other == row or (seen.team >= 0 and seen.teams[other] != seen.team):
        return False
    ahead, aside = away_x * cosine + away_y * sine, away_y * cosine - away_x * sine
    return bool(_sees(ahead, aside, seen.radius[other], agent, views))


@compiled_step
def _look_at_all(rows: Rows, others: Rows, squares: int, views: Views, seen: Seen, hit_mask: Bools) -> None:
    """Set `hit_mask` for `rows` that see one of `others`, both square by square and as many in each."""
    # Squares are the same size, and lie one after the other.
    count, each = len(rows) // squares, len(others) // squares
    for agent in range(len(rows)):
        row, hit = rows[agent], False
        x, y = seen.position[row, 0], seen.position[row, 1]
        sine, cosine = sin_cos(heading(quaternion_of(seen.orientation, row)) + views.bias[agent])
        begin = agent // count * each
        for place in range(begin, begin + each):
            other = others[place]
            away_x, away_y = seen.position[other, 0] - x, seen.position[other, 1] - y
            if _sees_other(row, other, away_x, away_y, sine, cosine, agent, views, seen):
                hit = True
                break
        hit_mask[agent] = hit


@compiled_step
def _look_near(rows: Rows, others: Rows, cells: FlockCells, views: Views, seen: Seen, hit_mask: Bools) -> None:
    """Set `hit_mask` for `rows` that see one of `others`, who stand in `cells` of at least everybody's reach."""
    columns, lines, inverse = cells.size[0], cells.size[1], cells.frame[2]
    for agent in range(len(rows)):
        row, hit = rows[agent], False
        x, y = seen.position[row, 0], seen.position[row, 1]
        sine, cosine = sin_cos(heading(quaternion_of(seen.orientation, row)) + views.bias[agent])
        # Those outside of the cells look from the nearest one.
        column = min(max(int((x - cells.frame[0]) * inverse), 0), columns - 1)
        line = min(max(int((y - cells.frame[1]) * inverse), 0), lines - 1)
        # The line of cells that the agent is in comes first: most see somebody who is near.
        for turn in range(3):
            strip = line + (0 if turn == 0 else 2 * turn - 3)
            if hit or strip < 0 or strip >= lines:
                continue
            # Cells of a line follow each other, so three beside each other are one stretch.
            begin = cells.begins[strip * columns + max(column - 1, 0)]
            end = cells.begins[strip * columns + min(column + 1, columns - 1) + 1]
            for place in range(begin, end):
                other = others[cells.order[place]]
                away_x, away_y = cells.places[place, 0] - x, cells.places[place, 1] - y
                if _sees_other(row, other, away_x, away_y, sine, cosine, agent, views, seen):
                    hit = True
                    break
        hit_mask[agent] = hit
