"""Arrivals: orders that come at random, as a Poisson process with a daily profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core import random
from fleet_sim.errors import InvalidValueError, UnknownNameError
from fleet_sim.gate.bounds import LONGEST_TIME
from fleet_sim.orders.order import HEAVIEST, MOST_ITEMS, Order
from fleet_sim.orders.places import OrderPlaces
from fleet_sim.orders.sources.items import ItemDraws
from fleet_sim.settings import Checked, setting, time_setting
from fleet_sim.sites.stations import StationKind
from fleet_sim.spatial import trigonometry as trig

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
