"""One run of a sweep, in a worker."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from fleet_sim.errors import ConfigError
from fleet_sim.parallel import Perform
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sweeps.measures import RunMeasures
from fleet_sim.sweeps.plan import SweepPlan


@dataclass(frozen=True)
class SweepRuns:
    """Begins a worker: what it returns makes the run of a number, and returns what was measured by name."""

    plan: SweepPlan

    def __call__(self) -> Perform:
        # A thousand runs would warn a thousand times of one thing.
        logging.getLogger("fleet_sim").setLevel(logging.ERROR)
        return self.run

    def run(self, number: int) -> dict[str, Any]:
        """Make run `number` to its end and return what was measured."""
        with simulation_of(self.plan, number) as sim:
            measures = RunMeasures(sim, self.plan.config.measure)
            sim.run_simulation()
            return measures.values()


def simulation_of(plan: SweepPlan, number: int) -> MultiRobotSimulationCore:
    """Return the simulation of run `number` of `plan`, not begun; raises ConfigError."""
    scenario = plan.scenario_of(number)
    if "tasks" in scenario and "orders" in scenario:
        raise ConfigError("has tasks and orders, whose figures would be mixed; a sweep measures one of them")
    sim = MultiRobotSimulationCore.from_dict(scenario, source=plan.source)
    if not sim.params.duration:
        sim.close()
        raise ConfigError("a sweep needs runs that end; give it a duration")
    return sim
