"""PodVisit: what one robot does with one pod, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from fleet_sim.saved_classes import saved

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

    def copy(self) -> PodVisit:
        """Return an independent copy."""
        return replace(self, claims=list(self.claims))
