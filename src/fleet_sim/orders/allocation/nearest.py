"""Each order, the most urgent one first, to the robot that drives least until it has it."""

from __future__ import annotations

import numpy as np

from fleet_sim.orders.allocation.allocator import Assignment, Request


class NearestFirst:
    """Serves orders in the order of their urgency: no order is overtaken by one that is nearer to a robot.

    With a `queue` of more than one, a robot that ends near to an order gets it before an idle one that is far away.
    """

    def allocate(self, request: Request) -> list[Assignment]:
        """Return a robot for each order, as long as there are any; each gets one at most."""
        costs = np.where((request.free > 0)[:, None], request.costs, np.inf)
        found = []
        for order in range(costs.shape[1]):
            robot = int(costs[:, order].argmin())
            if costs[robot, order] < np.inf:
                found.append(Assignment(robot, order))
                costs[robot] = np.inf
                if len(found) == len(costs):
                    break
        return found
