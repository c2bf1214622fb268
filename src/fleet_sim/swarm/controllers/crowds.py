"""Controllers that look at other agents: reciprocal avoidance, cyclic pursuit, follow the leader."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.quaternions import wrapped
from fleet_sim.robots.motion.orca import MovingDiscs, Obstacles, avoiding_velocities
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.controllers.choices import positions
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.neighbours import pairs_within
from fleet_sim.swarm.parameters import Configured, Vector, choice_setting, configured, unbounded_setting
from fleet_sim.swarm.unicycle import steered

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
