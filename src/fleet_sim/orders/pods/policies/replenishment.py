"""When items are ordered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from fleet_sim.arrays import Ints, as_float
from fleet_sim.registry import Fit, Registry


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
