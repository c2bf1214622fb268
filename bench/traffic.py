"""Measure traffic: python bench/traffic.py [--maps DIR] [--quick]

Without maps: steps of PIBT, and the dependency graph of a plan for 1,000 robots, on a generated warehouse. With a
folder of maps, whole runs as other testbeds report them, where the folder has their files:

  warehouse-10-20-10-2-1.map    LSMART's headline: 1,000 robots, random goals, a plan each second, 600 s
  kiva_large_w_mode.json        LSMART's workstations, 100 and 200 robots
  EI23-warehouse_large_8000.json  League of Robot Runners, 8,000 robots, with its maps/, agents/ and tasks/ beside it

Figures beside ours are those of LSMART: published, and measured on a machine like ours. Runs have the time of a clock
on the wall and that of the processor, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fleet_sim.warehouse.sites import Site, Warehouse
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.warehouse.traffic.dependency_graph import ActionDependencyGraph, tracks_of
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.registry import make_planner
from fleet_sim.warehouse.traffic.problem import Problem
from fleet_sim.warehouse.traffic.runs import drive_workload
from fleet_sim.warehouse.traffic.settings import TrafficSettings
from fleet_sim.warehouse.traffic.workload import read_workload

RADIUS = 0.31
WINDOW = 10


def best_of(work: Callable[[], object], repeats: int) -> float:
    """Return the lowest time of `work` in ms."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


def hall(robots: int) -> Site:
    """Return a warehouse with about nine times as many free cells as robots."""
    rows = max(2, round((robots / 12) ** 0.5))
    return Warehouse(rows=2 * rows, columns=rows, margin=6, workstations=0, chargers=0).site()


def planning(robots: int, repeats: int) -> None:
    """Print the times of one step of PIBT, and of building the dependency graph of a window."""
    network = Network.of_grid(hall(robots), RADIUS)
    random = np.random.default_rng(1)
    starts = random.choice(len(network), robots, replace=False)
    goals = random.choice(len(network), robots, replace=False)
    planner = make_planner("pibt", network)
    problem = Problem(network, starts, goals, window=WINDOW)
    begin = time.perf_counter()
    paths = planner.plan(problem)
    first = (time.perf_counter() - begin) * 1e3
    step = best_of(lambda: planner.plan(problem), repeats) / WINDOW
    tracks = tracks_of(network, 2.0 * RADIUS)
    table, rows = TrafficColumns(robots), np.arange(robots)
    graph = ActionDependencyGraph(tracks, robots)
    graph.place(table, rows, rows, starts)
    graph.append(table, rows, rows, paths)
    built = best_of(lambda: graph.append(table, rows, rows, paths), repeats)
    print(f"{robots:7d} {len(network):8d} {first:14.1f} {step:14.3f} {built:14.2f}", flush=True)


def whole_run(file: Path, robots: int | None, seconds: float, theirs: str, queue: int) -> None:
    """Print what a run comes to, and how long it took; `queue` is the setting of PIBT."""
    workload = read_workload(file, robots=robots, seed=42, radius=RADIUS)
    # On a machine with other work even the first plan of 8,000 robots may take more than the usual limit of 10 s.
    traffic = TrafficSettings(settings={"queue": queue}, time_limit=600.0)
    figures = drive_workload(workload, seconds, traffic=traffic, seed=42).run.figures
    wall, cpu, simulated = (figures[key] or 0.0 for key in ("wall_s", "cpu_s", "simulated_s"))
    timing = f"{simulated:7.0f} {wall:8.1f} {simulated / wall:7.1f} {cpu:7.1f} {simulated / cpu:7.1f}"
    rest = f"{figures['throughput_per_s']:8.2f} {figures['collisions']:6.0f} {figures['planning_ms_p99']:9.1f}"
    print(f"{file.stem:26} {figures['robots']:6.0f} {timing} {rest}   {theirs}", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--maps", type=Path, metavar="DIR", help="folder with maps of the field, not part of this package"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats, and runs of a tenth of the time")
    args = parser.parse_args()
    repeats, share = (3, 0.1) if args.quick else (20, 1.0)
    # Machine code is loaded once, which is no part of what is measured.
    network = Network.of_grid(hall(24), RADIUS)
    make_planner("pibt", network).plan(Problem(network, np.arange(2), np.arange(2), window=1))
    print(
        f" robots    cells  first plan ms   a step of it  graph of {WINDOW} steps, ms; budgets: a step 1 ms, graph 5 ms"
    )
    for robots in (100, 1000) if args.quick else (100, 1000, 8000):
        planning(robots, repeats)
    if args.maps is None:
        return
    print(
        "\nproblem                    robots  sim. s   wall s  x real   cpu s  x real  tasks/s  coll. plan p99   LSMART"
    )
    for name, robots, seconds, theirs, queue in (
        ("warehouse-10-20-10-2-1.map", 1000, 600.0, "2.24 x real (published), 2.28 tasks/s; budget 9 s", 0),
        ("kiva_large_w_mode.json", 100, 600.0, "0.85 tasks/s", 0),
        ("kiva_large_w_mode.json", 200, 600.0, "1.18 tasks/s", 0),
        ("kiva_large_w_mode.json", 200, 600.0, "1.18 tasks/s; ours with queue: 3", 3),
        ("EI23-warehouse_large_8000.json", None, 60.0, "budget: faster than real time", 0),
    ):
        found = sorted(args.maps.rglob(name))
        if found:
            whole_run(found[0], robots, seconds * share, theirs, queue)
        else:
            print(f"{name}: not in {args.maps}")


if __name__ == "__main__":
    main()
