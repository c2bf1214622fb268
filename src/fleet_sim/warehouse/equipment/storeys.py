"""StoreyRouter: routes in a building with several storeys, from one to another with its lifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.base.spatial.shapes import distances_to_lines
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.equipment.building import WALL
from fleet_sim.warehouse.equipment.lift import STEP, Entrance, LiftLines, Lifts, WaitingPlace, outside
from fleet_sim.warehouse.sites.section import until_cleared
from fleet_sim.warehouse.sites.site import Building, Site
from fleet_sim.warehouse.traffic import router as routing
from fleet_sim.warehouse.traffic.storeys import Shaft, Storeys
from fleet_sim.world.routes import LiftStop, NoRoute, Route, RouteNeeds, Stretch, Wanted
from fleet_sim.world.world import World

AROUND = 0.1
"""Room for the doors of a lift around its cabin in m, where no route leads."""
RINGS = 40
"""Places around the doors of a lift that are looked at to wait there."""


class _Ride(NamedTuple):
    """One way with a lift: to the place before its doors, the stretches from there on, and the length of all in m."""

    lift: int
    floor: int
    door: Floats
    stretches: list[Stretch]
    length: float


class StoreyRouter:
    """Finds routes on the storeys of `building`, and rides with lifts from one to another (a RouteSource).

    What is at most 0.3 m below the floor of a storey, or above, is on it. A lift is taken that stops on both, and has
    room for the robot; of several the one with which it is there first, those that wait for it included. No route leads
    through the shaft of a lift.
    """

    detours: ClassVar[bool] = True

    def __init__(self, world: World, building: Building, lifts: Lifts | None, lines: LiftLines | None, room: float):
        """Routes keep `room` m to walls; `lifts` and `lines` are None for a building without lifts."""
        self._world = world
        self._lifts, self._lines = lifts, lines
        self._room = room
        self.plan = StoreyPlan(world, building, lifts, room)
        self._routers: dict[tuple[int, tuple[int, ...]], routing.SiteRoutes] = {}
        self._passing: tuple[int, routing.Router] | None = None
        """The storey of a detour, and ways around who stands there."""

    def rise(self, start: float, goal: float) -> float:
        """Return how far (m) the storey at the height `goal` in m is above the one at the height `start`."""
        return float(self.plan.heights[self.plan.number(goal)] - self.plan.heights[self.plan.number(start)])

    def find(
        self, start: Floats, goal: Floats, radius: float, *, speed: float, mode: RouteMode, stands: bool = True
    ) -> Route | NoRoute:
        """Return the route from `start` (3,) to `goal` (3,) in m on one storey, or why there is none.

        `start` is where a robot stands, however near to walls; else it needs the room of a goal.
        """
        begin, end = self.plan.number(start[2]), self.plan.number(goal[2])
        if begin != end:
            reason = f"the goal is on {self.plan.name(end)!r}, the start on {self.plan.name(begin)!r}"
            return NoRoute(f"{reason}: only a robot that drives takes a lift", ActionCause.UNREACHABLE)
        if self.plan.lift_at(goal) is not None:
            return NoRoute(f"the goal ({goal[0]:g}, {goal[1]:g}) is in a lift", ActionCause.INVALID_GOAL)
        return self._router_now(begin).find(start, goal, radius, speed=speed, mode=mode, stands=stands)

    def journey(
        self, row: int, start: Floats, goal: Floats, needs: RouteNeeds, *, detour: bool
    ) -> list[Stretch] | NoRoute:
        """Return the way of the robot in `row` from `start` (3,) to `goal` (3,) in m, with a lift if need be."""
        # From within a lift nobody is driven around.
        if detour and self.plan.lift_at(start) is None:
            return self._detour(row, start, goal, needs)
        return self._journey(row, start, goal, needs)

    def _detour(self, row: int, start: Floats, goal: Floats, needs: RouteNeeds) -> list[Stretch] | NoRoute:
        """Return the way around robots that stand near; first straight away from those that are in touch."""
        storey = self.plan.number(start[2])

        def find(past: routing.Passing) -> list[Stretch] | NoRoute:
            self._passing = storey, past.router
            try:
                found = self._journey(row, np.array([*past.clear, start[2]]), goal, needs)
            finally:
                self._passing = None
            if isinstance(found, NoRoute) or past.line is None:
                return found
            return [Stretch(past.line, found[0].rise), *found]

        return routing.past_all(self._router(storey), start[:2], self._discs(row, storey), needs.radius, find)

    def retreat(
        self, row: int, start: Floats, radius: float, *, speed: float, wanted: Wanted
    ) -> list[Stretch] | NoRoute:
        """Return the way of a robot from `start` (3,) to the nearest place on its storey that is `wanted`."""
        if self.plan.lift_at(start) is not None:
            return NoRoute("it is in a lift", ActionCause.UNREACHABLE)
        storey = self.plan.number(start[2])
        plain, discs = self._router(storey), self._discs(row, storey)
        found = routing.retreat(plain, start[:2], discs, radius, speed=speed, wanted=wanted)
        return found if isinstance(found, NoRoute) else [Stretch(route) for route in found]

    def _discs(self, row: int, storey: int) -> Floats:
        """Return the discs (K, 3) of the robots that stand on a storey near the one in `row`."""
        floor = self.plan.heights[storey]
        # Up to the next storey, less the step that is on it already.
        highest = float(self.plan.heights[self.plan.heights > floor + STEP].min(initial=np.inf)) - STEP
        return routing.standing_discs(self._world, row, floor - STEP, highest)

    def _journey(self, row: int, start: Floats, goal: Floats, needs: RouteNeeds) -> list[Stretch] | NoRoute:
        """Return the stretches of the best journey from `start` to `goal` (3,) in m, or why there is none.

        Within a storey it is one stretch. Between storeys it is the fastest by way of any one lift, as robots wait for
        them now; a robot that stands in a lift rides that one.
        """
        begin, end = self.plan.number(start[2]), self.plan.number(goal[2])
        inside = self.plan.lift_at(start)
        # On one storey no lift is needed, but by a robot that stands in one.
        if self.plan.lift_at(goal) is not None or (begin == end and inside is None):
            found = self._find(np.array([*start[:2], goal[2]]), goal, needs)
            return found if isinstance(found, NoRoute) else [Stretch(found)]
        rides: list[_Ride] = []
        reasons: list[NoRoute] = []
        # Who stands in a lift rides that one.
        for lift in self.plan.lifts if inside is None else [inside]:
            ride = self._ride(lift, start, goal, needs, inside is not None)
            rides.append(ride) if isinstance(ride, _Ride) else reasons.append(ride)
        if not rides:
            between = f"no lift takes a robot from {self.plan.name(begin)!r} to {self.plan.name(end)!r}"
            # With one reason for all lifts that is the reason; several are none in particular.
            causes = {reason.cause for reason in reasons}
            text = "; ".join([between, *(reason.reason for reason in reasons)])
            return NoRoute(text, causes.pop() if len(causes) == 1 else ActionCause.UNREACHABLE)
        if inside is not None:
            return rides[0].stretches
        assert self._lines is not None
        waits = [self._lines.expected_wait(ride.lift, row) for ride in rides]
        # By when it is there; without anybody before it that is the shortest way.
        times = [ride.length / needs.speed + wait for ride, wait in zip(rides, waits, strict=True)]
        best = min(zip(times, rides, strict=True), key=lambda pair: (pair[0], pair[1].length))[1]
        return self._to_the_lift(row, best, start, needs)

    # ---- with a lift -------------------------------------------------------------------------------------------------

    def _find(self, start: Floats, goal: Floats, needs: RouteNeeds) -> Route | NoRoute:
        return self.find(start, goal, needs.radius, speed=needs.speed, mode=needs.mode)

    def _ride(self, lift: int, start: Floats, goal: Floats, needs: RouteNeeds, inside: bool) -> _Ride | NoRoute:
        """Return the way from the doors of a lift to the goal, or from within its cabin."""
        begin, end = self.plan.number(start[2]), self.plan.number(goal[2])
        found = self.plan.crossing(lift, begin, end, needs.radius)
        if isinstance(found, NoRoute):
            return found
        # The room that the robot keeps to walls, beside its radius.
        door, out, middle, clear = found.door, found.out, self._world.position[lift, :2], needs.radius + self._room
        radius, speed, mode = needs
        onward = self.find(np.array([*out, goal[2]]), goal, radius, speed=speed, mode=mode, stands=False)
        if isinstance(onward, NoRoute):
            return onward
        rise = self.rise(start[2], goal[2])
        exit_way = Route.through(
            start[:2] if inside else middle, found.exit.middle - (clear + WALL) * found.exit.outward, out
        )
        stretches = [Stretch(exit_way, rise, LiftStop(lift, found.stop)), Stretch(onward, rise)]
        # Within the cabin there is no way to the doors.
        if inside:
            return _Ride(lift, found.floor, door, stretches, onward.length)
        level = self._router(begin)
        inward = level.find(start, door, needs.radius, speed=needs.speed, mode=needs.mode)
        return (
            inward
            if isinstance(inward, NoRoute)
            else _Ride(lift, found.floor, door, stretches, inward.length + onward.length)
        )

    def _to_the_lift(self, row: int, ride: _Ride, start: Floats, needs: RouteNeeds) -> list[Stretch] | NoRoute:
        """Return the whole way: to a place to wait, which is kept, from there into the cabin, and on."""
        assert self._lifts is not None and self._lines is not None
        radius, speed, mode = needs
        # Who stands before the doors now is gone when it is its turn.
        level, now = self._router(storey := self.plan.number(start[2])), self._router_now(storey)
        entrance = self._lifts.plan(ride.lift).entrances[ride.floor]
        for place in self._places_to_wait(row, ride, entrance, start, radius):
            to_door = level.find(place, ride.door, radius, speed=speed, mode=RouteMode.GRID)
            way = None if isinstance(to_door, NoRoute) else now.find(start, place, radius, speed=speed, mode=mode)
            if isinstance(to_door, Route) and isinstance(way, Route):
                kept = WaitingPlace(ride.floor, float(place[0]), float(place[1]), radius)
                # At once, so that the next robot looks for another place.
                self._lines.keep_place(ride.lift, row, kept)
                middle = self._world.position[ride.lift, :2]
                within = entrance.middle - (radius + self._room + WALL) * entrance.outward
                last = Route.through(to_door.points[-1], within, middle)
                whole = Route(
                    np.concatenate((to_door.points, last.points[1:])),
                    np.concatenate((to_door.speed_limits, last.speed_limits)),
                )
                return [Stretch(way), Stretch(whole, 0.0, LiftStop(ride.lift, ride.floor)), *ride.stretches]
        reason = f"there is no room to wait for lift {self._world.label(ride.lift)!r}"
        return NoRoute(f"{reason}: {len(self._lines.line(ride.lift))} robots are there", ActionCause.UNREACHABLE)

    def _places_to_wait(self, row: int, ride: _Ride, entrance: Entrance, start: Floats, radius: float) -> Floats:
        """Return places (K, 2) beside the doors where the robot is in nobody's way, those on its way first."""
        assert self._lifts is not None and self._lines is not None
        pitch, rings = max(0.5 * radius, 0.1), np.arange(1, RINGS + 1)
        # Rings of places around the doors, near ones first.
        places, reach = routing.places_around(ride.door, pitch, rings), np.repeat(rings * pitch, routing.ANGLES)
        # Not in the shaft, nor in the wall around the doors.
        mask = ((places - entrance.middle) * entrance.outward).sum(axis=1) >= radius + self._room
        if self._passing is not None:
            # Not where it is now, which may be in the way.
            mask &= routing.apart(places, start[0], start[1], 2.0 * radius)
        height = self._lifts.plan(ride.lift).heights[ride.floor]
        for lift in self.plan.lifts:
            floor = self.plan.floor_on(lift, self.plan.number(height))
            if floor < 0:
                continue
            # Wide enough for whoever fits through the doors, and stands before them.
            other = self._lifts.plan(lift).entrances[floor]
            end = outside(other, 0.5 * other.width)
            mask &= distances_to_lines(places, other.middle, end) >= radius + 0.5 * other.width + routing.APART
            for kept in self._lines.places(lift, floor, row):
                mask &= routing.apart(places, kept.x, kept.y, radius + kept.radius)
        places, reach = places[mask], reach[mask]
        # On the side that the robot comes from, or it crosses the way of those who get out.
        ways = reach + np.sqrt(((places - start[:2]) ** 2).sum(axis=1))
        return np.asarray(places[np.argsort(ways.round(9), kind="stable")])

    # ---- storeys -----------------------------------------------------------------------------------------------------

    def unfolded(self, cell: float | None = None) -> Storeys:
        """Return the storeys side by side, in cells of `cell` m or as they are, with the shafts of lifts closed."""
        plan, building = self.plan, self.plan.building
        if any(level.site.grid.origin[2] for level in building.levels):
            raise InvalidValueError("the traffic of a building drives along x and y, and its floors are turned")
        sites = []
        for number, level in enumerate(building.levels):
            site = replace(self.site(number), stations=level.site.stations)
            sites.append(site if cell is None else site.with_cells_of(cell))
        names = [level.name for level in building.levels]
        laid = Storeys.beside(building.name, sites, names, plan.heights)
        shafts = []
        for lift in plan.lifts:
            assert self._lifts is not None
            own, middle = self._lifts.plan(lift), self._world.position[lift, :2]
            for storey, offset in enumerate(laid.offsets):
                floor = plan.floor_on(lift, storey)
                if floor >= 0:
                    entrance = own.entrances[floor]
                    where = (middle + offset, entrance.middle + offset, entrance.outward, entrance.width)
                    shafts.append(Shaft(LiftStop(lift, floor), storey, *where))
        return replace(laid, shafts=tuple(shafts), cabins=self._lines)

    def _router_now(self, storey: int) -> routing.Router:
        """Return the router of a storey; on a detour it leads around the robots that stand there."""
        return self._passing[1] if self._passing and self._passing[0] == storey else self._router(storey)

    def site(self, storey: int) -> Site:
        """Return the site of a storey as routes see it: with walls where lifts have their shafts."""
        lifts = tuple(lift for lift in self.plan.lifts if self.plan.passes(lift, storey))
        return without_shafts(self.plan.building.levels[storey].site, self._world, self._lifts, lifts)

    def _router(self, storey: int) -> routing.Router:
        """Return the router of a storey, in which the shafts of lifts are closed, and areas on all storeys."""
        # Shafts are closed on the storeys that a lift passes, wherever its cabin is.
        key = (storey, tuple(lift for lift in self.plan.lifts if self.plan.passes(lift, storey)))
        if key not in self._routers:
            self._routers[key] = routing.SiteRoutes(self._world, routing.Router(self.site(storey), self._room))
        return self._routers[key].router


def offer_building_routes(sim: MultiRobotSimulationCore, building: Building) -> StoreyRouter:
    """Let the robots of `sim` take routes in `building`, with its lifts; returns the manager "router".

    Routes keep the collision margin of the simulation. Raises DuplicateNameError where there are routes already.
    """
    world = sim.world
    lifts: Lifts | None = sim.features.use("lift") if building.lifts else None
    lines = world.routes.lifts
    assert lines is None or isinstance(lines, LiftLines)
    router = StoreyRouter(world, building, lifts, lines, sim.params.collision_margin)
    until_cleared(sim, router, "router", world.routes.withdraw)
    world.routes.offer(router)
    return router


class Crossing(NamedTuple):
    """A lift that takes a robot from one storey to another: from a floor to a floor, each with its entrance.

    The robot stands at `door` (2,) before it gets in, and at `out` (2,) after it got out.
    """

    floor: int
    stop: int
    entrance: Entrance
    exit: Entrance
    door: Floats
    out: Floats


class StoreyPlan:
    """The storeys of `building`, by number, and its lifts, by row.

    What is at most 0.3 m below the floor of a storey, or above, is on it.
    """

    def __init__(self, world: World, building: Building, lifts: Lifts | None, room: float) -> None:
        """Robots keep `room` m to walls; `lifts` is None for a building without lifts."""
        self._world, self.building, self._lifts, self._room = world, building, lifts, room
        self.heights = np.array([level.elevation for level in building.levels])

    def number(self, height: float) -> int:
        """Return the number of the level that what is at `height` m is on."""
        below = np.where(self.heights <= height + STEP, self.heights, -np.inf)
        return int(below.argmax()) if np.isfinite(below).any() else int(self.heights.argmin())

    def name(self, storey: int) -> str:
        """Return the name of a level."""
        return self.building.levels[storey].name

    @property
    def lifts(self) -> list[int]:
        """The lifts, by row."""
        return [] if self._lifts is None else self._lifts.rows.tolist()

    def floor_on(self, lift: int, storey: int) -> int:
        """Return the number of the floor of a lift that is on a storey; -1: it does not stop there."""
        assert self._lifts is not None
        plan = self._lifts.plan(lift)
        floor = plan.nearest(float(self.heights[storey]))
        return floor if abs(plan.heights[floor] - self.heights[storey]) <= STEP else -1

    def lift_at(self, place: Floats) -> int | None:
        """Return the lift in whose cabin, or above or below it, a place (3,) is."""
        for lift in self.lifts:
            assert self._lifts is not None
            level = np.array([[place[0], place[1], self._lifts.table.height[lift]]])
            if self.passes(lift, self.number(place[2])) and self._lifts.inside_mask(lift, level)[0]:
                return lift
        return None

    def passes(self, lift: int, storey: int) -> bool:
        """Return whether a storey has the shaft of a lift."""
        assert self._lifts is not None
        heights = self._lifts.plan(lift).heights
        return bool(heights.min() - STEP <= self.heights[storey] <= heights.max() + STEP)

    def crossing(self, lift: int, begin: int, end: int, radius: float) -> Crossing | NoRoute:
        """Return how a lift takes a robot with a footprint of `radius` m from a storey to another, or why not."""
        assert self._lifts is not None
        plan, name = self._lifts.plan(lift), self._world.label(lift)
        stops = [self.floor_on(lift, storey) for storey in (begin, end)]
        if min(stops) < 0:
            missing = self.name((begin, end)[stops.index(-1)])
            return NoRoute(f"lift {name!r} does not stop on {missing!r}", ActionCause.UNREACHABLE)
        needed = radius + self._room
        there, here = (plan.entrances[floor] for floor in stops)
        sides = [there.width, here.width, *(2.0 * self._lifts.table.half[lift, :2] - 2.0 * WALL).tolist()]
        if 2.0 * needed > min(sides):
            reason = f"lift {name!r} has {min(sides):g} m of room, and the robot needs {2.0 * needed:g} m"
            return NoRoute(reason, ActionCause.UNREACHABLE)
        return Crossing(stops[0], stops[1], there, here, outside(there, needed), outside(here, needed))


def without_shafts(site: Site, world: World, lifts: Lifts | None, rows: Sequence[int]) -> Site:
    """Return a site for routes alone, with walls where the lifts in `rows` have their shafts."""
    grid = site.grid
    middles = grid.middles
    closed_mask = np.zeros(grid.count, bool)
    for lift in rows:
        assert lifts is not None
        plan, half = lifts.plan(lift), lifts.table.half[lift, :2] + AROUND
        axis = plan.entrances[0].outward
        # Along the way through its doors, and across: the sides of the cabin.
        offsets = middles - world.position[lift, :2]
        along, across = offsets @ axis, offsets @ np.array([-axis[1], axis[0]])
        faces = float(abs((plan.entrances[0].middle - world.position[lift, :2]) @ axis))
        deep = int(np.abs(half - AROUND - faces).argmin())
        closed_mask |= (np.abs(along) <= half[deep]) & (np.abs(across) <= half[1 - deep])
    none = np.empty(0, np.int64)
    return replace(site, grid=grid.without(closed_mask), stations=(), starts=none, goals=none, walls=site.boxes())
