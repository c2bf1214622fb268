"""Router: ways around the walls of a site for single robots."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.config.modes import ActionCause, RouteMode
from fleet_sim.core.routes import NoRoute, Route, Wanted
from fleet_sim.errors import InvalidValueError
from fleet_sim.sites.site import Site
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.traffic.across import Across, Way, as_array, joined
from fleet_sim.traffic.lanes import Lanes
from fleet_sim.traffic.points import Point, distance
from fleet_sim.traffic.rules import Rules
from fleet_sim.traffic.sight import Sight, gap_to_boxes

LARGEST_RADIUS = 100.0
SLOWEST = 1e-6
AT_ONCE, MOST_TRIED = 256, 8
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
                if isinstance(found, Route) or tried == MOST_TRIED:
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
