"""A planner of one's own: `fleet_sim` finds it by its dotted path, checks what it returns, and compares it with others.

python examples/own_planner.py
"""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.warehouse.sites import Warehouse
from fleet_sim.warehouse.traffic import Network, Planner, Problem, checked_plan, make_planner


class Polite(Planner):
    """Each robot in turn takes the free neighbour nearest to its goal; who cannot move waits."""

    def plan(self, problem: Problem) -> Ints:
        """Return as many steps as the window has."""
        paths = [problem.starts]
        for _ in range(max(problem.window, 1)):
            now, then = paths[-1], paths[-1].copy()
            taken = np.zeros(len(self.network), bool)
            taken[now] = True
            for robot, node in enumerate(now):
                distances = self.network.distances(problem.goals[robot])
                for end in sorted(filter(lambda end: end >= 0, self.network.neighbours[node]), key=distances.item):
                    # Nodes that are left in this step stay taken: so nobody swaps, and nobody follows.
                    if 0 <= distances[end] < distances[node] and not taken[end] and not problem.blocked[end]:
                        then[robot], taken[end] = end, True
                        break
            paths.append(then)
        return np.stack(paths, axis=1)


def main() -> None:
    """Let 20 robots drive for 300 steps with each planner, a new goal at each arrival."""
    network = Network.of_grid(Warehouse().site("hall"), radius=0.4)
    for name in (f"{Polite.__module__}:Polite", "lacam", "pibt"):
        chance, planner, done = np.random.default_rng(1), make_planner(name, network), 0
        places, goals = chance.permutation(len(network))[:20], chance.permutation(len(network))[:20]
        for _ in range(60):
            places = checked_plan(planner, Problem(network, places, goals, window=5))[:, -1]
            there = places == goals
            done += int(there.sum())
            goals = np.where(there, chance.integers(0, len(network), 20), goals)
        print(f"{name}: {done} goals")


if __name__ == "__main__":
    main()
