"""Stock: how many items of which kind are on which pod, promised, on order, and picked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.errors import InvalidValueError, unknown_name


class PodStock:
    """Items by pod and sku. Nothing is lost: items on pods, coming, picked and gone are those supplied in all."""

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
        """Hear that a pod is gone, with what is on it; nothing on it is promised."""
        self.gone += self.held[pod]
        self.held[pod] = 0

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return {name: value.copy() for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        for name, value in saved.items():
            getattr(self, name)[:] = value
