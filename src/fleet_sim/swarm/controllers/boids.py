"""Controllers that look at other agents: flocks, reciprocal avoidance, cyclic pursuit, follow the leader."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.quaternions import wrapped
from fleet_sim.base.spatial.rotations import atan2, heading, sin_cos
from fleet_sim.robots.motion.orca import MovingDiscs, Obstacles, avoiding_velocities
from fleet_sim.robots.motion.rows import quaternion_of
from fleet_sim.swarm.agent_columns import Crowd
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.controllers.single_agent import positions
from fleet_sim.swarm.neighbours import PointCells, cells_of, column_of, pairs_within
from fleet_sim.swarm.parameters import Configured, Vector, choice_setting, configured, team_setting, unbounded_setting
from fleet_sim.swarm.separation import steered
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


# Reciprocal avoidance, cyclic pursuit, follow the leader.


_WHAT = "OrcaController"


@configured
class OrcaController(Configured, Controller):
    """Drives to a goal at up to `speed` without collisions (see `fleet_sim.robots.motion.orca`).

    Two agents whose controllers have a `reciprocal_lead` take half of the evasion each; others are avoided fully. The
    controlled point is `lead` m ahead of the agent's centre, because a unicycle can move that point in any direction;
    discs are enlarged by as much.
    """

    follows = ("goals", "reciprocal_lead")

    speed: float = setting(0.5, low=0, unit="m/s", doc="Speed with a free path.")
    max_turn: float = setting(3.0, low=0, unit="rad/s", doc="Limit of the angular velocity.")
    static_waypoint: Vector | None = setting(None, unit="m", doc="The goal, the same for all.")
    waypoints: list[Vector] | None = setting(None, unit="m", doc="Goals, one for each agent in order of spawning.")
    sensor_id: int | None = setting(None, low=0, doc="A sensor that reads positions, which are the goals.")
    horizon: float = setting(2.0, low=1e-6, unit="s", doc="Look-ahead time for collisions with other agents.")
    wall_horizon: float = setting(0.5, low=1e-6, unit="s", doc="Look-ahead time for collisions with walls.")
    reach: float = setting(2.0, low=0, unit="m", doc="Distance up to which other agents are considered.")
    max_neighbours: int = setting(10, low=0, doc="Number of nearest agents to consider.")
    lead: float = setting(0.05, low=1e-6, unit="m", doc="Distance of the controlled point ahead of the centre.")
    slow_down: float = setting(0.3, low=1e-6, unit="m", doc="Distance to the goal at which it begins to slow down.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if [self.static_waypoint, self.waypoints, self.sensor_id].count(None) != 2:
            raise self.refuse("give one of static_waypoint, waypoints and sensor_id")
        if self.waypoints == []:
            raise self.refuse("waypoints must not be empty")
        goals = self.waypoints if self.static_waypoint is None else [self.static_waypoint]
        self.goals: Floats | None = None if goals is None else np.array(goals)
        self.reciprocal_lead = self.lead
        """Controllers with this attribute yield half to each other."""

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        everyone = group.world.everyone
        # Of all groups, as agents of others may yield as well.
        yields, lead = self._yielding(group, everyone.rows)
        headings = everyone.headings
        own_y, own_x = trig.sin_cos(headings)
        discs = _steered(everyone, own_x, own_y, lead, yields)
        x, y = discs.x, discs.y
        mine = np.flatnonzero(np.isin(everyone.rows, group.rows))
        pairs = pairs_within(np.stack((x, y), axis=1), self.reach, compiled=group.columns.compiled)
        # Only agents of this group are asked about: they drive to their goals.
        wanted_x, wanted_y = np.zeros_like(x), np.zeros_like(y)
        wanted_x[mine], wanted_y[mine] = self._wishes(group, x[mine], y[mine])
        only = np.zeros(len(everyone), bool)
        only[mine] = True
        # Who belongs to this group, as a mask over everybody: the pairs are of all.
        first, second = pairs
        # Pairs of two other agents change nothing for this group.
        heeded = np.flatnonzero(only.take(first) | only.take(second))
        vx, vy = avoiding_velocities(
            discs,
            (first.take(heeded), second.take(heeded)),
            (wanted_x, wanted_y),
            np.full(len(x), self.speed),
            horizon=self.horizon,
            obstacle_horizon=self.wall_horizon,
            dt=group.world.dt,
            max_neighbours=self.max_neighbours,
            obstacles=self._walls(group, mine, x, y),
        )
        vx, vy, own_x, own_y = vx[mine], vy[mine], own_x[mine], own_y[mine]
        # A point `lead` ahead can move in any direction at once, which the middle of a unicycle cannot: its speed
        # sideways turns the agent.
        speeds, turns = vx * own_x + vy * own_y, (vy * own_x - vx * own_y) / self.lead
        # Slow down if the required turn is too fast, so that the controlled point keeps its direction.
        slower = np.minimum(1.0, self.max_turn / np.maximum(np.abs(turns), 1e-12))
        return np.stack((speeds * slower, turns * slower), axis=1)

    def _yielding(self, group: Group, rows: Rows) -> tuple[Bools, Floats]:
        """Return who yields (N,), and how far ahead of its middle each one's steered point is (N,)."""
        yields, lead = np.zeros(len(rows), bool), np.zeros(len(rows))
        for other in group.world.groups:
            ahead = getattr(other.controller, "reciprocal_lead", None)
            if ahead is not None:
                member_mask = np.isin(rows, other.rows)
                yields |= member_mask
                lead[member_mask] = ahead
        return yields, lead

    def _wishes(self, group: Group, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the velocities (x, y), each (N,), that lead straight to the goals."""
        if self.goals is None:
            goals = positions(group, self.sensor_id or 0, _WHAT)
        else:
            goals = self.goals[group.numbers % len(self.goals)]
        way_x, way_y = goals[:, 0] - x, goals[:, 1] - y
        # A sensor without a target reads NaN: the agent stays, but still gives way.
        lost_mask = np.isnan(way_x) | np.isnan(way_y)
        way_x, way_y = np.where(lost_mask, 0.0, way_x), np.where(lost_mask, 0.0, way_y)
        distances = np.sqrt(way_x * way_x + way_y * way_y)
        # Full speed outside of `slow_down`, in proportion to the distance within it.
        scale = self.speed / np.maximum(distances, self.slow_down)
        return way_x * scale, way_y * scale

    def _walls(self, group: Group, mine: Rows, x: Floats, y: Floats) -> Obstacles:
        """Return the nearest points of the walls that could be touched within the wall horizon, for `mine`."""
        owners, ways_x, ways_y = [], [], []
        # What may be reached within the horizon, by the steered point of a disc.
        reach = self.speed * self.wall_horizon + group.radii + self.lead
        for begin_x, begin_y, end_x, end_y in group.world.walls.tolist():
            way_x, way_y = end_x - begin_x, end_y - begin_y
            square = way_x * way_x + way_y * way_y or 1.0
            share = np.clip(((x[mine] - begin_x) * way_x + (y[mine] - begin_y) * way_y) / square, 0.0, 1.0)
            to_x, to_y = begin_x + share * way_x - x[mine], begin_y + share * way_y - y[mine]
            near = np.flatnonzero(to_x * to_x + to_y * to_y <= reach * reach)
            owners.append(mine[near])
            ways_x.append(to_x[near])
            ways_y.append(to_y[near])
        if not owners:
            return Obstacles(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0))
        owner = np.concatenate(owners)
        # Walls have no velocity and no radius of their own; -inf leaves the least gap to the solver.
        return Obstacles(owner, np.concatenate(ways_x), np.concatenate(ways_y), np.full(len(owner), -np.inf))


def _steered(everyone: Crowd, own_x: Floats, own_y: Floats, lead: Floats, yields: Bools) -> MovingDiscs:
    """Return the discs about the steered points, `lead` (N,) ahead along the headings (`own_x`, `own_y`)."""
    positions, velocities, turns = everyone.positions, everyone.velocities, everyone.angular
    return MovingDiscs(
        positions[:, 0] + lead * own_x,
        positions[:, 1] + lead * own_y,
        # The velocity of a point ahead of the middle: that of the middle, and its turn about it.
        velocities[:, 0] - lead * turns * own_y,
        velocities[:, 1] + lead * turns * own_x,
        everyone.radii + lead,
        yields,
    )


# Cyclic pursuit: each agent follows the next one of a ring.


ORDERS = ("around", "spawned")


@configured
class CyclicPursuitController(Configured, Controller):
    """Drives at a constant speed and turns towards the next agent of the group.

    The order is computed at the start, and again when agents are added or removed: with `order` "around"
    counter-clockwise about the middle of the group, with "spawned" in order of spawning, and after the last one the
    first.

    The angular velocity is `gain` times the bearing. N agents end up evenly spaced on a circle of radius
    `speed` / (`gain` pi / N), or on a smaller one that they go round more than once per chase (Marshall, Broucke and
    Francis, "Formations of Vehicles in Cyclic Pursuit", 2004); the first where they begin about a circle.
    """

    speed: float = setting(0.3, low=0, unit="m/s", doc="Constant linear velocity.")
    gain: float = setting(1.0, low=0, unit="1/s", doc="Angular velocity per rad of bearing.")
    max_turn: float = unbounded_setting(np.inf, "Limit of the turning speed.", unit="rad/s")
    order: str = choice_setting("around", ORDERS, "Who follows whom.")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        target = self._targets(group)
        way = group.columns.position[target, :2] - group.positions
        bearings = wrapped(trig.arctan2(way[:, 1], way[:, 0]) - group.headings)
        turns = np.minimum(np.maximum(self.gain * bearings, -self.max_turn), self.max_turn)
        return np.stack((np.full(len(group), self.speed), turns), axis=1)

    def _targets(self, group: Group) -> Rows:
        """Return the rows (N,) of whom the agents of `group` chase."""
        whole = group.whole
        # Ids, not rows: a row can be used again by another agent.
        rows, ids = whole.rows, whole.columns.object_id[whole.rows]
        chased = self.column(whole, "chased", dtype=np.int64, default=-1)
        # While nobody comes or goes, `chased` holds every id of the group exactly once.
        if (np.sort(chased) != np.sort(ids)).any():
            ring = np.arange(len(rows))
            if self.order == "around":
                offsets = whole.positions - whole.positions.mean(axis=0)
                ring = np.argsort(trig.arctan2(offsets[:, 1], offsets[:, 0]), kind="stable")
            chased[ring] = ids[np.roll(ring, -1)]
        order = np.argsort(ids)
        targets: Rows = rows[order[np.searchsorted(ids[order], chased[group.numbers])]]
        return targets


# Follow the leader: a chain, each behind the one before it.


@configured
class FollowController(Configured, Controller):
    """Keeps each agent of a group at a distance behind the one in front, in order of spawning.

    The first one follows the agent or object called `leader`; without one it leads and drives `lead`. It turns
    towards the one ahead; its speed is that at which the one ahead draws away, plus `gain` times what is missing to the
    `gap`.
    """

    gap: float = setting(0.4, low=0, unit="m", doc="Distance to keep to the agent in front.")
    gain: float = setting(1.5, low=0, unit="1/s", doc="Speed per metre of deviation from the gap.")
    max_speed: float = setting(1.0, low=0, unit="m/s", doc="Limit of the speed.")
    max_turn: float = setting(4.0, low=0, unit="rad/s", doc="Limit of the angular velocity.")
    turn_gain: float = setting(4.0, low=0, unit="1/s", doc="Angular velocity per rad of bearing.")
    leader: str | None = setting(None, doc="Name of the agent that the first one follows; null: the first one leads.")
    lead: Vector = setting((0.3, 0.3), doc="Action of the first agent if there is no `leader`.")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        columns = group.columns
        numbers = group.numbers
        # For the first agent this is the last one; its row or its action is replaced below.
        ahead = group.whole.rows[numbers - 1]
        first_mask = numbers == 0
        if self.leader is not None:
            ahead[first_mask] = columns.index.row_named(self.leader)
        way = columns.position[ahead, :2] - group.positions
        distances = np.sqrt(way[:, 0] ** 2 + way[:, 1] ** 2)
        # In one place with the one ahead there is no course; the way is 0 then and makes it 0.
        scale = 1.0 / np.maximum(distances, 1e-9)
        course_x, course_y = way[:, 0] * scale, way[:, 1] * scale
        velocities = columns.velocity[ahead, :2]
        leaving = velocities[:, 0] * course_x + velocities[:, 1] * course_y
        # Never exactly 0, so that a waiting agent keeps turning towards the one in front.
        wanted = np.maximum(leaving + self.gain * (distances - self.gap), 1e-9)
        actions = steered(
            group.headings,
            wanted * course_x,
            wanted * course_y,
            top_speed=self.max_speed,
            turn_gain=self.turn_gain,
            top_turn=self.max_turn,
        )
        if self.leader is None:
            actions[first_mask] = self.lead
        return actions
