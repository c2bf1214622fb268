"""Each order, the most urgent one first, to the robot that has the shortest way to it."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools
from fleet_sim.orders.allocation.base import Assignment, Request


class Nearest:
    """Serves orders in the order of their urgency: no order is overtaken by one that is nearer to a robot."""

    def allocate(self, request: Request) -> list[Assignment]:
        """Return an idle robot for each order, as long as there are any."""
        costs = np.where(((request.free > 0) & idle_mask(request))[:, None], request.costs, np.inf)
        found = []
        for order in range(costs.shape[1]):
            robot = int(costs[:, order].argmin())
            if costs[robot, order] < np.inf:
                found.append(Assignment(robot, order))
                costs[robot] = np.inf
                if len(found) == len(costs):
                    break
        return found


def idle_mask(request: Request) -> Bools:
    """Return which robots (R,) have nothing to do."""
    mask: Bools = (request.left <= 0.0) & np.array([not plan for plan in request.plans], bool)
    return mask
