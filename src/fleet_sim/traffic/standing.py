"""Robots that stand in the way: ways around them, and to places where a robot is out of their way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.routes import NoRoute, Route, Wanted
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.drive import AT_REST
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.lines import distances_to_lines
from fleet_sim.traffic.router import Router

Found = TypeVar("Found")

NEAR = 4.0
"""Robots farther away than this in m are left out: they will have moved until one comes there."""
RINGS, PITCH = 8, 0.1
"""Places around a robot that are looked at to get clear of those that it touches: rings at least, in m."""
ANGLES = 16
"""Places in each ring."""
APART = 0.1
"""What places to stand keep from each other, in m."""
IN_TOUCH = 0.02
"""Robots nearer to each other than this in m may be in touch."""


def standing_discs(world: World, robot: int, lowest: float, highest: float) -> Floats:
    """Return place and radius (K, 3) in m of the robots near the one in row `robot` that stand between two heights."""
    rows = world.rows[(world.kind[world.rows] == KIND_AGENT) & (world.parent[world.rows] == NO_ROW)]
    offsets = world.position[rows, :2] - world.position[robot, :2]
    velocity, height = world.velocity[rows], world.position[rows, 2]
    mask = (rows != robot) & (trig.hypot(*offsets.T) < NEAR) & (trig.hypot(*velocity[:, :2].T) < AT_REST)
    rows = rows[mask & (height >= lowest) & (height < highest)]
    radii = [footprint_radius(world, row) for row in rows.tolist()]
    return np.column_stack((world.position[rows, :2], np.array(radii).reshape(-1)))


def places_around(middle: Floats, pitch: float, rings: Ints) -> Floats:
    """Return places (K * ANGLES, 2) in m around `middle` (2,): `rings` (K,), `pitch` m apart, one by one."""
    angles = np.arange(ANGLES) * (2.0 * math.pi / ANGLES)
    rays = np.column_stack((trig.cos(angles), trig.sin(angles)))
    return np.asarray(middle + (rings[:, None, None] * pitch * rays).reshape(-1, 2))


def apart(places: Floats, x: float, y: float, radii: float) -> Bools:
    """Return which of `places` (K, 2) are far enough from a place for two robots with these `radii` in all."""
    return np.asarray(trig.hypot(places[:, 0] - x, places[:, 1] - y) >= radii + APART)


def clear_places(plain: Router, past: Router, start: Floats, discs: Floats, radius: float) -> Iterator[Floats]:
    """Yield places (2,) straight away from all `discs` around `start` (2,), the nearest one in each direction.

    From there `past`, which knows the discs, has ways; `plain` knows the walls alone.
    """
    # On large cells a robot can reach the middle of one only some way off.
    rings = max(RINGS, math.ceil(2.0 * plain.site.grid.cell / PITCH))
    apart = trig.hypot(*(discs[:, :2] - start).T) - discs[:, 2] - radius
    touching, others = discs[apart < IN_TOUCH], discs[(apart >= IN_TOUCH) & (apart < rings * PITCH)]
    known: set[int] = set()
    # The first ring is the place itself, once is enough.
    for number, place in enumerate(places_around(start, PITCH, np.arange(rings + 1))[ANGLES - 1 :]):
        if number and number % ANGLES in known:
            continue
        # Never nearer to one that it may touch already.
        if ((touching[:, :2] - start) @ (place - start) > 1e-9).any():
            continue
        if (distances_to_lines(others[:, :2], start, place) < others[:, 2] + radius).any():
            continue
        if past.has_ways(place, radius) and plain.sees(start, place, radius):
            if number:
                known.add(number % ANGLES)
            yield np.asarray(place)


class Passing(NamedTuple):
    """A router that leads around robots that stand, and the line to where it can begin: clear of those in touch."""

    router: Router
    clear: Floats
    line: Route | None

    def whole(self, ways: Route | NoRoute) -> list[Route] | NoRoute:
        """Return a way from `clear` on with the line before it."""
        if isinstance(ways, NoRoute):
            return ways
        return [ways] if self.line is None else [self.line, ways]


def past_all(
    plain: Router, start: Floats, discs: Floats, radius: float, find: Callable[[Passing], list[Found] | NoRoute]
) -> list[Found] | NoRoute:
    """Return what `find` finds for a robot at `start` (2,) past `discs` (K, 3) of robots that stand.

    It is asked for each side that the robot can begin at, until it finds something; `plain` knows the walls.
    """
    router, none = plain.avoiding(discs), NoRoute("robots stand all around", ActionCause.UNREACHABLE)
    for place in clear_places(plain, router, start, discs, radius):
        line = None if np.array_equal(place, start) else Route.through(start, place)
        found = find(Passing(router, place, line))
        if not isinstance(found, NoRoute):
            return found
        none = found
    return none


def retreat(
    plain: Router, start: Floats, discs: Floats, radius: float, *, speed: float, wanted: Wanted
) -> list[Route] | NoRoute:
    """Return the way around `discs` (K, 3) to the nearest place that is `wanted`."""

    def find(past: Passing) -> list[Route] | NoRoute:
        return past.whole(past.router.nearest(past.clear, radius, speed=speed, wanted=wanted))

    return past_all(plain, start, discs, radius, find)
