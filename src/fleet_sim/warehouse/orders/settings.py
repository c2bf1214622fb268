"""What is written under `orders:`, orders at random and pods included."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, UnknownNameError, brief, unknown_name
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.params import Mode
from fleet_sim.base.request_budget import Work
from fleet_sim.base.settings import Checked, setting, time_setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.orders.order import HEAVIEST, LONGEST_ID, MOST_ITEMS, Order
from fleet_sim.warehouse.orders.places import OrderPlaces, Timers
from fleet_sim.warehouse.sites.site import StationKind
from fleet_sim.world import clock as random
from fleet_sim.world.clock import Duration, duration_setting
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World

# Arrivals: orders that come at random, as a Poisson process with a daily profile.


_LANE = 7
"""Of random numbers: others of the same stream are drawn in the first one."""
_LINES = 0
_PER_DRAW = 1_000_000


class ItemDraws:
    """Draws lines of different skus. What is drawn depends on the key and on the number of the draw alone."""

    def __init__(
        self,
        skus: Sequence[str],
        weights: Mapping[str, float],
        lines: tuple[int, int],
        quantity: tuple[int, int],
        key: int,
    ) -> None:
        """Raises UnknownNameError for an unknown sku, InvalidValueError for numbers that do not fit together."""
        for sku in weights:
            if sku not in skus:
                raise unknown_name("sku", sku, skus)
        self._skus = list(weights) if weights else list(skus)
        self._weights: Floats = np.array(list(weights.values())) if weights else np.ones(len(skus))
        for name, (low, high) in (("lines", lines), ("quantity", quantity)):
            if high < low:
                raise InvalidValueError(f"{name}: expected the smaller number first, got {[low, high]}")
        if np.count_nonzero(self._weights) < lines[1]:
            most = np.count_nonzero(self._weights)
            raise InvalidValueError(f"lines: {lines[1]} of different skus are asked for, of {most} that there are")
        self._lines, self._quantity, self._key = lines, quantity, key

    def draw(self, number: int) -> tuple[tuple[str, int], ...]:
        """Return the lines of the draw `number`: pairs of sku and items."""
        left, found = self._weights.copy(), []
        for line in range(self._between(self._lines, number, _LINES)):
            bounds = np.cumsum(left)
            at = int(np.searchsorted(bounds, self._uniform(number, 1 + 2 * line) * bounds[-1], side="right"))
            sku = min(at, int(np.flatnonzero(left)[-1]))
            left[sku] = 0.0
            found.append((self._skus[sku], self._between(self._quantity, number, 2 + 2 * line)))
        return tuple(found)

    def _between(self, bounds: tuple[int, int], number: int, place: int) -> int:
        low, high = bounds
        return min(low + int(self._uniform(number, place) * (high - low + 1)), high)

    def _uniform(self, number: int, place: int) -> float:
        counts = np.array([_PER_DRAW * number + place])
        return float(random.uniforms(self._key, np.zeros(1, np.int64), counts, _LANE)[0])


HOUR, HOURS = 3600.0, 24
FASTEST = 1e6
ORDERS = Work("times of orders in an hour", 100_000)
"""Those at which none comes count, too: until a busy hour begins they are drawn one after the other, in one step."""
QUIET = 5.0
"""Orders in an hour, below which a whole hour may pass without any."""
KINDS = {kind.value: kind for kind in StationKind}
_GAP, _KEEP, _PICK, _DROP, _LOAD, _PER_ORDER = 0, 1, 2, 3, 4, 5
"""Which of the numbers drawn for an arrival is for what."""

Weights = dict[str, float]


@dataclass
class ArrivalSettings(Checked):
    """Orders that come at random from `begin` to `end`."""

    per_hour: list[float] = setting(
        low=0.0, high=FASTEST, unit="1/h", doc="Orders in an hour on average: one number, or 24 from midnight on."
    )
    name: str = setting("arrival", doc="Orders are called by it and a number.")
    start_hour: float = setting(0.0, low=0.0, high=24.0, unit="h", doc="The time of day when the simulation begins.")
    begin: float = time_setting(0.0, doc="Before it none come.")
    end: float = time_setting(LONGEST_TIME, doc="From then on none come.")
    pick: Weights = setting(
        factory=lambda: {"pick": 1.0}, low=0.0, high=1e6, doc="How often from where: weights of stations or of kinds."
    )
    drop: Weights = setting(
        factory=lambda: {"drop": 1.0, "workstation": 1.0}, low=0.0, high=1e6, doc="How often to where, in the same way."
    )
    load: tuple[float, float] = setting(
        (0.0, 0.0), low=0.0, high=HEAVIEST, unit="kg", doc="Loads are drawn evenly between these two."
    )
    lines: tuple[int, int] | None = setting(
        None, low=1, high=1000, doc="Orders of items from pods: how many lines each has, drawn between these two."
    )
    quantity: tuple[int, int] = setting((1, 1), low=1, high=MOST_ITEMS, doc="Items of a line, drawn between these two.")
    skus: Weights = setting(
        factory=dict, low=0.0, high=1e6, doc="How often what is asked for in lines, by sku; without: all alike."
    )
    priority: int = setting(0, low=-1000, high=1000, doc="Of all of them.")
    due_after: float | None = time_setting(None, doc="Each is due so long after it came; null: never.")


class Arrivals(Stateful):
    """One stream of orders. What comes depends on the seed and on how many came before, and on nothing else."""

    STATE = ("drawn", "came", "_time")

    def __init__(self, settings: ArrivalSettings, places: OrderPlaces, key: int, skus: Sequence[str] = ()) -> None:
        """Raises UnknownNameError for unknown stations and skus, InvalidValueError for values that do not fit together.

        `skus` are those that there are.
        """
        self._settings, self._places, self._key = settings, places, key
        if len(settings.per_hour) not in (1, HOURS):
            raise InvalidValueError(f"per_hour: expected 1 or {HOURS} numbers, got {len(settings.per_hour)}")
        if settings.load[1] < settings.load[0]:
            raise InvalidValueError(f"load: expected the smaller one first, got {list(settings.load)}")
        self._rates = np.array(settings.per_hour) / HOUR
        quiet = sum(rate < QUIET for rate in settings.per_hour)
        ORDERS.charge(max(settings.per_hour) * (1 + (quiet if len(settings.per_hour) > 1 else 0)))
        self._items = None if settings.lines is None else _items(settings, skus, key)
        if self._items is None:
            self._picks, self._pick_weights = _weighted(settings.pick, places, "pick")
            self._drops, self._drop_weights = _weighted(settings.drop, places, "drop")
            if len({*self._picks, *self._drops}) < 2:
                raise InvalidValueError("pick and drop: orders lead from one station to another, these are one")
        self.drawn = 0
        """How many times were tried, those included at which no order came."""
        self.came = 0
        """How many orders came."""
        self._time = settings.begin

    def next_time(self) -> float | None:
        """Draw the time in s of the next arrival; None if there is none."""
        most = float(self._rates.max())
        if most <= 0.0:
            return None
        while True:
            self.drawn += 1
            # Gaps of a Poisson process: -log(1 - u) / rate. Not log(u), as u may be 0.
            self._time += float(-trig.log(np.array([1.0 - self._uniform(_GAP)]))[0]) / most
            if self._time >= self._settings.end:
                return None
            # Thinning: times come as in the busiest hour, and as many are kept as belong to this one.
            if self._uniform(_KEEP) * most < self._rate(self._time):
                return self._time

    def order(self) -> Order:
        """Return the order that comes at the time drawn last."""
        self.came += 1
        if self._items is not None:
            return self._made(lines=self._items.draw(self.drawn))
        settings = self._settings
        pick = self._choice(self._picks, self._pick_weights, _PICK)
        others = self._drop_weights * (np.array(self._drops) != pick)
        if not others.any():
            # The only place to go is where the load is: it is taken from elsewhere.
            # By the number of the drop, of which there is no choice: that of the pick has led here.
            pick = self._choice(self._picks, self._pick_weights * (np.array(self._picks) != pick), _DROP)
            others = self._drop_weights
        drop = self._choice(self._drops, others, _DROP)
        low, high = settings.load
        station = self._places.names
        load = low + (high - low) * self._uniform(_LOAD)
        return self._made(pick=station[pick], drop=station[drop], load=load)

    def _made(self, **given: Any) -> Order:
        """Return the order that comes now, with a name by its number."""
        settings = self._settings
        return Order(
            id=f"{settings.name}_{self.came - 1}",
            priority=settings.priority,
            release=self._time,
            due=None if settings.due_after is None else self._time + settings.due_after,
            **given,
        )

    def _choice(self, places: Sequence[int], weights: Floats, lane: int) -> int:
        bounds = np.cumsum(weights)
        at = int(np.searchsorted(bounds, self._uniform(lane) * bounds[-1], side="right"))
        # Rounding may lead behind the last one with a weight.
        return places[min(at, int(np.flatnonzero(weights)[-1]))]

    def _rate(self, time: float) -> float:
        hour = int(self._settings.start_hour + time / HOUR) % HOURS
        return float(self._rates[hour if len(self._rates) == HOURS else 0])

    def _uniform(self, lane: int) -> float:
        # A number for each order and purpose: one draw more or less changes no other one.
        counts = np.array([_PER_ORDER * self.drawn + lane])
        return float(random.uniforms(self._key, np.zeros(1, np.int64), counts)[0])


def _items(settings: ArrivalSettings, skus: Sequence[str], key: int) -> ItemDraws:
    """Return what draws the lines of orders; raises InvalidValueError for settings that lines leave no use for."""
    if not skus:
        raise InvalidValueError("lines: there are no pods to pick items from; add `pods` to the orders")
    plain = ArrivalSettings([0.0])
    for name in ("pick", "drop", "load"):
        if getattr(settings, name) != getattr(plain, name):
            raise InvalidValueError(f"{name}: orders of lines have none; leave it out")
    assert settings.lines is not None
    return ItemDraws(skus, settings.skus, settings.lines, settings.quantity, key)


def _weighted(weights: Weights, places: OrderPlaces, key: str) -> tuple[list[int], Floats]:
    """Return the stations that `weights` name, one by one or by kinds, and the weight of each."""
    found: dict[int, float] = {}
    for name, weight in weights.items():
        try:
            stations = places.of_kind(KINDS[name]) if name in KINDS else [places.number(name)]
        except UnknownNameError as error:
            raise UnknownNameError(f"{key}: {error}") from error
        found.update((station, weight) for station in stations)
    # A weight of 0 takes a station out, also one of a kind: nothing is chosen or counted for it.
    found = {station: weight for station, weight in found.items() if weight > 0.0}
    if not found:
        raise InvalidValueError(f"{key}: no station of the site has a weight above 0, given {weights}")
    return list(found), np.array(list(found.values()))


log = logging.getLogger(__name__)

ARRIVED = "arrived"


class ArrivalStreams(Stateful):
    """Submits each order when it comes. One that is refused is counted only: nobody waits for an answer."""

    def __init__(self, world: World, timers: Timers, submit: Callable[[Order], str]) -> None:
        self._world, self._timers, self._submit = world, timers, submit
        self._streams: list[Arrivals] = []
        self._warned = False

    def begin(self, settings: Sequence[ArrivalSettings], places: OrderPlaces, skus: Sequence[str]) -> None:
        """Let orders come as set, of items among `skus`; raises ConfigError naming the stream."""
        for index, own in enumerate(settings):
            try:
                key = self._world.random.key(f"orders {index}")
                self._streams.append(Arrivals(own, places, key, skus))
            except (UnknownNameError, InvalidValueError) as error:
                raise ConfigError(str(error), path=f"arrivals[{index}]") from error
            self._expect(index)

    def _expect(self, stream: int) -> None:
        time = self._streams[stream].next_time()
        if time is not None:
            self._timers.add(self._world.clock.ticks(time), ARRIVED, stream)

    def arrive(self, stream: int) -> None:
        """Submit the order of a stream that comes now, and wait for the next."""
        arrivals, clock = self._streams[stream], self._world.clock
        self._take(arrivals.order())
        # All that come within a step come in it: busy streams would lag behind their rate.
        while (time := arrivals.next_time()) is not None:
            if (tick := clock.ticks(time)) > clock.tick:
                self._timers.add(tick, ARRIVED, stream)
                break
            self._take(arrivals.order())

    def _take(self, order: Order) -> None:
        try:
            self._submit(order)
        except FleetSimError as error:
            # The next ones may be possible.
            if not self._warned:
                log.warning("an order was refused: %s; further ones are counted only", error)
            self._warned = True

    def save(self) -> Any:
        """Return the state, for a checkpoint."""
        return [stream.save() for stream in self._streams]

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        for stream, state in zip(self._streams, saved, strict=True):
            stream.restore(state)


# What is written under `pods:` in the section `orders`.


Area = tuple[float, float, float, float]
Point = tuple[float, float]
Areas = list[Area]
Names = list[str]

MOST_PODS, MOST_SKUS = 100_000, 100_000
LARGEST = 100.0


def _read_skus(value: object) -> tuple[str, ...]:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_SKUS:
        return tuple(f"sku_{number}" for number in range(value))
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) and name for name in value):
        raise InvalidValueError(f"must be a list of names, or a number up to {MOST_SKUS}, got {brief(value)}")
    if len(set(value)) < len(value) or max(map(len, value), default=0) > LONGEST_ID:
        raise InvalidValueError(f"names must be unique, with at most {LONGEST_ID} characters")
    return tuple(value)


_SKUS = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "array", "items": {"type": "string"}}]}


@dataclass
class PodEntry(Checked):
    """One pod: where it stands at first, and what is on it."""

    at: Point = setting(low=-1e6, high=1e6, unit="m", doc="A point in its storage place.")
    id: str = setting("", doc="Its name; empty: one is made.")
    stock: dict[str, int] = setting(factory=dict, low=0, high=MOST_ITEMS, doc="Items on it, by sku.")


@dataclass
class PolicySettings(Checked):
    """A policy by name, or package.module:Class, and its own settings."""

    type: str = setting(doc="Its name, or package.module:Class.")
    options: dict[str, Any] = setting(factory=dict, doc="Settings of the policy itself.")


Entries = list[PodEntry]


@dataclass
class PodsSettings(Checked):
    """Shelves with stock that robots carry to workstations, and the policies by which they do."""

    storage: Areas = setting(
        low=-1e6,
        high=1e6,
        unit="m",
        doc="Areas [x_min, y_min, x_max, y_max]; each free cell whose middle is inside is a place for a pod.",
    )
    list: Entries = setting(factory=lambda: [], doc="Pods one by one.")
    count: int = setting(0, low=0, high=MOST_PODS, doc="Further pods, on storage places drawn at random.")
    skus: tuple[str, ...] = setting(
        (), reader=_read_skus, schema=_SKUS, doc="Kinds of items: their names, or how many, which are sku_0 and on."
    )
    kinds: int = setting(4, low=1, high=1000, doc="Kinds of items on each of the further pods.")
    items: tuple[int, int] = setting((10, 30), low=1, high=MOST_ITEMS, doc="Of each kind on them, drawn between these.")
    capacity: int = setting(200, low=1, high=MOST_ITEMS, doc="Items that a pod holds at most.")
    size: tuple[float, float, float] = setting(
        (0.65, 0.65, 1.4), low=0.01, high=LARGEST, unit="m", doc="Length, width and height of a pod above its legs."
    )
    legs: float = setting(0.4, low=0.01, high=LARGEST, unit="m", doc="Height of its legs, between which robots pass.")
    lift: float = setting(0.05, low=0.0, high=LARGEST, unit="m", doc="How high a robot lifts it.")
    mass: float = setting(50.0, low=0.0, high=1e6, unit="kg", doc="Of a pod; robots that take less leave it alone.")
    color: tuple[float, float, float, float] = setting(
        (0.25, 0.45, 0.75, 1.0), low=0.0, high=1.0, doc="Red, green, blue and opacity."
    )
    lift_time: float = time_setting(3.0, doc="Taken to lift a pod, or to lower it.")
    item_time: float = time_setting(3.0, doc="Taken to pick or to put in an item.")
    visit_time: float = time_setting(2.0, doc="Taken by each visit besides.")
    queue: int = setting(3, low=0, high=100, doc="Pods that wait near a station for their turn.")
    go_on: bool = setting(
        True, doc="Whether a pod goes on to other stations that need what is on it before it is stored again."
    )
    open_orders: int = setting(6, low=1, high=1000, doc="Orders that a workstation works on at the same time.")
    choice: PolicySettings = setting(
        factory=lambda: PolicySettings("most_lines"), doc="Which pod serves: nearest, most_lines, or one of yours."
    )
    place: PolicySettings = setting(
        factory=lambda: PolicySettings("nearest"), doc="Where it is stored again: original, nearest, or one of yours."
    )
    replenishment: PolicySettings = setting(
        factory=lambda: PolicySettings("threshold"), doc="When items are ordered: threshold, never, or one of yours."
    )
    goods_in: Names = setting(
        factory=lambda: ["pick"],
        doc="Stations, or kinds of stations, where items come in; workstations where there is none of these kinds.",
    )


@dataclass
class OrderRobotSettings(Checked):
    """A robot that serves orders."""

    max_load: float = setting(100.0, low=0.0, high=HEAVIEST, unit="kg", doc="The heaviest load it takes.")
    loaded_speed: float = setting(
        1.0, low=0.01, high=1.0, doc="Share of its largest speed that it drives at with a load; 1: as without."
    )


@dataclass
class LoadSettings(Checked):
    """The boxes that stand for loads: on a robot from its first stop to its last one, then at the station."""

    size: tuple[float, float, float] = setting(
        (0.4, 0.3, 0.25), low=0.01, high=100.0, unit="m", doc="Length, width and height."
    )
    color: tuple[float, float, float, float] = setting(
        (0.8, 0.55, 0.25, 1.0), low=0.0, high=1.0, doc="Red, green, blue and opacity."
    )
    remain: float = time_setting(5.0, doc="How long a box stays where it was put down, before it is taken away.")
    collides: bool = setting(False, doc="Whether boxes collide, and count in the footprint of robots that carry them.")


@dataclass
class StationServiceSettings(Checked):
    """What is different at a station, or at all of a kind; what is null is as elsewhere."""

    pick_time: Duration | None = duration_setting(None, doc="Taken to load at the first stop.")
    stop_time: Duration | None = duration_setting(None, doc="Taken at stops in between.")
    drop_time: Duration | None = duration_setting(None, doc="Taken to unload at the last stop.")
    at_once: int | None = setting(None, low=1, high=1000, doc="Robots that it serves at once.")
    queue: int | None = setting(
        None, low=0, high=100, doc="Places in line before it, where robots wait for their turn."
    )
    admit: int | None = setting(None, low=1, high=100_000, doc="Robots that may have orders for it.")


@dataclass
class ServiceSettings(Checked):
    """What happens at stops, where orders say nothing else."""

    pick_time: Duration = duration_setting(5.0, doc="Taken to load at the first stop.")
    stop_time: Duration = duration_setting(5.0, doc="Taken at stops in between.")
    drop_time: Duration = duration_setting(5.0, doc="Taken to unload at the last stop.")
    at_once: int = setting(1, low=1, high=1000, doc="Robots that a station serves at once; others wait for their turn.")
    queue: int = setting(
        0, low=0, high=100, doc="Places in the traffic, in line before each station, where robots wait for their turn."
    )
    admit: int | None = setting(
        None, low=1, high=100_000, doc="Robots that may have orders for each station; further orders wait; null: all."
    )
    stations: dict[str, StationServiceSettings] = setting(
        factory=dict, doc="What is different at stations, by name or by kind; a name goes before its kind."
    )

    def by_place(self, places: OrderPlaces) -> dict[int, ServiceSettings]:
        """Return what holds at stations that have more than service times of all, by number; raises ConfigError."""
        alike = not self.queue and self.admit is None
        found = {} if alike else dict.fromkeys(range(len(places.stations)), replace(self, stations={}))
        # Kinds first, so that a station of its own name keeps its own.
        for name in sorted(self.stations, key=lambda name: name not in KINDS):
            try:
                numbers = places.of_kind(KINDS[name]) if name in KINDS else [places.number(name)]
            except UnknownNameError as error:
                raise ConfigError(str(error), path=f"service.stations.{name}") from error
            given = {key: value for key, value in vars(self.stations[name]).items() if value is not None}
            found.update((number, replace(found.get(number, self), stations={}, **given)) for number in numbers)
        return found


@dataclass
class AllocationSettings(Checked):
    """Who serves what."""

    type: str = setting("nearest", doc="nearest, hungarian, auction, or package.module:Class.")
    period: float = time_setting(1.0, doc="Between allocations; 0: in each step.")
    queue: int = setting(1, low=1, high=1000, doc="Orders that a robot may have, the one that it serves included.")
    consider: int = setting(400, low=1, high=100_000, doc="Waiting orders that are looked at, the most urgent ones.")
    waiting_weight: float = setting(
        0.0, low=0.0, high=1e6, unit="m/s", doc="How many metres of way a second of waiting makes up for."
    )
    options: dict[str, Any] = setting(factory=dict, doc="Settings of the allocator itself.")


@dataclass
class ChargingSettings(Checked):
    """When robots with batteries charge. Chargers are the stations of the kind charge."""

    policy: str = setting("threshold", doc="threshold, opportunity, or package.module:Class.")
    options: dict[str, Any] = setting(factory=dict, doc="Settings of the policy itself.")
    period: float = time_setting(5.0, above=0.0, doc="Between looks at the batteries.")


class WhenIdle(Mode):
    """What a robot does that has nothing to do: stay where it is, or park at a station of the kind park."""

    STAY = "stay"
    PARK = "park"


SettingsEntries = list[Order]
Streams = list[ArrivalSettings]


@dataclass
class OrdersSettings(Checked):
    """The orders of a scenario, and how they are served."""

    list: SettingsEntries = setting(factory=lambda: [], doc="Orders.")
    file: str | None = setting(None, doc="CSV file with orders, beside this one or in the working folder.")
    tasks: str | None = setting(
        None, doc="Problem of the League of Robot Runners, found in the same way, whose tasks are orders."
    )
    arrivals: Streams = setting(factory=lambda: [], doc="Orders that come at random.")
    allocation: AllocationSettings = setting(factory=AllocationSettings, doc="Who serves what.")
    service: ServiceSettings = setting(factory=ServiceSettings, doc="What happens at stops.")
    load: LoadSettings = setting(factory=LoadSettings, doc="The boxes that stand for loads.")
    pods: PodsSettings | None = setting(
        None, doc="Shelves with stock that robots carry to workstations (goods to person); null: there are none."
    )
    robot: OrderRobotSettings | None = setting(
        factory=OrderRobotSettings,
        doc="Robots that can drive and have no entry orders of their own; null: those do not serve.",
    )
    charging: ChargingSettings = setting(factory=ChargingSettings, doc="When robots with batteries charge.")
    idle: WhenIdle = setting(
        WhenIdle.STAY, doc="What robots do that have nothing to do: stay, or park at the nearest free parking place."
    )
    sample_period: float = time_setting(60.0, above=0.0, doc="Between samples of the figures that change over time.")
    attempts: int = setting(3, low=1, high=1000, doc="Drives for an order that may fail before the order does.")
    retry_after: float = time_setting(5.0, low=0.1, doc="Rest of a robot whose drive failed.")
