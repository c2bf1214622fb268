"""What is written under `pods:` in the section `orders`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.orders.order import LONGEST_ID, MOST_ITEMS
from fleet_sim.settings import Checked, setting, time_setting

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
        raise InvalidValueError(f"names differ from each other and have at most {LONGEST_ID} letters")
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
