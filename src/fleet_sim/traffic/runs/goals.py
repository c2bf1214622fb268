"""GoalGiver: sends robots from goal to goal, with a stay at each."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.traffic.figures import FigureCollector
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.runs.crew import Crew
from fleet_sim.traffic.runs.league import LeagueRecorder
from fleet_sim.traffic.tasks import Tasks
from fleet_sim.traffic.traffic import Traffic

NOT_SERVING = -1
"""The tick at which a robot ends its stay, where it has none."""


class GoalGiver:
    """Gives the robots of `crew` their goals; each stays `dwell` s where it arrives before it goes on.

    While it stays nobody takes its place: who has to pass there later waits. A task counts when the stay at its last
    goal ends.
    """

    def __init__(
        self,
        world: World,
        traffic: Traffic,
        crew: Crew,
        tasks: Tasks,
        dwell: float,
        collector: FigureCollector,
        recorder: LeagueRecorder | None = None,
    ) -> None:
        self.crew, self.collector = crew, collector
        self._world, self._traffic, self._tasks, self._recorder = world, traffic, tasks, recorder
        self._dwell_ticks = world.clock.ticks(dwell) if dwell > 0.0 else 0
        self._network = traffic.network
        self._node_of = nodes_of_cells(self._network)
        self._until: Ints = np.full(crew.count, NOT_SERVING)
        self._since: Floats = np.zeros(crew.count)
        self._active: Bools = np.ones(crew.count, bool)

    @property
    def serving_mask(self) -> Bools:
        """Which robots (K,) of the crew stay at a goal at present."""
        return np.asarray(self._until[self.crew.robots] >= 0)

    @property
    def active_mask(self) -> Bools:
        """Which robots (K,) of the crew have a task."""
        return np.asarray(self._active[self.crew.robots])

    def begin(self) -> None:
        """Give all robots their first goals."""
        crew = self.crew
        self._send(crew.robots, crew.rows, self._network.cells[self._traffic.nodes(crew.rows)])

    def step(self, dt: float) -> None:
        """Let those who arrived stay, and send on those who stayed long enough."""
        crew, tick = self.crew, self._world.clock.tick
        crew.renew()
        until = self._until[crew.robots]
        # Who stays already, and who has no task, has not just arrived.
        arrived_mask = crew.table.arrived[crew.rows] & self._active[crew.robots] & (until < 0)
        if arrived_mask.any():
            until[arrived_mask] = tick + self._dwell_ticks
            self._until[crew.robots] = until
            # Without a stay nobody has to be held, as the next goal comes in the same step.
            if self._dwell_ticks:
                self._traffic.pause_rows(crew.rows[arrived_mask])
        done_mask = (until >= 0) & (until <= tick)
        if done_mask.any():
            robots, rows = crew.robots[done_mask], crew.rows[done_mask]
            if self._dwell_ticks:
                self._traffic.continue_rows(rows)
            self._until[robots] = NOT_SERVING
            self._send(robots, rows, self._network.cells[crew.table.goal[rows]])

    def _send(self, robots: Ints, rows: Ints, cells: Ints) -> None:
        """Ask the tasks for the next goals of robots that arrived, and send those that get one.

        `robots`, `rows` and `cells` are aligned: number, row and present cell of each. Raises InvalidValueError for a
        goal cell on which no robot has room.
        """
        goals = self._tasks.next(robots, cells)
        if self._recorder is not None:
            self._recorder.sent(robots, goals, self._tasks)
        now = self._world.clock.time
        ended = robots[goals.done_mask]
        # From when a robot had the task until now; the first goals have ended none.
        self.collector.tasks_ended(now - self._since[ended])
        self._since[ended] = now
        going_mask = goals.cells >= 0
        self._active[robots] = going_mask
        if not going_mask.any():
            return
        nodes = self._node_of[goals.cells[going_mask]]
        # Not left to the traffic, which would name a node and not the cell of the task.
        if (nodes < 0).any():
            cell = int(goals.cells[going_mask][nodes < 0][0])
            raise InvalidValueError(f"there is no room for a robot at the goal in cell {cell}; choose a smaller radius")
        self._traffic.send_rows(rows[going_mask], nodes)

    # ---- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the state, for a checkpoint."""
        arrays = (self._until.copy(), self._since.copy(), self._active.copy())
        return self.crew.save(), arrays, deepcopy(vars(self._tasks)), deepcopy(vars(self.collector))

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        crew, arrays, tasks, figures = saved
        self.crew.restore(crew)
        self._until, self._since, self._active = (array.copy() for array in arrays)
        # In place: the giver is held by others, and so are tasks and collector.
        vars(self._tasks).update(deepcopy(tasks))
        vars(self.collector).update(deepcopy(figures))


def nodes_of_cells(network: Network) -> Ints:
    """Return the node of each cell of the network's grid (H * W,), -1 where there is none.

    Raises InvalidValueError for a network of a roadmap: tasks and plans are on cells.
    """
    if network.grid is None:
        raise InvalidValueError("tasks lead to cells; let the traffic drive on the grid of the site (network: grid)")
    node_of = np.full(network.grid.count, -1)
    node_of[network.cells] = np.arange(len(network))
    return node_of
