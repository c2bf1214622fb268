"""Work: robots in a traffic that go from task to task, and the figures of that."""

from __future__ import annotations

from collections.abc import Mapping

from fleet_sim.core.pipeline import Phase, System
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.traffic.figures import FigureCollector, Run, run_of
from fleet_sim.traffic.runs.crew import Crew
from fleet_sim.traffic.runs.goals import GoalGiver
from fleet_sim.traffic.runs.league import LeagueRecorder
from fleet_sim.traffic.runs.watch import Watch
from fleet_sim.traffic.tasks import Tasks
from fleet_sim.traffic.traffic import Traffic

TASKS, FIGURES, RECORD = "tasks", "figures", "record"


class Work:
    """Lets all robots that are in `traffic` now do `tasks` in `sim`; each stays `dwell` s at each goal.

    Raises InvalidValueError for a traffic on a roadmap, and where no way leads to a goal.
    """

    def __init__(
        self,
        sim: MultiRobotSimulationCore,
        traffic: Traffic,
        tasks: Tasks,
        dwell: float,
        deadlock_after: float,
        recorder: LeagueRecorder | None = None,
    ) -> None:
        self.traffic = traffic
        self.collector = FigureCollector(traffic.site.open_grid, deadlock_after=deadlock_after)
        self._sim = sim
        crew = Crew(sim.world, traffic)
        self._giver = GoalGiver(sim.world, traffic, crew, tasks, dwell, self.collector, recorder)
        self._watch = Watch(sim, traffic, crew, self.collector)
        self._giver.begin()
        # Goals are given before the traffic plans; figures are taken when all has been moved and checked.
        sim.pipeline.add(System(TASKS, Phase.UPDATE, self._giver.step), before="traffic")
        sim.pipeline.add(System(FIGURES, Phase.OBSERVE, self._look))
        if recorder is not None:
            sim.pipeline.add(System(RECORD, Phase.OBSERVE, recorder.look))
        sim.checkpoints.register_late(TASKS, self._giver)

    def _look(self, dt: float) -> None:
        # Robots may have been removed since goals were given.
        self._giver.crew.renew()
        self._watch.look(dt, self._giver.serving_mask, self._giver.active_mask)

    @property
    def delivered(self) -> int:
        """How many tasks are done."""
        return self.collector.tasks_done

    @property
    def all_done(self) -> bool:
        """Whether no robot has a task left."""
        return not self._giver.active_mask.any()

    def leave(self) -> None:
        """Take the systems out of the simulation, as when its robots are gone."""
        for name in (TASKS, FIGURES):
            self._sim.pipeline.remove(name)

    def figures(self) -> dict[str, float | None]:
        """Return the figures so far; see docs/reports.md."""
        collector = self.collector
        speed = float(self._sim.world.motion.linear_limit[self.traffic.rows].max(initial=0.0))
        # A step of a plan is as long as it takes to cross a cell; sums of costs are counted in steps.
        step = self.traffic.site.grid.cell / speed if speed > 0.0 else 1.0
        return {
            **self._watch.figures(),
            **self._watch.planning(),
            "sum_of_costs": round(_on_the_way(collector) / step),
            "makespan_s": round(collector.simulated, 6),
        }

    def run(self, title: str, about: Mapping[str, str], more: Mapping[str, float | None] | None = None) -> Run:
        """Return the run so far for a file; `more` are further figures, such as how long it took."""
        figures = {**self.figures(), **(more or {})}
        return run_of(title, figures, self.collector, about=about, distributions=self._watch.distributions())


def _on_the_way(collector: FigureCollector) -> float:
    """Return for how long robots were on their way to goals, summed over all, in s."""
    return float(sum(collector.seconds_in(state).sum() for state in ("driving", "waiting", "blocked")))
