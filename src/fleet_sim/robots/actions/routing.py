"""Routes of actions: around walls, through doors and lifts, around robots that stand in the way or give way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.geometry import Path, Pose, pose_arrays
from fleet_sim.base.params import ActionCause, MovementDirection, RouteMode
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import distances_to_lines
from fleet_sim.robots import drive
from fleet_sim.robots.actions.action import Action, DeclaredAction, Failure
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.world.routes import LiftStop, NoRoute, Passages, RouteNeeds, Stretch, Wanted
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.world import World

FASTEST = 100.0


@saved
class RoutedPath(NamedTuple):
    """Waypoints around walls: `positions` (K, 3), `orientations` (K, 4), and what holds on the line to each.

    `speed_limits` (K,) in m/s; `left` (K,) in m is the way from each waypoint to the last one. `ends`
    are the numbers of the waypoints that are poses of the path asked for.
    """

    positions: Floats
    orientations: Floats
    speed_limits: Floats
    left: Floats
    ends: Ints


def brakes(agent: Agent) -> bool:
    """Brake, if the robot is moving; return whether it is."""
    world, rows = agent.world, np.array([agent.row])
    if drive.stands(world, agent.row):
        return False
    rest = np.zeros((1, 3))
    drive.start_velocities(world, rows, rest, rest, 0.0)
    return True


def at_heights(agent: Agent, path: Path | Sequence[Pose], *, storeys: bool) -> Path:
    """Return `path` at the agent's height above the floor; with `storeys` on the storey of each pose."""
    here, routes = agent.get_pose(), agent.world.routes
    poses = []
    for pose in path:
        # Only a building has storeys; elsewhere goals in a plane are at the robot's height.
        rise = routes.source.rise(here.z, pose.z) if routes.known and storeys else 0.0
        poses.append(Pose.from_euler(pose.x, pose.y, here.z + rise, here.roll, here.pitch, pose.yaw))
    return Path(poses)


class RoutedPart(NamedTuple):
    """A part of a route: `way`, from `start` (3,) on; it begins when the lift is at `stop`, if there is one."""

    start: Floats
    way: RoutedPath
    stop: LiftStop | None


def routed(agent: Agent, path: Path, mode: RouteMode, *, detour: bool = False) -> list[RoutedPart] | Failure:
    """Return the way from the robot's place through the poses of `path` to the last, or why there is none.

    Between them the robot's footprint, with all that it carries, stays off walls. It is one part, and two more for each
    ride with a lift. A `detour` leads around robots that stand near, on the way to the first pose.
    """
    world, row = agent.world, agent.row
    if drive.is_steered(world, row):
        # Routes turn at corners with no more room than a robot needs that turns there.
        reason = "routes are for robots that turn on the spot, and this one is steered like a car; send it along a path"
        return Failure(reason, ActionCause.UNREACHABLE)
    goals, turns = pose_arrays(path)
    at = world.position[row].copy()
    needs = RouteNeeds(footprint_radius(world, row), _fastest(world, row), mode)
    parts: list[_PartUnderWay] = [_PartUnderWay(at, None)]
    for number, goal in enumerate(goals):
        try:
            here = detour and number == 0
            found = world.routes.source.journey(row, at, goal, needs, detour=here)
        except FleetSimError as error:
            return Failure(str(error), ActionCause.INVALID_GOAL)
        if isinstance(found, NoRoute):
            return Failure(found.reason, found.cause)
        for stretch in found:
            if stretch.stop is not None or parts[-1].stop is not None:
                parts.append(_PartUnderWay(parts[-1].end, stretch.stop))
            height = float(at[2] + stretch.rise)
            # A flying robot climbs evenly on the way, on the storey of its goal.
            parts[-1].add(stretch, height, float(goal[2]) if stretch is found[-1] else height)
        parts[-1].close(goal)
        at = goal
    # Without the first where the robot stands in a cabin.
    driven = [part for part in parts if part.pieces]
    return [part.finished(turns[-1] if part is driven[-1] else None) for part in driven]


def routed_aside(agent: Agent, wanted: Wanted) -> RoutedPart | Failure:
    """Return the way around robots that stand near to the nearest place that is `wanted`, or why there is none."""
    world, row = agent.world, agent.row
    if not agent.can_move or drive.is_steered(world, row):
        return Failure("it does not drive on routes", ActionCause.UNREACHABLE)
    at = world.position[row].copy()
    radius, speed = footprint_radius(world, row), _fastest(world, row)
    found = world.routes.source.retreat(row, at, radius, speed=speed, wanted=wanted)
    if isinstance(found, NoRoute):
        return Failure(found.reason, found.cause)
    part, height = _PartUnderWay(at, None), float(at[2])
    for stretch in found:
        part.add(stretch, height, height)
    part.close(part.end)
    return part.finished(None)


def lifts_of(parts: Sequence[RoutedPart]) -> list[int]:
    """Return the lifts on a way, by row, in its order."""
    return list(dict.fromkeys(part.stop.lift for part in parts if part.stop is not None))


class _PartUnderWay:
    """A part from `start` (3,) on, to which stretches are added."""

    def __init__(self, start: Floats, stop: LiftStop | None) -> None:
        self.start = self.end = start
        self.stop = stop
        self.pieces: list[Floats] = []
        self._limits: list[Floats] = []
        self._ends: list[int] = []

    def add(self, stretch: Stretch, begin: float, end: float) -> None:
        """Go on along a stretch, from the height `begin` in m to `end`."""
        found = stretch.route
        if not self.pieces:
            # Whoever rides has left the storey on which the last part ended.
            self.start = np.array([self.start[0], self.start[1], begin])
        shares = np.cumsum(found.lengths) / max(found.length, 1e-12)
        self.pieces.append(np.column_stack((found.points[1:], begin + shares * (end - begin))))
        self._limits.append(found.speed_limits)
        self.end = self.pieces[-1][-1]

    def close(self, goal: Floats) -> None:
        """End at a pose of the path."""
        self.pieces[-1][-1] = self.end = goal
        self._ends.append(sum(map(len, self.pieces)) - 1)

    def finished(self, turn: Floats | None) -> RoutedPart:
        """Return the part; `turn` (4,) is the orientation at its end, None: that of its last line."""
        positions = np.concatenate(self.pieces)
        steps = np.diff(positions, axis=0, prepend=self.start[None])
        orientations = quaternions.from_yaws(trig.arctan2(steps[:, 1], steps[:, 0]))
        if turn is not None:
            orientations[-1] = turn
        lengths = np.sqrt((steps[1:] ** 2).sum(axis=1))
        left = np.append(np.cumsum(lengths[::-1])[::-1], 0.0)
        way = RoutedPath(positions, orientations, np.concatenate(self._limits), left, np.array(self._ends, np.int64))
        return RoutedPart(self.start, way, self.stop)


def follow(
    agent: Agent,
    way: RoutedPath,
    align_final: bool,
    direction: MovementDirection | None,
    tol: float,
    blocked_timeout: float | None = None,
) -> None:
    """Start to drive along `way`."""
    drive.start_paths(
        agent.world,
        np.array([agent.row]),
        np.array([len(way.positions)]),
        way.positions,
        way.orientations,
        direction=direction,
        align_final=align_final,
        tolerance=tol,
        speed_limits=way.speed_limits,
        blocked_timeout=blocked_timeout,
    )


def distance_left(agent: Agent, way: RoutedPath) -> float:
    """Return the rest (m) of the way that the robot drives along."""
    # Who has arrived has no waypoints any more, until the action hears of it in the next step.
    last = len(way.left) - 1
    at = last if agent.goal_pose is None or agent.is_goal_reached() else min(agent.current_waypoint_index, last)
    return trig.hypot_of(*(way.positions[at] - agent.world.position[agent.row])[:2].tolist()) + float(way.left[at])


def _fastest(world: World, row: int) -> float:
    # Along the heading, which is how a robot with limits by axis drives far.
    return min(drive.limits_ahead(world, row)[0], FASTEST)


# Doorways: where a route leads through doors that open for robots, and lifts, and how a robot passes them in turn.


STEP = 0.05
"""Between two looks along a route, in m; a leaf is not nearer anywhere between them than half of it less."""
ROOM = 0.05
"""What a robot keeps from a leaf that is closed or moves, in m."""
ASKED_EACH = 0.5
"""Seconds between two times that a robot on its way through asks a door to stay open."""
STEPS_UP = 0.5
"""A robot this much in m below the foot of a door, or less, is on its floor."""


@saved
class Leg(NamedTuple):
    """A piece of a route: `way`, and the rows of the `passages` (P,) that have to be open on it.

    Each is needed until `left` (P,) m of the piece are left. It is `length` m long, from where the last one ended. It
    begins when the lift is at `stop`, if there is one.
    """

    way: RoutedPath
    passages: Ints
    left: Floats
    length: float
    stop: LiftStop | None = None


Reaches = list[tuple[float, float, int]]
"""From where to where along a route, in m, a robot is in reach of which passage."""


def legs_of(agent: Agent, parts: Sequence[RoutedPart]) -> list[Leg] | Failure:
    """Return `parts` in pieces that begin where the robot has to wait, or why it cannot pass a door."""
    legs: list[Leg] = []
    for part in parts:
        found = _legs_of(agent, part.start, part.way)
        if isinstance(found, Failure):
            return found
        found[0] = found[0]._replace(stop=part.stop)
        legs += found
    return legs


def _legs_of(agent: Agent, start: Floats, way: RoutedPath) -> list[Leg] | Failure:
    """Cut `way`, which begins at `start` (3,) in m, before each door that opens for robots.

    Doors count on the robot's own floor only, and where its footprint passes their leaves.
    """
    world, row = agent.world, agent.row
    passages = world.routes.passages
    found = NO_ROWS if passages is None else passages.opening_for_robots()
    if passages is None or not len(found):
        return [Leg(way, NO_ROWS, np.empty(0), 0.0)]
    points, along = _sampled(start, way)
    radius = footprint_radius(world, row) + ROOM
    reaches: Reaches = []
    for passage in found.tolist():
        parts = passages.parts_of(passage)
        if not is_on_floor(world, float(start[2]), parts):
            continue
        # Even when it is open the leaf may stand in the way.
        if passages.reach(parts, 1.0, points, radius - ROOM).any():
            reason = f"the open leaf of door {world.label(passage)!r} is in the way"
            return Failure(f"{reason}; drive farther from its hinge, or let it slide", ActionCause.UNREACHABLE)
        near = np.flatnonzero(swept(world, passages, parts, points, radius))
        if len(near):
            # One step earlier: between two points the leaf may be nearer.
            reaches.append((max(along[near[0]] - STEP, 0.0), along[near[-1]], passage))
    return _cut(start, way, sorted(reaches))


def is_free(agent: Agent, leg: Leg) -> bool:
    """Ask for the lift and the doors of a leg, and return whether they are there and open."""
    lifts = agent.world.routes.lifts
    if leg.stop is not None and (lifts is None or not lifts.ask(leg.stop, agent.row)):
        return False
    asked = ask(agent, leg, math.inf)
    passages = agent.world.routes.passages
    return passages is None or bool(passages.are_open(asked).all())


def awaited(agent: Agent, leg: Leg) -> int:
    """Return the row of the lift, or the first closed door, that a robot waits for before a leg; or NO_ROW."""
    if leg.stop is not None:
        return leg.stop.lift
    passages = agent.world.routes.passages
    if passages is None:
        return NO_ROW
    needed = np.intersect1d(leg.passages, passages.opening_for_robots())
    closed = needed[~passages.are_open(needed)]
    return int(closed[0]) if len(closed) else NO_ROW


def ask(agent: Agent, leg: Leg, distance: float) -> Rows:
    """Ask for the doors of a leg that the robot needs on the last `distance` m of it; return them."""
    passages = agent.world.routes.passages
    if passages is None:
        return NO_ROWS
    # A door may have been removed on the way.
    needed = np.intersect1d(leg.passages[leg.left < distance], passages.opening_for_robots())
    passages.keep_open(needed, ASKED_EACH)
    return needed


def _sampled(start: Floats, way: RoutedPath) -> tuple[Floats, Floats]:
    """Return points (K, 2) along a way, and how far (K,) they are from its begin, in m."""
    corners = np.concatenate((start[None, :2], way.positions[:, :2]))
    lengths = trig.hypot(*np.diff(corners, axis=0).T)
    reached = np.concatenate(([0.0], np.cumsum(lengths)))
    along = np.unique(np.concatenate((np.arange(0.0, reached[-1], STEP), reached)))
    return np.column_stack([np.interp(along, reached, corners[:, axis]) for axis in (0, 1)]), along


def is_on_floor(world: World, height: float, parts: Rows) -> bool:
    """Return whether a robot at `height` m is on the floor where parts of a door stand."""
    foot = world.position[parts, 2] - world.half_extents[parts, 2]
    head = world.position[parts, 2] + world.half_extents[parts, 2]
    return bool(((height >= foot - STEPS_UP) & (height <= head)).any())


def swept(world: World, passages: Passages, parts: Rows, points: Floats, radius: float) -> Bools:
    """Return at which points (K,) a robot is in reach of parts that are closed, or move."""
    longest = 2.0 * float(world.half_extents[parts, 0].max())
    # So many positions of a leaf that no robot between two of them is missed.
    count = max(4, math.ceil(math.pi * longest / max(radius, 0.1)))
    near: Bools = np.zeros(len(points), np.bool_)
    for number in range(count):
        near |= passages.reach(parts, number / count, points, radius)
    return near


def _cut(start: Floats, way: RoutedPath, reaches: Reaches) -> list[Leg]:
    """Return a way in pieces: at the end of each the robot waits for what it comes in reach of."""
    total = _length(start, way)
    # Without the ends: who is in reach from the start waits there.
    cuts = [0.0, *sorted({first for first, _, _ in reaches if 1e-9 < first < total - 1e-9}), total]
    legs: list[Leg] = []
    for begin, end in pairwise(cuts):
        needed = [(last, passage) for first, last, passage in reaches if first <= begin + 1e-9 and last >= begin]
        passages = np.array([passage for _, passage in needed], np.int64)
        left = np.array([max(end - last, 0.0) for last, _ in needed])
        legs.append(Leg(_piece(start, way, begin, end), passages, left, end - begin))
    return legs


def _length(start: Floats, way: RoutedPath) -> float:
    return float(trig.hypot(*np.diff(np.concatenate((start[None, :2], way.positions[:, :2])), axis=0).T).sum())


def _piece(start: Floats, way: RoutedPath, begin: float, end: float) -> RoutedPath:
    """Return the part of a way from `begin` to `end` m."""
    corners = np.concatenate((start[None], way.positions))
    reached = np.concatenate(([0.0], np.cumsum(trig.hypot(*np.diff(corners[:, :2], axis=0).T))))
    last = end >= reached[-1] - 1e-9
    inner = np.flatnonzero((reached[1:] > begin + 1e-9) & (reached[1:] < end - 1e-9))
    stops = np.arange(inner[0], len(way.positions)) if last and len(inner) else inner
    if last and not len(inner):
        stops = np.array([len(way.positions) - 1])
    positions, turns, limits = way.positions[stops], way.orientations[stops], way.speed_limits[stops]
    ends = np.flatnonzero(np.isin(stops, way.ends))
    if not last:
        # Where the robot would have stopped at this point, it still does.
        if (np.abs(reached[1:][way.ends] - end) <= 1e-9).any():
            ends = np.append(ends, len(stops))
        # Within a line: the piece ends with its heading and its limit.
        line = int(np.searchsorted(reached[1:], end, side="left"))
        stop = np.array([np.interp(end, reached, corners[:, axis]) for axis in range(3)])
        positions = np.concatenate((positions, stop[None]))
        turns = np.concatenate((turns, way.orientations[line : line + 1]))
        limits = np.append(limits, way.speed_limits[line])
    lengths = trig.hypot(*np.diff(positions[:, :2], axis=0).T)
    left = np.append(np.cumsum(lengths[::-1])[::-1], 0.0)
    return RoutedPath(positions, turns, limits, left, ends)


# Detours: when a robot on a route that stands before another one looks for a way around it, or out of its way.


PATIENCE = 2.0
"""Seconds that a robot stands before another one until it looks for a way around it."""
LOOKED_EACH = 0.5
"""Seconds between two looks at whether it stands."""


def may_detour(agent: Agent) -> bool:
    """Return whether the robot stops before others, and there may be ways around them."""
    return agent.block_on_collision and agent.world.routes.source.detours


def patience(agent: Agent, leg: Leg, drives: bool, since: float) -> tuple[float, bool]:
    """Return from when on (s) the robot has stood before another one, or in its way, and whether it goes around it now.

    inf: it does not; `since` is what was returned when it was asked last. Who waits for a lift (it does not drive), or
    gets in, makes room for who found no way around it.
    """
    if not may_detour(agent):
        return math.inf, False
    world, waits = agent.world, leg.stop is not None and not drives
    blocker = blocker_of(world, agent.row)
    if not (is_in_the_way(agent) if waits else blocker != NO_ROW):
        return math.inf, False
    since = min(since, world.clock.time)
    # Of two that stand before each other, the one that was spawned first goes first.
    mutual = not waits and int(world.motion.blocked_by[blocker]) == agent.row
    later = mutual and world.object_id[blocker] < world.object_id[agent.row]
    times = 1.0 + 2.0 * later + 2.0 * (leg.stop is not None)
    return since, world.clock.time - since >= times * PATIENCE - 1e-9


def is_in_the_way(agent: Agent) -> bool:
    """Return whether another robot stands before this one."""
    world = agent.world
    rows = np.flatnonzero(world.motion.blocked_by == agent.row)
    return any(world.alive[row] and _stands(world, row) for row in rows.tolist())


def blocker_of(world: World, robot: int) -> int:
    """Return the row of the robot that stands before the one in row `robot`, which therefore stands; or NO_ROW."""
    row = int(world.motion.blocked_by[robot])
    while row != NO_ROW and world.parent[row] != NO_ROW:
        row = int(world.parent[row])
    return row if row != NO_ROW and _stands(world, row) else NO_ROW


def _stands(world: World, row: int) -> bool:
    return bool(world.kind[row] == KIND_AGENT) and drive.stands(world, row)


# Giving way: of robots on routes that hold each other up one drives aside, and goes on when the others have passed. A
# ring of robots that stand before each other is found by who blocks whom. Each looks for a place off the ways of all;
# the one with the shortest way there steps aside, waits until nobody comes the opposite way any more, and goes on.


APART = 0.1
"""What a robot aside keeps from the ways of others, in m."""
AROUND, STOREY = 15.0, 1.5
"""Robots farther away than this in m count for nothing, and ways end at a step in height of this."""
SAMPLES, GIVING_WAY_STEP = 400, 0.1
"""Points at most along a way that are compared with another one, and how far they are apart at least, in m."""
AGAINST = -0.3
"""Ways are opposite where the cosine between them is less."""
LONGEST = 60.0
"""Seconds after which a robot goes on in any case."""


class OnRoute(DeclaredAction):
    """An action that drives along a route, and may leave it for a while to let others pass."""

    def further(self) -> Floats:
        """Return the points (K, 3) in m where the route leads after the path that the robot drives now."""
        raise NotImplementedError

    def may_step_aside(self, agent: Agent) -> bool:
        """Return whether the robot drives on the route now."""
        raise NotImplementedError


@saved
class SteppedAside(NamedTuple):
    """A robot drives aside along `legs`, and waits there for `others`, ids of robots, until `until` s at the longest.

    `way` (K, 2) is from there to where it stood and on along its route, with `poses_left` poses. It may go on when it
    is `over`.
    """

    legs: list[Leg]
    way: Floats
    others: tuple[int, ...]
    poses_left: int
    until: float
    reach: float
    drives: bool = False
    held_since: float = math.inf
    over: bool = False

    def after(self, agent: Agent) -> SteppedAside:
        """Drive on, or wait; return how far it is with that."""
        if self.over:
            return self
        if self.legs:
            return self._driven(agent)
        # Who has found no way around it goes first.
        aside = self._held(agent, is_in_the_way(agent))
        late = agent.world.clock.time >= self.until or aside._has_waited(agent, 3.0)
        return aside._replace(over=late or not self._is_met(agent.world))

    def _driven(self, agent: Agent) -> SteppedAside:
        """Return the state after one look at the leg under way: begun, ended, or still driven.

        A leg begins as soon as its way is free. Stepping aside is over where the
        robot has lost its goal, or another one has stood in its way for 1 s.
        """
        leg = self.legs[0]
        if not self.drives:
            free = is_free(agent, leg)
            if free:
                follow(agent, leg.way, False, MovementDirection.AUTO, 0.0)
            return self._replace(drives=free)
        if agent.is_goal_reached():
            return self._replace(legs=self.legs[1:], drives=False)
        ask(agent, leg, distance_left(agent, leg.way))
        aside = self._held(agent, blocker_of(agent.world, agent.row) != NO_ROW)
        # Somebody has come in its way: from here on everything is looked at anew.
        return aside._replace(over=agent.goal_pose is None or aside._has_waited(agent, 1.0))

    def _held(self, agent: Agent, now: bool) -> SteppedAside:
        return self._replace(held_since=min(self.held_since, agent.world.clock.time) if now else math.inf)

    def _has_waited(self, agent: Agent, times: float) -> bool:
        return agent.world.clock.time - self.held_since >= times * PATIENCE

    def _is_met(self, world: World) -> bool:
        """Return whether one of the others is still to come the opposite way."""
        rows = np.flatnonzero(world.alive & np.isin(world.object_id, self.others)).tolist()
        return any(_opposite(self.way, way_ahead(world, row), self.reach) for row in rows)


def step_aside(agent: Agent, poses_left: int) -> SteppedAside | None:
    """Return where and how the robot gives way, if it is the one to do so of those that hold each other up.

    That is who has the shortest way to a place off the ways of all, and of two as near who was spawned later. Who only
    stands behind them gives way where none of them can. None also where nobody would get on by that.
    """
    world, row = agent.world, agent.row
    ring = _ring(world, row)
    if not ring:
        return None
    # For all of the ring, not only for this robot: every one decides by the same numbers, so just one drives aside.
    ways = {other: _way_aside(world, other) for other in ring}
    able = {other: way for other, way in ways.items() if way is not None}
    if row not in ring:
        way_aside = None if able else _way_aside(world, row)
    elif able and min(able, key=lambda other: (able[other][2], -world.object_id[other])) == row:
        way_aside = able[row]
    else:
        way_aside = None
    if way_aside is None:
        return None
    part, legs, _ = way_aside
    # Back from the place aside, then along the route: nobody may come the other way there.
    back = np.concatenate((part.way.positions[::-1, :2], part.start[None, :2]))
    way = np.concatenate((back, way_ahead(world, row)[1:]))
    radius = footprint_radius(world, row)
    near = _near(world, row)
    others = tuple(
        int(world.object_id[other])
        for other in near
        if _opposite(way, way_ahead(world, other), radius + footprint_radius(world, other) + APART)
    )
    reach = radius + max([footprint_radius(world, other) for other in near], default=0.0) + APART
    return SteppedAside(legs, way, others, poses_left, world.clock.time + LONGEST, reach)


def way_ahead(world: World, row: int) -> Floats:
    """Return the points (K, 2) of the way that the robot in `row` still has on its storey, from where it is."""
    here = world.position[row][None]
    paths = world.waypoints.paths(world.motion, np.array([row]))
    points = [here, paths.positions[int(paths.nexts[0]) :]] if paths.lengths[0] else [here]
    action = _on_route(world, row)
    if action is not None:
        points.append(action.further())
    way = np.concatenate(points)
    # Nobody on this storey meets it after a ride to another one.
    far = np.flatnonzero(np.abs(way[:, 2] - here[0, 2]) > STOREY)
    return way[: far[0] if len(far) else None, :2]


def _on_route(world: World, row: int) -> OnRoute | None:
    """Return the action that drives the robot in `row` along a route."""
    running: Action | None = world.actions.current(row)
    if running is None:
        return None
    return next((action for action in (running, *running.parts()) if isinstance(action, OnRoute)), None)


def _ring(world: World, row: int) -> list[int]:
    """Return the robots that stand before each other in a ring, which the one in `row` is in or behind."""
    chain = [row]
    # Where the chain ends there is no ring; where a robot comes again there is one.
    while True:
        following = blocker_of(world, chain[-1])
        if following == NO_ROW:
            return []
        if following in chain:
            return chain[chain.index(following) :]
        chain.append(following)


def _way_aside(world: World, row: int) -> tuple[RoutedPart, list[Leg], float] | None:
    """Return the way of the robot in `row` to the nearest place that is off the ways of all robots near it.

    Also the pieces that it is driven in, and its length in m.
    """
    agent: Agent = world.handles[row]
    action = _on_route(world, row)
    if action is None or not action.may_step_aside(agent):
        return None
    radius = footprint_radius(world, row)
    ways = [(way_ahead(world, other), radius + footprint_radius(world, other) + APART) for other in _near(world, row)]
    height = float(world.position[row, 2])

    def wanted(places: Floats) -> Bools:
        mask = np.ones(len(places), np.bool_)
        for way, reach in ways:
            mask &= _distances(places, way) >= reach
        # Doors are looked at one by one, so only for places that are left.
        mask[mask] = ~_under_doors(world, height, places[mask], radius)
        return mask

    found = routed_aside(agent, wanted)
    if isinstance(found, Failure):
        return None
    # The leaf of an open door may be in the way.
    legs = legs_of(agent, [found])
    return None if isinstance(legs, Failure) else (found, legs, _remaining_length(found))


def _near(world: World, row: int) -> list[int]:
    """Return the other robots near the one in `row` that stand on the floor by themselves."""
    rows = world.rows[(world.kind[world.rows] == KIND_AGENT) & (world.parent[world.rows] == NO_ROW)]
    offsets = world.position[rows] - world.position[row]
    mask = (rows != row) & (trig.hypot(*offsets[:, :2].T) < AROUND) & (np.abs(offsets[:, 2]) < STOREY)
    near: list[int] = rows[mask].tolist()
    return near


def _under_doors(world: World, height: float, places: Floats, radius: float) -> Bools:
    """Return at which places (K, 2) leaves of doors that open for robots could hit one."""
    hit, passages = np.zeros(len(places), np.bool_), world.routes.passages
    if passages is None or not len(places):
        return hit
    for passage in passages.opening_for_robots().tolist():
        parts = passages.parts_of(passage)
        if is_on_floor(world, height, parts):
            hit |= swept(world, passages, parts, places, radius + ROOM)
    return hit


def _distances(places: Floats, way: Floats) -> Floats:
    """Return the distances (K,) in m of `places` (K, 2) from a way (M, 2)."""
    nearest = trig.hypot(places[:, 0] - way[0, 0], places[:, 1] - way[0, 1])
    for begin, end in pairwise(way):
        nearest = np.minimum(nearest, distances_to_lines(places, begin, end))
    return nearest


def _opposite(mine: Floats, theirs: Floats, reach: float) -> bool:
    """Return whether two ways (K, 2) lead the opposite way somewhere, nearer to each other than `reach` m."""
    (places, headings), (others, other_headings) = _sampled_points(mine), _sampled_points(theirs)
    apart = trig.hypot(*(places[:, None] - others[None]).transpose(2, 0, 1))
    # Headings are unit vectors: their products are cosines.
    return bool(((apart < reach) & (headings @ other_headings.T < AGAINST)).any())


def _sampled_points(way: Floats) -> tuple[Floats, Floats]:
    """Return points (K, 2) along a way, and the direction (K, 2) there."""
    steps = np.diff(way, axis=0)
    lengths = trig.hypot(*steps.T)
    # Steps of no length have no direction.
    steps, lengths = steps[lengths > 0.0], lengths[lengths > 0.0]
    if not len(lengths):
        return np.empty((0, 2)), np.empty((0, 2))
    ends = np.cumsum(lengths)
    # On long ways points are farther apart, so that two ways make at most SAMPLES * SAMPLES pairs.
    along = np.arange(0.0, ends[-1], max(GIVING_WAY_STEP, ends[-1] / SAMPLES))
    line = np.minimum(np.searchsorted(ends, along, side="right"), len(lengths) - 1)
    headings = (steps / lengths[:, None])[line]
    begins = way[0] + np.concatenate((np.zeros((1, 2)), np.cumsum(steps, axis=0)))[line]
    return begins + (along - (ends - lengths)[line])[:, None] * headings, headings


def _remaining_length(part: RoutedPart) -> float:
    points = np.concatenate((part.start[None, :2], part.way.positions[:, :2]))
    # Rounded, so that ways of equal length are equal whatever rounding did; then ids decide.
    return round(float(trig.hypot(*np.diff(points, axis=0).T).sum()), 6)
