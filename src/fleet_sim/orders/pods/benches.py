"""Workbench: a station with the orders that are picked there, and the pods that come to it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.orders.pods.visit import PodClaim
from fleet_sim.saved_classes import saved

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

    def take_over(self, other: Workbench) -> None:
        """Be as `other`, which stays as it is."""
        copied = other.copy()
        for declared in fields(self):
            setattr(self, declared.name, getattr(copied, declared.name))
