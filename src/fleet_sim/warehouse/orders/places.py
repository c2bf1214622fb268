"""Where orders lead: stations and points, by number, and the ways between them."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bytes, Floats, Ints
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, unknown_name
from fleet_sim.base.registry import saved
from fleet_sim.warehouse.orders.order import FINAL, Order, OrderColumns, OrderState, OrderStatus, Place, after
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.site import Site, StationKind
from fleet_sim.warehouse.traffic.free_space import CostField, Rules, Steps
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.world.columns import ColumnTable, column
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World

# Lengths of routes on a site: one table per goal, looked up for many places at once.


Table = npt.NDArray[np.float32]

MOST_MEMORY = 256_000_000
"""Of the kept tables, in bytes; the tables not used for the longest time are computed again when needed."""
_NEAR = [(down, right) for down in (0, -1, 1) for right in (0, -1, 1)]


class Lengths(Protocol):
    """Lengths of ways between cells, or nodes, which are numbered as `cells_of` says."""

    def cells_of(self, points: Floats) -> Ints:
        """Return the cells (K,) of `points` (K, 2) or (K, 3) in m; -1 where no way leads."""

    def joined(self, begin: int, end: int) -> bool:
        """Return whether a way surely leads from cell `begin` to cell `end`."""

    def to(self, goal: int, cells: Ints) -> Floats:
        """Return the lengths (K,) in m from `cells` (K,) to the cell `goal`; inf where there is no way."""


def matrix(lengths: Lengths, cells: Ints, goals: Ints) -> Floats:
    """Return the lengths (K, G) in m from `cells` (K,) to each of `goals` (G,)."""
    found = np.full((len(cells), len(goals)), np.inf)
    # Each goal once, as a table serves all places.
    chosen, places = np.unique(goals, return_inverse=True)
    for number, goal in enumerate(chosen.tolist()):
        if goal >= 0:
            found[:, places.ravel() == number] = lengths.to(goal, cells)[:, None]
    return found


class LaneLengths:
    """Lengths in m of the ways of the traffic, along the cells of its grid, for robots that drive in it."""

    def __init__(self, network: Network, cell: float) -> None:
        self._network = network
        self._cell = cell

    def cells_of(self, points: Floats) -> Ints:
        """Return the nodes (K,) at `points` (K, 2) in m; -1 where there is none."""
        return self._network.node_at(points[:, :2])

    def joined(self, begin: int, end: int) -> bool:
        """Return whether a way leads from node `begin` to node `end`."""
        return min(begin, end) >= 0 and bool(self._network.distances(end)[begin] >= 0)

    def to(self, goal: int, cells: Ints) -> Floats:
        """Return the lengths (K,) from the nodes `cells` (K,) to the node `goal`; inf where there is no way."""
        # Any node will do for those that are none: they are left out below.
        steps = self._network.distances(goal)[np.maximum(cells, 0)]
        return np.where((cells < 0) | (steps < 0) | (goal < 0), np.inf, steps * self._cell)


class RouteLengths:
    """Lengths in m of the shortest ways along the cells of `site`, for footprints of `radius` m.

    They keep to one-way and no-go zones, and are inf where there is no way. Exact to a cell: for choosing between
    robots, not for driving.
    """

    def __init__(self, site: Site, radius: float) -> None:
        self._cell = site.grid.cell
        self._grid = site.open_grid
        rules = Rules(site)
        self._uniform = rules.uniform
        self._steps = Steps(self._grid, rules, radius)
        self._tables: OrderedDict[int, Table] = OrderedDict()

    def cells_of(self, points: Floats) -> Ints:
        """Return the cells (K,) of `points` (K, 2 or 3) in m that routes there go through; -1 for none."""
        grid, steps = self._grid, self._steps
        own = grid.cells_at(points[:, :2])
        rows, columns = np.divmod(np.maximum(own, 0), grid.width)
        found = np.full(len(own), -1, np.int64)
        # A station at a shelf may be in a cell whose middle is too near to it; then routes end from the next one.
        for down, right in _NEAR:
            cells = (rows + down + 1) * steps.width + columns + right + 1
            found = np.where((found < 0) & (own >= 0) & steps.clear_mask[cells], cells, found)
        return found

    def joined(self, begin: int, end: int) -> bool:
        """Return whether a way leads from cell `begin` to cell `end`; False where one-way zones would have to tell."""
        regions = self._steps.regions
        return self._uniform and min(begin, end) >= 0 and bool(regions[begin] == regions[end])

    def to(self, goal: int, cells: Ints) -> Floats:
        """Return the lengths (K,) from `cells` to the cell `goal`, as `cells_of` numbers them."""
        lengths = self._table(goal)[np.maximum(cells, 0)].astype(np.float64)
        lengths[cells < 0] = np.inf
        return lengths

    def _table(self, goal: int) -> Table:
        """Return the lengths of ways from all cells to a goal cell, in m; infinite where no way leads.

        Computed at the first question. The least recently used tables go where all of them take more than MOST_MEMORY
        bytes.
        """
        kept = self._tables.get(goal)
        if kept is None:
            field = CostField(self._steps, [goal] if goal >= 0 else [], [0.0] if goal >= 0 else [], None)
            # Nothing leads to the frame around the map, so asking for it settles all the rest.
            field.grow([0])
            kept = self._tables[goal] = (field.cost * self._cell).astype(np.float32)
            while len(self._tables) > 1 and len(self._tables) * kept.nbytes > MOST_MEMORY:
                self._tables.popitem(last=False)
        self._tables.move_to_end(goal)
        return kept


Spot: TypeAlias = tuple[float, ...]
"""A place in m: (x, y) on a site, (x, y, height of the floor) in a building."""


class OrderPlaces(Stateful, ABC):
    """Places by number. Stations have the first numbers, in their order; points get theirs when first named.

    Ways are checked for a footprint of `radius` m, the smallest in the fleet.
    """

    STATE = ("closed", "slowness")
    several: ClassVar[bool] = False
    """Whether there are several storeys."""

    def __init__(self, stations: Sequence[tuple[str, StationKind, Spot]]) -> None:
        """Stations are given by name, kind and place."""
        self.names = [name for name, _, _ in stations]
        self.points: list[Spot] = [spot for _, _, spot in stations]
        self._kinds = [kind for _, kind, _ in stations]
        self._numbers: dict[Place, int] = {name: number for number, name in enumerate(self.names)}
        self.closed: set[int] = set()
        self.slowness: dict[int, float] = {}
        """By which factor services take longer than usual, at places where they do."""
        self._radius = 0.0
        self._ways: dict[tuple[int, int], str] = {}
        self._lengths: Lengths | None = None
        self._cells: Ints = np.empty(0, np.int64)

    # ---- to override -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def site(self) -> Site:
        """The site; raises InvalidValueError where there are several storeys."""

    @property
    @abstractmethod
    def chart(self) -> Grid:
        """The cells on which is counted where robots are."""

    @abstractmethod
    def on_chart(self, positions: Floats) -> Floats:
        """Return where on the chart (K, 2) in m robots at `positions` (K, 3) are."""

    def storeys(self, positions: Floats) -> Ints:
        """Return the storeys (K,) that robots at `positions` (K, 3) are on, from 0: each is a place of its own on the
        chart."""
        return np.zeros(len(positions), np.int64)

    @abstractmethod
    def spot(self, position: Floats) -> Spot:
        """Return the place on the floor below a robot at `position` (3,)."""

    @abstractmethod
    def look(self) -> None:
        """Measure ways as robots drive them from now on."""

    @abstractmethod
    def _named(self, place: Place) -> Spot:
        """Return a place that is none of the stations; raises InvalidValueError where there is none."""

    @abstractmethod
    def _no_way(self, begin: int, end: int) -> str:
        """Return why no way leads from a place to another; "" where one does."""

    @abstractmethod
    def _measured(self) -> Lengths:
        """Return the lengths of ways for robots of `radius`."""

    @property
    def radius(self) -> float:
        """Radius in m of the footprint that ways are checked for."""
        return self._radius

    @radius.setter
    def radius(self, radius: float) -> None:
        if radius != self._radius:
            self._radius = radius
            self._forget_ways()

    # ---- names -------------------------------------------------------------------------------------------------------

    def number(self, place: Place) -> int:
        """Return the number of a station or point.

        Raises UnknownNameError with the closest station, InvalidValueError for one on another storey, and for a point
        that is not on free space.
        """
        known = self._numbers.get(place)
        if known is not None:
            return known
        spot = self._named(place)
        number = self._numbers[place] = len(self.names)
        self.names.append(f"({spot[0]:g}, {spot[1]:g})")
        self.points.append(spot)
        return number

    def of_kind(self, kind: StationKind) -> list[int]:
        """Return the numbers of the stations of a kind."""
        return [number for number, other in enumerate(self._kinds) if other is kind]

    @property
    def stations(self) -> list[str]:
        """The names of the stations."""
        return self.names[: len(self._kinds)]

    def save(self) -> Any:
        """Return which places are closed, and the points that have numbers, in order."""
        return super().save(), self.points[len(self._kinds) :]

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned: points named since lose their numbers."""
        closed, points = saved
        super().restore(closed)
        count = len(self._kinds)
        if points == self.points[count:]:
            return
        del self.names[count:], self.points[count:]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        # Ways and lengths were noted by number.
        self._forget_ways()
        for point in points:
            self.number((point[0], point[1]))

    # ---- ways --------------------------------------------------------------------------------------------------------

    def check_way(self, stops: Sequence[int]) -> None:
        """Raise InvalidValueError where no way leads from one of `stops` to the next one."""
        for begin, end in pairwise(stops):
            reason = self._ways.get((begin, end))
            # The empty reason stands for: there is a way.
            if reason is None:
                # Most ways can be told to be there without looking for them.
                joined = self._table().joined(*self._cells_of(np.array([begin, end])).tolist())
                reason = self._ways[begin, end] = "" if joined else self._no_way(begin, end)
            if reason:
                raise InvalidValueError(f"no robot gets from {self.names[begin]} to {self.names[end]}: {reason}")

    def lengths_from(self, points: Floats, goals: Iterable[int]) -> Floats:
        """Return the lengths (K, G) in m of routes from `points` (K, 3) to the places `goals`; inf: there is none."""
        lengths = self._table()
        chosen = np.array(list(goals), np.int64)
        return matrix(lengths, lengths.cells_of(points), self._cells_of(chosen))

    def between(self, begins: Ints, ends: Ints) -> Floats:
        """Return the lengths (K,) in m of routes from the places `begins` (K,) to `ends` (K,)."""
        lengths, starts, goals = self._table(), self._cells_of(begins), self._cells_of(ends)
        found = np.empty(len(starts))
        # One field of distances from a goal serves all starts.
        for goal in np.unique(goals).tolist():
            mask = goals == goal
            found[mask] = lengths.to(goal, starts[mask])
        return found

    def length_of(self, stops: Sequence[int]) -> float:
        """Return the length in m of the way along `stops`."""
        return float(self.between(np.array(stops[:-1], np.int64), np.array(stops[1:], np.int64)).sum())

    def _table(self) -> Lengths:
        """Return what measures ways between places, made at the first use."""
        if self._lengths is None:
            self._lengths = self._measured()
            self._cells = np.empty(0, np.int64)
        return self._lengths

    def _forget_ways(self) -> None:
        """Measure ways anew when they are asked for next."""
        self._lengths = None
        self._ways.clear()

    def _cells_of(self, places: Ints) -> Ints:
        # Points may have been named since.
        if len(self._cells) < len(self.points):
            self._cells = self._table().cells_of(np.array(self.points).reshape(len(self.points), -1))
        return self._cells[places]


# OrderBook: all orders of a simulation, by number, and the only place where their states change.


NO_PLACE = -1
NEVER = np.nan
_FINAL = frozenset(FINAL)


class OrderTable(ColumnTable):
    """Numbers of orders, one row each, in order of submission."""

    state: Bytes = column(np.uint8, writer="OrderBook", doc="code of an OrderState")
    priority: Ints = column(np.int64, writer="OrderBook.add")
    load: Floats = column(float, unit="kg", writer="OrderBook.add")
    pick: Ints = column(np.int64, writer="OrderBook.add", doc="number of the first place")
    length: Floats = column(float, default=NEVER, unit="m", writer="OrderBook", doc="of its way; nan until asked for")
    release: Floats = column(float, unit="s", writer="OrderBook.add")
    due: Floats = column(float, default=np.inf, unit="s", writer="OrderBook.add", doc="inf: none")
    assigned: Floats = column(float, default=NEVER, unit="s", writer="OrderBook", doc="when it got its present robot")
    picked: Floats = column(float, default=NEVER, unit="s", writer="OrderBook", doc="when its load was taken")
    ended: Floats = column(float, default=NEVER, unit="s", writer="OrderBook")
    attempts: Ints = column(np.int64, writer="OrderBook", doc="drives for it that failed")


class OrderBook(Stateful):
    """The orders by number, from 0 in the order of submission. Each is also found by its id, which is unique."""

    STATE = ("table", "orders", "stops", "robots", "reasons", "counts", "waiting", "_numbers")

    def __init__(self, on_change: Callable[[int, OrderState, OrderState], None]) -> None:
        self._on_change = on_change
        self.table = OrderTable()
        self.orders: list[Order] = []
        self.stops: list[tuple[int, ...]] = []
        self.robots: list[str] = []
        self.reasons: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self.counts = dict.fromkeys(OrderState, 0)
        """How many orders are in each state."""
        self.waiting: dict[int, None] = {}
        """Released orders that wait for a robot; a dict for its order, in which they began to wait."""

    def __len__(self) -> int:
        return len(self.orders)

    # ---- adding and finding ------------------------------------------------------------------------------------------

    def check_new(self, name: str) -> None:
        """Raise DuplicateNameError where there is an order with the id `name`."""
        if name in self._numbers:
            raise DuplicateNameError(f"there is an order {name!r} already; an id is given once in a run")

    def free_name(self) -> str:
        """Return an id that no order has."""
        number = len(self.orders)
        while f"order_{number}" in self._numbers:
            number += 1
        return f"order_{number}"

    def add(self, name: str, order: Order, stops: Sequence[int], now: float) -> int:
        """Add an order that waits; returns its number. Raises DuplicateNameError for an id that is taken."""
        self.check_new(name)
        number = len(self.orders)
        if number == self.table.capacity:
            self.table.grow(2 * number)
        table = self.table
        table.state[number] = OrderState.WAITING.code
        table.priority[number], table.load[number], table.pick[number] = (
            order.priority,
            order.load,
            stops[0] if stops else -1,
        )
        # What is told after its release is known from now on: it cannot have waited before.
        table.release[number] = max(order.release, now)
        table.due[number] = np.inf if order.due is None else order.due
        self.orders.append(order)
        self.stops.append(tuple(stops))
        self.robots.append("")
        self._numbers[name] = number
        self.counts[OrderState.WAITING] += 1
        return number

    def number(self, name: str) -> int:
        """Return the number of the order with the id `name`; raises UnknownNameError with the closest one."""
        number = self._numbers.get(name)
        if number is None:
            # Only the latest ones are compared: looking through all orders of a long day for a similar id would take
            # seconds.
            raise unknown_name("order", name, list(self._numbers)[-1000:])
        return number

    def state(self, number: int) -> OrderState:
        """Return the state of an order."""
        return STATES[self.table.state[number]]

    def release(self, number: int) -> None:
        """Let an order be assigned from now on."""
        self.waiting[number] = None

    # ---- transitions -------------------------------------------------------------------------------------------------

    def change(self, number: int, transition: str, now: float, *, robot: str | None = None, reason: str = "") -> None:
        """Carry out a transition of an order; raises StateError where it does not lead from the order's state."""
        table, begin = self.table, self.state(number)
        end = after(transition, begin)
        table.state[number] = end.code
        self.counts[begin] -= 1
        self.counts[end] += 1
        # Whatever becomes of it, it waits no longer; one that is to wait again goes to the end below.
        self.waiting.pop(number, None)
        if robot is not None:
            self.robots[number] = robot
        if reason:
            self.reasons[number] = reason
        elif end is not begin:
            self.reasons.pop(number, None)
        if end is OrderState.ASSIGNED:
            table.assigned[number] = now
        elif end is OrderState.CARRYING:
            table.picked[number] = now
        elif end is OrderState.WAITING:
            table.assigned[number] = NEVER
            self.waiting[number] = None
        elif end in _FINAL:
            table.ended[number] = now
        self._on_change(number, begin, end)

    # ---- looking -----------------------------------------------------------------------------------------------------

    def status(self, number: int, places: Sequence[str]) -> OrderStatus:
        """Return what became of an order; `places` are the names of places by number."""
        table = self.table
        name = self.orders[number].id
        assigned, picked, ended = (_time(array[number]) for array in (table.assigned, table.picked, table.ended))
        return OrderStatus(
            id=name,
            state=self.state(number),
            robot=self.robots[number],
            reason=self.reasons.get(number, ""),
            stops=tuple(places[stop] for stop in self.stops[number]),
            released=float(table.release[number]),
            due=None if np.isinf(table.due[number]) else float(table.due[number]),
            assigned=assigned,
            picked=picked,
            ended=ended,
        )

    def by_urgency(self) -> Ints:
        """Return the released waiting orders: largest priority first, then earliest release, then first submitted."""
        numbers = np.fromiter(self.waiting, np.int64, len(self.waiting))
        table = self.table
        order = np.lexsort((numbers, table.release[numbers], -table.priority[numbers]))
        urgent: Ints = numbers[order]
        return urgent

    def lengths_of(self, numbers: Ints, length_of: Callable[[Sequence[int]], float]) -> Floats:
        """Return the lengths (K,) in m of the ways along the stops of orders, which `length_of` knows."""
        table = self.table
        for number in numbers[np.isnan(table.length[numbers])].tolist():
            table.length[number] = length_of(self.stops[number])
        lengths: Floats = table.length[numbers]
        return lengths


STATES = list(OrderState)


def _time(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


class OrderParts(NamedTuple):
    """What everybody who serves the orders of one simulation works with."""

    world: World
    table: OrderColumns
    book: OrderBook
    places: OrderPlaces


# Turns: what is due when, and who has a charger or a parking place to himself.


@saved
class Timer(NamedTuple):
    """`what` is due for `subject` at `tick`; `token` tells whether it still matters then."""

    tick: int
    number: int
    what: str
    subject: int
    token: int


class Timers(Stateful):
    """Costs a comparison per step while nothing is due."""

    STATE = ("_heap", "_count")

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._count = 0

    def add(self, tick: int, what: str, subject: int, token: int = 0) -> None:
        """Let `what` be due at `tick`, or at once where that is past."""
        heapq.heappush(self._heap, Timer(tick, self._count, what, subject, token))
        self._count += 1

    def is_due(self, tick: int) -> bool:
        """Return whether something is due until `tick`."""
        return bool(self._heap) and self._heap[0].tick <= tick

    def due(self, tick: int) -> list[Timer]:
        """Return and forget what is due until `tick`, earliest first."""
        found = []
        while self._heap and self._heap[0].tick <= tick:
            found.append(heapq.heappop(self._heap))
        return found


class Stands(Stateful):
    """The stations of one kind, each taken by one robot at most, from when it sets out until it leaves."""

    STATE = ("_owners",)

    def __init__(self, places: OrderPlaces, kind: StationKind) -> None:
        self._places = places
        self._stations = places.of_kind(kind)
        self._owners: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._stations)

    def take(self, row: int, point: Floats) -> int | None:
        """Give a robot at `point` (3,) m the nearest open stand that is free; None where it gets to none."""
        taken = {*self._owners.values(), *self._places.closed}
        free = [station for station in self._stations if station not in taken]
        if not free:
            return None
        lengths = self._places.lengths_from(point[None], free)[0]
        nearest = int(lengths.argmin())
        if not np.isfinite(lengths[nearest]):
            return None
        self._owners[row] = free[nearest]
        return free[nearest]

    def has(self, row: int) -> bool:
        """Return whether a robot has a stand."""
        return row in self._owners

    def leave(self, row: int) -> bool:
        """Let others have the stand of a robot; return whether it had one."""
        return self._owners.pop(row, None) is not None
