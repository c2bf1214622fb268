"""An auction: each order goes to the robot whose way it lengthens least, at the best place in its plan.

A robot on its way may get an order in between. Sales go one by one, by urgency: that is quick and near the least way in
all, but not always the least.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.orders.allocation.allocator import Assignment, Request

NONE: Ints = np.empty(0, np.int64)


class Auction:
    """Sells orders one by one, the most urgent first. A bid is by how many metres the robot's way gets longer.

    Robots may have several orders waiting (`queue` of the allocation); a new one is inserted where it lengthens the
    way least. What the robot is doing now is finished first, and counts in its bid.
    """

    def allocate(self, request: Request) -> list[Assignment]:
        """Return the sales, with the places in the plans."""
        plans = [list(plan) for plan in request.plans]
        free, sold = request.free.copy(), []
        for order in range(len(request.orders)):
            can_mask = (free > 0) & np.isfinite(request.costs[:, order])
            idle_mask = can_mask & (request.left <= 0.0) & np.array([not plan for plan in plans], bool)
            best, winner, place = self._best_of_idle(request, order, np.flatnonzero(idle_mask))
            for robot in np.flatnonzero(can_mask & ~idle_mask).tolist():
                bids = self._bids(request, robot, order, plans[robot])
                at = int(bids.argmin())
                if bids[at] < best:
                    best, winner, place = float(bids[at]), robot, at
            if winner >= 0:
                plans[winner].insert(place, (int(request.begins[order]), int(request.ends[order])))
                free[winner] -= 1
                sold.append(Assignment(winner, order, place))
        return sold

    def _best_of_idle(self, request: Request, order: int, robots: Rows) -> tuple[float, int, int]:
        """Return the best bid of `robots` that have nothing to do, with its robot and place: all in one look-up."""
        if not len(robots):
            return np.inf, -1, 0
        costs = request.costs[robots, order]
        winner = int(robots[costs.argmin()])
        # Costs are less by what the order has earned by waiting, which bids of others do not count.
        return float(request.reach(winner, request.begins[[order]])[0]), winner, 0

    def _bids(self, request: Request, robot: int, order: int, plan: list[tuple[int, int]]) -> Floats:
        """Return by how much (len(plan) + 1,) the way of `robot` gets longer with `order` at each place in its plan."""
        begin, end = int(request.begins[order]), int(request.ends[order])
        first = request.reach(robot, np.array([begin, *(start for start, _ in plan[:1])]))
        starts, stops = (np.array(ends, np.int64) for ends in zip(*plan, strict=True)) if plan else (NONE, NONE)
        to_pick = np.append(first[0], request.between(stops, np.full(len(stops), begin)))
        onward = request.between(np.full(len(starts), end), starts)
        skipped = np.append(first[1:], request.between(stops[:-1], starts[1:]))
        longer = to_pick.copy()
        with np.errstate(invalid="ignore"):
            longer[:-1] += onward - skipped
        # Where no way leads, infinite less infinite is not a number, and the least of such costs would be that place.
        longer[np.isnan(longer)] = np.inf
        # All that comes before is waited for.
        return np.asarray(longer + request.left[robot] + np.append(0.0, np.cumsum(skipped)))
