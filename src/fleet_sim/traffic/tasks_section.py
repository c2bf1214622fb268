"""The section `tasks` of a scenario: robots of its traffic that go from goal to goal for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fleet_sim.config.sections import SettingsSection
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError
from fleet_sim.settings import Checked, setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.traffic.runs.work import Work
from fleet_sim.traffic.traffic import Traffic
from fleet_sim.traffic.workload import endless_tasks

NAME = "tasks"


@dataclass
class TasksSettings(Checked):
    """Where the robots of the traffic go."""

    goals: Literal["auto", "stations", "random"] = setting(
        "auto",
        doc="Between workstations and pick or drop stations, or random cells; auto: stations if there are.",
    )
    dwell: float = setting(2.0, low=0.0, high=1e6, unit="s", doc="Stay at each goal.")
    seed: int | None = setting(None, low=0, high=2**62, doc="Of the goals; null: that of the simulation.")
    deadlock_after: float = setting(
        30.0, low=0.1, high=1e6, unit="s", doc="A standstill of all robots that lasts so long is a deadlock."
    )


class TasksSection(SettingsSection[MultiRobotSimulationCore]):
    """Lets the robots of the traffic work; `sim.get_manager("tasks")` returns the Work with its figures."""

    doc = "Endless tasks for the robots of the traffic: they go from goal to goal, and stay a while at each."
    name = NAME
    settings_class = TasksSettings

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Give the robots their first goals; raises ConfigError."""
        settings: TasksSettings = self.read(entry, source)
        try:
            traffic = sim.get_manager("traffic")
        except FleetSimError as error:
            raise ConfigError("needs a section 'traffic' above it in the file", source=source, path=NAME) from error
        try:
            offer_tasks(sim, traffic, settings)
        except FleetSimError as error:
            raise ConfigError.of(error).within(NAME, source=source) from error


def offer_tasks(sim: MultiRobotSimulationCore, traffic: Traffic, settings: TasksSettings | None = None) -> Work:
    """Let all robots that are in `traffic` now work; returns the Work, which is also the manager "tasks".

    Raises InvalidValueError where there is nowhere to go, and StateError where no robot takes part.
    """
    chosen = settings or TasksSettings()
    site, network = traffic.site, traffic.network
    if network.grid is None:
        raise InvalidValueError("tasks lead to cells; let the traffic drive on the grid of the site (network: grid)")
    # Of the cells that robots may stand on, not of all free ones: some are too narrow for them.
    mask = site.grid.free_mask.copy()
    mask.ravel()[:] = False
    mask.ravel()[network.cells] = True
    # Goals on both sides of a wall could not all be reached.
    region = site.grid.with_free(mask).largest_region()
    seed = sim.params.seed if chosen.seed is None else chosen.seed
    tasks, _ = endless_tasks(site, region, len(traffic.rows), seed, chosen.goals)
    work = Work(sim, traffic, tasks, chosen.dwell, chosen.deadlock_after)
    sim.register_manager(work, NAME)

    def leave() -> None:
        # With `sim.clear()` the robots are gone.
        work.leave()
        sim.unregister_manager(work)
        sim.events.off("cleared", leave)

    sim.events.on("cleared", leave)
    return work


SECTION = TasksSection()
