"""An auction: each order goes to the robot whose way it lengthens least, at the best place in its plan."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.orders.allocation.base import Assignment, Request

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
            best, winner, place = np.inf, -1, 0
            for robot in np.flatnonzero((free > 0) & np.isfinite(request.costs[:, order])).tolist():
                bids = self._bids(request, robot, order, plans[robot])
                at = int(bids.argmin())
                if bids[at] < best:
                    best, winner, place = float(bids[at]), robot, at
            if winner >= 0:
                plans[winner].insert(place, (int(request.begins[order]), int(request.ends[order])))
                free[winner] -= 1
                sold.append(Assignment(winner, order, place))
        return sold

    def _bids(self, request: Request, robot: int, order: int, plan: list[tuple[int, int]]) -> Floats:
        """Return by how much (len(plan) + 1,) the way of `robot` gets longer with `order` at each place in its plan."""
        begin, end = int(request.begins[order]), int(request.ends[order])
        first = request.reach(robot, np.array([begin, *(start for start, _ in plan[:1])]))
        starts, stops = (np.array(ends, np.int64) for ends in zip(*plan, strict=True)) if plan else (NONE, NONE)
        to_pick = np.append(first[0], request.between(stops, np.full(len(stops), begin)))
        onward = request.between(np.full(len(starts), end), starts)
        skipped = np.append(first[1:], request.between(stops[:-1], starts[1:]))
        longer = to_pick.copy()
        longer[:-1] += onward - skipped
        # All that comes before is waited for.
        return np.asarray(longer + request.left[robot] + np.append(0.0, np.cumsum(skipped)))
