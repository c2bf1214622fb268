"""Gates: nodes at which a door must be open before a robot enters, and who opens it."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Bools, Rows
from fleet_sim.core.world import World
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.execution.execution import Execution
from fleet_sim.traffic.obstacles import CoveredNodes

AHEAD = 8
"""Nodes of its way ahead of what a robot was granted at which it asks a door to open."""


class Gates:
    """The passages of a world that open for robots, as the traffic sees them.

    The nodes of a gate are those at which, or on the way to which, a robot would touch a leaf that is closed or moves.
    A plan leads through them as if there was no door, so that there is one order of passing. They are granted while
    the door is open, and it stays open until all who were granted one have left: no leaf ever meets a robot.
    """

    def __init__(self, world: World, table: TrafficColumns, execution: Execution, obstacles: CoveredNodes) -> None:
        self._world, self._table, self._execution, self._obstacles = world, table, execution, obstacles
        self._version = -1
        self._passages: Rows = NO_ROWS
        self._inside: Bools = np.zeros((0, len(execution.open_mask)), np.bool_)
        self._reached = self._inside
        self.shut: Bools = np.zeros(len(execution.open_mask), np.bool_)
        """Nodes (N,) that nobody may be granted, as a door there is not open."""

    def ask(self) -> bool:
        """Open what robots have entered or come to; return whether it changed which nodes are shut."""
        self._find()
        passages = self._world.routes.passages
        if passages is None or not (len(self._passages) or self.shut.any()):
            return False
        wanted_mask = self._inside[:, self._nodes_in_use()].any(axis=1)
        passages.keep_open(self._passages[wanted_mask])
        # One that is open but not asked may close in this very step.
        closed_mask = ~(wanted_mask & passages.are_open(self._passages))
        before, self.shut = self.shut, np.asarray(self._inside[closed_mask].any(axis=0))
        return not np.array_equal(before, self.shut)

    def is_in_swing(self, node: int) -> bool:
        """Return whether a door that is not open comes to a node when it opens, or stands there."""
        self._find()
        passages = self._world.routes.passages
        if passages is None:
            return False
        return bool((self._reached[:, node] & ~passages.are_open(self._passages)).any())

    def _find(self) -> None:
        """Look for gates again where something was spawned or removed."""
        world = self._world
        if self._version == world.version:
            return
        self._version = world.version
        passages = world.routes.passages
        found = NO_ROWS if passages is None else passages.opening_for_robots()
        self._passages = found
        masks = [self._obstacles.swept_by(row) for row in found.tolist()]
        shape = (len(found), len(self.shut))
        swept, opened = (np.array([pair[side] for pair in masks], np.bool_).reshape(shape) for side in (0, 1))
        # Where an open leaf stands is closed for ever, see CoveredNodes.
        self._inside, self._reached = swept & ~opened, swept | opened

    def _nodes_in_use(self) -> AnyArray:
        """Return the nodes that robots hold, and those that they come to soon."""
        table, ways = self._table, self._execution.graph.ways
        rows = self._execution.rows
        nodes = ways.nodes[rows]
        places = np.arange(nodes.shape[1])[None]
        granted = table.granted[rows][:, None]
        # Who is stopped or broken down comes to nothing, but keeps what it holds.
        far = np.where(table.held[rows][:, None] == 0, granted + AHEAD, granted)
        used = (places >= table.behind[rows][:, None]) & (places <= far) & (places < table.length[rows][:, None])
        return np.unique(nodes[used])
