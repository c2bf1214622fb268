"""Turns: what is due when, who is served at a place, and who has a charger or a parking place to himself."""

from __future__ import annotations

import heapq
from collections import deque
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.registry import saved
from fleet_sim.warehouse.orders.places import OrderPlaces
from fleet_sim.warehouse.sites.site import StationKind
from fleet_sim.world.state_files import Stateful


@saved
class Timer(NamedTuple):
    """`what` is due for `subject` at `tick`; `token` tells whether it still matters then."""

    tick: int
    number: int
    what: str
    subject: int
    token: int


class Timers(Stateful):
    """Costs a comparison per step while nothing is due."""

    STATE = ("_heap", "_count")

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._count = 0

    def add(self, tick: int, what: str, subject: int, token: int = 0) -> None:
        """Let `what` be due at `tick`, or at once where that is past."""
        heapq.heappush(self._heap, Timer(tick, self._count, what, subject, token))
        self._count += 1

    def due(self, tick: int) -> list[Timer]:
        """Return and forget what is due until `tick`, earliest first."""
        found = []
        while self._heap and self._heap[0].tick <= tick:
            found.append(heapq.heappop(self._heap))
        return found


class Service(Stateful):
    """Each place serves `at_once` robots; the others wait in the order they came."""

    STATE = ("_served", "_queues")

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._served: dict[int, list[int]] = {}
        self._queues: dict[int, deque[int]] = {}

    def enter(self, place: int, row: int) -> bool:
        """Let a robot be served at `place`; return whether it is at once. If not, `leave` returns it later."""
        served = self._served.setdefault(place, [])
        if len(served) < self._at_once:
            served.append(row)
            return True
        self._queues.setdefault(place, deque()).append(row)
        return False

    def leave(self, place: int, row: int) -> int | None:
        """Let a robot go, served or not; return the one whose turn it is now, if this changed."""
        queue = self._queues.get(place)
        if queue is not None and row in queue:
            queue.remove(row)
            return None
        served = self._served.get(place)
        if served is None or row not in served:
            return None
        served.remove(row)
        if not queue:
            return None
        following = queue.popleft()
        served.append(following)
        return following

    def length(self, place: int) -> int:
        """Return how many robots are served or wait at `place`."""
        return len(self._served.get(place, ())) + len(self._queues.get(place, ()))


class Stands(Stateful):
    """The stations of one kind, each taken by one robot at most, from when it sets out until it leaves."""

    STATE = ("_owners",)

    def __init__(self, places: OrderPlaces, kind: StationKind) -> None:
        self._places = places
        self._stations = places.of_kind(kind)
        self._owners: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._stations)

    def take(self, row: int, point: Floats) -> int | None:
        """Give a robot at `point` (3,) m the nearest open stand that is free; None where it gets to none."""
        taken = {*self._owners.values(), *self._places.closed}
        free = [station for station in self._stations if station not in taken]
        if not free:
            return None
        lengths = self._places.lengths_from(point[None], free)[0]
        nearest = int(lengths.argmin())
        if not np.isfinite(lengths[nearest]):
            return None
        self._owners[row] = free[nearest]
        return free[nearest]

    def has(self, row: int) -> bool:
        """Return whether a robot has a stand."""
        return row in self._owners

    def leave(self, row: int) -> bool:
        """Let others have the stand of a robot; return whether it had one."""
        return self._owners.pop(row, None) is not None
