"""What one request from outside may ask for: each kind of work is counted before it is done.

A part declares its kind of work once, as a `Work`, and charges it where it is about to do it: entities where rows are
given out, rays and pixels where sensors are mounted. For the operator's own files and Python code nothing is counted.

What the sections of a scenario draw from, and what robots and objects may have:

    simulation  nothing: a world from outside has the settings of the simulation that it comes into
    ros         nothing: it is left out of a world from outside
    plugins     nothing: they are dotted paths, which may not be imported
    callbacks   nothing: the same
    robots      ENTITIES, those of grids and places one by one; TOUCHING, JOINTS, ACTIONS, the work of their sensors
    objects     ENTITIES and TOUCHING, in the same way; FILES for heights
    sensors     RAYS, PIXELS; others read columns
    swarm       ENTITIES, also those that come later; LOOKS, KEPT, DRAWS
    site        ENTITIES for its walls; its file is in a folder that the operator named
    building    ENTITIES for its walls, doors, lifts and robots; its cells are bounded where it is read
    doors       ENTITIES for their leaves
    door        nothing: columns of an entity that is counted
    lifts       ENTITIES for their walls and doors
    lift        nothing: columns of an entity that is counted
    traffic     PLANNING; PLACES that commands change
    tasks       PLANNING, of the traffic that has a goal from it for each robot
    orders      ORDERS, PAIRS; ENTITIES for pods and loads; lists are as long as a message
    battery     nothing: columns of an entity that is counted
    disturbances  EVENTS, those of its robots, doors and stations; CHANCES, STACKED, FOLLOWED; for a robot nothing
    vda5050     nothing: what a broker sends is counted where it arrives (`warehouse/vda5050/connection.py`)
    ackermann   nothing: columns of an entity that is counted
    wheels      nothing: the same
    conveyor    nothing: the same
    light       nothing: the same
    workcell    nothing: the same; what a command asks of it is ENTITIES
    slotcar     nothing: the same; it has as many waypoints as a message
    people      ENTITIES, also those that come later; WAYS
    person      nothing: columns of an entity that is counted
    safety      nothing: the same
    forklift    nothing: the same
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from fleet_sim.base.errors import InvalidValueError

# None: nothing that is asked for came from outside. The value belongs to a thread.
_spent: ContextVar[dict[Work, float] | None] = ContextVar("fleet_sim_budget", default=None)

LONGEST_NAME = 255
"""Characters of the name of anything that a request from outside makes."""


T = TypeVar("T")


@contextmanager
def during(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set `variable` inside, and what it was afterwards."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def from_outside() -> AbstractContextManager[None]:
    """Count what is asked for inside as one request from outside."""
    return during(_spent, {})


def is_from_outside() -> bool:
    """Return whether a request from outside is being carried out."""
    return _spent.get() is not None


@dataclass(frozen=True)
class Work:
    """A kind of work, `what` in the plural: one request may ask for `most`, and `in_all` with what is there already."""

    what: str
    most: float
    in_all: float = math.inf

    def charge(self, amount: float, there: float = 0.0) -> None:
        """Count `amount` more, beside what is `there`; raises InvalidValueError where that is too much."""
        spent = _spent.get()
        if spent is not None:
            self.check(amount, there)
            spent[self] = spent.get(self, 0.0) + amount

    def check(self, amount: float, there: float = 0.0) -> None:
        """Raise as `charge` does, and count nothing: for who is about to prepare what is charged piece by piece."""
        spent = _spent.get()
        if spent is None:
            return
        asked = spent.get(self, 0.0) + amount
        if not asked <= self.most:
            raise InvalidValueError(
                f"one message may ask for at most {self.most:,.0f} {self.what}, this asks for {asked:,.0f}"
            )
        if amount and not there + amount <= self.in_all:
            raise InvalidValueError(
                f"messages may bring the {self.what} to at most {self.in_all:,.0f}; there are {there:,.0f}, and this "
                f"asks for {amount:,.0f} more"
            )


def check_name(name: object, what: str = "name") -> None:
    """Raise InvalidValueError where a request from outside gives a name that is too long, or not to be printed."""
    if is_from_outside() and isinstance(name, str) and not (len(name) <= LONGEST_NAME and name.isprintable()):
        shown = ascii(name[:40])
        raise InvalidValueError(
            f"{what}: expected at most {LONGEST_NAME} printable characters, got {len(name)}, which begin with {shown}"
        )


ENTITIES = Work("entities", 10_000, 100_000)
"""Robots, objects and agents, whatever brings them: entries, grids, places, spawners, pods, equipment."""
