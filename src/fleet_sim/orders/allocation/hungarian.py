"""The assignment of orders to robots with the shortest ways in all (Hungarian method).

Orders of a higher priority are assigned first, in a round of their own. Within a round as many are served as can be,
and of all such assignments the cheapest is taken. Costs of pairs that cannot be are larger than any whole assignment.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import missing_extra
from fleet_sim.orders.allocation.allocator import Assignment, Request


class Hungarian:
    """Minimises the sum of the costs of all assignments made at once; larger priorities go first.

    Among orders of one priority those near to robots are preferred where there are more orders than robots; what an
    order earns by waiting (`waiting_weight`) keeps it from waiting for ever. Raises MissingDependencyError without
    SciPy.
    """

    def __init__(self) -> None:
        try:
            from scipy.optimize import linear_sum_assignment
        except ImportError as error:
            raise missing_extra("scipy", "orders", "the allocator 'hungarian'") from error
        self._solve = linear_sum_assignment

    def allocate(self, request: Request) -> list[Assignment]:
        """Return at most one order for each robot that may take one."""
        left = np.flatnonzero(request.free > 0)
        found: list[Assignment] = []
        for priority in sorted(set(request.priority.tolist()), reverse=True):
            orders = np.flatnonzero(request.priority == priority)
            robots, chosen = self._assign(request.costs[np.ix_(left, orders)])
            found += [Assignment(int(left[r]), int(orders[o])) for r, o in zip(robots, chosen, strict=True)]
            # Who has an order of a higher priority takes no part in the rounds below it.
            left = np.delete(left, robots)
        return found

    def _assign(self, costs: Floats) -> tuple[list[int], list[int]]:
        """Return robots and orders that belong together, of all that can."""
        possible = np.isfinite(costs)
        if not possible.any():
            return [], []
        # What is impossible costs more than any set of possible ones, so that as many as can are served.
        low, high = costs[possible].min(), costs[possible].max()
        dear = (high - low + 1.0) * (min(costs.shape) + 1)
        # Shifted to begin at 0: orders that have waited long have negative costs, and the bound above holds for
        # positive ones.
        robots, orders = self._solve(np.where(possible, costs - low, dear))
        kept = possible[robots, orders]
        return robots[kept].tolist(), orders[kept].tolist()
