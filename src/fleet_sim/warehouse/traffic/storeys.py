"""Storeys: the floors of a building side by side in the plane of the traffic, and how its robots ride between them.

A cabin is a node of each floor it stops at, at the end of a lane from its doors, that only a robot enters whose turn it
is. A robot that is sent to another floor is sent to a place to wait near the doors, then into the cabin, and when that
has brought it there it stands on the node of the other floor. So planners plan on each floor alone, and none has to
know lifts. A cabin takes one robot at a time, which has it until it has left it: no two ever wait for each other there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.registry import saved
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.site import Site, Station, Zone, ZoneKind
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.warehouse.traffic.execution import Execution
from fleet_sim.warehouse.traffic.network import NO_NODE, Network
from fleet_sim.world.routes import LiftStop
from fleet_sim.world.world import World

BESIDE = 2
"""Cells between two floors on the chart."""


class Cabins(Protocol):
    """The lifts of a building, as the traffic rides in them."""

    def fittings(self) -> Rows:
        """Return the parts of all lifts and of their doors: the traffic comes near them only when it rides."""

    def comes(self, stop: LiftStop, robot: int) -> tuple[bool, bool]:
        """Let a robot wait for a lift in its line; return whether it has it, and whether that is there and open."""

    def expected_wait(self, lift: int, robot: int, before: int = 0) -> float:
        """Return how long in s those in its line, or `before` if these are more, will have a lift."""

    def leave(self, lift: int, robot: int) -> None:
        """Leave a lift to others."""


class Shaft(NamedTuple):
    """A lift at a storey: its stop there, and on the chart in m the middles (2,) of its cabin and of its doors.

    The doors are `width` m wide, across `outward` (2,).
    """

    stop: LiftStop
    storey: int
    middle: Floats
    door: Floats
    outward: Floats
    width: float


@dataclass(frozen=True, eq=False)
class Storeys:
    """A building as one site. A place (x, y) of storey s is at (x, y) + `offsets[s]` there, and x is `begins[s]` there
    or more; floors are `heights` (S,) m high. Bodies whose names begin with one of `walls` are in its grid already.
    `spots` are the places of its stations in the world with the height of their floor; a site of one storey has none.
    """

    site: Site
    walls: tuple[str, ...]
    heights: Floats
    offsets: Floats
    begins: Floats
    spots: tuple[tuple[float, float, float], ...] = ()
    shafts: tuple[Shaft, ...] = ()
    cabins: Cabins | None = None
    grids: tuple[Grid, ...] = ()

    @classmethod
    def of(cls, site: Site) -> Storeys:
        """Return a site of one storey, whatever heights say."""
        return cls(site, (f"{site.name}_wall_",), np.array([-np.inf]), np.zeros((1, 2)), np.array([-np.inf]))

    @classmethod
    def beside(cls, name: str, sites: Sequence[Site], names: Sequence[str], heights: Floats) -> Storeys:
        """Return `sites` with these names and heights in one plane, from left to right, without lifts.

        A name that several use is told apart by the storey: `level/station`. Raises InvalidValueError for cells of
        different sizes.
        """
        cells = {site.grid.cell for site in sites}
        if len(cells) != 1:
            raise InvalidValueError(f"the storeys of a building have cells of one size, these of {sorted(cells)} m")
        (cell,) = cells
        grids = [site.open_grid for site in sites]
        widths = np.array([grid.width + BESIDE for grid in grids])
        begins = np.cumsum(widths) - widths
        free = np.zeros((max(grid.height for grid in grids), int(widths.sum())), bool)
        for grid, begin in zip(grids, begins.tolist(), strict=True):
            free[len(free) - grid.height :, begin : begin + grid.width] = grid.free_mask
        laid = cls(Site(name, Grid(free, cell)), (), heights, np.empty((0, 2)), begins * cell, grids=tuple(grids))
        stations, spots, zones = list[Station](), list[tuple[float, float, float]](), list[Zone]()
        names_of = [station.name for site in sites for station in site.stations]
        zones_of = [zone.name for site in sites for zone in site.zones]
        for number, (level, site) in enumerate(zip(names, sites, strict=True)):
            height, turn = float(heights[number]), site.grid.origin[2]
            for station in site.stations:
                own = station.name if names_of.count(station.name) == 1 else f"{level}/{station.name}"
                spots.append((station.x, station.y, height))
                x, y = laid.laid(np.array([spots[-1][:2]]), number)[0].tolist()
                stations.append(replace(station, name=own, x=x, y=y, yaw=station.yaw - turn))
            for zone in site.zones:
                own = zone.name if zones_of.count(zone.name) == 1 else f"{level}/{zone.name}"
                way = zone.direction - turn if zone.kind is ZoneKind.ONE_WAY else zone.direction
                zones.append(replace(zone, name=own, corners=laid.laid(zone.corners, number), direction=way))
        offsets = np.column_stack((begins * cell, 0.0 * begins)) - np.array([grid.origin[:2] for grid in grids])
        walls = tuple(f"{name}_{level}_wall_" for level in names)
        plane = replace(laid.site, stations=tuple(stations), zones=tuple(zones))
        return replace(laid, site=plane, walls=walls, offsets=offsets, spots=tuple(spots))

    def laid(self, places: Floats, storey: int) -> Floats:
        """Return where on the chart (K, 2) places (K, 2) on a storey are."""
        own = self.grids[storey].to_own(places)
        own[:, 0] += float(self.begins[storey])
        return own

    @property
    def several(self) -> bool:
        """Whether places need a height."""
        return bool(self.grids)

    def numbers(self, heights: Floats) -> Ints:
        """Return the storeys (K,) that what is at `heights` (K,) in m is on; what is below the lowest is there."""
        below = np.where(self.heights <= heights[:, None] + STEP, self.heights, -np.inf)
        return np.where(np.isfinite(below).any(axis=1), below.argmax(axis=1), int(self.heights.argmin()))

    def on_chart(self, places: Floats) -> Floats:
        """Return where on the chart (K, 2) places (K, 3) of the world are; those without a height stay as they are."""
        if not self.grids or places.shape[1] < 3:
            return places[:, :2]
        found, storeys = np.empty((len(places), 2)), self.numbers(places[:, 2])
        for storey in np.unique(storeys).tolist():
            found[storeys == storey] = self.laid(places[storeys == storey, :2], storey)
        return found

    def in_world(self, places: Floats) -> Floats:
        """Return where in the world (K, 2) places (K, 2) of the chart are."""
        found: Floats = places - self.offsets[np.searchsorted(self.begins, places[:, 0], side="right") - 1]
        return found


STEP = 0.3
"""What is this much in m below a floor counts as on it."""


@runtime_checkable
class Unfolds(Protocol):
    """A manager of routes that can lay the floors of its building side by side."""

    def unfolded(self, cell: float | None = None) -> Storeys:
        """Return them, in cells of `cell` m; None: as they are."""


# The network of several storeys: cabins are nodes at the ends of lanes of their own.


class Cabin(NamedTuple):
    """A shaft in the network: the node of its cabin, and the one before its doors."""

    shaft: Shaft
    node: int
    door: int


def with_cabins(network: Network, shafts: Sequence[Shaft], reach: float, label: Callable[[int], str]) -> Network:
    """Return `network` with a node for each cabin, the last ones; robots keep `reach` m to walls.

    Raises InvalidValueError where no node is straight before the doors of a lift, with its name by `label`.
    """
    if not shafts:
        return network
    count, width = network.neighbours.shape
    neighbours = np.full((count + len(shafts), width + 1), -1, np.int64)
    neighbours[:count, :width] = network.neighbours
    assert network.grid is not None
    for number, shaft in enumerate(shafts):
        aside = np.array([-shaft.outward[1], shaft.outward[0]])
        ahead = (network.positions - shaft.door) @ shaft.outward
        off = (network.positions - shaft.door) @ aside
        # Over the doors a robot is nearer to the middle than on its node.
        deep = float((shaft.door - shaft.middle) @ shaft.outward)
        over = off * deep / np.maximum(ahead + deep, 1e-9)
        slack = 0.5 * shaft.width - reach
        near = np.flatnonzero((ahead > reach) & (ahead < reach + 2.0 * network.grid.cell) & (np.abs(over) <= slack))
        if not len(near):
            raise InvalidValueError(
                f"lift {label(shaft.stop.lift)!r}: no cell is straight before its doors on storey {shaft.storey + 1}"
                f" that a robot gets in from through {shaft.width:g} m; move it so that its middle is that of a cell"
            )
        door = int(near[np.lexsort((near, np.abs(off[near]).round(9), ahead[near].round(9)))[0]])
        neighbours[door, width], neighbours[count + number, 0] = count + number, door
    middles = np.array([shaft.middle for shaft in shafts])
    cells = np.concatenate((network.cells, network.grid.cells_at(middles)))
    return Network(np.concatenate((network.positions, middles)), neighbours, cells, grid=network.grid)


# Places to wait: nodes at which robots are in nobody's way.


MOST_SPOTS = 500


def steps_to(network: Network, node: int, most: int) -> dict[int, int]:
    """Return the nodes from which `node` is reached in at most `most` steps, nearest first, and their steps."""
    sources, steps = network.sources(), {node: 0}
    line = deque([node])
    while line:
        end = line.popleft()
        if steps[end] == most:
            break
        for begin in sources[end].tolist():
            if begin >= 0 and begin not in steps:
                steps[begin] = steps[end] + 1
                line.append(begin)
    return steps


def spots(network: Network, gate: int, avoided: Iterable[int]) -> list[int]:
    """Return nodes in the open, nearest to `gate` first, at which robots leave ways to all sides of them.

    No two of them, nor one of `avoided`, are next to each other, diagonals included.
    """
    links = (network.neighbours >= 0).sum(axis=1)
    most = int(links.max(initial=0))
    positions, taken = network.positions, [network.positions[node] for node in avoided]
    found: list[int] = []
    for node in steps_to(network, gate, len(network)):
        ends = network.neighbours[node]
        if links[node] < most or (links[ends[ends >= 0]] < most - 1).any():
            continue
        step = float(np.abs(positions[ends[ends >= 0]] - positions[node]).max())
        if (
            np.abs(np.array(taken).reshape(-1, 2) - positions[node]).max(axis=1, initial=0.0).min(initial=np.inf)
            > 1.5 * step
        ):
            found.append(node)
            taken.append(positions[node])
            if len(found) == MOST_SPOTS:
                break
    return found


# Rides: trips from storey to storey, one lift each.


WAITS, ENTERS, RIDES, LEAVES = range(4)
"""The parts of a trip: to a place to wait, and there; into the cabin; with it; out of it."""


@saved
class Trip(NamedTuple):
    """A robot on its way to node `goal` of another storey, and to `heading` in rad there, by a lift.

    `cabin` numbers the cabin that it gets into, `out` the one at the other storey. `there`: it has come to where it was
    sent for this `part`.
    """

    cabin: int
    out: int
    goal: int
    heading: float
    part: int = WAITS
    there: bool = False


class Rides:
    """Takes robots of the traffic from storey to storey: sends them to lifts, into cabins, and on from there."""

    def __init__(
        self, world: World, table: TrafficColumns, network: Network, storeys: Storeys, execution: Execution
    ) -> None:
        self.trips: dict[int, Trip] = {}
        self.changed = False
        """Whether robots were sent elsewhere in the last step."""
        self._world, self._table, self._network, self._execution = world, table, network, execution
        self._storeys, self._lifts = storeys, storeys.cabins
        first = len(network) - len(storeys.shafts)
        self.cabins = [
            Cabin(shaft, first + number, int(network.neighbours[first + number, 0]))
            for number, shaft in enumerate(storeys.shafts)
        ]
        self.storey_of: Ints = np.searchsorted(storeys.begins, network.positions[:, 0], side="right") - 1
        stations = network.node_at(np.array([(s.x, s.y) for s in storeys.site.stations]).reshape(-1, 2))
        avoided = [*stations[stations >= 0].tolist(), *(cabin.door for cabin in self.cabins)]
        self._spots = {cabin.door: spots(network, cabin.door, avoided) for cabin in self.cabins}

    @property
    def nodes(self) -> Ints:
        """The nodes (K,) of cabins."""
        return np.array([cabin.node for cabin in self.cabins], np.int64)

    def on_way(self, rows: Rows) -> Bools:
        """Return which `rows` (N,) have to ride before they come to their goals."""
        trips = [self.trips.get(row) for row in rows.tolist()]
        return np.array([trip is not None and (trip.part < LEAVES or self._goes_on(trip)) for trip in trips], bool)

    def on_floors(self, rows: Rows) -> Rows:
        """Return those of `rows` (N,) that no lift carries."""
        riding = [row for row, trip in self.trips.items() if trip.part == RIDES]
        return rows[~np.isin(rows, riding)] if riding else rows

    def _goes_on(self, trip: Trip) -> bool:
        """Return whether a robot was sent to another storey while it leaves the lift."""
        return trip.part == LEAVES and bool(self.storey_of[trip.goal] != self.storey_of[self.cabins[trip.out].door])

    def goals(self, rows: Rows) -> Ints:
        """Return the nodes (N,) that robots are to come to in the end, -1 for none."""
        found = self._table.goal[rows].copy()
        for index, row in enumerate(rows.tolist() if self.trips else ()):
            found[index] = self.trips[row].goal if row in self.trips else found[index]
        return found

    def lift_of(self, row: int) -> str:
        """Return the name of the lift that a robot waits for, "" for none."""
        trip = self.trips.get(row)
        return "" if trip is None or trip.part == LEAVES else self._world.label(self.cabins[trip.cabin].shaft.stop.lift)

    def check(self, row: int, end: int, goal: int) -> None:
        """Raise InvalidValueError where no lift takes a robot from node `end`, in another region, to node `goal`."""
        trip, storey = self.trips.get(row), int(self.storey_of[goal])
        if trip is not None and trip.part in (ENTERS, RIDES) and not self._is_outside(row, trip):
            out = self._outs(trip.cabin).get(storey)
            leads = out is not None and self._steps(self.cabins[out].door, goal) >= 0
        else:
            leads = self.storey_of[end] != storey and self._fastest(row, end, goal) is not None
        if not leads:
            raise InvalidValueError(f"no way leads {self._world.label(row)!r} to node {goal}")

    def _steps(self, begin: int, end: int) -> int:
        with self._network.lock:
            return int(self._network.distances(end)[begin])

    def send(self, row: int, end: int, goal: int, heading: float) -> bool:
        """Begin, or change, the trip of a robot whose grants end at node `end`; return whether it has one."""
        trip = self.trips.get(row)
        if trip is not None and not self._is_outside(row, trip):
            self.trips[row] = trip = trip._replace(goal=goal, heading=heading)
            if trip.part != LEAVES:
                # From within a cabin the way is by this one.
                self.trips[row] = trip._replace(out=self._outs(trip.cabin)[int(self.storey_of[goal])])
            elif self._goes_on(trip):
                self._set(row, self._spot(trip.out), np.nan)
            else:
                self._set(row, goal, heading)
            return True
        self.forget(row)
        if self.storey_of[end] == self.storey_of[goal]:
            return False
        cabin = self._fastest(row, end, goal)
        assert cabin is not None
        self.trips[row] = Trip(cabin, self._outs(cabin)[int(self.storey_of[goal])], goal, heading)
        self._set(row, self._spot(cabin), np.nan)
        return True

    def _is_outside(self, row: int, trip: Trip) -> bool:
        """Return whether a robot on a trip has not been granted the cabin yet."""
        held = self._execution.graph.held(self._table, np.array([row])) if trip.part == ENTERS else ()
        return trip.part == WAITS or (trip.part == ENTERS and self.cabins[trip.cabin].node not in held)

    def _spot(self, cabin: int) -> int:
        """Return the nearest open place to wait that nobody was sent to; without one that before the doors."""
        taken, door = set(self._table.goal.tolist()), self.cabins[cabin].door
        free = (spot for spot in self._spots[door] if spot not in taken and self._execution.open_mask[spot])
        return next(free, door)

    def withdraw(self, row: int) -> bool:
        """End the trip of a robot; return whether it drives on all the same, out of a cabin."""
        trip = self.trips.get(row)
        if trip is not None and not self._is_outside(row, trip):
            return self.send(row, NO_NODE, self._spot(trip.out), np.nan)
        self.forget(row)
        return False

    def forget(self, row: int) -> None:
        """Forget the trip of a robot: it was sent elsewhere, or is gone."""
        trip = self.trips.pop(row, None)
        if trip is not None and self._lifts is not None:
            self._lifts.leave(self.cabins[trip.cabin].shaft.stop.lift, row)

    def arrived(self, rows: Rows) -> Rows:
        """Note that robots stand where they were sent; return those of `rows` (N,) that are at their goals now."""
        if not self.trips:
            return rows
        riding = self.on_way(rows)
        for row in rows[riding].tolist():
            self.trips[row] = self.trips[row]._replace(there=True)
        self._table.arrived[rows[riding]] = False
        return rows[~riding]

    def step(self) -> list[int]:
        """Let robots go on whose lifts are there; return those whose lifts were removed."""
        lost, self.changed = [], False
        for row, trip in list(self.trips.items()):
            try:
                self._go_on(row, trip)
            except InvalidValueError:
                lost.append(row)
        return lost

    def _go_on(self, row: int, trip: Trip) -> None:
        here, there = self.cabins[trip.cabin], self.cabins[trip.out]
        graph, one = self._execution.graph, np.array([row])
        assert self._lifts is not None
        if trip.part == LEAVES:
            if there.node not in graph.held(self._table, one):
                self.forget(row)
                if self._goes_on(trip):
                    self.send(row, int(graph.ends(self._table, one)[0]), trip.goal, trip.heading)
            return
        if not trip.there:
            if trip.part == WAITS and not self._execution.open_mask[self._table.goal[row]]:
                self._set(row, self._spot(trip.cabin), np.nan)
            if trip.part == ENTERS and not self._execution.open_mask[here.node] and self._is_outside(row, trip):
                # Something stands in the cabin that does not ride: another lift will do.
                end = int(graph.ends(self._table, one)[0])
                if self._fastest(row, end, trip.goal) != trip.cabin:
                    self.send(row, end, trip.goal, trip.heading)
            return
        stop = (there if trip.part == RIDES else here).shaft.stop
        ours, is_open = self._lifts.comes(stop, row)
        if trip.part == ENTERS:
            self.trips[row] = trip._replace(part=RIDES)
        elif trip.part == WAITS and is_open:
            self._set(row, here.node, np.nan)
            self.trips[row] = trip._replace(part=ENTERS, there=False)
        elif trip.part == WAITS and ours:
            # So that it is near when the doors open.
            self._set(row, here.door, np.nan)
        elif trip.part == RIDES and is_open:
            # On the chart it is at the other storey now; in the world it has been since the lift is there.
            graph.forget(self._table, self._execution.rows, row, stays=False)
            self._table.offset[row] = self._storeys.offsets[there.shaft.storey]
            self._execution.stand(one, np.array([there.node]))
            self.trips[row] = trip = trip._replace(part=LEAVES, there=False)
            self.send(row, there.node, trip.goal, trip.heading)

    def _set(self, row: int, node: int, heading: float) -> None:
        table = self._table
        if table.goal[row] != node or not np.array_equal(table.heading[row], heading, equal_nan=True):
            table.goal[row], table.heading[row], table.arrived[row] = node, heading, False
            self.changed = True

    def _outs(self, cabin: int) -> dict[int, int]:
        """Return the cabins of one lift by their storeys."""
        lift = self.cabins[cabin].shaft.stop.lift
        return {c.shaft.storey: number for number, c in enumerate(self.cabins) if c.shaft.stop.lift == lift}

    def _fastest(self, row: int, end: int, goal: int) -> int | None:
        """Return the cabin by which a robot is at a goal of another storey first, as others wait for them now.

        One in which something stands is the last choice.
        """
        motion, grid = self._world.motion, self._network.grid
        if self._lifts is None:
            return None
        assert grid is not None
        speed = float(min(motion.linear_limit[row], motion.linear_limits[row, 0]))
        found: list[tuple[bool, float, int]] = []
        for number, cabin in enumerate(self.cabins):
            out = self._outs(number).get(int(self.storey_of[goal]))
            if cabin.shaft.storey != self.storey_of[end] or out is None:
                continue
            there, onward = self._steps(end, cabin.door), self._steps(self.cabins[out].door, goal)
            if min(there, onward) < 0:
                continue
            lift = cabin.shaft.stop.lift
            coming = {r for r, trip in self.trips.items() if self.cabins[trip.cabin].shaft.stop.lift == lift}
            wait = self._lifts.expected_wait(lift, row, len(coming - {row}))
            shut = not self._execution.open_mask[cabin.node]
            found.append((shut, (there + onward) * grid.cell / speed + wait, number))
        return min(found)[-1] if found else None
