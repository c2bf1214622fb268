"""The section `traffic` of a scenario, and how a simulation gets its traffic."""

from __future__ import annotations

from typing import Any

from fleet_sim.config.sections import SettingsSection
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.entities.agent import Agent
from fleet_sim.errors import ConfigError, FleetSimError, StateError, unknown_name
from fleet_sim.settings import read
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Site
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.control import TrafficControl
from fleet_sim.traffic.feature import NAME, TrafficBooth
from fleet_sim.traffic.planners.registry import PLANNERS
from fleet_sim.traffic.policies import POLICIES
from fleet_sim.traffic.settings import TrafficSettings
from fleet_sim.traffic.traffic import Traffic


class TrafficSection(SettingsSection[MultiRobotSimulationCore]):
    """Offers traffic in the site of the scenario; `sim.get_manager("traffic")` returns it."""

    doc = "How the robots of the scenario drive in its site: planned for together, without touching each other."
    name = NAME
    settings_class = TrafficSettings

    def prepare(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Let robots of the scenario say that they take part in what is opened when they are spawned."""
        sim.features.use(NAME).announced = True

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Offer the traffic and enrol the robots; raises ConfigError."""
        settings = self.read(entry, source)
        try:
            site = sim.get_manager("site")
        except FleetSimError as error:
            raise ConfigError("needs a section 'site' to drive in", source=source, path=NAME) from error
        try:
            traffic = offer_traffic(sim, site, settings)
            robots = _chosen(sim, settings)
            if robots:
                traffic.enroll(robots)
        except FleetSimError as error:
            raise ConfigError.of(error).within(NAME, source=source) from error

    def read(self, entry: Any, source: str) -> TrafficSettings:
        """Return the settings in `entry`, with a planner and a policy that there are; raises ConfigError."""
        settings: TrafficSettings = super().read(entry, source)
        try:
            PLANNERS.find(settings.planner)
            POLICIES.find(settings.policy)
        except FleetSimError as error:
            raise ConfigError(str(error), source=source, path=NAME) from error
        return settings


def _chosen(sim: MultiRobotSimulationCore, settings: TrafficSettings) -> list[Agent]:
    """Return the robots that the settings or their own entries name."""
    known = {agent.name: agent for agent in sim.agents}
    if isinstance(settings.robots, list):
        for name in settings.robots:
            if name not in known:
                raise unknown_name("robot", name, map(str, known))
        named = {known[name].row for name in settings.robots}
    else:
        # Those with a fixed base are part of the furniture.
        named = {agent.row for agent in sim.agents if agent.can_move and settings.robots == "all"}
    booth: TrafficBooth = sim.features.use(NAME)
    wishes = {agent.row: booth.wishes(agent.row) for agent in sim.agents}
    return [agent for agent in sim.agents if (wish if (wish := wishes[agent.row]) is not None else agent.row in named)]


def offer_traffic(
    sim: MultiRobotSimulationCore, site: Site, given: TrafficSettings | None = None, /, **values: Any
) -> Traffic:
    """Let robots of `sim` drive in `site` by common plans; returns the Traffic, which is also the manager "traffic".

    The settings are `given`, or those of the section `traffic` as keywords. Robots are enrolled afterwards. Raises
    ConfigError for wrong settings and StateError where there is a traffic already.
    """
    chosen = read(TrafficSettings, values, path=NAME) if given is None else given
    world = sim.world
    if any(system.name == NAME for system in sim.pipeline.systems):
        raise StateError("this simulation has a traffic already: sim.get_manager('traffic')")
    booth: TrafficBooth = sim.features.use(NAME)
    table = sim.features.table(NAME)
    assert isinstance(table, TrafficColumns)
    control = TrafficControl(sim, site, table, chosen)
    traffic = Traffic(site, chosen, world, table, control)
    sim.register_manager(traffic, NAME)
    sim.checkpoints.register_late(NAME, control, control.forms())
    sim.pipeline.add(System(NAME, Phase.UPDATE, control.step), before="motion")
    # Machine code is loaded for the traffic anyway.
    sim.collisions.use_kernels()
    world.compiled = True
    world.drive_rules.add(control.rule)
    world.routes.conveyance = control.rule
    world.waypoints.sources.append(control.paths)
    world.on_remove.append(control.removed)
    booth.open(traffic)
    _end_with_building(sim, traffic, control, booth)
    return traffic


def _end_with_building(
    sim: MultiRobotSimulationCore, traffic: Traffic, control: TrafficControl, booth: TrafficBooth
) -> None:
    """Take the traffic out of the simulation when that is cleared."""
    world = sim.world

    def leave() -> None:
        """Take the traffic out of the simulation; called when it is cleared."""
        # With `sim.clear()` the building is gone, and all robots.
        sim.pipeline.remove(NAME)
        sim.unregister_manager(traffic)
        world.drive_rules.remove(control.rule)
        world.routes.conveyance = None
        world.waypoints.sources.remove(control.paths)
        world.on_remove.remove(control.removed)
        booth.close()
        sim.events.off("cleared", leave)

    sim.events.on("cleared", leave)


SECTION = TrafficSection()
