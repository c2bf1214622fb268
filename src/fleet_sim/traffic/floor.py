"""Floor: all of the traffic that depends on its network."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Bools, Floats, Rows
from fleet_sim.core.world import World
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Site
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.disturbances import Disturbances
from fleet_sim.traffic.execution.execution import Execution
from fleet_sim.traffic.execution.tracks import tracks_of
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.obstacles import CoveredNodes
from fleet_sim.traffic.regions import regions_of
from fleet_sim.traffic.rules import Rules
from fleet_sim.traffic.settings import TrafficSettings
from fleet_sim.traffic.timing import PlanTiming

AHEAD = 8
"""Nodes of its way ahead of what a robot was granted at which it asks a door to open."""


class Gates:
    """The passages of a world that open for robots, as the traffic sees them.

    The nodes of a gate are those at which, or on the way to which, a robot would touch a leaf that is closed or moves.
    A plan leads through them as if there was no door, so that there is one order of passing. They are granted while
    the door is open, and it stays open until all who were granted one have left: no leaf ever meets a robot.
    """

    def __init__(self, world: World, table: TrafficColumns, execution: Execution, obstacles: CoveredNodes) -> None:
        self._world, self._table, self._execution, self._obstacles = world, table, execution, obstacles
        self._version = -1
        self._passages: Rows = NO_ROWS
        self._inside: Bools = np.zeros((0, len(execution.open_mask)), np.bool_)
        self._reached = self._inside
        self.shut: Bools = np.zeros(len(execution.open_mask), np.bool_)
        """Nodes (N,) that nobody may be granted, as a door there is not open."""

    def ask(self) -> bool:
        """Open what robots have entered or come to; return whether it changed which nodes are shut."""
        self._find()
        passages = self._world.routes.passages
        if passages is None or not (len(self._passages) or self.shut.any()):
            return False
        wanted_mask = self._inside[:, self._nodes_in_use()].any(axis=1)
        passages.keep_open(self._passages[wanted_mask])
        # One that is open but not asked may close in this very step.
        closed_mask = ~(wanted_mask & passages.are_open(self._passages))
        before, self.shut = self.shut, np.asarray(self._inside[closed_mask].any(axis=0))
        return not np.array_equal(before, self.shut)

    def is_in_swing(self, node: int) -> bool:
        """Return whether a door that is not open comes to a node when it opens, or stands there."""
        self._find()
        passages = self._world.routes.passages
        if passages is None:
            return False
        return bool((self._reached[:, node] & ~passages.are_open(self._passages)).any())

    def _find(self) -> None:
        """Look for gates again where something was spawned or removed."""
        world = self._world
        if self._version == world.version:
            return
        self._version = world.version
        passages = world.routes.passages
        found = NO_ROWS if passages is None else passages.opening_for_robots()
        self._passages = found
        masks = [self._obstacles.swept_by(row) for row in found.tolist()]
        shape = (len(found), len(self.shut))
        swept, opened = (np.array([pair[side] for pair in masks], np.bool_).reshape(shape) for side in (0, 1))
        # Where an open leaf stands is closed for ever, see CoveredNodes.
        self._inside, self._reached = swept & ~opened, swept | opened

    def _nodes_in_use(self) -> AnyArray:
        """Return the nodes that robots hold, and those that they come to soon."""
        table, ways = self._table, self._execution.graph.ways
        rows = self._execution.rows
        nodes = ways.nodes[rows]
        places = np.arange(nodes.shape[1])[None]
        granted = table.granted[rows][:, None]
        # Who is stopped or broken down comes to nothing, but keeps what it holds.
        far = np.where(table.held[rows][:, None] == 0, granted + AHEAD, granted)
        used = (places >= table.behind[rows][:, None]) & (places <= far) & (places < table.length[rows][:, None])
        return np.unique(nodes[used])


def lane_limits(site: Site, network: Network) -> Floats:
    """Return the speed limits (N * K,) in m/s of the lanes of `network`, inf where there is none.

    A lane has the lowest limit of the zones that it leads through, and that of the roadmap. On a grid these are the
    zones of its two cells.
    """
    rules = Rules(site)
    limits = np.full(network.neighbours.shape, np.inf)
    if network.grid is not None:
        if not rules.uniform:
            speeds = rules.speeds[rules.label[network.cells]]
            limits = np.minimum(speeds[:, None], speeds[network.neighbours])
        return limits.ravel()
    assert site.roadmap is not None
    own = site.grid.to_own(network.positions) / site.grid.cell
    places = np.stack((own[:, 0], site.grid.height - own[:, 1]), axis=1).tolist()
    roads = zip(site.roadmap.lanes.tolist(), site.roadmap.speed_limits.tolist(), strict=True)
    for (begin, end), limit in roads:
        zones = rules.limit(rules.touched(tuple(places[begin]), tuple(places[end])))
        lane = (begin, network.neighbours[begin] == end)
        limits[lane] = np.minimum(limits[lane], min(limit, zones))
    return limits.ravel()


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
