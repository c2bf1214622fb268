"""Boids: flocks from separation, alignment and cohesion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial.rotations import atan2, heading, sin_cos
from fleet_sim.robots.motion.rows import quaternion_of
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.neighbours import PointCells, cells_of, column_of
from fleet_sim.swarm.parameters import Configured, configured, team_setting
from fleet_sim.world.columns import numbers_of

_TURN = 2.0 * math.pi
# Of the square of a distance, more than rounding: below, it is worth the root.
_SLACK = 1.000001


@configured
class BoidsController(Configured, Controller):
    """Steers by separation from close neighbours, and alignment and cohesion with visible ones.

    After Reynolds, "Flocks, Herds, and Schools: A Distributed Behavioral Model" (1987). With neighbours j at offsets
    d_j: separation is the sum of -d_j / |d_j| (s / |d_j| - 1) over those nearer than s; alignment the neighbours' mean
    velocity over `speed`, minus the own heading; cohesion their mean offset over the reach. The agent turns towards
    its own heading plus the weighted terms and the repulsion of near walls. It drives at `speed`, slower in turns.
    """

    speed: float = setting(0.5, low=0, unit="m/s", doc="Speed when driving straight.")
    max_turn: float = setting(3.0, low=0, unit="rad/s", doc="Limit of the angular velocity.")
    reach: float = setting(1.0, low=0, unit="m", doc="Distance up to which neighbours are visible.")
    separation_distance: float = setting(0.3, low=0, unit="m", doc="Distance below which neighbours repel.")
    separation: float = setting(1.0, low=0, doc="Weight of separation from close neighbours.")
    alignment: float = setting(1.0, low=0, doc="Weight of alignment with the velocity of neighbours.")
    cohesion: float = setting(1.0, low=0, doc="Weight of cohesion with the positions of neighbours.")
    wall_distance: float = setting(0.5, low=0, unit="m", doc="Distance below which walls repel.")
    walls: float = setting(2.0, low=0, doc="Weight of the repulsion of walls.")
    min_speed: float = setting(0.5, low=0, high=1, doc="Smallest fraction of the speed while turning.")
    turn_gain: float = setting(4.0, low=0, unit="1/s", doc="Angular velocity per rad of bearing.")
    target_team: int | str | None = team_setting("Consider only this team")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        # Copies: kernels are compiled again for arrays that cannot be written.
        crowd, positions, count = group.world.everyone, group.positions.copy(), len(group.rows)
        others = positions if crowd.rows is group.rows else crowd.positions.copy()
        columns, compiled = group.columns, group.columns.compiled
        cells = cells_of(positions, self.reach, others, compiled=compiled)
        wishes = Wishes(
            float(self.separation),
            # The bounds are for a reach and a speed of 0, where no neighbour is seen or nobody moves.
            self.cohesion / max(self.reach, 1e-12),
            float(self.alignment),
            self.alignment / max(self.speed, 1e-12),
            float(self.separation_distance),
            float(self.reach),
            group.world.team_code(self.target_team),
        )
        slowest = float(self.min_speed * self.speed)
        helm = Helm(float(self.speed), slowest, float(self.turn_gain), float(self.max_turn), float(self.walls))
        everybody = Flock(crowd.rows, others, np.array(crowd.velocities, order="C"), crowd.teams)
        push = wall_push(positions, group.world.walls, self.wall_distance)
        (headings, own_x, own_y), found, actions = np.empty((3, count)), np.empty((2, count)), np.empty((count, 2))
        boids = Boids(group.rows, headings, own_x, own_y, push[0], push[1], np.zeros((count, 8)), found)
        if compiled:
            fly(boids, columns.orientation, everybody, cells, wishes, helm, actions)
        else:
            turned, done = numbers_of(columns.orientation), numbers_of(actions)
            fly.in_python(numbers_of(boids), turned, numbers_of(everybody), numbers_of(cells), wishes, helm, done)
        return actions


def wall_push(positions: Floats, walls: Floats, reach: float) -> tuple[Floats, Floats]:
    """Return (x, y), each (N,): away from `walls` (W, 4) nearer than `reach`, 0 at that distance to 1 at the wall."""
    push_x, push_y = np.zeros(len(positions)), np.zeros(len(positions))
    if reach <= 0.0:
        return push_x, push_y
    x, y = positions[:, 0], positions[:, 1]
    for begin_x, begin_y, end_x, end_y in walls.tolist():
        way_x, way_y = end_x - begin_x, end_y - begin_y
        # A wall of length 0 is its point; 1.0 only avoids the division by 0.
        square = way_x * way_x + way_y * way_y or 1.0
        share = np.clip(((x - begin_x) * way_x + (y - begin_y) * way_y) / square, 0.0, 1.0)
        off_x, off_y = x - begin_x - share * way_x, y - begin_y - share * way_y
        distances = np.sqrt(off_x * off_x + off_y * off_y)
        # One factor for size and direction: `off` is as long as the distance, so it is divided out again.
        size = np.maximum(1.0 - distances / reach, 0.0) / np.maximum(distances, 1e-9)
        push_x += off_x * size
        push_y += off_y * size
    return push_x, push_y


class Flock(NamedTuple):
    """Everybody: rows (M,), positions and velocities (M, 2), teams (M,)."""

    rows: Rows
    positions: Floats
    velocities: Floats
    teams: Ints


class Boids(NamedTuple):
    """Agents: rows, and room for headings and their directions (N,); pushes of walls (N,); room for sums and wishes.

    The sums (N, 8) begin with 0, and are as wide as a line of the processor's cache; wishes are (2, N).
    """

    rows: Rows
    headings: Floats
    own_x: Floats
    own_y: Floats
    push_x: Floats
    push_y: Floats
    sums: Floats
    found: Floats


class Helm(NamedTuple):
    """Speed, least speed in turns, turning speed per rad of bearing, largest turning speed, weight of walls."""

    speed: float
    slowest: float
    turn_gain: float
    max_turn: float
    walls: float


class Wishes(NamedTuple):
    """Weights of separation, of cohesion per metre, of alignment and of alignment per m/s; distances; a team or -1."""

    separation: float
    pull: float
    alignment: float
    scale: float
    separation_distance: float
    reach: float
    team: int


@compiled_step
def fly(
    boids: Boids, orientation: Floats, crowd: Flock, cells: PointCells, wishes: Wishes, helm: Helm, actions: Floats
) -> None:
    """Write the actions (N, 2) of agents, who are the points of `cells`, that see a flock and are pushed by walls."""
    _look(boids.rows, orientation, boids.headings, boids.own_x, boids.own_y)
    _flock(boids, crowd, cells, wishes)
    _steer(boids, helm, actions)


@compiled_step
def _flock(boids: Boids, crowd: Flock, cells: PointCells, wishes: Wishes) -> None:
    """Write the weighted sums of the wishes of agents; neighbours are added up in ascending order."""
    sums, found = boids.sums, boids.found
    # In turn each one is added to what those near it have found so far: so the sums need no lists of neighbours, and
    # nothing has to be sorted.
    for other in range(len(crowd.rows)):
        if wishes.team < 0 or crowd.teams[other] == wishes.team:
            _add_to_near(other, boids.rows, crowd, cells, sums, wishes)
    for place in range(len(boids.rows)):
        agent, count = cells.order[place], sums[place, 6]
        many = max(count, 1.0)
        change_x, change_y = 0.0, 0.0
        if count > 0.0:
            change_x = sums[place, 4] / many * wishes.scale - wishes.alignment * boids.own_x[agent]
            change_y = sums[place, 5] / many * wishes.scale - wishes.alignment * boids.own_y[agent]
        found[0, agent] = wishes.separation * -sums[place, 0] + wishes.pull * (sums[place, 2] / many) + change_x
        found[1, agent] = wishes.separation * -sums[place, 1] + wishes.pull * (sums[place, 3] / many) + change_y


@inlined
def _add_to_near(other: int, rows: Rows, crowd: Flock, cells: PointCells, sums: Floats, wishes: Wishes) -> None:
    """Add one of the crowd to the sums of the agents that see it."""
    x, y = crowd.positions[other, 0], crowd.positions[other, 1]
    speed_x, speed_y, row = crowd.velocities[other, 0], crowd.velocities[other, 1], crowd.rows[other]
    close = wishes.separation_distance * wishes.separation_distance * _SLACK
    for index in range(_find_near(x, y, cells, wishes.reach * wishes.reach)):
        place = cells.near[index]
        off_x, off_y = x - cells.places[place, 0], y - cells.places[place, 1]
        square = off_x * off_x + off_y * off_y
        # Only who is in the same place can be the same one.
        if square == 0.0 and rows[cells.order[place]] == row:
            continue
        if square <= close:
            distance = math.sqrt(square)
            if distance < wishes.separation_distance:
                gap = distance if distance > 1e-9 else 1e-9
                push = wishes.separation_distance / gap - 1.0
                sums[place, 0] += off_x / gap * push
                sums[place, 1] += off_y / gap * push
        sums[place, 2] += off_x
        sums[place, 3] += off_y
        sums[place, 4] += speed_x
        sums[place, 5] += speed_y
        sums[place, 6] += 1.0


@inlined
def _find_near(x: float, y: float, cells: PointCells, square: float) -> int:
    """Write to `cells.near` which places are within the root of `square` of a point; return how many."""
    columns, lines, inverse, near = cells.size[0], cells.size[1], cells.frame[2], cells.near
    # Cells are at least as large as the reach, so from beside the grid the cells at its border are enough.
    column, line = column_of(x, cells.frame[0], inverse, columns), column_of(y, cells.frame[1], inverse, lines)
    count = 0
    for strip in range(max(line - 1, 0), min(line + 2, lines)):
        begin = cells.begins[strip * columns + max(column - 1, 0)]
        end = cells.begins[strip * columns + min(column + 1, columns - 1) + 1]
        for place in range(begin, end):
            across, along = cells.places[place, 0] - x, cells.places[place, 1] - y
            # Written either way, as nobody can guess whether one in three is near.
            near[count] = place
            count += 1 if across * across + along * along <= square else 0
    return count


@compiled_step
def _look(rows: Rows, orientation: Floats, headings: Floats, own_x: Floats, own_y: Floats) -> None:
    """Write the headings of `rows` (N,), and their directions."""
    # A loop of its own, without branches, computes several at once; the same holds of `_steer`.
    for agent in range(len(rows)):
        headings[agent] = heading(quaternion_of(orientation, rows[agent]))
    for agent in range(len(rows)):
        own_y[agent], own_x[agent] = sin_cos(headings[agent])


@compiled_step
def _steer(boids: Boids, helm: Helm, actions: Floats) -> None:
    """Write the actions of agents by their wishes, which are used up: as `steered`, but never slower than in a turn.

    At rest an agent would lose its heading, and the flock its shape.
    """
    headings, found = boids.headings, boids.found
    for agent in range(len(headings)):
        wish_x = boids.own_x[agent] + found[0, agent] + helm.walls * boids.push_x[agent]
        wish_y = boids.own_y[agent] + found[1, agent] + helm.walls * boids.push_y[agent]
        length = math.sqrt(wish_x * wish_x + wish_y * wish_y)
        # The bound is for wishes that cancel out: then there is no direction, and no speed.
        scale = helm.speed / (length if length > 1e-12 else 1e-12)
        x, y = wish_x * scale, wish_y * scale
        actions[agent, 0] = math.sqrt(x * x + y * y)
        found[0, agent], found[1, agent] = x, y
    for agent in range(len(headings)):
        found[0, agent] = atan2(found[1, agent], found[0, agent])
    for agent in range(len(headings)):
        size = actions[agent, 0]
        bearing = _wrapped(found[0, agent] - headings[agent]) if size > 0.0 else 0.0
        turn = helm.turn_gain * bearing
        turn = turn if turn > -helm.max_turn else -helm.max_turn
        _, cosine = sin_cos(bearing)
        speed = size * cosine
        speed = min(speed if speed > 0.0 else 0.0, helm.speed)
        actions[agent, 0] = speed if speed > helm.slowest else helm.slowest
        actions[agent, 1] = turn if turn < helm.max_turn else helm.max_turn


@inlined
def _wrapped(angle: float) -> float:
    """Return what `quaternions.wrapped` does for an angle within two turns: what is added and taken is exact."""
    angle += math.pi
    if angle >= _TURN:
        angle -= _TURN
    elif angle < 0.0:
        angle += _TURN
    return angle - math.pi
