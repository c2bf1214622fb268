"""Courier: what one robot is doing, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from fleet_sim.orders.loads import NO_LOAD
from fleet_sim.saved_classes import saved

NO_PLACE = -1


@saved
class Task(Enum):
    """What a robot drives for."""

    NONE = "none"
    ORDER = "order"
    RETURN = "return"
    PARK = "park"
    CHARGE = "charge"
    POD = "pod"


@saved
@dataclass
class Courier:
    """A robot that serves orders: its plan, and where it is in the order at hand."""

    row: int
    task: Task = Task.NONE
    order: int = -1
    leg: int = 0
    """Index in the stops of the order that it drives to or is at."""
    place: int = NO_PLACE
    """Where it drives to, or is served."""
    entered: bool = False
    """Whether it has arrived at `place` and is served there, or waits for its turn."""
    load: int = NO_LOAD
    attempts: int = 0
    token: int = 0
    """Changes with whatever it does next, so that timers of what it did before mean nothing."""
    resting: bool = False
    """Whether it waits before it drives again, because a drive failed."""
    out: bool = False
    """Whether it has no energy and stands."""
    plan: list[int] = field(default_factory=list)
    """Orders that it has next."""

    def copy(self) -> Courier:
        """Return an independent copy."""
        return replace(self, plan=list(self.plan))
