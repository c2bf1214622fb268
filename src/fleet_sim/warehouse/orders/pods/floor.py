"""Pods on the floor: as bodies, in storage and on visits, their stock, and where robots with pods may go.

Places of pods are barred for robots that carry one. All others pass below the pods, unless they are higher than the
legs of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StateError, UnknownNameError, unknown_name
from fleet_sim.base.geometry import Pose
from fleet_sim.base.registry import saved
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import ShapeParams, SimObjectSpawnParams
from fleet_sim.robots.spawning import spawn_many
from fleet_sim.warehouse.orders.order import OrderColumns
from fleet_sim.warehouse.orders.settings import Area, PodEntry, PodsSettings
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.network import DistanceTables
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World

# Stock: how many items of which kind are on which pod, promised, on order, and picked.


class PodStock(Stateful):
    """Items by pod and sku. Nothing is lost: items on pods, coming, picked and gone are those supplied in all."""

    STATE = ("held", "promised", "wanted", "coming", "picked", "gone", "supplied", "target")

    def __init__(self, skus: Sequence[str], pods: int, capacity: int) -> None:
        self.skus = tuple(skus)
        self.capacity = capacity
        self._numbers = {name: number for number, name in enumerate(self.skus)}
        count = len(self.skus)
        self.held: Ints = np.zeros((pods, count), np.int64)
        """Items (P, S) on each pod."""
        self.promised: Ints = np.zeros((pods, count), np.int64)
        """Of these (P, S), items that a pod is on its way with for an order."""
        self.wanted: Ints = np.zeros(count, np.int64)
        """Items (S,) of orders at workstations that no pod is on its way with."""
        self.coming: Ints = np.zeros(count, np.int64)
        """Items (S,) that were ordered and are on no pod yet."""
        self.picked: Ints = np.zeros(count, np.int64)
        """Items (S,) that were picked for orders."""
        self.gone: Ints = np.zeros(count, np.int64)
        """Items (S,) that were on pods which somebody removed."""
        self.supplied: Ints = np.zeros(count, np.int64)
        """Items (S,) that there were at first, or that were ordered since."""
        self.target: Ints = np.zeros(count, np.int64)
        """Items (S,) that there were at first: what replenishment is for."""

    # ---- names and limits --------------------------------------------------------------------------------------------

    def number(self, sku: str) -> int:
        """Return the number of a sku; raises UnknownNameError with the closest one."""
        number = self._numbers.get(sku)
        if number is None:
            raise unknown_name("sku", sku, self.skus)
        return number

    def fill(self, pod: int, items: Mapping[str, int], label: str) -> None:
        """Put the first items on a pod; raises UnknownNameError, and InvalidValueError for more than it holds."""
        total = sum(items.values())
        if total > self.capacity:
            raise InvalidValueError(f"pod {label!r} holds {self.capacity} items, its stock has {total}")
        for sku, count in items.items():
            self.held[pod, self.number(sku)] += count
        self.supplied[:] = self.target[:] = self.held.sum(axis=0)

    @property
    def free(self) -> Ints:
        """Items (P, S) that are promised to nobody."""
        return np.asarray(self.held - self.promised)

    @property
    def available(self) -> Ints:
        """Items (S,) on pods that no order at a workstation needs."""
        return np.asarray(self.held.sum(axis=0) - self.promised.sum(axis=0) - self.wanted)

    def room(self, pod: int) -> int:
        """Return how many more items a pod holds."""
        return self.capacity - int(self.held[pod].sum())

    # ---- changes -----------------------------------------------------------------------------------------------------

    def promise(self, pod: int, sku: int, count: int) -> None:
        """Let a pod be on its way with items that an order wants."""
        self.promised[pod, sku] += count
        self.wanted[sku] -= count

    def break_promise(self, pod: int, sku: int, count: int, *, wanted: bool) -> None:
        """Let a pod not bring items; `wanted` says whether the order still wants them."""
        self.promised[pod, sku] -= count
        self.wanted[sku] += count if wanted else 0

    def pick(self, pod: int, sku: int, count: int) -> None:
        """Take promised items from a pod."""
        self.promised[pod, sku] -= count
        self.held[pod, sku] -= count
        self.picked[sku] += count

    def order(self, counts: Ints) -> None:
        """Order items (S,): they come in from now on."""
        self.coming += counts
        self.supplied += counts

    def put(self, pod: int, sku: int, count: int) -> None:
        """Put items that came in on a pod."""
        self.coming[sku] -= count
        self.held[pod, sku] += count

    def remove(self, pod: int) -> None:
        """Remove a pod from the books, with what is on it; nothing on it is promised."""
        self.gone += self.held[pod]
        self.held[pod] = 0


# PodVisit: what one robot does with one pod, as a value.


NO_ORDER = -1
NO_POD = -1


@saved
class PodPhase(Enum):
    """How far a robot is with its pod."""

    FETCH = "fetch"
    LIFT = "lift"
    CARRY = "carry"
    QUEUE = "queue"
    BEGIN = "begin"
    SERVE = "serve"
    LEAVE = "leave"
    STORE = "store"
    LOWER = "lower"


COMING = (PodPhase.FETCH, PodPhase.LIFT, PodPhase.CARRY, PodPhase.QUEUE, PodPhase.BEGIN, PodPhase.SERVE)
"""The phases in which a pod may still serve more lines."""
GONE = (PodPhase.STORE, PodPhase.LOWER)
"""The phases in which a robot has left the station."""


@saved
class PodClaim(NamedTuple):
    """Items that a pod brings: for an order, or NO_ORDER for those that are put on it."""

    order: int
    sku: int
    items: int


@saved
@dataclass
class PodVisit:
    """A robot takes `pod` to the station in place `station`, and stores it again."""

    row: int
    pod: int
    station: int
    phase: PodPhase = PodPhase.FETCH
    claims: list[PodClaim] = field(default_factory=list)
    serving: PodClaim | None = None
    """What is picked, or put on it, at the moment."""
    picked: int = 0
    """Items picked, or put on it, in this visit."""
    target: int = -1
    """The storage place that it is taken to, by its index."""
    fills: bool = False
    """Whether items are put on the pod."""

    @property
    def to_serve(self) -> list[PodClaim]:
        """What it brings yet, and what is picked or put on it at the moment."""
        return [*self.claims, *([self.serving] if self.serving else [])]

    def copy(self) -> PodVisit:
        """Return an independent copy."""
        return replace(self, claims=list(self.claims))


# PodShelves: the pods as bodies that stand, and are carried.


ROUNDING = 1e-6
"""Heights (m) that differ by less are one."""


class PodShelves:
    """Each pod is an object of its own, above the height of its legs: robots that are lower pass under it."""

    def __init__(self, world: World, settings: PodsSettings, names: Sequence[str], points: Floats) -> None:
        """Put pods at `points` (P, 2) m; raises DuplicateNameError for names of other things."""
        self.names = list(names)
        self._world = world
        length, width, height = settings.size
        self._standing = settings.legs + 0.5 * height
        self._lift = settings.lift
        self.reach = 0.5 * float(np.sqrt(length * length + width * width))
        """Radius in m of a robot that carries one."""
        shape = ShapeParams("box", half_extents=(0.5 * length, 0.5 * width, 0.5 * height), rgba_color=settings.color)
        # Pods stand on legs: the shape is what is above them.
        params = SimObjectSpawnParams(visual_shape=shape, collision_shape=shape, mass=settings.mass)
        positions = np.column_stack((points, np.full(len(points), self._standing)))
        upright = np.tile((0.0, 0.0, 0.0, 1.0), (len(points), 1))
        self.objects: list[SimObject] = spawn_many(world, SimObject, params, positions, upright, self.names)
        self._ids = [pod.object_id for pod in self.objects]
        self._pods = {number: pod for pod, number in enumerate(self._ids)}

    def __len__(self) -> int:
        return len(self._ids)

    def id_of(self, pod: int) -> int:
        """Return the object id of a pod, also of one that is gone."""
        return self._ids[pod]

    def row(self, pod: int) -> int:
        """Return the row of a pod; NO_ROW if it is gone."""
        try:
            return self._world.index.row_of(self._ids[pod])
        except UnknownNameError:
            return NO_ROW

    def pods_in(self, rows: Rows) -> list[int]:
        """Return the pods in `rows`."""
        found = (self._pods.get(number, NO_POD) for number in self._world.object_id[rows].tolist())
        return [pod for pod in found if pod != NO_POD]

    def carried_by(self, pod: int) -> int:
        """Return the row of who carries a pod; NO_ROW if nobody does."""
        row = self.row(pod)
        return NO_ROW if row == NO_ROW else int(self._world.parent[row])

    def is_at(self, pod: int, point: Sequence[float]) -> bool:
        """Return whether a pod stands at `point` in m, as nobody has moved it by hand."""
        row = self.row(pod)
        if row == NO_ROW or self._world.parent[row] != NO_ROW:
            return False
        # Within half of its own size: it may have been pushed a little.
        return bool(np.abs(self._world.position[row, :2] - np.asarray(point)).max() < self.reach)

    def point_of(self, pod: int) -> Floats | None:
        """Return where a pod is (2,) in m; None if it is gone."""
        row = self.row(pod)
        return None if row == NO_ROW else self._world.position[row, :2].copy()

    def raise_onto(self, pod: int, robot: int) -> None:
        """Let the robot in row `robot`, which is under a pod, carry it; raises StateError where it cannot."""
        world, body = self._world, self.objects[pod]
        pose = body.get_pose()
        x, y, z = pose.position
        # Lifted before it is attached, as it keeps the pose that it has then.
        body.set_pose(Pose((x, y, z + self._lift), pose.orientation))
        if not world.handles[robot].attach_object(body, keep_world_pose=True):
            body.set_pose(pose)
            raise StateError(f"pod {self.names[pod]!r} cannot be lifted: something else holds it")

    def leave(self, pod: int, robot: int) -> None:
        """Put a pod down where it is that the robot in row `robot` carries, or did until just now."""
        self.lower(pod, robot)
        row, body = self.row(pod), self.objects[pod]
        if row == NO_ROW or self._world.parent[row] != NO_ROW:
            return
        x, y, z = (pose := body.get_pose()).position
        # A robot that is being removed has let go of it already, in the air.
        if abs(z - self._standing - self._lift) < ROUNDING:
            body.set_pose(Pose((x, y, self._standing), pose.orientation))

    def lower(self, pod: int, robot: int, point: Sequence[float] | None = None) -> None:
        """Put a pod down at `point` in m, or where it is, if the robot in row `robot` carries it."""
        row = self.row(pod)
        # Somebody else may have taken it.
        if row == NO_ROW or int(self._world.parent[row]) != robot:
            return
        body = self.objects[pod]
        pose = body.get_pose()
        x, y = pose.position[:2] if point is None else point
        self._world.handles[robot].detach_object(body, drop_pose=Pose((x, y, self._standing), pose.orientation))


# PodStorage: the places where pods stand, who stands or is expected there, and what is on them at first.


NOWHERE = -1


class PodStorage(Stateful):
    """Storage places by index. Each is one pod's at most: of one that stands there, or that is to come back."""

    STATE = ("owner",)

    def __init__(self, site: Site, areas: Sequence[Area]) -> None:
        """Raises InvalidValueError for areas without a free cell, and for stations in them."""
        grid = site.open_grid
        middles = grid.positions(grid.free_cells)
        chosen_mask = np.zeros(len(middles), bool)
        for number, (left, bottom, right, top) in enumerate(areas):
            x, y = middles[:, 0], middles[:, 1]
            inside_mask = (x > left) & (x < right) & (y > bottom) & (y < top)
            if not inside_mask.any():
                raise InvalidValueError(
                    f"storage[{number}]: no free cell has its middle between ({left:g}, {bottom:g}) and"
                    f" ({right:g}, {top:g}); give [x_min, y_min, x_max, y_max] in m"
                )
            chosen_mask |= inside_mask
        self._grid = grid
        self._cells = grid.free_cells[chosen_mask]
        self.points: Floats = middles[chosen_mask]
        """The places (K, 2) in m."""
        for station in site.stations:
            if self.at((station.x, station.y)) != NOWHERE:
                raise InvalidValueError(f"station {station.name!r} is on a storage place; pods would stand on it")
        self.owner: Ints = np.full(len(self.points), NO_POD)
        """The pod (K,) that each place is kept for, NO_POD for free ones."""

    def __len__(self) -> int:
        return len(self.points)

    def at(self, point: Sequence[float]) -> int:
        """Return the place at `point` in m; NOWHERE if there is none."""
        cell = int(self._grid.cells_at(np.array([point], np.float64))[0])
        found = np.flatnonzero(self._cells == cell)
        return int(found[0]) if cell >= 0 and len(found) else NOWHERE

    def take(self, place: int, pod: int) -> None:
        """Keep a free place for a pod."""
        assert self.owner[place] in (NO_POD, pod)
        self.owner[place] = pod

    def leave(self, pod: int) -> Ints:
        """Let others have what was kept for a pod; return those places (L,)."""
        left = np.flatnonzero(self.owner == pod)
        self.owner[left] = NO_POD
        return left

    @property
    def taken_mask(self) -> Bools:
        """Which places (K,) are kept for a pod."""
        return np.asarray(self.owner != NO_POD)


def place_pods(
    settings: PodsSettings, storage: PodStorage, grid: Grid, stream: np.random.Generator
) -> tuple[list[str], Ints, PodStock]:
    """Return the names of the pods of `settings`, the indices (P,) of their places, and their stock.

    Those of its list come first, then others at random, which `stream` draws.

    Raises InvalidValueError for pods on walls, outside of the storage or two at one place, for more pods than places,
    and for more items than they hold; UnknownNameError for an unknown sku, DuplicateNameError for a name given twice.
    """
    entries = settings.list
    total = len(entries) + settings.count
    if not total:
        raise InvalidValueError("list or count: give at least one pod")
    if total > len(storage):
        raise InvalidValueError(f"{total} pods do not fit: the storage areas have {len(storage)} places")
    names = [entry.id or f"pod_{number}" for number, entry in enumerate(entries)]
    names += [f"pod_{number}" for number in range(len(entries), total)]
    if len(set(names)) < total:
        twice = next(name for name in names if names.count(name) > 1)
        raise DuplicateNameError(f"two pods have the id {twice!r}")
    for number, entry in enumerate(entries):
        storage.take(_place_of(entry, names, number, storage, grid), number)
    free = np.flatnonzero(~storage.taken_mask)
    for number, place in enumerate(stream.permutation(free)[: settings.count].tolist(), len(entries)):
        storage.take(place, number)
    places = np.zeros(total, np.int64)
    taken = np.flatnonzero(storage.taken_mask)
    places[storage.owner[taken]] = taken
    return names, places, _stock_of(settings, names, stream)


def _place_of(entry: PodEntry, names: list[str], number: int, storage: PodStorage, grid: Grid) -> int:
    """Return the number of the storage place of a pod; raises InvalidValueError where none is free there."""
    x, y = entry.at
    place, label = storage.at(entry.at), f"list[{number}]: pod {names[number]!r} at ({x:g}, {y:g})"
    if place == NOWHERE:
        in_wall = not grid.is_free(grid.cells_at(np.array([entry.at])))[0]
        raise InvalidValueError(f"{label} is {'not on free space' if in_wall else 'outside of the storage areas'}")
    if storage.owner[place] != NO_POD:
        raise InvalidValueError(f"{label} stands where {names[storage.owner[place]]!r} does")
    return place


def _stock_of(settings: PodsSettings, names: list[str], stream: np.random.Generator) -> PodStock:
    """Return what is on the pods: the listed ones as given, the others filled at random. Raises InvalidValueError."""
    named = {sku: None for entry in settings.list for sku in entry.stock}
    skus = settings.skus or tuple(named)
    if not skus:
        raise InvalidValueError("skus: name the kinds of items, or say how many there are")
    stock = PodStock(skus, len(names), settings.capacity)
    for pod, entry in enumerate(settings.list):
        stock.fill(pod, entry.stock, names[pod])
    kinds, (low, high) = min(settings.kinds, len(skus)), settings.items
    if high < low:
        raise InvalidValueError(f"items: expected the smaller number first, got {list(settings.items)}")
    if settings.count and kinds * high > settings.capacity:
        raise InvalidValueError(f"items: {kinds} kinds of up to {high} items are more than {settings.capacity}")
    # In turns, so that each sku is on some pod where there are places enough for all.
    order = stream.permutation(len(skus))
    for number in range(settings.count):
        own = order[(number * kinds + np.arange(kinds)) % len(skus)]
        counts = stream.integers(low, high + 1, kinds)
        items = {skus[sku]: count for sku, count in zip(own.tolist(), counts.tolist(), strict=True)}
        stock.fill(len(settings.list) + number, items, names[len(settings.list) + number])
    return stock


NEAREST_WAIT = 2
"""Steps from a station at which the first pod waits: nearer ones would stand in the way of the one that leaves."""


class PodFloor:
    """Keeps robots with pods off places where pods stand or are expected; all others pass below."""

    def __init__(
        self,
        world: World,
        table: OrderColumns,
        traffic: Callable[[], Traffic | None],
        storage: PodStorage,
        shelves: PodShelves,
        legs: float,
    ) -> None:
        self._world, self._table, self._find = world, table, traffic
        self._storage, self._shelves, self._legs = storage, shelves, legs
        self._traffic: Traffic | None = None
        self._nodes: Ints = np.empty(0, np.int64)
        self._barred: Bools = np.zeros(len(storage), bool)
        self._version = -1
        self._begun = False
        self.stranded: dict[int, list[int]] = {}
        """Pods that stand where they should not, and the nodes that they take."""

    @property
    def traffic(self) -> Traffic:
        """The traffic; raises as `begin` does."""
        return self._attached() if self._traffic is None else self._traffic

    # ---- beginning ---------------------------------------------------------------------------------------------------

    def begin(self, stations: Sequence[Floats], queue: int) -> list[list[tuple[float, float]]] | None:
        """Bar the places of pods; return the points where `queue` pods wait at each of `stations`, the nearest first.

        None as long as no robot is in the traffic. Raises StateError without a traffic, and InvalidValueError for one
        in which pods cannot be carried.
        """
        if not len(self._found().rows):
            return None
        traffic = self._attached()
        self._begun = True
        self.look()
        return self._waits(traffic, stations, queue)

    def _found(self) -> Traffic:
        traffic = self._find()
        if traffic is None:
            raise StateError("pods are carried by robots in the traffic; add a section 'traffic' to the scenario")
        return traffic

    def _attached(self) -> Traffic:
        """Find the traffic, and see whether pods can be carried in it."""
        traffic = self._found()
        reach = self._shelves.reach
        # A robot with a pod needs the room of the pod, also where it turns.
        if traffic.bars.radius < reach * (1.0 - 1e-9):
            raise InvalidValueError(
                f"a robot with a pod has a radius of {reach:.4g} m, the traffic is for {traffic.bars.radius:.4g} m;"
                f" set traffic: {{radius: {np.ceil(reach * 1e3) / 1e3:g}}}"
            )
        self._nodes = traffic.network.node_at(self._storage.points)
        off = np.flatnonzero(self._nodes < 0)
        if len(off):
            x, y = self._storage.points[off[0]].tolist()
            raise InvalidValueError(f"the storage place ({x:g}, {y:g}) has no room for a robot with a pod")
        self._traffic = traffic
        traffic.bars.pass_under(self._shelves.objects)
        return traffic

    def _waits(self, traffic: Traffic, stations: Sequence[Floats], queue: int) -> list[list[tuple[float, float]]]:
        """Return up to `queue` places (x, y) in m to wait for each of `stations`, nearest first, none of them twice.

        They can be reached with a pod. Raises InvalidValueError for a station without room for one.
        """
        network = traffic.network
        all_barred: Bools = np.zeros(len(network), bool)
        all_barred[self._nodes] = True
        # Tables of its own, in which the places of all pods are taken: the worst case that can come.
        tables = DistanceTables(network.sources())
        tables.block(np.zeros(len(network), bool), all_barred)
        nodes = network.node_at(np.array(stations))
        usable = ~all_barred
        # No pod waits on a station.
        usable[network.node_at(np.array([(place.x, place.y) for place in traffic.site.stations]))] = False
        chosen = []
        for node, (x, y) in zip(nodes.tolist(), stations, strict=True):
            if node < 0:
                raise InvalidValueError(f"the station at ({x:g}, {y:g}) has no room for a robot with a pod")
            steps = tables.steps[tables.rows_of(np.array([node]), np.ones(1, bool))[0]]
            # Found out now, and not when the last place is taken.
            shut = np.flatnonzero(steps[self._nodes] < 0)
            if len(shut):
                at = self._storage.points[shut[0]].tolist()
                raise InvalidValueError(
                    f"no robot with a pod gets from the storage place ({at[0]:g}, {at[1]:g}) to the station at"
                    f" ({x:g}, {y:g}) when all other places are taken; leave an aisle beside each place"
                )
            near = np.flatnonzero(usable & (steps >= NEAREST_WAIT))
            waits = near[np.argsort(steps[near], kind="stable")][:queue]
            usable[waits] = False
            chosen.append([(float(px), float(py)) for px, py in network.positions[waits].tolist()])
        return chosen

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Bar the places that are kept for pods, and no others."""
        if not self._begun:
            return
        taken = self._storage.taken_mask
        for mask, change in (
            (taken & ~self._barred, self.traffic.bars.add),
            (self._barred & ~taken, self.traffic.bars.remove),
        ):
            if mask.any():
                change(self._nodes[mask])
        self._barred = taken.copy()
        if self.stranded:
            self.traffic.bars.add(np.array([node for nodes in self.stranded.values() for node in nodes], np.int64))
        if self._world.version != self._version:
            self._version = self._world.version
            self._look_up()

    def _look_up(self) -> None:
        """Let robots that are higher than the legs of pods drive around them."""
        traffic, table = self.traffic, self._table
        for agent in traffic.robots:
            # Bars are changed for robots that are new only.
            if table.present[agent.row] and self._is_high(agent.row) and not traffic.bars.is_wide(agent):
                traffic.bars.set_wide(agent)

    def _is_high(self, row: int) -> bool:
        return float(self._table.top[row] + self._world.position[row, 2]) > self._legs

    def passes_under(self, row: int) -> bool:
        """Return whether the robot in `row` takes part in the traffic and is low enough."""
        return self.traffic.takes_part(self._world.handles[row]) and not self._is_high(row)

    def widen(self, row: int, wide: bool) -> None:
        """Let a robot keep off the places of pods, or no longer; raises InvalidValueError for one that is driving."""
        agent = self._world.handles[row]
        if self.traffic.takes_part(agent) and self.traffic.bars.is_wide(agent) != wide:
            self.traffic.bars.set_wide(agent, wide)

    def lengths_to(self, row: int, places: Ints) -> Floats:
        """Return the lengths (K,) in m of the ways of a robot with a pod to storage places by index; inf for none."""
        network = self.traffic.network
        rows = network.tables.rows_of(self._nodes[places], np.ones(len(places), bool))
        # Counted from the places to the robot: ways are as long in both directions.
        steps = network.tables.steps[rows, self.traffic.nodes(np.array([row]))[0]]
        return np.where(steps < 0, np.inf, steps * self.traffic.site.grid.cell)

    def strand(self, pod: int, point: Floats) -> None:
        """Keep robots with pods off a pod that was left at `point` (2,) m."""
        traffic = self.traffic
        reach = self._shelves.reach + traffic.bars.radius
        gaps = np.abs(traffic.network.positions - point).max(axis=1)
        nodes = np.flatnonzero(gaps < reach)
        self.stranded[pod] = nodes.tolist()
        traffic.bars.add(nodes)

    def clear_away(self, pod: int) -> None:
        """Called when a stranded pod was removed."""
        nodes = np.array(self.stranded.pop(pod, []), np.int64)
        if len(nodes):
            self.traffic.bars.remove(nodes)
            # Pods may stand there rightly.
            self.traffic.bars.add(self._nodes[self._barred])
            self.look()

    def restore(self, stranded: dict[int, list[int]], *, begun: bool) -> None:
        """Go on from a saved state; once `begun`, the traffic has its bars from there."""
        self.stranded = {pod: list(nodes) for pod, nodes in stranded.items()}
        self._barred = self._storage.taken_mask & begun
        # The traffic may be another one, as in the process that reads a state file.
        self._begun, self._traffic = begun, None
        self._version = -1


# Workbench: a station with the orders that are picked there, and the pods that come to it.


NOBODY = -1


@saved
@dataclass
class OpenLine:
    """Items of one kind that an order still needs; `unclaimed` of them no pod is on its way with."""

    order: int
    sku: int
    left: int
    unclaimed: int


@saved
@dataclass
class Workbench:
    """A station in place `place`; pods that cannot come to it yet wait at `waits`."""

    place: int
    picks: bool = True
    """Whether orders are picked here."""
    fills: bool = False
    """Whether items come in here."""
    waits: tuple[int, ...] = ()
    owner: int = NOBODY
    """The row of the robot that is at the station, or on its way to it."""
    queue: dict[int, int] = field(default_factory=dict)
    """By row: the places where others wait, or are on their way to."""
    lines: list[OpenLine] = field(default_factory=list)
    orders: dict[int, None] = field(default_factory=dict)
    busy: float = 0.0
    """How long in s pods were served."""
    since: float = -1.0
    """When the service of the pod at hand began; negative: none is served."""

    @property
    def room(self) -> int:
        """How many more robots may come."""
        return 1 + len(self.waits) - (self.owner != NOBODY) - len(self.queue)

    def enter(self, row: int) -> int:
        """Give a robot its place, the station itself where it is free; return that."""
        if self.owner == NOBODY:
            self.owner = row
            return self.place
        # The nearest place to wait that nobody has: they are in this order.
        self.queue[row] = next(place for place in self.waits if place not in self.queue.values())
        return self.queue[row]

    def leave(self, row: int) -> None:
        """Let a robot go."""
        self.queue.pop(row, None)
        if self.owner == row:
            self.owner = NOBODY

    def wanted(self, skus: int) -> Ints:
        """Return the items (S,) that no pod is on its way with."""
        found: Ints = np.zeros(skus, np.int64)
        for line in self.lines:
            found[line.sku] += line.unclaimed
        return found

    def claim(self, free: Ints) -> list[PodClaim]:
        """Return what a pod with the `free` items (S,) brings for the lines here, the oldest first."""
        left, claims = free.copy(), []
        for line in self.lines:
            # No more than the line wants, nor than the pod has left for it.
            count = min(line.unclaimed, int(left[line.sku]))
            if count > 0:
                line.unclaimed -= count
                left[line.sku] -= count
                claims.append(PodClaim(line.order, line.sku, count))
        return claims

    def line_of(self, claim: PodClaim) -> OpenLine:
        """Return the line that a claim is for."""
        return next(line for line in self.lines if line.order == claim.order and line.sku == claim.sku)

    def drop(self, order: int) -> list[OpenLine]:
        """Forget an order; return its lines that are left."""
        dropped = [line for line in self.lines if line.order == order]
        self.lines = [line for line in self.lines if line.order != order]
        self.orders.pop(order, None)
        return dropped

    def copy(self) -> Workbench:
        """Return an independent copy."""
        lines = [replace(line) for line in self.lines]
        return replace(self, queue=dict(self.queue), lines=lines, orders=dict(self.orders))
