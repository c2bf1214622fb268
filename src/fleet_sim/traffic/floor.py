"""Floor: all of the traffic that depends on its network."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Site
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.disturbances import Disturbances
from fleet_sim.traffic.execution.execution import Execution
from fleet_sim.traffic.execution.lane_limits import lane_limits
from fleet_sim.traffic.execution.tracks import tracks_of
from fleet_sim.traffic.gates import Gates
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.obstacles import CoveredNodes
from fleet_sim.traffic.regions import regions_of
from fleet_sim.traffic.settings import TrafficSettings
from fleet_sim.traffic.timing import PlanTiming


class Floor:
    """What depends on the network: the network, its execution, and the obstacles on it."""

    def __init__(
        self, sim: MultiRobotSimulationCore, site: Site, table: TrafficColumns, settings: TrafficSettings, radius: float
    ) -> None:
        """`radius` is that of the largest footprint. Raises InvalidValueError where it does not fit."""
        # What is nearer than the margin counts as a collision.
        reach = radius + 0.5 * sim.params.collision_margin
        # `auto` takes the roadmap where the site has one: its lanes are where somebody wanted robots to drive.
        roadmap = settings.network == "roadmap" or (settings.network == "auto" and site.roadmap is not None)
        self.radius = radius
        self.network = Network.of_roadmap(site, reach) if roadmap else Network.of_grid(site, reach)
        tracks = tracks_of(
            self.network, 2.0 * reach, lane_limits(site, self.network), square=settings.footprint == "square"
        )
        self.execution = Execution(sim.world, table, tracks)
        self.obstacles = CoveredNodes(sim.world, table, tracks, reach, f"{site.name}_wall_")
        self.gates = Gates(sim.world, table, self.execution, self.obstacles)
        self.regions = regions_of(self.network.neighbours)
        self.closed: Bools = np.zeros(len(self.network), np.bool_)
        self.covered: Bools = np.zeros(len(self.network), np.bool_)
        self.scheduled: Bools = np.zeros(len(self.network), np.bool_)
        seed = sim.params.seed if settings.seed is None else settings.seed
        self.timing = PlanTiming(sim.world, table, self.network, self.execution, settings, seed)
        self.disturbances = Disturbances(sim.world, table, site, self.network, settings.disturbances, seed)

    @property
    def blocked(self) -> Bools:
        """The nodes (N,) that are closed or covered."""
        return self.closed | self.scheduled | self.covered

    def look(self) -> None:
        """See what is closed and covered now."""
        scheduled, rescheduled = self.disturbances.closed()
        covered, moved = self.obstacles.look(self.execution.rows)
        # Only on a change: opening nodes makes the planner plan again.
        if rescheduled or moved:
            self.scheduled, self.covered = scheduled, covered
            self.open_up()

    def ask(self) -> None:
        """Open what robots come to, and let them enter what is open; plans lead through, open or not."""
        if self.gates.ask():
            self.execution.open_mask[:] = ~(self.blocked | self.gates.shut)

    def open_up(self) -> None:
        """Let robots enter what is neither closed nor covered."""
        self.execution.open_mask[:] = ~(self.blocked | self.gates.shut)
        self.execution.barred[:] = self.timing.barred
        # Plans may lead through what has just been closed, or around what is open now.
        self.timing.changed = True
