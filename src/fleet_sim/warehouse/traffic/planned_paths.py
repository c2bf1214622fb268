"""Planned paths: where the plan leads the robots of the traffic, as readers outside of it see their paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.spatial import quaternions
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.warehouse.traffic.graph import ActionDependencyGraph, Small, Tracks
from fleet_sim.world.joints import EntityPaths
from fleet_sim.world.world import World


class _Corners(NamedTuple):
    """The corners of ways, way after way: the row and the place in its way of each, and its pose."""

    rows: Rows
    places: Ints
    positions: Floats
    orientations: Floats


class _Ahead(NamedTuple):
    """The `corners` (K,) ahead of robots (N,) that are asked for: `owners` (K,) are of whom, `counts` (N,) how many."""

    owners: Ints
    counts: Ints
    corners: _Corners


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
        self._turned: tuple[Tracks, Floats] | None = None
        """The directions of all lanes, as orientations."""

    def paths_of(self, rows: Rows) -> EntityPaths:
        """Return the planned paths of `rows` (N,); read only. None has waypoints before the first robot takes part."""
        graph = self._graph()
        if graph is None:
            none = np.zeros(len(rows), np.int64)
            return EntityPaths(none, none, np.empty((0, 3)), np.empty((0, 4)))
        ahead = self._ahead_of(self._corners_of(graph), rows)
        corners = ahead.corners
        passed_mask = corners.places <= self._table.at[corners.rows]
        nexts = np.bincount(ahead.owners[passed_mask], minlength=len(rows))
        nexts.flags.writeable = False
        return EntityPaths(ahead.counts, nexts, corners.positions, corners.orientations)

    def _ahead_of(self, corners: _Corners, rows: Rows) -> _Ahead:
        """Return the corners ahead of `rows` (N,), arranged anew where others are asked for or one has arrived."""
        # Who has driven all of its way has nothing ahead of it.
        left_mask = self._table.at[rows] < self._table.length[rows] - 1
        asked, left, known = rows.tobytes(), left_mask.tobytes(), self._ahead
        if known is None or known[0] is not corners or known[1:3] != (asked, left):
            self._ahead = known = (corners, asked, left, self._arrange(corners, rows, left_mask))
        return known[3]

    def _arrange(self, corners: _Corners, rows: Rows, left_mask: Bools) -> _Ahead:
        """Return the corners of those of `rows` (N,) in `left_mask`, in their order, each in the order of its way."""
        index = np.full(self._world.capacity, -1, np.int64)
        index[rows[left_mask]] = np.flatnonzero(left_mask)
        owners = index[corners.rows]
        order = np.flatnonzero(owners >= 0)
        own = owners[order]
        # Most readers ask for all, in the order in which they were found.
        if (own[1:] < own[:-1]).any():
            order = order[np.argsort(own, kind="stable")]
        counts = np.bincount(owners[order], minlength=len(rows))
        # `take` finds rows of few numbers several times as fast as an index does.
        poses = corners.positions.take(order, axis=0), corners.orientations.take(order, axis=0)
        chosen = _Corners(corners.rows[order], corners.places[order], *poses)
        for array in (counts, chosen.positions, chosen.orientations):
            array.flags.writeable = False
        return _Ahead(owners[order], counts, chosen)

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
        ends = np.cumsum(left)
        owners = np.repeat(np.arange(len(present)), left)
        # The places 1, 2, 3 ... of each way: the robot was at place 0 when the plan was made.
        places = 1 + np.arange(len(owners)) - (ends - left)[owners]
        # One number for row and place: `take` finds numbers several times as fast as two indices do.
        flat = (ways.bends.shape[1] * present)[owners] + places
        # Where the lane after a node is not straight on, the node is a corner; the last one is, whatever comes after.
        corner_mask = ways.bends.reshape(-1).take(flat + 1, mode="clip")
        corner_mask[ends[left > 0] - 1] = True
        corners = np.flatnonzero(corner_mask)
        owners, places, flat = owners[corners], places[corners], flat[corners]
        rows, nodes, lanes = present[owners], ways.nodes.reshape(-1).take(flat), ways.lanes.reshape(-1).take(flat)
        positions = np.empty((len(rows), 3))
        positions[:, :2] = graph.tracks.positions.take(nodes, axis=0) - table.offset[rows]
        positions[:, 2] = world.position[rows, 2]
        asked_mask = (places == left[owners]) & (nodes == table.goal[rows]) & ~np.isnan(table.heading[rows])
        return _Corners(rows, places, positions, self._orientations(graph.tracks, rows, lanes, asked_mask))

    def _orientations(self, tracks: Tracks, rows: Rows, lanes: Small, asked_mask: Bools) -> Floats:
        """Return how robots (K,) stand at the end of lanes, or as their goals ask for."""
        table = self._table
        if self._turned is None or self._turned[0] is not tracks:
            self._turned = (tracks, quaternions.from_yaws(tracks.yaws))
        orientations = self._turned[1].take(lanes, axis=0)
        # Those that never turn keep their heading.
        keep_mask = ~table.turns[rows]
        orientations[keep_mask] = quaternions.from_yaws(table.yaw[rows[keep_mask]])
        orientations[asked_mask] = quaternions.from_yaws(table.heading[rows[asked_mask]])
        tilts = table.tilt[rows]
        # Next to all stand upright.
        return quaternions.multiply(orientations, tilts) if (tilts != quaternions.IDENTITY).any() else orientations
