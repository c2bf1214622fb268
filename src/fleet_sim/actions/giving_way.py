"""Giving way: of robots on routes that hold each other up one drives aside, and goes on when the others have passed.

A ring of robots that stand before each other is found by who blocks whom. Each looks for a place off the ways of all;
the one with the shortest way there steps aside, waits until nobody comes the opposite way any more, and goes on.
`routing.py` finds the place, and `doorways.py` cuts the way at doors.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fleet_sim.actions.base import Action, Failure
from fleet_sim.actions.declared import DeclaredAction
from fleet_sim.actions.detours import PATIENCE, blocker_of, is_in_the_way
from fleet_sim.actions.doorways import ROOM, Leg, ask, is_free, is_on_floor, legs_of, swept
from fleet_sim.actions.routing import RoutedPart, distance_left, follow, routed_aside
from fleet_sim.arrays import Bools, Floats
from fleet_sim.config.modes import MovementDirection
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.lines import distances_to_lines

APART = 0.1
"""What a robot aside keeps from the ways of others, in m."""
AROUND, STOREY = 15.0, 1.5
"""Robots farther away than this in m count for nothing, and ways end at a step in height of this."""
SAMPLES, STEP = 400, 0.1
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


class _WayAside(NamedTuple):
    """A way off the ways of others, in the pieces that it is driven in, and its length in m."""

    part: RoutedPart
    legs: list[Leg]
    length: float


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
    elif able and min(able, key=lambda other: (able[other].length, -world.object_id[other])) == row:
        way_aside = able[row]
    else:
        way_aside = None
    if way_aside is None:
        return None
    part = way_aside.part
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
    return SteppedAside(way_aside.legs, way, others, poses_left, world.clock.time + LONGEST, reach)


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


def _way_aside(world: World, row: int) -> _WayAside | None:
    """Return the way of the robot in `row` to the nearest place that is off the ways of all robots near it."""
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
    return None if isinstance(legs, Failure) else _WayAside(found, legs, _length(found))


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
    (places, headings), (others, other_headings) = _sampled(mine), _sampled(theirs)
    apart = trig.hypot(*(places[:, None] - others[None]).transpose(2, 0, 1))
    # Headings are unit vectors: their products are cosines.
    return bool(((apart < reach) & (headings @ other_headings.T < AGAINST)).any())


def _sampled(way: Floats) -> tuple[Floats, Floats]:
    """Return points (K, 2) along a way, and the direction (K, 2) there."""
    steps = np.diff(way, axis=0)
    lengths = trig.hypot(*steps.T)
    # Steps of no length have no direction.
    steps, lengths = steps[lengths > 0.0], lengths[lengths > 0.0]
    if not len(lengths):
        return np.empty((0, 2)), np.empty((0, 2))
    ends = np.cumsum(lengths)
    # On long ways points are farther apart, so that two ways make at most SAMPLES * SAMPLES pairs.
    along = np.arange(0.0, ends[-1], max(STEP, ends[-1] / SAMPLES))
    line = np.minimum(np.searchsorted(ends, along, side="right"), len(lengths) - 1)
    headings = (steps / lengths[:, None])[line]
    begins = way[0] + np.concatenate((np.zeros((1, 2)), np.cumsum(steps, axis=0)))[line]
    return begins + (along - (ends - lengths)[line])[:, None] * headings, headings


def _length(part: RoutedPart) -> float:
    points = np.concatenate((part.start[None, :2], part.way.positions[:, :2]))
    # Rounded, so that ways of equal length are equal whatever rounding did; then ids decide.
    return round(float(trig.hypot(*np.diff(points, axis=0).T).sum()), 6)
