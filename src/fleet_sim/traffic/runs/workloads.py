"""Drives a workload for some time: robots that go from task to task by the plans of one planner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fleet_sim.errors import PlanError
from fleet_sim.traffic.path_files.league import write_league
from fleet_sim.traffic.runs.fleet import make_fleet
from fleet_sim.traffic.runs.league import LeagueRecorder
from fleet_sim.traffic.runs.outcome import Outcome, Progress
from fleet_sim.traffic.runs.settings import FleetSettings
from fleet_sim.traffic.runs.stepping import step_to, warm_up
from fleet_sim.traffic.runs.work import Work
from fleet_sim.traffic.settings import TrafficSettings
from fleet_sim.traffic.workload import Workload


def drive_workload(
    workload: Workload,
    seconds: float,
    *,
    fleet: FleetSettings | None = None,
    traffic: TrafficSettings | None = None,
    dwell: float | None = None,
    seed: int = 0,
    about: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
) -> Outcome:
    """Return the outcome of `seconds` of simulated time; it ends earlier when no robot has a task left.

    Robots of a problem of the League of Robot Runners are as its file says, unless a `fleet` is given.
    `dwell` is the stay at each goal in s, by default that of the workload; `out` a file for what robots did, as the
    League of Robot Runners writes it. Raises InvalidValueError and ConfigError for
    what does not fit together, and PlanError where the planner never had a plan.
    """
    league, plans = workload.league, traffic or TrafficSettings()
    robots = fleet or (FleetSettings() if league is None else FleetSettings(**league.fleet))
    if league is not None:
        plans = league.traffic(plans, robots)
    warm_up(plans.planner, plans.settings)
    made = make_fleet(workload.site, workload.starts, robots, plans, seed)
    with made.sim:
        stay = workload.dwell if dwell is None else dwell
        recorder = None if out is None else LeagueRecorder(made, robots.speed)
        work = Work(made.sim, made.traffic, workload.tasks, stay, robots.deadlock_after, recorder)
        timing = step_to(made, seconds, lambda: work.all_done, lambda: work.collector.tasks_done, progress)
        told = made.traffic.figures()
        refusal = str(told["last_refusal"])
        # Some plans may fail; if none succeeded, figures of standing robots would mislead.
        if not told["plans"] and told["refusals"]:
            raise PlanError(f"no robot was moved, as all {told['refusals']} plans failed: {refusal}")
        if out is not None and recorder is not None:
            write_league(out, recorder.run())
        title = f"{workload.name}, {len(workload.starts)} robots, {plans.planner}"
        return Outcome(work.run(title, about or {}, timing.figures(work.collector.simulated)), timing.stopped, refusal)
