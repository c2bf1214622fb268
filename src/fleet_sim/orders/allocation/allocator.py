"""The protocol of allocators, and what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.errors import InvalidValueError

AT_THE_END = -1


class Assignment(NamedTuple):
    """`robot` and `order` are indices into a Request; `position` is the order's place in the robot's plan."""

    robot: int
    order: int
    position: int = AT_THE_END


@dataclass(frozen=True, eq=False)
class Request:
    """Who could serve what, R robots and O orders that wait, the most urgent ones first.

    `costs` (R, O) are the metres that a robot drives until it has the load, with all it has to do before, less what the
    order has earned by waiting; inf where it cannot serve it. `free` (R,) says how many orders a robot may still take.
    `plans` are the orders that a robot has already and has not begun, as (first, last) places. `begins` and `ends`
    (O,) are the first and last places of the orders, `lengths` (O,) in m their ways. `left` (R,) is about how many m a
    robot drives until it has done what it does now, 0 for one that does nothing, and `reach(robot, places)` returns
    the lengths (K,) of the ways from where it is then. `between(begins, ends)` returns those (K,) between places.
    `priority`, `release` and `due` (O,), `now` in s.
    """

    rows: Rows
    orders: Ints
    costs: Floats
    free: Ints
    plans: Sequence[Sequence[tuple[int, int]]]
    begins: Ints
    ends: Ints
    lengths: Floats
    left: Floats
    reach: Callable[[int, Ints], Floats]
    between: Callable[[Ints, Ints], Floats]
    priority: Ints
    release: Floats
    due: Floats
    now: float


@runtime_checkable
class Allocator(Protocol):
    """Decides who serves what. Made once per simulation; the same requests in the same order have the same answers."""

    def allocate(self, request: Request) -> Sequence[Assignment]:
        """Return the assignments to make now; orders that are in none go on waiting."""


def check(request: Request, assignments: Sequence[Assignment]) -> list[Assignment]:
    """Return `assignments` as checked ones; raises InvalidValueError for the first that is impossible."""
    free = request.free.copy()
    given: set[int] = set()
    checked = []
    for item in assignments:
        # Users' allocators may answer plain tuples, and NumPy's numbers in them.
        robot, order, position = Assignment(*(int(number) for number in item))
        if not (0 <= robot < len(request.rows) and 0 <= order < len(request.orders)):
            raise InvalidValueError(
                f"robot {robot}, order {order}: there are {len(request.rows)} robots and {len(request.orders)} orders"
            )
        if order in given:
            raise InvalidValueError(f"order {order} is given to two robots")
        if request.costs[robot, order] == float("inf"):
            raise InvalidValueError(f"robot {robot} cannot serve order {order}: costs[{robot}, {order}] is inf")
        if free[robot] <= 0:
            raise InvalidValueError(f"robot {robot} may take {request.free[robot]} orders, it is given more")
        given.add(order)
        free[robot] -= 1
        checked.append(Assignment(robot, order, position))
    return checked
