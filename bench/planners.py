"""Times of the planners: python bench/planners.py [--scenario FILE.scen] [--seconds S] [--cases N]

PIBT on a shelf warehouse of 500 x 140 cells; LaCAM, and its refinement for S s, with 400 robots on the map of a
MovingAI scenario: with its starts and goals, and with random ones for further cases. Without a scenario the map is
random, 32 x 32 cells with a fifth blocked. Times are of this process alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import PlanError
from fleet_sim.warehouse.sites import Grid, Site, read_site
from fleet_sim.warehouse.traffic import Network, Problem, check_paths, checked_plan, make_planner

ROUNDS = 10


def shelves() -> Network:
    """Return shelves of 2 x 10 cells with aisles of one cell on 500 x 140 cells."""
    free = np.ones((140, 500), bool)
    for row in range(4, 136, 3):
        for column in range(10, 490, 12):
            free[row : row + 2, column : column + 10] = False
    return Network.of_grid(Site("shelves", Grid(free)), 0.4)


def milliseconds(work: Callable[[], object]) -> float:
    """Return the median time of `work` in ms of this process."""
    work()
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return 1e3 * float(np.median(times))


def measure_steps(network: Network, robots: int) -> None:
    """Print the time of one step of planners with a window, each from where the last one ended."""
    rng = np.random.default_rng(robots)
    first, goals = rng.permutation(len(network))[:robots], rng.permutation(len(network))[:robots]
    network.tables.rows_of(goals)
    for name, window in (("pibt", 1), ("pibt", 10)):
        planner, places = make_planner(name, network), [first]

        def advance(planner=planner, places=places, window=window) -> None:  # type: ignore[no-untyped-def]
            places.append(planner.plan(Problem(network, places[-1], goals, window=window))[:, -1].copy())

        taken = milliseconds(advance) / window
        print(f"{name}, {robots} robots, window {window}: {taken:.2f} ms a step  {dict(planner.figures())}")
    problem = Problem(network, first, goals, window=10)
    paths = make_planner("pibt", network).plan(problem)
    print(f"checks of {robots} paths of 10 steps: {milliseconds(lambda: check_paths(problem, paths)):.2f} ms")


def instances(scenario: str | None, cases: int, robots: int) -> list[tuple[Network, Ints, Ints]]:
    """Return networks with starts and goals."""
    if scenario is None:
        grid = Grid(np.random.default_rng(0).random((32, 32)) < 0.8)
        site = Site("random", grid)
    else:
        site = read_site(scenario)
        grid = site.grid
    network = Network.of_grid(site, 0.4)
    region = network.node_at(grid.positions(grid.largest_region()))
    found = []
    for case in range(cases):
        rng = np.random.default_rng(case)
        starts, goals = rng.permutation(region)[:robots], rng.permutation(region)[:robots]
        if case == 0 and len(site.starts) >= robots:
            starts = network.node_at(grid.positions(site.starts[:robots]))
            goals = network.node_at(grid.positions(site.goals[:robots]))
        found.append((network, starts, goals))
    return found


def measure_lacam(scenario: str | None, cases: int, seconds: float) -> None:
    """Print how long first plans take, and how much cheaper refinement makes them."""
    for case, (network, starts, goals) in enumerate(instances(scenario, cases, 400)):
        steps = network.tables.steps[network.tables.rows_of(goals), starts]
        begin = time.process_time()
        try:
            first = checked_plan(make_planner("lacam", network), Problem(network, starts, goals, time_limit=60.0))
        except PlanError as error:
            print(f"lacam, case {case}: {error}")
            continue
        taken = time.process_time() - begin
        line = f"lacam, case {case}: {taken:.3f} s, {cost(first) / steps.sum():.2f} of the lower bound"
        if seconds > 0.0:
            refining = make_planner("lacam", network, refinements=None)
            better = checked_plan(refining, Problem(network, starts, goals, time_limit=seconds))
            line += f"; after {seconds:g} s {cost(better) / steps.sum():.2f}"
        print(line, flush=True)


def cost(paths: Ints) -> int:
    """Return the sum of the steps until each robot is where it stays."""
    away = paths != paths[:, -1:]
    return int(np.where(away.any(axis=1), paths.shape[1] - np.argmax(away[:, ::-1], axis=1), 0).sum())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", help="a file of MovingAI with at least 400 robots")
    parser.add_argument("--seconds", type=float, default=10.0, help="of refinement; 0: none")
    parser.add_argument("--cases", type=int, default=3, help="teams that LaCAM plans for")
    options = parser.parse_args()
    network = shelves()
    goals = iter(range(len(network)))
    network.distances(next(goals))
    print(f"a distance table on {len(network)} nodes: {milliseconds(lambda: network.distances(next(goals))):.2f} ms")
    for robots in (1000, 8000):
        measure_steps(network, robots)
    measure_lacam(options.scenario, options.cases, options.seconds)


if __name__ == "__main__":
    main()
