"""A*: the shortest path of one robot."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.errors import PlanError
from fleet_sim.traffic.planners.planner import Planner, plan_nothing
from fleet_sim.traffic.problem import Problem


class AStar(Planner):
    """Plans the shortest path of a single robot; it refuses problems with more, since nobody would give way."""

    def prepare(self) -> None:
        """Compile the kernels."""
        plan_nothing(self)

    def plan(self, problem: Problem) -> Ints:
        """Return the path to the goal, or its first `window` steps, waiting at the goal; of equal ones the first."""
        if len(problem) != 1:
            raise PlanError(f"astar plans for one robot, not for {len(problem)}; plan with pibt, lacam or prioritized")
        with self.network.lock:
            problem.require_ways()
            steps = self.network.distances(int(problem.goals[0]))
        nodes = [int(problem.starts[0])]
        while nodes[-1] != problem.goals[0] and (not problem.window or len(nodes) <= problem.window):
            ends = self.network.neighbours[nodes[-1]]
            # The table has the exact distances, so that nothing needs to be searched.
            nearer = (ends >= 0) & (steps[ends] == steps[nodes[-1]] - 1) & ~problem.blocked[ends]
            nodes.append(int(ends[np.argmax(nearer)]))
        missing = max(problem.window, 1) + 1 - len(nodes)
        return np.array([nodes + nodes[-1:] * missing], np.int64)
