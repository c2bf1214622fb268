"""Planned paths: where the plan leads the robots of the traffic, as readers outside of it see their paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.core.waypoints import EntityPaths
from fleet_sim.core.world import World
from fleet_sim.spatial import quaternions
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.execution.graph import ActionDependencyGraph


class _Corners(NamedTuple):
    """The corners of ways, way after way: the row and the place in its way of each, and its pose."""

    rows: Rows
    places: Ints
    positions: Floats
    orientations: Floats


class _Ahead(NamedTuple):
    """The corners that are ahead of the robots that were asked for: of whom each is, and what does not change of them.

    `owners` (K,) are indices of the robots, `counts` (N,) how many corners each has.
    """

    owners: Ints
    counts: Ints
    rows: Rows
    places: Ints
    positions: Floats
    orientations: Floats


class PlannedPaths:
    """The ways of robots as paths (a PathSource): their corners and their ends, from one plan to the next the same.

    A robot that stands at the end of its way has no path.
    """

    def __init__(self, world: World, table: TrafficColumns, graph: Callable[[], ActionDependencyGraph | None]) -> None:
        self._world, self._table, self._graph = world, table, graph
        # Found once for a plan: paths are read at each sample of a recording, and there are thousands of nodes.
        self._corners: tuple[object, int, int, _Corners] | None = None
        self._ahead: tuple[_Corners, bytes, bytes, _Ahead] | None = None
        """Of which corners, for which rows, and which of them were ahead the last time."""

    def paths_of(self, rows: Rows) -> EntityPaths:
        """Return the planned paths of `rows` (N,); read only. None has waypoints before the first robot takes part."""
        graph = self._graph()
        if graph is None:
            none = np.zeros(len(rows), np.int64)
            return EntityPaths(none, none, np.empty((0, 3)), np.empty((0, 4)))
        ahead = self._ahead_of(self._corners_of(graph), rows)
        passed_mask = ahead.places <= self._table.at[ahead.rows]
        nexts = np.bincount(ahead.owners[passed_mask], minlength=len(rows))
        nexts.flags.writeable = False
        return EntityPaths(ahead.counts, nexts, ahead.positions, ahead.orientations)

    def _ahead_of(self, corners: _Corners, rows: Rows) -> _Ahead:
        """Return the corners ahead of `rows` (N,), arranged anew where others are asked for or one has arrived."""
        # Who has driven all of its way has nothing ahead of it.
        left_mask = self._table.at[corners.rows] < self._table.length[corners.rows] - 1
        asked, left, known = rows.tobytes(), left_mask.tobytes(), self._ahead
        if known is None or known[0] is not corners or known[1:3] != (asked, left):
            self._ahead = known = (corners, asked, left, self._arrange(corners, rows, left_mask))
        return known[3]

    def _arrange(self, corners: _Corners, rows: Rows, left_mask: Bools) -> _Ahead:
        """Return the corners of `left_mask` (K,), robots in the order of `rows` (N,), each in the order of its way."""
        index = np.full(self._world.capacity, -1, np.int64)
        index[rows] = np.arange(len(rows))
        owners = index[corners.rows]
        order = np.flatnonzero(left_mask & (owners >= 0))
        order = order[np.argsort(owners[order], kind="stable")]
        counts = np.bincount(owners[order], minlength=len(rows))
        poses = corners.positions[order], corners.orientations[order]
        ahead = _Ahead(owners[order], counts, corners.rows[order], corners.places[order], *poses)
        for array in ahead:
            array.flags.writeable = False
        return ahead

    def _corners_of(self, graph: ActionDependencyGraph) -> _Corners:
        known = self._corners
        if known is None or known[0] is not graph or known[1:3] != (graph.version, self._world.version):
            found = self._find(graph)
            self._corners = known = (graph, graph.version, self._world.version, found)
        return known[3]

    def _find(self, graph: ActionDependencyGraph) -> _Corners:
        """Return the poses at which the robots turn, or end, on what is left of their planned ways.

        Positions (K, 3) in m and orientations (K, 4) xyzw, in the world; those of one robot stand together, in order.
        """
        world, table, ways = self._world, self._table, graph.ways
        present = table.among(world.rows)
        left = np.maximum(table.length[present] - 1, 0)
        rows = np.repeat(present, left)
        # The places 1, 2, 3 ... of each way: the robot was at place 0 when the plan was made.
        places = 1 + np.arange(len(rows)) - np.repeat(np.cumsum(left) - left, left)
        last_mask = places == table.length[rows] - 1
        # Where the lane after a node is not straight on, the node is a corner.
        corner_mask = last_mask | ways.bends[rows, np.minimum(places + 1, ways.bends.shape[1] - 1)]
        rows, places, last_mask = rows[corner_mask], places[corner_mask], last_mask[corner_mask]
        nodes = ways.nodes[rows, places]
        positions = np.empty((len(rows), 3))
        positions[:, :2], positions[:, 2] = graph.tracks.positions[nodes], world.position[rows, 2]
        # Those that never turn keep their heading, and the goal may ask for one.
        yaws = np.where(table.turns[rows], graph.tracks.yaws[ways.lanes[rows, places]], table.yaw[rows])
        asked_mask = last_mask & (nodes == table.goal[rows]) & ~np.isnan(table.heading[rows])
        yaws = np.where(asked_mask, table.heading[rows], yaws)
        orientations = quaternions.multiply(quaternions.from_yaws(yaws), table.tilt[rows])
        return _Corners(rows, places, positions, orientations)
