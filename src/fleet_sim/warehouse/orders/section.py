"""The section `orders` of a scenario."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base import errors
from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.files import beside, is_file
from fleet_sim.base.params import RouteMode
from fleet_sim.base.request_budget import Work
from fleet_sim.base.scenario import SettingsSection
from fleet_sim.base.settings import read
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.equipment.storeys import StoreyRouter
from fleet_sim.warehouse.orders.order import Order, Place
from fleet_sim.warehouse.orders.orders import OrderDesk, Orders
from fleet_sim.warehouse.orders.places import LaneLengths, Lengths, OrderParts, OrderPlaces, RouteLengths, Spot
from fleet_sim.warehouse.orders.pods.pods import Pods
from fleet_sim.warehouse.orders.settings import OrdersSettings, PodsSettings
from fleet_sim.warehouse.orders.stations import StationLanes
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.map_formats import read_tasks
from fleet_sim.warehouse.sites.reading import fail, read_text
from fleet_sim.warehouse.sites.section import until_cleared
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.router import Router
from fleet_sim.warehouse.traffic.storeys import Storeys
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.world.routes import NoRoute
from fleet_sim.world.schema import KIND_AGENT

# OrderBuilding: the stations on all storeys of a building, and ways between them with its lifts. A way between
# storeys leads through one lift: to its doors, up or down, and on from its doors. Lengths of such ways are in m, a
# storey as much as it is high; waiting is not counted.


# Only whether there is a way is asked with it, so any speed will do.
SPEED = 1.0
STOREY = 1 << 32
"""Cells of a storey have numbers from its own times this on."""


class OrderBuilding(OrderPlaces):
    """The places of a building. Stations of one name on several storeys are called <level>/<name>."""

    several = True

    def __init__(self, router: StoreyRouter) -> None:
        self._router = router
        # Side by side, so that reports can draw them in one picture.
        plan = router.plan
        levels = plan.building.levels
        names = [level.name for level in levels]
        self._laid = laid = Storeys.beside(plan.building.name, [level.site for level in levels], names, plan.heights)
        stations = zip(laid.site.stations, laid.spots, strict=True)
        super().__init__([(station.name, station.kind, spot) for station, spot in stations])

    @property
    def site(self) -> Site:
        """Raises InvalidValueError: there are several storeys."""
        raise errors.InvalidValueError(
            "pods and files of tasks are for one storey; name it in a section 'site', as its level"
        )

    @property
    def chart(self) -> Grid:
        """The free space of the storeys side by side, from left to right."""
        return self._laid.site.grid

    def on_chart(self, positions: Floats) -> Floats:
        """Return where on the chart (K, 2) in m robots at `positions` (K, 3) are."""
        return self._laid.on_chart(positions)

    def storeys(self, positions: Floats) -> Ints:
        """Return the storeys (K,) that robots at `positions` (K, 3) are on, from 0."""
        return np.array([self._router.plan.number(height) for height in positions[:, 2].tolist()], np.int64)

    def spot(self, position: Floats) -> Spot:
        """Return the place on the floor below a robot at `position` (3,)."""
        plan = self._router.plan
        return float(position[0]), float(position[1]), float(plan.heights[plan.number(float(position[2]))])

    def look(self) -> None:
        """Do nothing: the traffic drives as far as routes lead."""

    def _named(self, place: Place) -> Spot:
        if isinstance(place, str):
            raise errors.unknown_name("station", place, self.stations)
        raise errors.InvalidValueError(
            f"the point {place} does not say on which storey; in a building orders lead to stations"
        )

    def _no_way(self, begin: int, end: int) -> str:
        """Return why no way leads from one station to another, both by number; empty if one does.

        Between storeys it tells of each lift why it does not help.
        """
        points = np.array([self.points[begin], self.points[end]])
        plan, router = self._router.plan, self._router
        storeys = [plan.number(height) for height in points[:, 2].tolist()]
        if storeys[0] == storeys[1]:
            found = router.find(points[0], points[1], self._radius, speed=SPEED, mode=RouteMode.AUTO, stands=False)
            return found.reason if isinstance(found, NoRoute) else ""
        if np.isfinite(self.between(np.array([begin]), np.array([end]))[0]):
            return ""
        crossings = [plan.crossing(lift, storeys[0], storeys[1], self._radius) for lift in plan.lifts]
        reasons = [found.reason for found in crossings if isinstance(found, NoRoute)]
        between = f"no lift takes a robot from {plan.name(storeys[0])!r} to {plan.name(storeys[1])!r}"
        return "; ".join([between, *reasons])

    def _measured(self) -> Lengths:
        return StoreyLengths(self._router, self._radius)


class StoreyLengths:
    """Lengths in m of the shortest ways in a building, for footprints of `radius` m, with one lift at most.

    A storey counts as much as it is high; waiting is not counted.
    """

    def __init__(self, router: StoreyRouter, radius: float) -> None:
        self._plan = plan = router.plan
        count = len(plan.heights)
        self._storeys = [RouteLengths(router.site(storey), radius) for storey in range(count)]
        # Cells before the doors of a lift, as each storey numbers them, and how far it is from one to the other in m.
        self._rides: dict[tuple[int, int], list[tuple[int, int, float]]] = {}
        for begin in range(count):
            for end in range(count):
                crossings = [plan.crossing(lift, begin, end, radius) for lift in plan.lifts if begin != end]
                high = float(abs(plan.heights[end] - plan.heights[begin]))
                self._rides[begin, end] = [
                    (self._cell(begin, found.door), self._cell(end, found.out), high)
                    for found in crossings
                    if not isinstance(found, NoRoute)
                ]

    def cells_of(self, points: Floats) -> Ints:
        """Return the cells (K,) of `points` (K, 3) in m, in a lift those before its doors; -1 where no way leads."""
        found = np.empty(len(points), np.int64)
        for number, point in enumerate(points):
            storey = self._plan.number(float(point[2]))
            cell, lift = self._cell(storey, point[:2]), self._plan.lift_at(point)
            if lift is not None:
                cells = [out for (_, end), rides in self._rides.items() if end == storey for _, out, _ in rides]
                cell = cells[0] if cells else -1
            found[number] = -1 if cell < 0 else storey * STOREY + cell
        return found

    def joined(self, begin: int, end: int) -> bool:
        """Return whether a way surely leads from cell `begin` to cell `end`."""
        if min(begin, end) < 0:
            return False
        (first, start), (last, goal) = divmod(begin, STOREY), divmod(end, STOREY)
        if first == last:
            return self._storeys[first].joined(start, goal)
        return any(
            self._storeys[first].joined(start, door) and self._storeys[last].joined(out, goal)
            for door, out, _ in self._rides[first, last]
        )

    def to(self, goal: int, cells: Ints) -> Floats:
        """Return the lengths (K,) in m from `cells` (K,) to the cell `goal`; inf where there is no way."""
        found = np.full(len(cells), np.inf)
        if goal < 0:
            return found
        last, end = divmod(goal, STOREY)
        for storey in np.unique(cells[cells >= 0] // STOREY).tolist():
            mask = (cells >= 0) & (cells // STOREY == storey)
            starts = cells[mask] % STOREY
            if storey == last:
                found[mask] = self._storeys[last].to(end, starts)
                continue
            for door, out, length in self._rides[storey, last]:
                onward = float(self._storeys[last].to(end, np.array([out]))[0])
                there = self._storeys[storey].to(door, starts)
                found[mask] = np.minimum(found[mask], there + length + onward)
        return found

    def _cell(self, storey: int, point: Floats) -> int:
        return int(self._storeys[storey].cells_of(np.asarray(point)[None])[0])


# OrderSite: the stations of a site of one storey, and points on its free space.


class OrderSite(OrderPlaces):
    """The places of a site, with ways as `router` finds them, or along the grid of the traffic where there is one."""

    def __init__(self, site: Site, router: Router, traffic: Callable[[], Traffic | None]) -> None:
        super().__init__([(station.name, station.kind, (station.x, station.y)) for station in site.stations])
        self._site = site
        self._router = router
        self._traffic = traffic
        self._network: Network | None = None

    @property
    def site(self) -> Site:
        """The site."""
        return self._site

    @property
    def chart(self) -> Grid:
        """The free space of the site."""
        return self._site.open_grid

    def on_chart(self, positions: Floats) -> Floats:
        """Return where on the chart (K, 2) in m robots at `positions` (K, 3) are."""
        return positions[:, :2]

    def spot(self, position: Floats) -> Spot:
        """Return the place on the floor below a robot at `position` (3,)."""
        return float(position[0]), float(position[1])

    def look(self) -> None:
        """Measure ways as robots drive them from now on: along the grid of the traffic where there is one."""
        traffic = self._traffic()
        # Traffic without robots says nothing about how those of the orders drive.
        network = traffic.network if traffic is not None and len(traffic.rows) else None
        if network is not self._network:
            self._network = network
            self._forget_ways()

    def _named(self, place: Place) -> Spot:
        """Return the point itself; raises UnknownNameError for a name, InvalidValueError for a point that is not free.

        Called for what is no station of this storey; a station of another one is refused with what to do about it.
        """
        if isinstance(place, str):
            if place in self._site.elsewhere:
                storey = self._site.elsewhere[place]
                raise errors.InvalidValueError(
                    f"station {place!r} is on {storey!r}, and a section 'site' is one storey; "
                    "name the whole building in a section 'building' instead"
                )
            raise errors.unknown_name("station", place, self.stations)
        grid = self._site.open_grid
        if not grid.is_free(grid.cells_at(np.array([place])))[0]:
            raise errors.InvalidValueError(f"the point ({place[0]:g}, {place[1]:g}) is not on free space of the site")
        return place

    def _no_way(self, begin: int, end: int) -> str:
        points = np.array([self.points[begin], self.points[end]])
        found = self._router.find(points[0], points[1], self._radius, speed=SPEED, mode=RouteMode.AUTO, stands=False)
        return found.reason if isinstance(found, NoRoute) else ""

    def _measured(self) -> Lengths:
        network = self._network
        # Steps of a roadmap have lengths of their own, and a plan counts them alike.
        if network is not None and network.grid is not None:
            return LaneLengths(network, self._site.grid.cell)
        return RouteLengths(self._site, self._radius)


# Orders from files: CSV with a line per order, and tasks of the League of Robot Runners.


SEPARATOR = "|"
_POINT = re.compile(r"\(\s*(\S+)\s+(\S+)\s*\)")
_TEXTS = ("id", "pick", "drop")
_MOST_COLUMNS = 100


def read_orders(path: Path) -> Iterator[tuple[str, Order]]:
    """Yield the orders in `path` with their places in it, such as "line 3"; raises ConfigError naming file and line.

    The first line has the names of settings; empty fields keep the defaults. `stops` are separated by `|`, and points
    are written as `(x y)`. `lines` are written as `sku:items`, separated by `|`.
    """
    lines = csv.reader(read_text(path).splitlines(), strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        _check_header(path, header)
        for values in lines:
            # A line of nothing, as editors leave at the end.
            if not any(value.strip() for value in values):
                continue
            where = f"line {lines.line_num}"
            if len(values) != len(header):
                fail(path, f"has {len(values)} fields, the first line names {len(header)}", where)
            given = {name: value.strip() for name, value in zip(header, values, strict=True) if value.strip()}
            entry = {name: _value(path, name, text, where) for name, text in given.items()}
            yield where, read(Order, entry, source=str(path), path=where)
    except csv.Error as error:
        raise errors.ConfigError(
            f"is not valid CSV: {error}", source=str(path), path=f"line {lines.line_num}"
        ) from error


def _check_header(path: Path, header: list[str]) -> None:
    """Raise ConfigError for columns that are no settings of orders, or are there twice."""
    if not header or len(header) > _MOST_COLUMNS:
        fail(path, "the first line must have the names of settings of orders, such as id,pick,drop", "line 1")
    known = fields_of(Order)
    for name in header:
        if name not in known:
            fail(path, f"unknown column {name!r}.{errors.did_you_mean(name, known)}", "line 1")
    if len(set(header)) < len(header):
        fail(path, f"two columns have the same name: {', '.join(header)}", "line 1")


def _value(path: Path, name: str, text: str, where: str) -> Any:
    """Return the value of one cell of the column `name`; raises ConfigError that names line and column."""
    if name == "stops":
        return [_place(stop.strip()) for stop in text.split(SEPARATOR)]
    if name == "lines":
        return [_line(path, item.strip(), f"{where}.{name}") for item in text.split(SEPARATOR)]
    if name in _TEXTS:
        return text if name == "id" else _place(text)
    try:
        return int(text) if name == "priority" else float(text)
    except ValueError:
        fail(path, f"must be a number, got {text[:60]!r}", f"{where}.{name}")


def _line(path: Path, text: str, where: str) -> tuple[str, int]:
    sku, _, count = text.rpartition(":")
    if not sku or not count.strip().isdecimal():
        fail(path, f"must be skus with numbers of items, such as sku_1:2|sku_7:1, got {text[:60]!r}", where)
    return sku.strip(), int(count)


def _place(text: str) -> object:
    """Return a point [x, y] in m, or the text as the name of a station."""
    point = _POINT.fullmatch(text)
    if point is None:
        return text
    try:
        return [float(number) for number in point.groups()]
    except ValueError:
        # No point, so the name of a station; where there is none, the order is refused with that.
        return text


def read_task_orders(path: Path, grid: Grid) -> Iterator[tuple[str, Order]]:
    """Yield the tasks of the problem in `path` as orders "task_0" and on, with their places, such as "task 0".

    Their stops are the middles of the cells of `grid`; there is no service time, as in the League. A cell that comes
    twice in a row is one stop. Raises ConfigError, also for tasks of one cell, which take nothing anywhere.
    """
    for number, cells in enumerate(read_tasks(path, grid)):
        stops = [cell for cell, _ in groupby(cells)]
        if len(stops) < 2:
            fail(path, f"task {number} goes to one cell only; an order goes from one to another")
        points = grid.positions(np.array(stops)).tolist()
        order = Order(
            id=f"task_{number}", stops=tuple((x, y) for x, y in points), pick_time=0.0, stop_time=0.0, drop_time=0.0
        )
        yield f"task {number}", order


PAIRS = Work("robots and orders compared per simulated second", 5e6)
"""They take half a second where each order is compared with the others, too."""


def _open(sim: MultiRobotSimulationCore, settings: OrdersSettings, source: str) -> None:
    """Submit the orders of the section to the fleet; raises ConfigError naming the order."""
    allocation = settings.allocation
    PAIRS.charge(len(sim.agents) * allocation.consider / min(max(allocation.period, sim.clock.dt), 1.0))
    orders = offer_orders(sim, settings)
    # One by one, so that the error names the entry.
    _submit_all(orders, ((f"list[{index}]", order) for index, order in enumerate(settings.list)), "")
    if settings.file is not None:
        path = _found(settings.file, "file", source)
        _submit_all(orders, read_orders(path), str(path))
    # Tasks are given in cells, so the site has to say where these are.
    if settings.tasks is not None:
        path = _found(settings.tasks, "tasks", source)
        _submit_all(orders, read_task_orders(path, orders.places.site.grid), str(path))


def _found(name: str, key: str, source: str) -> Path:
    path = Path(beside(source, name))
    if not is_file(path):
        raise errors.ConfigError(f"there is no file {str(path)!r}", path=key)
    return path


def _submit_all(orders: Orders, entries: Iterable[tuple[str, Order]], source: str) -> None:
    for where, order in entries:
        with errors.located(where, source=source):
            orders.submit(order)


def offer_orders(sim: MultiRobotSimulationCore, settings: OrdersSettings | None = None) -> Orders:
    """Let the robots of `sim` serve orders on its site; returns the Orders, which are also the manager "orders".

    `settings.list` is left aside: submit orders. Raises InvalidValueError without a site, DuplicateNameError where
    there are orders already, and what the allocator of `settings` raises.
    """
    chosen = OrdersSettings() if settings is None else settings
    places = _places(sim)
    desk: OrderDesk = sim.features.use("orders")
    traffic = partial(_traffic, sim)
    transport = StationLanes(sim.world, traffic, places, chosen.service)

    def leave() -> None:
        desk.open(None)
        orders.close()

    # Whatever fails, no transport stays behind.
    try:
        orders = Orders(sim.world, desk.table, places, transport, chosen)
        if chosen.pods is not None:
            orders.pods = _pods(sim, desk, orders, traffic, chosen.pods)
        orders.begin_arrivals()
        # Now, where the traffic has its robots already: a lane without room is an error before the run.
        transport.lay_out()
        until_cleared(sim, orders, "orders", leave)
    except BaseException:
        transport.close()
        raise
    if chosen.robot is not None:
        sim.features.give("orders", _without(sim, desk), chosen.robot)
    desk.open(orders)

    return orders


def _pods(
    sim: MultiRobotSimulationCore,
    desk: OrderDesk,
    orders: Orders,
    traffic: Callable[[], Traffic | None],
    settings: PodsSettings,
) -> Pods:
    """Return the pods of a scenario; raises ConfigError below the key `pods`."""
    chosen = orders.settings
    with errors.located("pods"):
        return Pods(
            OrderParts(sim.world, desk.table, orders.book, orders.places),
            *(orders.fleet, traffic),
            settings,
            chosen.allocation.period,
            chosen.retry_after,
        )


def _places(sim: MultiRobotSimulationCore) -> OrderPlaces:
    """Return where orders lead to; raises InvalidValueError that says what the scenario lacks."""
    router = sim.extensions.find_manager("router")
    # A building comes first: its router leads from storey to storey.
    if isinstance(router, StoreyRouter):
        return OrderBuilding(router)
    try:
        return OrderSite(sim.get_manager("site"), sim.get_manager("router"), partial(_traffic, sim))
    except errors.UnknownNameError as error:
        reason = "orders lead to the stations of a site; add a section 'site' or 'building' to the scenario"
        raise errors.InvalidValueError(reason) from error


def _traffic(sim: MultiRobotSimulationCore) -> Traffic | None:
    traffic: Traffic | None = sim.extensions.find_manager("traffic")
    return traffic


def _without(sim: MultiRobotSimulationCore, desk: OrderDesk) -> Rows:
    """Return the robots that can drive and have no settings for orders of their own."""
    world = sim.world
    rows = world.rows[(world.kind[world.rows] == KIND_AGENT) & ~desk.table.present[world.rows]]
    return np.array([row for row in rows.tolist() if world.handles[row].can_move], np.int64)


SECTION = SettingsSection(
    "orders", OrdersSettings, _open, "Orders between the stations of the site, and how robots serve them."
)
