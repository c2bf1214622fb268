"""Drives a workload for some time: robots that go from task to task by the plans of one planner."""

from __future__ import annotations

from collections.abc import Mapping

from fleet_sim.core.pipeline import Phase, System
from fleet_sim.errors import PlanError
from fleet_sim.traffic.figures import FigureCollector, run_of
from fleet_sim.traffic.runs.fleet import Fleet, make_fleet
from fleet_sim.traffic.runs.goals import GoalGiver
from fleet_sim.traffic.runs.outcome import Outcome, Progress
from fleet_sim.traffic.runs.settings import FleetSettings
from fleet_sim.traffic.runs.stepping import step_to, warm_up
from fleet_sim.traffic.runs.watch import Watch
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
) -> Outcome:
    """Return the outcome of `seconds` of simulated time; it ends earlier when no robot has a task left.

    `dwell` is the stay at each goal in s, by default that of the workload. Raises InvalidValueError and ConfigError for
    what does not fit together, and PlanError where the planner never had a plan.
    """
    robots, plans = fleet or FleetSettings(), traffic or TrafficSettings()
    warm_up()
    made = make_fleet(workload.site, workload.starts, robots, plans, seed)
    with made.sim:
        collector = FigureCollector(workload.site.open_grid, deadlock_after=robots.deadlock_after)
        giver = GoalGiver(made, workload.tasks, workload.dwell if dwell is None else dwell, collector)
        watch = Watch(made, collector, robots.radius)
        _install(made, giver, watch)
        giver.begin()
        wall, stopped = step_to(
            made, seconds, lambda: not giver.active_mask.any(), lambda: collector.tasks_done, progress
        )
        planning = watch.planning()
        refusal = str(made.traffic.figures()["last_refusal"])
        if not planning["plans"] and planning["failed_plans"]:
            raise PlanError(f"no robot was moved, as all {planning['failed_plans']} plans failed: {refusal}")
        figures = {
            **watch.figures(),
            "wall_s": wall,
            "real_time_factor": collector.simulated / wall if wall > 0.0 else None,
            **planning,
            "sum_of_costs": round(on_the_way(collector) * robots.speed / workload.site.grid.cell),
            "makespan_s": round(collector.simulated, 6),
        }
        title = f"{workload.name}, {len(workload.starts)} robots, {plans.planner}"
        run = run_of(title, figures, collector, about=about or {}, distributions=watch.distributions())
    return Outcome(run, stopped, refusal)


def on_the_way(collector: FigureCollector) -> float:
    """Return for how long robots were on their way to goals, summed over all, in s."""
    return float(sum(collector.seconds_in(state).sum() for state in ("driving", "waiting", "blocked")))


def _install(made: Fleet, giver: GoalGiver, watch: Watch) -> None:
    """Let goals be given before the traffic plans, and figures be taken when all has been moved and checked."""
    made.sim.pipeline.add(System("tasks", Phase.UPDATE, giver.step), before="traffic")
    made.sim.pipeline.add(
        System("figures", Phase.OBSERVE, lambda dt: watch.look(dt, giver.serving_mask, giver.active_mask))
    )
