"""Which pod serves, where it is stored again, and when stock is ordered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, as_float
from fleet_sim.base.registry import Fit, Registry

Request = TypeVar("Request", contravariant=True)


@runtime_checkable
class PodPolicy(Protocol[Request]):
    """Makes one kind of choice. The same requests in the same order have the same answers."""

    def choose(self, request: Request) -> int:
        """Return the index of the pod, or of the place for one, in the request; -1 for none now."""


@dataclass(frozen=True, eq=False)
class PodRequest:
    """The pods (P,) that could serve a workstation now: each has items that it needs, and can be fetched.

    `lengths` (P,) in m are the ways from pods to the workstation, `lines` (P,) how many lines of its orders each pod
    serves at least in part, `items` (P,) how many items of them. `pods` (P,) are their numbers, `held` (P, S) the items
    on them by sku that nobody else needs, and `wanted` (S,) those that the workstation needs. `now` in s.
    """

    pods: Ints
    lengths: Floats
    lines: Ints
    items: Ints
    held: Ints
    wanted: Ints
    now: float


@runtime_checkable
class PodChoice(PodPolicy[PodRequest], Protocol):
    """Decides which pod is fetched next."""


class NearestPod:
    """Takes the pod with the shortest way to the workstation."""

    def choose(self, request: PodRequest) -> int:
        """Return the nearest pod."""
        return int(request.lengths.argmin())


class MostLines:
    """Takes the pod that serves most lines; of these the one with most items for them, then the nearest."""

    def choose(self, request: PodRequest) -> int:
        """Return the pod with most lines."""
        return int(np.lexsort((request.lengths, -request.items, -request.lines))[0])


POD_CHOICES: Registry[Callable[..., PodChoice]] = Registry(
    "pod choice",
    Fit("a class with a method choose(request)", callable),
    group="fleet_sim.pod_choice",
    built_in={"nearest": NearestPod, "most_lines": MostLines},
)
"""Policies that choose pods by name; `find` also takes dotted paths."""


@dataclass(frozen=True, eq=False)
class StorageRequest:
    """The places (K,) where a pod could be stored: all that are free, and the one that it came from.

    `points` (K, 2) in m, `lengths` (K,) in m of the ways from the robot to them, `original` the index of the place that
    the pod came from, -1 where it cannot get there. `pod` is its number, `held` (S,) what is on it by sku.
    """

    pod: int
    points: Floats
    lengths: Floats
    original: int
    held: Ints
    now: float


@runtime_checkable
class StoragePolicy(PodPolicy[StorageRequest], Protocol):
    """Decides where pods are stored."""


class OriginalPlace:
    """Takes each pod back to where it came from."""

    def choose(self, request: StorageRequest) -> int:
        """Return the original place."""
        return request.original


class NearestPlace:
    """Takes each pod to the nearest free place: what is asked for often comes to stand near the workstations."""

    def choose(self, request: StorageRequest) -> int:
        """Return the nearest place."""
        return int(np.argmin(request.lengths))


STORAGE_POLICIES: Registry[Callable[..., StoragePolicy]] = Registry(
    "storage policy",
    Fit("a class with a method choose(request)", callable),
    group="fleet_sim.storage_policy",
    built_in={"original": OriginalPlace, "nearest": NearestPlace},
)
"""Policies that store pods by name; `find` also takes dotted paths."""


@dataclass(frozen=True, eq=False)
class ReplenishRequest:
    """Items (S,) by sku: `held` on pods, `coming`, `target` there were at first, `asked` by orders that wait."""

    held: Ints
    coming: Ints
    target: Ints
    asked: Ints
    room: int
    """Items that all pods together have room for, what is coming left out."""
    now: float


@runtime_checkable
class ReplenishPolicy(Protocol):
    """Decides what is ordered. The same requests in the same order have the same answers."""

    def order(self, request: ReplenishRequest) -> Ints:
        """Return how many items (S,) are ordered now, at most `room` in all."""


class ReplenishThreshold:
    """Orders items of which less than the share `below` of the first stock is left, up to that stock."""

    def __init__(self, below: float = 0.5) -> None:
        self.below = as_float(below, "below", low=0.0, high=1.0)

    def order(self, request: ReplenishRequest) -> Ints:
        """Return what is missing, and what waiting orders ask for beyond it."""
        stock = request.held + request.coming
        goal = np.maximum(request.target, request.asked)
        low_mask = (stock < self.below * request.target) | (stock < request.asked)
        missing = np.where(low_mask, np.maximum(goal - stock, 0), 0)
        # The first ones get all of it where there is room for some only.
        before = np.cumsum(missing) - missing
        return np.asarray(np.clip(request.room - before, 0, missing))


class NeverReplenish:
    """Orders nothing: when the stock has been picked, it is gone."""

    def order(self, request: ReplenishRequest) -> Ints:
        """Return nothing."""
        return np.zeros(len(request.held), np.int64)


REPLENISHMENTS: Registry[Callable[..., ReplenishPolicy]] = Registry(
    "replenishment policy",
    Fit("a class with a method order(request)", callable),
    group="fleet_sim.replenishment_policy",
    built_in={"threshold": ReplenishThreshold, "never": NeverReplenish},
)
"""Policies of replenishment by name; `find` also takes dotted paths."""
