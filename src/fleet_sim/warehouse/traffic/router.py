"""Router: ways around the walls of a site for single robots."""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import distances_to_lines
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.robots.drive import AT_REST
from fleet_sim.warehouse.sites.site import Roadmap, Site, Zone, ZoneKind
from fleet_sim.warehouse.traffic.free_space import (
    Across,
    Point,
    Rules,
    Sight,
    Way,
    as_array,
    distance,
    gap_to_boxes,
    joined,
)
from fleet_sim.world.routes import NoRoute, Route, RouteNeeds, Stretch, Wanted
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.world import World

# Routes along the lanes of a roadmap, for robots of one size.


MOST_KEPT = 4_000_000
"""Of the costs from node to node that are kept for later, in numbers."""
MOST_TRIED = 8
"""Nodes around a place that are tried, the nearest first."""


class _Lane(NamedTuple):
    end: int
    length: float
    limit: float


class Lanes:
    """The lanes of `roadmap` that a robot can drive along: `nodes` (N, 2) are (column, row) in cells.

    A lane is left out where the robot's disc touches something on it, or that leads against a one-way zone. The lower
    one of its speed limit and those of the zones that it leads through holds on all of it.
    """

    def __init__(self, roadmap: Roadmap, nodes: Floats, across: Across) -> None:
        self._across = across
        self._nodes: list[Point] = [(float(column), float(row)) for column, row in nodes]
        self._places = nodes
        self._from: list[list[_Lane]] = [[] for _ in self._nodes]
        for (begin, end), limit in zip(roadmap.lanes.tolist(), roadmap.speed_limits.tolist(), strict=True):
            # A lane that is too narrow for this robot, or against a zone, is left out.
            way = across.line(self._nodes[begin], self._nodes[end])
            if way is not None:
                self._from[begin].append(_Lane(end, way.cost, min(limit, way.limits[0])))
        self._begins = np.array([bool(lanes) for lanes in self._from], bool)
        self._ends = np.zeros(len(self._nodes), bool)
        # Where lanes end and where they begin: a robot enters the lanes at one, and leaves them at the other.
        self._ends[[lane.end for lanes in self._from for lane in lanes]] = True
        self._ways: dict[tuple[int, float], tuple[Floats, Ints]] = {}

    def find(self, begin: Point, end: Point, speed: float, *, over_one: bool) -> Way | None:
        """Return the way across free space to the nearest node, along lanes, and from the node nearest to `end` on.

        Nearest counts by way, among the nodes that lanes begin or end at. None where lanes do not connect the two.
        Where both are one node no lane is driven along: then the way is the one over it, or None without `over_one`.
        """
        first = self._nearest(begin, speed, inward=True)
        last = self._nearest(end, speed, inward=False)
        if first is None or last is None or (first[0] == last[0] and not over_one):
            return None
        chain = self._chain(first[0], last[0], speed)
        return None if chain is None else joined(first[1], chain, last[1])

    def _nearest(self, place: Point, speed: float, *, inward: bool) -> tuple[int, Way] | None:
        """Return the node with the shortest way from `place` (`inward`), or to it, and that way."""
        best: tuple[int, Way] | None = None
        # One may leave the lanes only where one ends, and enter them only where one begins.
        distances = trig.hypot(*(self._places - place).T)
        used_mask = self._begins if inward else self._ends
        nodes = np.flatnonzero(used_mask)
        for node in nodes[np.argsort(distances[nodes], kind="stable")][:MOST_TRIED].tolist():
            # No way is shorter than the straight line.
            if best is not None and distances[node] >= best[1].cost:
                break
            at = self._nodes[node]
            way = self._across.find(place, at, speed) if inward else self._across.find(at, place, speed)
            if way is not None and (best is None or way.cost < best[1].cost):
                best = node, way
        return best

    def _chain(self, entry: int, leave: int, speed: float) -> Way | None:
        """Return the fastest way along lanes from node to node."""
        costs, before = self._tree(entry, speed)
        if not math.isfinite(costs[leave]):
            return None
        nodes = [leave]
        while nodes[-1] != entry:
            nodes.append(int(before[nodes[-1]]))
        nodes.reverse()
        # Of two lanes between the same nodes the faster one, as the search takes it.
        limits = [max(lane.limit for lane in self._from[one] if lane.end == two) for one, two in pairwise(nodes)]
        return Way([self._nodes[node] for node in nodes], limits, float(costs[leave]))

    def _tree(self, entry: int, speed: float) -> tuple[Floats, Ints]:
        """Return the costs (N,) from a node to all others, and the node before each on the way there."""
        known = self._ways.get((entry, speed))
        if known is not None:
            return known
        costs, before = np.full(len(self._nodes), np.inf), np.full(len(self._nodes), -1)
        costs[entry] = 0.0
        waiting = [(0.0, entry)]
        while waiting:
            cost, node = heapq.heappop(waiting)
            # A shorter way to this node was found after this entry was pushed.
            if cost > costs[node]:
                continue
            for lane in self._from[node]:
                through = cost + lane.length * max(speed / lane.limit, 1.0)
                if through < costs[lane.end]:
                    costs[lane.end], before[lane.end] = through, node
                    heapq.heappush(waiting, (through, lane.end))
        # All at once: which of them is needed next is not known.
        if len(self._ways) * len(self._nodes) > MOST_KEPT:
            self._ways.clear()
        self._ways[entry, speed] = costs, before
        return costs, before


LARGEST_RADIUS = 100.0
SLOWEST = 1e-6
AT_ONCE, ROUTER_MOST_TRIED = 256, 8
"""Places that are looked at together for the nearest one, and routes to such that are looked for."""


class Router:
    """Finds routes on `site` for robots whose footprint is a disc.

    The whole disc and `clearance` m around it stay off walls, no-go zones and the edge of the map, everywhere on the
    route, not only at its points. Where a robot starts nearer to them than that, the route first leads straight to the
    nearest place with room, and comes no nearer to any on the way there. One-way zones are never driven against, lower
    speed limits come with the route. Across free space routes are the fastest along the cells, then pulled straight.
    Along a roadmap they are the fastest lanes between the nodes nearest to both ends. The same question has the same
    answer.
    """

    def __init__(self, site: Site, clearance: float = 0.0) -> None:
        self.site = site
        self.clearance = as_float(clearance, "clearance in m", low=0.0, high=LARGEST_RADIUS)
        self._grid = site.open_grid
        self._sight = Sight(~self._grid.free_mask)
        self._rules = Rules(site)
        self._across: dict[float, Across] = {}
        self._lanes: dict[float, Lanes] = {}
        self._avoided: tuple[Router, Floats] | None = None
        """The router that knows no robots, and the discs (K, 3) of those that stand, in cells."""

    def avoiding(self, discs: Floats) -> Router:
        """Return a router for the same site that also stays off `discs` (K, 3): x, y and radius in m of robots."""
        other = copy.copy(self)
        cells = np.column_stack((self._in_cells(discs[:, :2]), discs[:, 2] / self._grid.cell))
        other._avoided, other._across, other._lanes = (self, cells), {}, {}
        return other

    def plan(
        self,
        start: Sequence[float] | Floats,
        goal: Sequence[float] | Floats,
        radius: float = 0.0,
        *,
        speed: float = 1.0,
        mode: RouteMode | str = RouteMode.AUTO,
    ) -> Route:
        """Return the route from `start` (2,) to `goal` (2,) in m; raises InvalidValueError where there is none.

        `radius` in m is that of the footprint, `speed` in m/s the largest of the robot.
        """
        begin, end = as_floats(start, (2,), "start"), as_floats(goal, (2,), "goal")
        found = self.find(begin, end, radius, speed=speed, mode=RouteMode.parse(mode))
        # Raised here only: actions handle a reason, users expect an error.
        if isinstance(found, NoRoute):
            raise InvalidValueError(found.reason)
        return found

    def find(
        self, start: Floats, goal: Floats, radius: float, *, speed: float, mode: RouteMode, stands: bool = True
    ) -> Route | NoRoute:
        """Return the route from `start` to `goal` (2,) or (3,) in m, or why there is none; see `plan`.

        `start` is where a robot stands, however near to walls; else it needs the room of a goal. A site is one storey:
        heights count for nothing.
        """
        start, goal = np.asarray(start)[:2], np.asarray(goal)[:2]
        self._check_mode(mode)
        # Data, as actions of other robots ask: a robot that cannot drive now must not end their goals by an error.
        if not SLOWEST <= speed < np.inf:
            return NoRoute(f"a robot whose largest speed is {speed:g} m/s does not drive", ActionCause.UNREACHABLE)
        if not 0.0 <= radius <= LARGEST_RADIUS:
            return NoRoute(
                f"routes are for footprints of at most {LARGEST_RADIUS:g} m, got {radius:g} m", ActionCause.UNREACHABLE
            )
        begin, end = self._to_cells(start), self._to_cells(goal)
        room, across = self._across_for(radius)
        out = None if across.is_free(begin) or not stands else self._way_out(start, begin, room, across)
        if out is not None:
            begin = out.points[-1]
        # Both ends first, as a reason why a place is impossible is worth more than "no way".
        for what, place, point, cause in (
            ("start", start, begin, ActionCause.UNREACHABLE),
            ("goal", goal, end, ActionCause.INVALID_GOAL),
        ):
            if not across.is_free(point):
                return NoRoute(f"the {what} ({place[0]:g}, {place[1]:g}) {self._obstacle(place, point, room)}", cause)
        way = None
        if mode is not RouteMode.GRID and self.site.roadmap is not None:
            strict = mode is RouteMode.ROADMAP
            way = self._lanes_for(room, across).find(begin, end, speed, over_one=strict)
            # Strict: who asks for the roadmap does not want to cross free space instead.
            if way is None and strict:
                return NoRoute(f"no lanes lead {_ends(start, goal)} for {_size(room)}", ActionCause.UNREACHABLE)
        way = way or across.find(begin, end, speed)
        if way is None:
            return NoRoute(self._between(start, goal, across, begin, end, room), ActionCause.UNREACHABLE)
        return self._route(start, way if out is None else joined(out, way), goal)

    def nearest(self, start: Floats, radius: float, *, speed: float, wanted: Wanted) -> Route | NoRoute:
        """Return the route from `start` (2,) to the nearest of all places in the middle of cells that are `wanted`."""
        if not 0.0 <= radius <= LARGEST_RADIUS:
            return NoRoute(f"a footprint of {radius:g} m is too large for routes", ActionCause.UNREACHABLE)
        room, across = self._across_for(radius)
        begin, grid = self._to_cells(start), self._grid
        out = None if across.is_free(begin) else self._way_out(start, begin, room, across)
        if out is not None:
            begin = out.points[-1]
        elif not across.is_free(begin):
            return NoRoute(f"the start {self._obstacle(start, begin, room)}", ActionCause.UNREACHABLE)
        middles = across.reached(begin)
        places = grid.to_world(np.stack((middles[:, 0], grid.height - middles[:, 1]), axis=1) * grid.cell)
        tried = 0
        for block in range(0, len(places), AT_ONCE):
            some = places[block : block + AT_ONCE]
            for place in some[wanted(some)]:
                found = self.find(start, place, radius, speed=speed, mode=RouteMode.GRID)
                tried += 1
                if isinstance(found, Route) or tried == ROUTER_MOST_TRIED:
                    return found
        return NoRoute("there is no such place", ActionCause.UNREACHABLE)

    def has_ways(self, place: Floats, radius: float) -> bool:
        """Return whether a robot can be at `place` (2,) in m, and drive on from there."""
        return self._across_for(radius)[1].has_ways(self._to_cells(place))

    def sees(self, begin: Floats, end: Floats, radius: float) -> bool:
        """Return whether a robot with a footprint of `radius` m can drive straight from `begin` (2,) to `end`.

        Where `begin` has no room for it, it comes no nearer to anything than there.
        """
        return self._across_for(radius)[1].line_out(self._to_cells(begin), self._to_cells(end)) is not None

    def _way_out(self, start: Floats, begin: Point, room: float, across: Across) -> Way | None:
        """Return the line from `start`, which is `begin` in cells, to the nearest place with `room` m, if there is one.

        On it a robot comes no nearer to walls than it stands.
        """
        out, walls = across.way_out(begin), self.site.walls
        cell = self.site.grid.cells_at(start[None])
        if out is not None or walls is None or cell[0] < 0 or self.site.grid.is_free(cell)[0]:
            return out
        # In a cell that a wall takes a part of; where that is only the wall knows.
        gap = min(room, gap_to_boxes(walls, start, start))
        for place in across.places_out(begin) if gap > 0.0 else ():
            end = self._to_world(np.array([place]))[0]
            if gap_to_boxes(walls, start, end) >= gap - 1e-9:
                return Way([begin, place], [np.inf], distance(begin, place))
        return None

    def _check_mode(self, mode: RouteMode) -> None:
        if mode is RouteMode.NONE:
            raise InvalidValueError("route: expected auto, roadmap or grid, got none, which drives straight")
        if mode is RouteMode.ROADMAP and self.site.roadmap is None:
            raise InvalidValueError(f"route: site {self.site.name!r} has no roadmap; use grid or auto")

    def _across_for(self, radius: float) -> tuple[float, Across]:
        """Return the room in m that a footprint of `radius` m needs, and what finds ways for it."""
        room = as_float(radius, "radius in m", low=0.0, high=LARGEST_RADIUS) + self.clearance
        # By room: robots of one size share clear cells and fields, which take long to make.
        across = self._across.get(room)
        if across is None and self._avoided is not None:
            plain, discs = self._avoided
            across = self._across[room] = plain._across_for(radius)[1].avoiding(discs)
        if across is None:
            across = self._across[room] = Across(self._grid, self._sight, self._rules, room)
        return room, across

    def _lanes_for(self, room: float, across: Across) -> Lanes:
        lanes = self._lanes.get(room)
        if lanes is None:
            assert self.site.roadmap is not None
            roadmap = self.site.roadmap
            lanes = self._lanes[room] = Lanes(roadmap, self._in_cells(roadmap.positions), across)
        return lanes

    # ---- frames ------------------------------------------------------------------------------------------------------

    def _in_cells(self, places: Floats) -> Floats:
        """Return places (N, 2) in m as columns and rows (N, 2) in cells."""
        own = self._grid.to_own(places) / self._grid.cell
        return np.stack((own[:, 0], self._grid.height - own[:, 1]), axis=1)

    def _to_cells(self, place: Floats) -> Point:
        """Return a place (2,) in m as (column, row) in cells."""
        ((column, row),) = self._in_cells(place[None]).tolist()
        return column, row

    def _to_world(self, cells: Floats) -> Floats:
        """Return columns and rows (N, 2) in cells as places in m."""
        grid = self._grid
        return grid.to_world(np.stack((cells[:, 0], grid.height - cells[:, 1]), axis=1) * grid.cell)

    def _route(self, start: Floats, way: Way, goal: Floats) -> Route:
        points = self._to_world(as_array(way.points))
        # As they were given, without the rounding of the frames.
        points[0], points[-1] = start, goal
        return Route(points, np.array(way.limits))

    # ---- reasons -----------------------------------------------------------------------------------------------------

    def _obstacle(self, place: Floats, point: Point, room: float) -> str:
        """Return why a robot cannot be at `place`."""
        grid, name = self.site.grid, self.site.name
        cell = grid.cells_at(np.asarray(place)[None])
        if cell[0] < 0:
            return f"is outside of the map of site {name!r}"
        # From the widest reason to the narrowest: outside, in a wall, in a zone, too near.
        if not grid.is_free(cell)[0]:
            return "is in a wall"
        if not self._grid.is_free(cell)[0]:
            return "is in a no-go zone"
        if (
            self._avoided is not None
            and (trig.hypot(*(self._avoided[1][:, :2] - point).T) < self._avoided[1][:, 2] + room / grid.cell).any()
        ):
            return "is where another robot stands"
        return f"is too near to a wall, a no-go zone or the edge of the map for {_size(room)}"

    def _between(self, start: Floats, goal: Floats, across: Across, begin: Point, end: Point, room: float) -> str:
        # Without zones there would be a way, so zones are to blame.
        if across.joined(begin, end):
            return f"there is no way {_ends(start, goal)} that keeps to the one-way zones"
        return f"there is no way {_ends(start, goal)} for {_size(room)}, on cells of {self._grid.cell:g} m"


def _ends(start: Floats, goal: Floats) -> str:
    return f"from ({start[0]:g}, {start[1]:g}) to ({goal[0]:g}, {goal[1]:g})"


def _size(room: float) -> str:
    return f"a robot that needs {room:g} m of room around its middle"


# Robots that stand in the way: ways around them, and to places where a robot is out of their way.


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


# Routes for the robots of a world.


class SiteRoutes:
    """The ways of `router` for the robots of `world` (a RouteSource). A site is one storey, whatever heights say."""

    detours: ClassVar[bool] = True

    def __init__(self, world: World, router: Router) -> None:
        self._world, self._whole = world, router
        self._closed: tuple[str, ...] = ()
        self._open = router
        """The routes around what is closed, and the ids of that."""

    @property
    def router(self) -> Router:
        """The routes around what is closed now."""
        closed = self._world.routes.closed
        if tuple(closed) != self._closed:
            self._closed = tuple(closed)
            site = self._whole.site
            zones = [Zone(f"closed: {name}", ZoneKind.NO_GO, corners) for name, corners in closed.items()]
            around = replace(site, zones=(*site.zones, *zones))
            self._open = Router(around, self._whole.clearance) if zones else self._whole
        return self._open

    def find(self, start: Floats, goal: Floats, radius: float, *, speed: float, mode: RouteMode) -> Route | NoRoute:
        """Return the route from `start` to `goal` (3,) in m, or why there is none."""
        return self.router.find(start, goal, radius, speed=speed, mode=mode)

    def journey(
        self, row: int, start: Floats, goal: Floats, needs: RouteNeeds, *, detour: bool
    ) -> list[Stretch] | NoRoute:
        """Return `find` as a way of one stretch; a detour leads around robots that stand near the one in `row`."""
        radius, speed, mode = needs
        if not detour:
            found = self.find(start, goal, radius, speed=speed, mode=mode)
            return found if isinstance(found, NoRoute) else [Stretch(found)]

        def find(past: Passing) -> list[Route] | NoRoute:
            return past.whole(past.router.find(past.clear, goal, radius, speed=speed, mode=mode))

        return _stretches(past_all(self.router, start[:2], self._discs(row), radius, find))

    def retreat(
        self, row: int, start: Floats, radius: float, *, speed: float, wanted: Wanted
    ) -> list[Stretch] | NoRoute:
        """Return the way of the robot in `row` from `start` (3,) to the nearest place that is `wanted`."""
        discs = self._discs(row)
        return _stretches(retreat(self.router, start[:2], discs, radius, speed=speed, wanted=wanted))

    def rise(self, start: float, goal: float) -> float:
        """Return 0: a site is one storey."""
        return 0.0

    def _discs(self, row: int) -> Floats:
        return standing_discs(self._world, row, -np.inf, np.inf)


def _stretches(routes: list[Route] | NoRoute) -> list[Stretch] | NoRoute:
    return routes if isinstance(routes, NoRoute) else [Stretch(route) for route in routes]
