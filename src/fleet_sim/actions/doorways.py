"""Doorways: where a route leads through doors that open for robots, and lifts, and how a robot passes them in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fleet_sim.actions.base import Failure
from fleet_sim.actions.routing import RoutedPart, RoutedPath
from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.passages import Passages
from fleet_sim.core.routes import LiftStop
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import trigonometry as trig

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


class _Reach(NamedTuple):
    """From where to where along a route, in m, a robot is in reach of a passage."""

    begin: float
    end: float
    passage: int


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
    reaches: list[_Reach] = []
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
            reaches.append(_Reach(max(along[near[0]] - STEP, 0.0), along[near[-1]], passage))
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


def _cut(start: Floats, way: RoutedPath, reaches: list[_Reach]) -> list[Leg]:
    """Return a way in pieces: at the end of each the robot waits for what it comes in reach of."""
    total = _length(start, way)
    # Without the ends: who is in reach from the start waits there.
    cuts = [0.0, *sorted({reach.begin for reach in reaches if 1e-9 < reach.begin < total - 1e-9}), total]
    legs: list[Leg] = []
    for begin, end in pairwise(cuts):
        needed = [reach for reach in reaches if reach.begin <= begin + 1e-9 and reach.end >= begin]
        passages = np.array([reach.passage for reach in needed], np.int64)
        left = np.array([max(end - reach.end, 0.0) for reach in needed])
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
