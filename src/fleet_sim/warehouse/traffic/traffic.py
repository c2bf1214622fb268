"""Traffic: sends many robots through a site at once, along paths that a planner makes for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows, as_float
from fleet_sim.base.errors import ConfigError, InvalidValueError, StateError, located, unknown_name
from fleet_sim.base.params import RouteMode
from fleet_sim.base.scenario import SettingsSection
from fleet_sim.base.settings import read, setting
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.section import SiteSection, SiteSettings
from fleet_sim.warehouse.sites.site import Site, Zone, ZoneKind
from fleet_sim.warehouse.traffic.columns import BROKEN, SERVING, STOPPED, TrafficColumns, not_enrolled
from fleet_sim.warehouse.traffic.control import TrafficControl
from fleet_sim.warehouse.traffic.network import ManyPlaces, Network, Place, node_of, nodes_of
from fleet_sim.warehouse.traffic.planners.registry import PLANNERS
from fleet_sim.warehouse.traffic.policies import POLICIES
from fleet_sim.warehouse.traffic.requests import (
    ChangePlaces,
    Grant,
    HoldRobots,
    change_places,
    free,
    grants_of,
    hold_robots,
    limit_speed,
    occupy,
)
from fleet_sim.warehouse.traffic.router import LARGEST_RADIUS, Passing, Router, past_all, retreat, standing_discs
from fleet_sim.warehouse.traffic.settings import TrafficRobotSettings, TrafficSettings
from fleet_sim.world.commands import CommandAck
from fleet_sim.world.features import FAULTS, Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.routes import NoRoute, Route, RouteNeeds, Stretch, Wanted
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

# TrafficBars: places that low robots pass through and wide ones do not, as something stands above them.


class TrafficBars:
    """Shelves on legs, for example: robots pass under them, and those that carry one keep off all others.

    `traffic.bars`; its methods raise StateError before a robot was enrolled, as the network depends on its size.
    """

    def __init__(self, site: Site, world: World, table: TrafficColumns, control: TrafficControl) -> None:
        self._site, self._world, self._table, self._control = site, world, table, control

    @property
    def radius(self) -> float:
        """The radius in m of the largest footprint that may take part: what a robot carries has to be within it."""
        return self._control.floor.radius

    def add(self, places: ManyPlaces) -> None:
        """Bar places to wide robots: these enter them only as their goals, while all others pass.

        Raises InvalidValueError for a planner that does not keep wide robots off.
        """
        self._control.bar(nodes_of(self._control.floor.network, self._site, places))

    def remove(self, places: ManyPlaces) -> None:
        """Let wide robots enter places again."""
        self._control.bar(nodes_of(self._control.floor.network, self._site, places), barred=False)

    def set_wide(self, agent: Agent, wide: bool = True) -> None:
        """Let a robot keep off barred places from now on, other than its goal, or no longer.

        Raises InvalidValueError for a robot that takes no part, and to make one wide that is driving.
        """
        self._control.widen(self._row(agent), wide=wide)

    def is_wide(self, agent: Agent) -> bool:
        """Return whether a robot keeps off barred places."""
        return bool(self._table.wide[self._row(agent)])

    def pass_under(self, objects: Sequence[SimObject]) -> None:
        """Let these be no obstacles while they stand by themselves."""
        self._control.floor.obstacles.pass_under([thing.object_id for thing in objects])

    def _row(self, agent: Agent) -> int:
        if not isinstance(agent, Agent) or agent.world is not self._world:
            raise InvalidValueError(f"expected a robot of this simulation, got {agent!r}")
        if not self._table.present[agent.row]:
            raise not_enrolled(self._world, agent.row)
        return agent.row


class Traffic:
    """The robots of `sim` that drive in `site` by common plans: `sim.get_manager("traffic")`.

    Robots are enrolled, then sent to places. They drive on lanes of the network, in the order that the planner chose at
    every node, and stop where they have to wait; they never touch each other, whatever their speeds, delays and pauses.
    The network is made for the first robots that are enrolled.
    """

    def __init__(
        self, site: Site, settings: TrafficSettings, world: World, table: TrafficColumns, control: TrafficControl
    ) -> None:
        """See `offer_traffic`, which makes the parts."""
        self.site, self.settings = site, settings
        self._world, self._table, self._control = world, table, control
        self.bars = TrafficBars(site, world, table, control)
        """What some robots pass under, and others must drive around."""
        self.planned = control.paths
        """Where the last plan leads robots: `planned.paths_of(rows)`."""

    # ---- who takes part ----------------------------------------------------------------------------------------------

    @property
    def network(self) -> Network:
        """The nodes and moves; raises StateError before a robot was enrolled, as they depend on its size."""
        return self._control.floor.network

    @property
    def robots(self) -> list[Agent]:
        """The robots that take part, in the order they were spawned."""
        return [self._world.handles[row] for row in self.rows.tolist()]

    @property
    def rows(self) -> Rows:
        """Their rows in the columns of the world."""
        return self._control.rows

    def enroll(self, agents: Agent | Sequence[Agent]) -> None:
        """Let `agents` take part from now on; each stands at a node. Raises InvalidValueError, and then enrols none."""
        given = [agents] if isinstance(agents, Agent) else list(agents)
        for agent in given:
            self._check_own(agent)
        self._control.enroll(np.array([agent.row for agent in given], np.int64))

    def leave(self, agents: Agent | Sequence[Agent]) -> None:
        """Let `agents` take no part any more. They stop at once, where they are; others drive around them."""
        given = [agents] if isinstance(agents, Agent) else list(agents)
        for row in [self._row(agent) for agent in given]:
            self._control.remove(np.array([row]), "it was asked to")

    def takes_part(self, agent: Agent) -> bool:
        """Return whether `agent` takes part."""
        return bool(self._table.present[agent.row])

    def turns(self, agent: Agent) -> bool:
        """Return whether a robot turns towards where it drives."""
        return bool(self._table.turns[self._row(agent)])

    # ---- where they go -----------------------------------------------------------------------------------------------

    def put_first(self, rows: Rows) -> None:
        """Let robots in `rows` (N,) go before all others until the next call, where the planner has an order."""
        self._control.floor.timing.first = rows

    def plan_soon(self) -> None:
        """Plan in the next step of the traffic, if the policy agrees, though the period is not over."""
        self._control.floor.timing.hurry()

    def send(self, agent: Agent, place: Place, heading: float | None = None) -> None:
        """Send a robot to a place; a stopped one drives on. Takes effect with the next plan; its actions end.

        It has arrived when it stands there, turned to `heading` in rad if one is given. Raises InvalidValueError for a
        robot that takes no part, a place that is not at a node, and one that no way leads to, UnknownNameError for a
        unknown station.
        """
        turned = np.array([np.nan if heading is None else as_float(heading, "heading in rad", low=-1e5, high=1e5)])
        self._control.send(np.array([self._row(agent)]), np.array([self.node_of(place)]), turned)

    def send_rows(self, rows: Rows, nodes: Ints) -> None:
        """Send the robots in `rows` (N,) to `nodes` (N,), all or none; raises as `send` does."""
        self._control.send(np.asarray(rows, np.int64), np.asarray(nodes, np.int64), np.full(len(rows), np.nan))

    def node_of(self, place: Place) -> int:
        """Return the node at a place; raises InvalidValueError where there is none."""
        return node_of(self.network, self.site, place)

    def goal_of(self, agent: Agent) -> int | None:
        """Return the node that a robot was sent to, None before it was."""
        goal = int(self.goals(np.array([self._row(agent)]))[0])
        return None if goal < 0 else goal

    def has_arrived(self, agent: Agent) -> bool:
        """Return whether a robot has stood at the goal that it has now."""
        return bool(self._table.arrived[self._row(agent)])

    def is_waiting(self, agent: Agent) -> bool:
        """Return whether a robot stands because others pass first, or its way is blocked."""
        return bool(self._table.waiting[self._row(agent)])

    def waits_for(self, agent: Agent) -> Agent | None:
        """Return the robot that a waiting one waits for next; None for nobody."""
        row = int(self._control.waits_for(np.array([self._row(agent)]))[0])
        return None if row == NO_ROW else self._world.handles[row]

    def explain(self, agent: Agent) -> str:
        """Return why a robot does not drive: "a waits for b, which waits for c, which stands at desk"."""
        return self._control.explained(self._row(agent))

    def shared_nodes(self) -> Ints:
        """Return the nodes (K,) to which any robot can be sent, whatever its size, if a way leads there at all."""
        return self._control.shared_nodes()

    def goals(self, rows: Rows) -> Ints:
        """Return the goals (N,) of robots in `rows`, -1 for none."""
        return self._control.goals(rows)

    def nodes(self, rows: Rows, *, ahead: bool = False) -> Ints:
        """Return the nodes (N,) that robots in `rows` stand on, or passed last; `ahead`: those planned to be next."""
        return self._control.next_nodes(rows) if ahead else self._control.nodes(rows)

    # ---- stopping ----------------------------------------------------------------------------------------------------

    def stop(self, agent: Agent) -> None:
        """Let a robot brake and stand, also between nodes, until `resume` or `send`; others drive around it."""
        self._control.hold(np.array([self._row(agent)]), STOPPED)

    def resume(self, agent: Agent) -> None:
        """Let a stopped robot drive on to its goal."""
        self._control.let_go(np.array([self._row(agent)]), STOPPED)

    def pause_rows(self, rows: Rows) -> None:
        """Let robots in `rows` (N,) stand until `continue_rows`, as at a goal while they are served.

        They keep their place in the order: unlike around a stopped robot, others wait for them.
        """
        self._control.hold(np.asarray(rows, np.int64), SERVING)

    def continue_rows(self, rows: Rows) -> None:
        """Let robots that were paused drive on."""
        self._control.let_go(np.asarray(rows, np.int64), SERVING)

    def drive_rows(self, rows: Rows, paths: Ints) -> None:
        """Let robots in `rows` (R,) drive `paths` (R, T + 1), nodes at each step; the last ones become their goals.

        The order in which they pass each node is that of the paths, whatever the speeds. The policy `given` makes no
        plans that would replace them. Raises PlanError, without a change, for paths that robots may not drive.
        """
        self._control.drive(np.asarray(rows, np.int64), np.asarray(paths, np.int64))

    def withdraw_goal(self, agent: Agent) -> None:
        """Let a robot stop at the next node that it can, with no goal any more; it gives way to others there."""
        self._control.withdraw_goal(np.array([self._row(agent)]))

    def close(self, places: ManyPlaces) -> None:
        """Close places: no robot enters these nodes, except those that cannot stop before any more.

        Places are stations, nodes and points, as for `send`, names of zones, and areas by their corners ((x, y), ...).
        """
        self._control.close(self._nodes_of(places))

    def open(self, places: ManyPlaces) -> None:
        """Open closed places."""
        self._control.close(self._nodes_of(places), closed=False)

    def limit_speed(self, places: ManyPlaces, speed: float) -> None:
        """Let robots drive at most at `speed` in m/s at places, whatever zones and lanes say; 0: as they say again."""
        limit_speed(self._control, self.site, places, speed)

    def occupy(self, places: ManyPlaces) -> None:
        """Let something stand in the cells of the map at places: robots come nowhere where they would touch it."""
        occupy(self._control, self.site, places)

    def free(self, places: ManyPlaces) -> None:
        """Let cells be free again that were occupied; raises InvalidValueError for walls of the site."""
        free(self._control, self.site, places)

    def grants(self, agents: Agent | Sequence[Agent] | None = None) -> list[Grant]:
        """Return which nodes robots have, who waits, and for whom; None: all, in the order they were spawned."""
        given = [agents] if isinstance(agents, Agent) else agents
        rows = self.rows if given is None else np.array([self._row(agent) for agent in given], np.int64)
        return grants_of(self._world, self._table, self._control.floor, rows) if len(rows) else []

    def wait_for(self, nodes: Bools) -> None:
        """Let robots wait before these nodes (N,) until it is called with others: plans lead through, as it is short.

        A robot that cannot stop before one any more enters it.
        """
        self._control.floor.wait_for(nodes)

    def _nodes_of(self, places: ManyPlaces) -> Ints:
        return nodes_of(self.network, self.site, places)

    @property
    def blocked(self) -> tuple[Bools, Bools]:
        """Which nodes (N,) are closed, by `close` or by schedule; and on which, or before which, an obstacle is."""
        floor = self._control.floor
        return floor.closed | floor.scheduled | floor.occupied_nodes, floor.covered.copy()

    # ---- figures -----------------------------------------------------------------------------------------------------

    def figures(self) -> Mapping[str, Any]:
        """Return what happened so far: plans and refusals with the latest reason, planning times in ms, waiting."""
        return self._control.figures()

    @property
    def planning_times(self) -> Floats:
        """How long the latest plans took (K,), in s of wall time."""
        return self._control.floor.timing.times

    # ---- helpers -----------------------------------------------------------------------------------------------------

    def _row(self, agent: Agent) -> int:
        self._check_own(agent)
        if not self._table.present[agent.row]:
            raise not_enrolled(self._world, agent.row)
        return agent.row

    def _check_own(self, agent: object) -> None:
        if not isinstance(agent, Agent) or agent.world is not self._world:
            raise InvalidValueError(f"expected a robot of this simulation, got {agent!r}")


# The key `traffic` of a spawn entry, which `setup.cfg` declares: robots that take part as soon as they are spawned.


NAME = "traffic"


class TrafficBooth:
    """The place of the traffic in a simulation, there before the traffic itself: robots are spawned first."""

    def __init__(self, world: World, table: TrafficColumns) -> None:
        self.traffic: Traffic | None = None
        self._control: TrafficControl | None = None
        self._table = table
        self.announced = False
        """Whether a section of the scenario will open a traffic when its robots are spawned."""
        self._world = world
        self._wishes: dict[int, bool] = {}

    def wishes(self, row: int) -> bool | None:
        """Return what the entry of a robot says that was spawned before there was a traffic; None: nothing."""
        return self._wishes.get(int(self._world.object_id[row]))

    def open(self, traffic: Traffic, control: TrafficControl) -> None:
        """Let robots with the key take part in `traffic` from now on."""
        self.traffic, self._control, self.announced = traffic, control, False

    def change(self, asked: ChangePlaces) -> CommandAck:
        """Carry out a ChangePlaces."""
        traffic, control = self._opened()
        return change_places(control, traffic.site, asked)

    def hold(self, asked: HoldRobots) -> CommandAck:
        """Carry out a HoldRobots."""
        return hold_robots(self._world, self._table, self._opened()[1], asked)

    def _opened(self) -> tuple[Traffic, TrafficControl]:
        if self.traffic is None or self._control is None:
            raise StateError("there is no traffic in this simulation")
        return self.traffic, self._control

    def close(self) -> None:
        """Called when the traffic is closed."""
        self.traffic = None
        self._wishes.clear()

    def enter(self, rows: Rows, wanted: bool) -> None:
        """Let robots in `rows` take part, or not; raises InvalidValueError, and then enrols none."""
        world, traffic = self._world, self.traffic
        if traffic is None and not self.announced and wanted:
            raise InvalidValueError(
                "there is no traffic to take part in; add a section 'traffic', or call offer_traffic before"
            )
        if traffic is None:
            self._wishes.update(dict.fromkeys(world.object_id[rows].tolist(), wanted))
        elif wanted:
            traffic.enroll([world.handles[row] for row in rows.tolist()])


class TrafficFeature(Feature[TrafficRobotSettings, TrafficColumns]):
    """Robots that take part in the traffic: `traffic:` in a spawn entry, at any time."""

    doc = "Whether it takes part in the traffic of the site."
    settings = TrafficRobotSettings
    table = TrafficColumns
    # To a node. Nobody clicks one to the millimetre.
    goal_tolerance = 10.0

    def values(self, settings: TrafficRobotSettings) -> Mapping[str, Any]:
        """Return what is wished for; `enter` does it."""
        return {"wanted": settings.takes_part}

    def start(self, host: FeatureHost, table: TrafficColumns) -> TrafficBooth:
        """Return the place of the traffic."""
        booth = TrafficBooth(host.world, table)
        host.dispatcher.handle(ChangePlaces, booth.change)
        host.dispatcher.handle(HoldRobots, booth.hold)
        return booth

    def enter(self, part: TrafficBooth, table: TrafficColumns, rows: Rows) -> None:
        """Enrol robots that stand at nodes; raises InvalidValueError with the reason for others."""
        # Who takes part has a way, if only of the node it stands on.
        enrolled_mask, wanted_mask = table.length[rows] > 0, table.wanted[rows].copy()
        self.leave(part, table, rows[enrolled_mask & ~wanted_mask])
        others = rows[~enrolled_mask]
        # Nobody takes part, or drives, before it is enrolled.
        table.clear_rows(others)
        for wanted in (True, False):
            chosen = others[wanted_mask[~enrolled_mask] == wanted]
            if len(chosen):
                part.enter(chosen, wanted)

    def leave(self, part: TrafficBooth, table: TrafficColumns, rows: Rows) -> None:
        """Let robots take no part any more."""
        if part.traffic is not None:
            part.traffic.leave([robot for robot in part.traffic.robots if robot.row in rows])

    def report(self, columns: Mapping[str, AnyArray]) -> Mapping[str, AnyArray]:
        """Return which robots have broken down."""
        broken = columns["present"] & (columns["held"] & BROKEN != 0)
        return {"faults": FAULTS["breakdown"] * broken}

    def details(self, table: TrafficColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say how much of its way is ahead, how much of it is granted, and whether it waits."""
        at, waits = int(table.at[row]), ", waits" if table.waiting[row] else ""
        granted = int(table.granted[row]) - at
        return [("way", f"{int(table.length[row]) - 1 - at} nodes, {granted} of them granted{waits}")]


FEATURE = TrafficFeature()


# The section `traffic` of a scenario, and how a simulation gets its traffic.


class TrafficSection(SettingsSection[MultiRobotSimulationCore]):
    """Offers traffic in the site of the scenario; `sim.get_manager("traffic")` returns it."""

    def prepare(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Let robots of the scenario say that they take part in what is opened when they are spawned."""
        sim.features.use(NAME).announced = True

    def read(self, entry: Any, source: str) -> TrafficSettings:
        """Return the settings in `entry`, with a planner and a policy that there are; raises ConfigError."""
        settings: TrafficSettings = super().read(entry, source)
        with located(NAME, source=source):
            PLANNERS.find(settings.planner)
            POLICIES.find(settings.policy)
        return settings


def _open(sim: MultiRobotSimulationCore, settings: TrafficSettings, source: str) -> None:
    """Offer the traffic and enrol the robots."""
    site = sim.extensions.find_manager("site")
    if site is None:
        raise ConfigError("needs a section 'site' to drive in")
    traffic = offer_traffic(sim, site, settings)
    robots = _chosen(sim, settings)
    if robots:
        traffic.enroll(robots)


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
    sim.checkpoints.register_late(NAME, control)
    sim.pipeline.add(System(NAME, Phase.UPDATE, control.step), before="motion")
    # Machine code is loaded for the traffic anyway.
    sim.collisions.use_kernels()
    world.compiled = True
    world.drive_rules.append(control.rule)
    world.routes.conveyance = control.rule
    world.waypoints.sources.append(control.paths.paths_of)
    world.on_remove.append(control.removed)
    booth.open(traffic, control)
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
        world.waypoints.sources.remove(control.paths.paths_of)
        world.on_remove.remove(control.removed)
        booth.close()
        sim.events.off("cleared", leave)

    sim.events.on("cleared", leave)


SECTION = TrafficSection(
    NAME,
    TrafficSettings,
    _open,
    "How the robots of the scenario drive in its site: planned for together, without touching each other.",
)


# The section `site` of a scenario, with routes in its building.


class SiteRoutes:
    """The ways of `router` for the robots of `world` (a RouteSource). A site is one storey, whatever heights say."""

    detours: ClassVar[bool] = True

    def __init__(self, world: World, router: Router) -> None:
        self._world, self._whole = world, router
        self._closed: tuple[str, ...] = ()
        self._open = router
        """The routes around what is closed, and the ids of that."""

    @property
    def _router(self) -> Router:
        closed = self._world.routes.closed
        if tuple(closed) != self._closed:
            self._closed = tuple(closed)
            site = self._whole.site
            zones = [Zone(f"closed: {name}", ZoneKind.NO_GO, corners) for name, corners in closed.items()]
            around = replace(site, zones=(*site.zones, *zones))
            self._open = Router(around, self._whole.clearance) if zones else self._whole
        return self._open

    def find(self, start: Floats, goal: Floats, radius: float, *, speed: float, mode: RouteMode) -> Route | NoRoute:
        """Return the route from `start` to `goal` (3,) in m, or why there is none."""
        return self._router.find(start, goal, radius, speed=speed, mode=mode)

    def journey(
        self, row: int, start: Floats, goal: Floats, needs: RouteNeeds, *, detour: bool
    ) -> list[Stretch] | NoRoute:
        """Return `find` as a way of one stretch; a detour leads around robots that stand near the one in `row`."""
        radius, speed, mode = needs
        if not detour:
            found = self.find(start, goal, radius, speed=speed, mode=mode)
            return found if isinstance(found, NoRoute) else [Stretch(found)]

        def find(past: Passing) -> list[Route] | NoRoute:
            return past.whole(past.router.find(past.clear, goal, radius, speed=speed, mode=mode))

        return _stretches(past_all(self._router, start[:2], self._discs(row), radius, find))

    def retreat(
        self, row: int, start: Floats, radius: float, *, speed: float, wanted: Wanted
    ) -> list[Stretch] | NoRoute:
        """Return the way of the robot in `row` from `start` (3,) to the nearest place that is `wanted`."""
        discs = self._discs(row)
        return _stretches(retreat(self._router, start[:2], discs, radius, speed=speed, wanted=wanted))

    def rise(self, start: float, goal: float) -> float:
        """Return 0: a site is one storey."""
        return 0.0

    def _discs(self, row: int) -> Floats:
        return standing_discs(self._world, row, -np.inf, np.inf)


def _stretches(routes: list[Route] | NoRoute) -> list[Stretch] | NoRoute:
    return routes if isinstance(routes, NoRoute) else [Stretch(route) for route in routes]


@dataclass
class RoutedSiteSettings(SiteSettings):
    """A site of a scenario, and how robots are routed in it."""

    clearance: float | None = setting(
        None,
        low=0.0,
        high=LARGEST_RADIUS,
        unit="m",
        doc="Room that routes leave between footprints and walls; null: the collision margin of the simulation.",
    )


class RoutedSiteSection(SiteSection):
    """Builds a site and offers routes in it; `sim.get_manager("router")` returns the Router."""

    settings = RoutedSiteSettings

    def build(self, sim: MultiRobotSimulationCore, settings: SiteSettings, site: Site) -> None:
        """Add the site to `sim`, and the routes."""
        super().build(sim, settings, site)
        assert isinstance(settings, RoutedSiteSettings)
        offer_routes(sim, site, settings.clearance)


def offer_routes(sim: MultiRobotSimulationCore, site: Site, clearance: float | None = None) -> Router:
    """Let the robots of `sim` take routes in `site`; returns the Router, which is also the manager "router".

    `clearance` in m is the room between footprints and walls; None: the collision margin of the simulation. Raises
    DuplicateNameError where there are routes already.
    """
    # What is nearer than the margin counts as a collision.
    router = Router(site, sim.params.collision_margin if clearance is None else clearance)
    sim.register_manager(router, "router")
    sim.world.routes.offer(SiteRoutes(sim.world, router))

    def leave() -> None:
        # With `sim.clear()` the building is gone.
        sim.world.routes.withdraw()
        sim.unregister_manager(router)
        sim.events.off("cleared", leave)

    sim.events.on("cleared", leave)
    return router


SITE_SECTION = RoutedSiteSection()
