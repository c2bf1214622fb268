"""Routes along the lanes of a roadmap, for robots of one size."""

from __future__ import annotations

import heapq
import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.sites.roadmap import Roadmap
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.traffic.across import Across, Way, joined
from fleet_sim.traffic.points import Point

MOST_KEPT = 4_000_000
"""Of the costs from node to node that are kept for later, in numbers."""
MOST_TRIED = 8
"""Nodes around a place that are tried, the nearest first."""


class _Lane(NamedTuple):
    end: int
    length: float
    limit: float


class Lanes:
    """The lanes of `roadmap` that a robot can drive along: `nodes` (N, 2) are (column, row) in cells.

    A lane is left out where the robot's disc touches something on it, or that leads against a one-way zone. The lower
    one of its speed limit and those of the zones that it leads through holds on all of it.
    """

    def __init__(self, roadmap: Roadmap, nodes: Floats, across: Across) -> None:
        self._across = across
        self._nodes: list[Point] = [(float(column), float(row)) for column, row in nodes]
        self._places = nodes
        self._from: list[list[_Lane]] = [[] for _ in self._nodes]
        for (begin, end), limit in zip(roadmap.lanes.tolist(), roadmap.speed_limits.tolist(), strict=True):
            # A lane that is too narrow for this robot, or against a zone, is left out.
            way = across.line(self._nodes[begin], self._nodes[end])
            if way is not None:
                self._from[begin].append(_Lane(end, way.cost, min(limit, way.limits[0])))
        self._begins = np.array([bool(lanes) for lanes in self._from], bool)
        self._ends = np.zeros(len(self._nodes), bool)
        # Where lanes end and where they begin: a robot enters the lanes at one, and leaves them at the other.
        self._ends[[lane.end for lanes in self._from for lane in lanes]] = True
        self._ways: dict[tuple[int, float], tuple[Floats, Ints]] = {}

    def find(self, begin: Point, end: Point, speed: float, *, over_one: bool) -> Way | None:
        """Return the way across free space to the nearest node, along lanes, and from the node nearest to `end` on.

        Nearest counts by way, among the nodes that lanes begin or end at. None where lanes do not connect the two.
        Where both are one node no lane is driven along: then the way is the one over it, or None without `over_one`.
        """
        first = self._nearest(begin, speed, inward=True)
        last = self._nearest(end, speed, inward=False)
        if first is None or last is None or (first[0] == last[0] and not over_one):
            return None
        chain = self._chain(first[0], last[0], speed)
        return None if chain is None else joined(first[1], chain, last[1])

    def _nearest(self, place: Point, speed: float, *, inward: bool) -> tuple[int, Way] | None:
        """Return the node with the shortest way from `place` (`inward`), or to it, and that way."""
        best: tuple[int, Way] | None = None
        # One may leave the lanes only where one ends, and enter them only where one begins.
        distances = trig.hypot(*(self._places - place).T)
        used_mask = self._begins if inward else self._ends
        nodes = np.flatnonzero(used_mask)
        for node in nodes[np.argsort(distances[nodes], kind="stable")][:MOST_TRIED].tolist():
            # No way is shorter than the straight line.
            if best is not None and distances[node] >= best[1].cost:
                break
            at = self._nodes[node]
            way = self._across.find(place, at, speed) if inward else self._across.find(at, place, speed)
            if way is not None and (best is None or way.cost < best[1].cost):
                best = node, way
        return best

    def _chain(self, entry: int, leave: int, speed: float) -> Way | None:
        """Return the fastest way along lanes from node to node."""
        costs, before = self._tree(entry, speed)
        if not math.isfinite(costs[leave]):
            return None
        nodes = [leave]
        while nodes[-1] != entry:
            nodes.append(int(before[nodes[-1]]))
        nodes.reverse()
        # Of two lanes between the same nodes the faster one, as the search takes it.
        limits = [max(lane.limit for lane in self._from[one] if lane.end == two) for one, two in pairwise(nodes)]
        return Way([self._nodes[node] for node in nodes], limits, float(costs[leave]))

    def _tree(self, entry: int, speed: float) -> tuple[Floats, Ints]:
        """Return the costs (N,) from a node to all others, and the node before each on the way there."""
        known = self._ways.get((entry, speed))
        if known is not None:
            return known
        costs, before = np.full(len(self._nodes), np.inf), np.full(len(self._nodes), -1)
        costs[entry] = 0.0
        waiting = [(0.0, entry)]
        while waiting:
            cost, node = heapq.heappop(waiting)
            # A shorter way to this node was found after this entry was pushed.
            if cost > costs[node]:
                continue
            for lane in self._from[node]:
                through = cost + lane.length * max(speed / lane.limit, 1.0)
                if through < costs[lane.end]:
                    costs[lane.end], before[lane.end] = through, node
                    heapq.heappush(waiting, (through, lane.end))
        # All at once: which of them is needed next is not known.
        if len(self._ways) * len(self._nodes) > MOST_KEPT:
            self._ways.clear()
        self._ways[entry, speed] = costs, before
        return costs, before
