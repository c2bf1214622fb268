"""Courier: what one robot is doing, as a value; and who takes robots through other errands than orders."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from fleet_sim.orders.loads import NO_LOAD
from fleet_sim.saved_classes import saved

NO_PLACE = -1


@saved
class Task(Enum):
    """What a robot drives for."""

    NONE = "none"
    FETCH = "fetch"
    """The load of an order, to its first stop."""
    CARRY = "carry"
    """The load of an order, to its other stops."""
    RETURN = "return"
    """The load of an order that was cancelled, back to its first stop."""
    PARK = "park"
    CHARGE = "charge"
    """Also while it waits for a charger."""
    POD = "pod"


@saved
class Stage(Enum):
    """How far a robot is with its task."""

    STANDING = "standing"
    """It has nowhere to go."""
    DRIVING = "driving"
    """To its place."""
    BARRED = "barred"
    """It waits until its place opens."""
    AT_PLACE = "at_place"
    """It has arrived, and is served, or waits for its turn."""
    RESTING = "resting"
    """It waits before it drives again, because a drive failed."""
    OUT = "out"
    """It has no energy and stands."""


@saved
@dataclass
class Courier:
    """A robot that serves orders: its plan, and where it is in the order at hand."""

    row: int
    task: Task = Task.NONE
    stage: Stage = Stage.STANDING
    order: int = -1
    leg: int = 0
    """Index in the stops of the order that it drives to or is at."""
    place: int = NO_PLACE
    """Where it drives to, or is served."""
    load: int = NO_LOAD
    attempts: int = 0
    token: int = 0
    """Changes with whatever it does next, so that timers of what it did before mean nothing."""
    plan: list[int] = field(default_factory=list)
    """Orders that it has next."""

    @property
    def is_free(self) -> bool:
        """Whether it can begin something else at once: it has no task, or parks."""
        return self.task in (Task.NONE, Task.PARK) and self.stage not in (Stage.RESTING, Stage.OUT)

    def copy(self) -> Courier:
        """Return an independent copy."""
        return replace(self, plan=list(self.plan))


class Dock(Protocol):
    """Where robots charge between orders."""

    def wants(self, row: int) -> bool:
        """Return whether a robot is to charge when it has done what it does."""

    def begin(self, courier: Courier) -> None:
        """Send a robot that has nothing else to do to charge."""

    def arrived(self, courier: Courier) -> None:
        """Charge a robot that has got where it was sent."""

    def forget(self, courier: Courier) -> None:
        """Do without a robot that does not get there, or is removed."""


class Porter(Protocol):
    """Who takes robots through errands with pods (`Task.POD`)."""

    def check(self, courier: Courier) -> None:
        """Raise InvalidValueError where a robot must not drive now."""

    def arrived(self, courier: Courier) -> None:
        """Go on with a robot that has got where it was sent."""

    def served(self, courier: Courier) -> None:
        """Go on with a robot that has stood for as long as it was to."""

    def give_up(self, courier: Courier, reason: str) -> None:
        """Do without a robot that is removed, or that has no pod and cannot go on."""
