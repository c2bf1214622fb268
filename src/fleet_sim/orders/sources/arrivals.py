"""Arrivals: orders that come at random, as a Poisson process with a daily profile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core import random
from fleet_sim.core.world import World
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError, UnknownNameError, unknown_name
from fleet_sim.gate.bounds import LONGEST_TIME
from fleet_sim.orders.order import HEAVIEST, MOST_ITEMS, Order
from fleet_sim.orders.places import OrderPlaces
from fleet_sim.orders.turns import Timers
from fleet_sim.settings import Checked, setting, time_setting
from fleet_sim.sites.stations import StationKind
from fleet_sim.spatial import trigonometry as trig

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
_KINDS = {kind.value: kind for kind in StationKind}
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


class Arrivals:
    """One stream of orders. What comes depends on the seed and on how many came before, and on nothing else."""

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
            others, pick = self._drop_weights, self._other_pick(self._drops[0])
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

    def _other_pick(self, drop: int) -> int:
        return self._choice(self._picks, self._pick_weights * (np.array(self._picks) != drop), _PICK)

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

    def save(self) -> Any:
        """Return the state, for a checkpoint."""
        return self.drawn, self.came, self._time

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        self.drawn, self.came, self._time = saved


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
            stations = places.of_kind(_KINDS[name]) if name in _KINDS else [places.number(name)]
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


class ArrivalStreams:
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
