"""GoalGiver: sends robots from goal to goal, with a stay at each."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.errors import ConfigError
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.figures import FigureCollector
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.runs.fleet import Fleet
from fleet_sim.traffic.tasks import Tasks

NOT_SERVING = -1
"""The tick at which a robot ends its stay, where it has none."""


class GoalGiver:
    """Gives the robots of `fleet` their goals; each stays `dwell` s where it arrives before it goes on.

    While it stays nobody takes its place: who has to pass there later waits. A task counts when the stay at its last
    goal ends.
    """

    def __init__(self, fleet: Fleet, tasks: Tasks, dwell: float, collector: FigureCollector) -> None:
        self.robots: Ints = np.arange(tasks.robots)
        self.rows: Ints = np.array(fleet.traffic.rows)
        self._traffic = fleet.traffic
        self._world = fleet.sim.world
        self._table = columns_of(fleet)
        self._tasks = tasks
        self._collector = collector
        self._dwell_ticks = max(self._world.clock.ticks(dwell), 0) if dwell > 0.0 else 0
        self._network = fleet.traffic.network
        self._node_of = nodes_of_cells(self._network)
        self._until: Ints = np.full(len(self.rows), NOT_SERVING)
        self._since: Floats = np.zeros(len(self.rows))
        self._active: Bools = np.ones(len(self.rows), bool)

    @property
    def serving_mask(self) -> Bools:
        """Which robots (R,) stay at a goal at present."""
        return self._until >= 0

    @property
    def active_mask(self) -> Bools:
        """Which robots (R,) have a task."""
        return self._active

    def begin(self) -> None:
        """Give all robots their first goals."""
        self._send(self.robots, self._network.cells[self._traffic.nodes(self.rows)])

    def step(self, dt: float) -> None:
        """Let those who arrived stay, and send on those who stayed long enough."""
        tick = self._world.clock.tick
        arrived_mask = self._table.arrived[self.rows] & self._active & (self._until < 0)
        if arrived_mask.any():
            came = np.flatnonzero(arrived_mask)
            self._until[came] = tick + self._dwell_ticks
            if self._dwell_ticks:
                self._traffic.pause_rows(self.rows[came])
        done = np.flatnonzero((self._until >= 0) & (self._until <= tick))
        if len(done):
            if self._dwell_ticks:
                self._traffic.continue_rows(self.rows[done])
            self._until[done] = NOT_SERVING
            self._send(done, self._network.cells[self._table.goal[self.rows[done]]])

    def _send(self, robots: Ints, cells: Ints) -> None:
        goals = self._tasks.next(robots, cells)
        now = self._world.clock.time
        ended = robots[goals.done_mask]
        self._collector.tasks_ended(now - self._since[ended])
        self._since[ended] = now
        going_mask = goals.cells >= 0
        self._active[robots] = going_mask
        going = robots[going_mask]
        if not len(going):
            return
        nodes = self._node_of[goals.cells[going_mask]]
        if (nodes < 0).any():
            cell = int(goals.cells[going_mask][nodes < 0][0])
            raise ConfigError(f"robots have no room at the goal in cell {cell}; give them a smaller radius")
        self._traffic.send_rows(self.rows[going], nodes)


def nodes_of_cells(network: Network) -> Ints:
    """Return the node of each cell of the network's grid (H * W,), -1 where there is none."""
    assert network.grid is not None
    node_of = np.full(network.grid.count, -1)
    node_of[network.cells] = np.arange(len(network))
    return node_of


def columns_of(fleet: Fleet) -> TrafficColumns:
    """Return the columns of the fleet's traffic."""
    table = fleet.sim.world.tables["traffic"]
    assert isinstance(table, TrafficColumns)
    return table
