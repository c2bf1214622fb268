"""Executes one plan to its end: a plan from a file, or one that a planner makes for a scenario.

A plan of a file and one of a planner are driven alike, so that their figures can be compared. Compiling and planning
are no part of the time of a run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fleet_sim.arrays import Bools, Ints
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.errors import InvalidValueError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.grid import NO_CELL
from fleet_sim.sites.site import Site
from fleet_sim.traffic.costs import sum_of_costs
from fleet_sim.traffic.figures import FigureCollector, run_of
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.path_files.league import write_league
from fleet_sim.traffic.planners.planner import checked_plan
from fleet_sim.traffic.planners.registry import make_planner
from fleet_sim.traffic.problem import Problem
from fleet_sim.traffic.runs.crew import Crew
from fleet_sim.traffic.runs.fleet import make_fleet
from fleet_sim.traffic.runs.goals import nodes_of_cells
from fleet_sim.traffic.runs.league import LeagueRecorder
from fleet_sim.traffic.runs.outcome import Outcome, Progress
from fleet_sim.traffic.runs.settings import FleetSettings
from fleet_sim.traffic.runs.stepping import step_to, warm_up
from fleet_sim.traffic.runs.watch import Watch
from fleet_sim.traffic.settings import TrafficSettings
from fleet_sim.traffic.tasks import NextGoals

PLANNING_TIMES = ("planning_ms_p50", "planning_ms_p99", "planning_ms_max")
"""Figures that are one and the same where there is one plan."""


def drive_paths(
    site: Site,
    cells: Ints,
    goals: Ints,
    *,
    title: str,
    seconds: float = 3600.0,
    fleet: FleetSettings | None = None,
    seed: int = 0,
    planning_s: float | None = None,
    about: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
) -> Outcome:
    """Return the outcome of robots that drive the paths `cells` (R, T + 1) of `site`, until all have, at the longest.

    A task is to stand on the cell `goals[i]` (R,) at the end. It ends early with a deadlock, and after `seconds` of
    simulated time. `out` is a file for what robots did, as the League of Robot Runners writes it. Raises PlanError for
    paths that robots of this size may not drive.
    """
    robots = fleet or FleetSettings()
    # Before the clock of the run starts: compiling is no part of it.
    warm_up()
    made = make_fleet(site, cells[:, 0], robots, TrafficSettings(policy="given", network="grid"), seed)
    with made.sim:
        crew = Crew(made.sim.world, made.traffic)
        made.traffic.drive_rows(crew.rows, _nodes(made.traffic.network, cells))
        collector = FigureCollector(site.open_grid, deadlock_after=robots.deadlock_after)
        watch = Watch(made.sim, made.traffic, crew, collector)
        recorder = None if out is None else LeagueRecorder(made, robots.speed)
        ends = _PathEnds(made.sim, crew, watch, goals, cells[:, -1] == goals, recorder)
        made.sim.pipeline.add(System("figures", Phase.OBSERVE, ends.look))
        timing = step_to(made, seconds, ends.are_over, lambda: collector.tasks_done, progress)
        if out is not None and recorder is not None:
            write_league(out, recorder.run())
        figures = {**watch.figures(), **timing.figures(collector.simulated), **_figures_of_plan(cells, planning_s)}
        # Without an end for each robot there is none for all.
        figures["makespan_s"] = round(ends.last, 6) if ends.there_mask.all() else None
        run = run_of(title, figures, collector, about=about or {}, distributions=watch.distributions())
    return Outcome(run, timing.stopped)


def _figures_of_plan(cells: Ints, planning_s: float | None) -> dict[str, float | None]:
    return {
        "plans": 0 if planning_s is None else 1,
        **dict.fromkeys(PLANNING_TIMES, None if planning_s is None else planning_s * 1e3),
        "sum_of_costs": sum_of_costs(cells),
    }


class _PathEnds:
    """Notes in each step which robots have come to the ends of their paths."""

    def __init__(
        self,
        sim: MultiRobotSimulationCore,
        crew: Crew,
        watch: Watch,
        goals: Ints,
        right_mask: Bools,
        recorder: LeagueRecorder | None,
    ) -> None:
        """`goals` (R,) are cells; `right_mask` (R,) tells whose path ends there. A `recorder` is told all, too."""
        self._sim = sim
        self._crew = crew
        self._watch = watch
        self._right_mask = right_mask
        self._nobody: Bools = np.zeros(len(right_mask), bool)
        self.there_mask: Bools = np.zeros(len(right_mask), bool)
        self._recorder = recorder
        if recorder is not None:
            recorder.sent(crew.robots, NextGoals(goals, np.zeros(len(goals), bool)))
        self.last = 0.0
        """When the last one so far came, in s."""

    def look(self, dt: float) -> None:
        """Look at all robots, at the end of a step."""
        # Counted once, at the first arrival: a robot that was pushed on is not counted again.
        came_mask = self._crew.table.arrived[self._crew.rows] & ~self.there_mask
        if came_mask.any():
            self.there_mask |= came_mask
            self.last = self._sim.sim_time
            right = np.flatnonzero(came_mask & self._right_mask)
            self._watch.collector.tasks_ended(np.full(len(right), self.last))
            if self._recorder is not None:
                self._recorder.sent(right, NextGoals(np.full(len(right), NO_CELL), np.ones(len(right), bool)))
        if self._recorder is not None:
            self._recorder.look(dt)
        self._watch.look(dt, self._nobody, ~self.there_mask)

    def are_over(self) -> bool:
        """Return whether nothing more will happen: all have come, or nobody can go on."""
        return bool(self.there_mask.all()) or self._watch.collector.standstill.deadlocks > 0


def _nodes(network: Network, cells: Ints) -> Ints:
    """Return the nodes of `cells` (R, T + 1); raises InvalidValueError where there is no room for the robots."""
    nodes = nodes_of_cells(network)[cells]
    bad = np.argwhere(nodes < 0)
    if len(bad):
        robot, step = bad[0].tolist()
        raise InvalidValueError(
            f"robot {robot}, step {step}: there is no room for a robot of this size in cell {cells[robot, step]}"
        )
    return nodes


def plan_scenario(
    site: Site,
    starts: Ints,
    goals: Ints,
    planner: str,
    settings: Mapping[str, object],
    *,
    radius: float,
    time_limit: float,
    seed: int,
) -> tuple[Ints, float]:
    """Return the paths (R, T + 1) as cells that `planner` finds to the end, and how long it took in s.

    Raises PlanError where it finds none, or one that robots may not drive.
    """
    warm_up(planner, settings)
    network = Network.of_grid(site, radius)
    node_of = nodes_of_cells(network)
    asked = Problem(network, node_of[starts], node_of[goals], window=0, time_limit=time_limit, seed=seed)
    made = make_planner(planner, network, **settings)
    begin = time.perf_counter()
    paths = checked_plan(made, asked)
    return network.cells[paths], time.perf_counter() - begin
