"""Traffic: sends many robots through a site at once, along paths that a planner makes for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows, as_float
from fleet_sim.base.errors import (
    ConfigError,
    FleetSimError,
    InvalidValueError,
    PlanError,
    StateError,
    located,
    unknown_name,
)
from fleet_sim.base.limits import LARGEST_SPEED
from fleet_sim.base.scenario import SettingsSection
from fleet_sim.base.settings import read, setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.section import SiteSection, SiteSettings, until_cleared
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic import requests
from fleet_sim.warehouse.traffic.columns import (
    BACKWARD,
    BROKEN,
    NEAR,
    SERVING,
    STOPPED,
    TrafficColumns,
    enter,
    hindrance,
    not_enrolled,
    refused,
    turning_speeds,
)
from fleet_sim.warehouse.traffic.driving import NO_STAYS, Trace, serve_rows, trace_of
from fleet_sim.warehouse.traffic.execution import PlannedPaths
from fleet_sim.warehouse.traffic.floor import Floor, forms_of
from fleet_sim.warehouse.traffic.network import ManyPlaces, Network, Place, cells_of, node_of, nodes_of
from fleet_sim.warehouse.traffic.planners.planner import NO_BARS
from fleet_sim.warehouse.traffic.planners.registry import PLANNERS
from fleet_sim.warehouse.traffic.policies import POLICIES
from fleet_sim.warehouse.traffic.router import LARGEST_RADIUS, Router, SiteRoutes
from fleet_sim.warehouse.traffic.settings import TrafficRobotSettings, TrafficSettings
from fleet_sim.warehouse.traffic.sizes import ALIGNED, Kind, kind_of, way_of, zones_for
from fleet_sim.warehouse.traffic.storeys import Storeys, Unfolds
from fleet_sim.world.commands import CommandAck
from fleet_sim.world.features import FAULTS, Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.state_files import Form
from fleet_sim.world.steering import IDLE
from fleet_sim.world.world import DriveRule, World

# TrafficBars: places that low robots pass through and wide ones do not, as something stands above them.


class TrafficBars:
    """Shelves on legs, for example: robots pass under them, and those that carry one keep off all others.

    `traffic.bars`; its methods raise StateError before a robot was enrolled, as the network depends on its size.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic

    @property
    def radius(self) -> float:
        """The radius in m of the largest footprint that may take part: what a robot carries has to be within it."""
        return self._traffic.floor.radius

    def add(self, places: ManyPlaces) -> None:
        """Bar places to wide robots: these enter them only as their goals, while all others pass.

        Raises InvalidValueError for a planner that does not keep wide robots off.
        """
        if not self._traffic.floor.timing.planner.keeps_bars:
            raise InvalidValueError(f"planner {self._traffic.settings.planner!r} {NO_BARS}")
        self._bar(places, True)

    def remove(self, places: ManyPlaces) -> None:
        """Let wide robots enter places again."""
        self._bar(places, False)

    def set_wide(self, agent: Agent, wide: bool = True) -> None:
        """Let a robot keep off barred places from now on, other than its goal, or no longer.

        Raises InvalidValueError for a robot that takes no part, and to make one wide that is driving.
        """
        row, table, floor = self._traffic.row_of(agent), self._traffic.table, self._traffic.floor
        ahead = floor.execution.graph.held(table, np.array([row]))[1:]
        if wide and (floor.timing.barred[ahead].any() or table.speed[row] > 0.0 or table.progress[row] > 0.0):
            label = agent.world.label(row)
            raise InvalidValueError(f"{label!r} cannot become wide while it drives; let it stop at its goal before")
        table.wide[row] = wide
        floor.timing.changed = True

    def is_wide(self, agent: Agent) -> bool:
        """Return whether a robot keeps off barred places."""
        return bool(self._traffic.table.wide[self._traffic.row_of(agent)])

    def pass_under(self, objects: Sequence[SimObject]) -> None:
        """Let these be no obstacles while they stand by themselves."""
        self._traffic.floor.obstacles.pass_under([thing.object_id for thing in objects])

    def _bar(self, places: ManyPlaces, barred: bool) -> None:
        floor = self._traffic.floor
        floor.timing.barred[nodes_of(floor.network, self._traffic.storeys, places)] = barred
        floor.open_up()


STOREY = 1.5
"""Goals this much in m higher or lower than the robot are on another storey."""


class InTraffic(DriveRule):
    """A robot in the traffic is driven by nothing else; actions send it by the traffic (a Conveyance)."""

    reason = "it takes part in the traffic; send it there (MoveTo with route=True), or let it leave the traffic first"
    ends_steps = True

    def __init__(self, traffic: Traffic) -> None:
        self._traffic, self._table = traffic, traffic.table

    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` take part."""
        return np.asarray(self._table.present[rows])

    def drives(self, row: int) -> bool:
        """Return whether the robot in `row` takes part."""
        return bool(self._table.present[row])

    def check_goal(self, row: int, point: Floats, heading: float | None, tolerance: float) -> None:
        """Raise InvalidValueError where `send_to` would."""
        self._traffic.check_goals(*self._goal(row, point, heading, tolerance))

    def send_to(self, row: int, point: Floats, heading: float | None, tolerance: float) -> None:
        """Send a robot to the node that is within `tolerance` m of `point` (3,); raises InvalidValueError."""
        self._traffic.send_rows(*self._goal(row, point, heading, tolerance))

    def _goal(self, row: int, point: Floats, heading: float | None, tolerance: float) -> tuple[Rows, Ints, Floats]:
        """Return robot, node and heading as `send_rows` has them; raises InvalidValueError for a point at no node."""
        floor, height = self._traffic.floor, float(self._traffic.height_of(row))
        place = f"({point[0]:g}, {point[1]:g})"
        # A goal on another storey must not become the place below or above it.
        if not floor.storeys.several and abs(point[2] - height) > STOREY:
            raise InvalidValueError(
                f"the goal is at the height {point[2]:g} m, and the traffic stays on one storey; let the robot leave"
                " the traffic first"
            )
        node = int(self._traffic.nodes_at(point[None])[0])
        # Checked here and not in `send_rows`: an action may ask for a point, the traffic knows only nodes.
        if node < 0:
            raise InvalidValueError(f"the goal {place} is at no node: in a wall, outside, or too narrow for the robot")
        at = floor.world_positions(np.array([node]))[0]
        off = trig.hypot_of(*(at - point[:2]).tolist())
        if off > max(tolerance, NEAR):
            x, y = at.tolist()
            raise InvalidValueError(
                f"the goal {place} is {off:.3g} m from the node at ({x:g}, {y:g}); go there, or with that tolerance"
            )
        return np.array([row]), np.array([node]), np.array([np.nan if heading is None else heading])

    def has_brought(self, row: int) -> bool:
        """Return whether the robot has arrived."""
        return bool(self._table.arrived[row])

    def goals(self, rows: Rows) -> tuple[Floats, Floats, Bools]:
        """Return points (N, 2) and headings (N,) of those of `rows` that were sent somewhere and are not there yet."""
        table = self._table
        sent_mask = table.present[rows] & (table.goal[rows] >= 0) & ~table.arrived[rows]
        points = np.zeros((len(rows), 2))
        if np.count_nonzero(sent_mask):
            floor = self._traffic.floor
            points[sent_mask] = floor.world_positions(floor.rides.goals(rows[sent_mask]))
        return points, table.heading[rows], sent_mask

    def waits_for(self, rows: Rows) -> Rows:
        """Return whom each of `rows` (N,) waits for in the traffic, NO_ROW for nobody."""
        traffic = self._traffic
        return requests.waits_for(traffic.floor, self._table, rows) if len(traffic.rows) else np.full(len(rows), NO_ROW)

    def stopped(self, rows: Rows, *, stay: bool) -> None:
        """Let robots stand that were told to stop; those whose action ended have no goal any more."""
        ours = rows[self._table.present[rows]]
        # A stop by a user holds the robot; one at the end of an action only ends its goal.
        if len(ours) and stay:
            self._traffic.hold(ours, STOPPED)
        elif len(ours):
            self._traffic.withdraw_goals(ours)


class Traffic:
    """The robots of `sim` that drive in `site` by common plans: `sim.get_manager("traffic")`.

    Robots are enrolled, then sent to places. They drive on lanes of the network, in the order that the planner chose at
    every node, and stop where they have to wait; they never touch each other, whatever their speeds, delays and pauses.
    The network is made for the first robots that are enrolled.
    """

    def __init__(
        self, sim: MultiRobotSimulationCore, storeys: Storeys, table: TrafficColumns, settings: TrafficSettings
    ) -> None:
        """`offer_traffic` makes one."""
        self.storeys, self.site, self.settings, self.table = storeys, storeys.site, settings, table
        self._sim, self._world = sim, sim.world
        self._floor: Floor | None = None
        self.rule = InTraffic(self)
        self.bars = TrafficBars(self)
        """What some robots pass under, and others must drive around."""
        self.planned = PlannedPaths(
            self._world, table, lambda: None if self._floor is None else self._floor.execution.graph
        )
        """Where the last plan leads robots: `planned.paths_of(rows)`."""
        self.stays = NO_STAYS
        """Who stays for how long where it arrives."""
        self.between: list[Callable[[], object]] = []
        """Called in a step of several ticks before the one in which nobody of `stays` is on its way any more."""
        self.watchers: list[Callable[[float, Trace], object]] = []
        """Called at the end of ticks with the length of one in s, and how robots moved in each."""
        self.ends_step = False
        """Whether a step of several ticks ends with the one that comes: set by who has seen enough."""

    @property
    def floor(self) -> Floor:
        """What depends on the network; raises StateError before there is one."""
        if self._floor is None:
            raise StateError("no robot takes part in the traffic yet, and its network depends on their size; enrol one")
        return self._floor

    @property
    def network(self) -> Network:
        """The nodes and moves; raises StateError before a robot was enrolled, as they depend on its size."""
        return self.floor.network

    # ---- who takes part ----------------------------------------------------------------------------------------------

    @property
    def robots(self) -> list[Agent]:
        """The robots that take part, in the order they were spawned."""
        return [self._world.handles[row] for row in self.rows.tolist()]

    @property
    def rows(self) -> Rows:
        """Their rows in the columns of the world."""
        return NO_ROWS if self._floor is None else self._floor.execution.rows

    def row_of(self, agent: Agent) -> int:
        """Return the row of a robot; raises InvalidValueError for one that takes no part."""
        if not isinstance(agent, Agent) or agent.world is not self._world:
            raise InvalidValueError(f"expected a robot of this simulation, got {agent!r}")
        if not self.table.present[agent.row]:
            raise not_enrolled(self._world, agent.row)
        return agent.row

    def enroll(self, agents: Agent | Sequence[Agent]) -> None:
        """Let `agents` take part from now on; each stands at a node. Raises InvalidValueError, and then enrols none."""
        world, table = self._world, self.table
        given = [agents] if isinstance(agents, Agent) else list(agents)
        for agent in given:
            if not isinstance(agent, Agent) or agent.world is not world:
                raise InvalidValueError(f"expected a robot of this simulation, got {agent!r}")
        rows = np.array([agent.row for agent in given], np.int64)
        for row in rows.tolist():
            reason = "it takes part already" if table.present[row] else hindrance(world, row)
            if reason:
                raise refused(world, row, reason)
        try:
            for row in rows.tolist():
                enter(world, table, row)
            self._take_places(rows)
        except BaseException:
            table.clear_rows(rows)
            # As if nothing had been tried: the columns are filled before places are known to be free.
            raise
        finally:
            world.version += 1
        for row in world.actions.busy(rows).tolist():
            world.actions.cancel_base(row, "the robot takes part in the traffic now")
        self.floor.timing.changed = True

    def _take_places(self, rows: Rows) -> None:
        world, table = self._world, self.table
        floor = self._floor or self._floor_of(rows)
        world.version += 1
        present = floor.execution.rows
        before = np.setdiff1d(present, rows)
        floor.timing.charge(before, rows)
        # Places of robots that stay, as well as of those that come together.
        held = set(floor.execution.graph.held(table, before).tolist())
        nodes, places = self._nodes_at(floor, world.position[rows]), world.position[rows, :2]
        for index, (row, node) in enumerate(zip(rows.tolist(), nodes.tolist(), strict=True)):
            at = places[index].tolist()
            if node in floor.rides.nodes:
                raise refused(world, row, "it stands in a lift; let it get out first")
            if node < 0 or np.abs(floor.world_positions(nodes[index : index + 1])[0] - at).max() > NEAR:
                raise refused(world, row, f"it stands at ({at[0]:g}, {at[1]:g}), where there is no node")
            if table.radius[row] > floor.radius * (1.0 + 1e-9) or zones_for(world, self.site, row):
                nodes[index] = self._own_node(floor, row, node)
            taken = {node, *floor.network.stands.of(int(nodes[index])).tolist()}
            if not held.isdisjoint(taken):
                raise refused(world, row, f"another robot has node {node}, or a part of what it needs there")
            held |= taken
            if floor.gates.is_in_swing(int(nodes[index])):
                raise refused(world, row, f"it stands at ({at[0]:g}, {at[1]:g}), where a door moves that is not open")
        table.offset[rows] = floor.storeys.offsets[floor.rides.storey_of[nodes]]
        # Robots enter cabins only as their goals, when it is their turn.
        table.wide[rows] = bool(floor.storeys.shafts)
        floor.execution.stand(rows, nodes)
        floor.disturbances.enter(rows)
        self._floor = floor

    def _floor_of(self, rows: Rows) -> Floor:
        """Return a floor for the first robots: the largest that fit into a cell decide for all, others have kinds."""
        table, settings = self.table, self.settings
        radius, kinds = settings.radius or float(table.radius[rows].max()), list[Kind]()
        grid, margin = self.site.grid, 0.5 * self._sim.params.collision_margin
        roadmap = settings.network == "roadmap" or (settings.network == "auto" and self.site.roadmap is not None)
        restricted = np.array([bool(zones_for(self._world, self.site, row)) for row in rows.tolist()], bool)
        if roadmap and any(zone.robots for zone in self.site.zones):
            raise InvalidValueError("zones of some robots are kept on a grid only; set network: grid")
        if (settings.radius is None or restricted.any()) and not roadmap:
            single_mask = table.radius[rows] + margin <= 0.5 * grid.cell * (1.0 + 1e-9)
            if settings.radius is not None:
                single_mask[:] = True
            special = rows[~single_mask | restricted].tolist()
            kinds = [kind_of(self._world, table, row, self.site, margin) for row in special]
            if not single_mask.all():
                radius = float(table.radius[rows[single_mask]].max(initial=0.0)) or 0.5 * grid.cell - margin
        return Floor(self._sim, self.storeys, table, settings, radius, tuple(sorted(set(kinds))))

    def _own_node(self, floor: Floor, row: int, node: int) -> int:
        """Return where a robot that takes more than a cell stands; raises InvalidValueError where it cannot."""
        world, table, network = self._world, self.table, floor.network
        grid = network.grid
        kind = None if grid is None else kind_of(world, table, row, self.site, 0.5 * self._sim.params.collision_margin)
        if grid is None or kind not in network.own:
            if kind is not None and kind.zones:
                raise refused(world, row, f"zones {kind.zones} hold for it, and for none that was there at first")
            raise refused(world, row, f"its footprint of {table.radius[row]:g} m is larger than {floor.radius:g} m")
        backward = table.lead[row] == BACKWARD
        way, off = way_of(float(table.yaw[row]) + np.pi * backward, grid)
        if kind.ways > 1 and off > ALIGNED:
            raise refused(world, row, "it takes more than a cell, and stands neither along a row nor a column")
        own = int(network.own[kind][node, way % kind.ways])
        if own < 0:
            at = network.positions[node].tolist()
            raise refused(world, row, f"it stands at ({at[0]:g}, {at[1]:g}), where it has no room")
        if kind.ways > 1:
            self._align(row, grid.origin[2] - 0.5 * np.pi * way - np.pi * backward)
        return own

    def _align(self, row: int, yaw: float) -> None:
        """Turn a robot by the little that it is off its direction."""
        world, table = self._world, self.table
        table.yaw[row] = float(quaternions.wrapped(np.array([yaw]))[0])
        turned = quaternions.multiply(quaternions.from_yaws(table.yaw[row : row + 1]), table.tilt[row][None])
        if not np.array_equal(turned[0], world.orientation[row]):
            world.orientation[row] = turned[0]
            world.touch(np.array([row]))

    def leave(self, agents: Agent | Sequence[Agent]) -> None:
        """Let `agents` take no part any more. They stop at once, where they are; others drive around them."""
        given = [agents] if isinstance(agents, Agent) else list(agents)
        for row in [self.row_of(agent) for agent in given]:
            self.remove(np.array([row]), "it was asked to")

    def remove(self, rows: Rows, reason: str) -> None:
        """Let robots take no part any more; emits traffic_left for each."""
        world, table, execution = self._world, self.table, self.floor.execution
        for row in rows.tolist():
            self.floor.rides.forget(row)
            execution.graph.forget(table, execution.rows, row, stays=True)
            table.clear_rows(np.array([row]))
            world.version += 1
        world.rest(rows)
        self.floor.timing.changed = True
        # Actions that wait for an arrival are told that there will be none.
        self._sim.actions.arrived(rows)
        for row in rows.tolist():
            # When all are out, as a handler may enrol one of them again.
            world.events.emit("traffic_left", agent=world.handles[row], reason=reason)
            world.entity_events.emit(row, "traffic_left", reason=reason)

    def removed(self, rows: Rows) -> None:
        """Forget robots that are removed from the world."""
        table = self.table
        for row in rows[table.present[rows]].tolist():
            execution = self.floor.execution
            self.floor.rides.forget(row)
            execution.graph.forget(table, execution.rows, row, stays=False)
            table.clear_rows(np.array([row]))
            execution.renew()
            self.floor.timing.changed = True

    def takes_part(self, agent: Agent) -> bool:
        """Return whether `agent` takes part."""
        return bool(self.table.present[agent.row])

    def turns(self, agent: Agent) -> bool:
        """Return whether a robot turns towards where it drives."""
        return bool(self.table.turns[self.row_of(agent)])

    # ---- where they go -----------------------------------------------------------------------------------------------

    def put_first(self, rows: Rows) -> None:
        """Let robots in `rows` (N,) go before all others until the next call, where the planner has an order."""
        self.floor.timing.first = rows

    def plan_soon(self) -> None:
        """Plan in the next step of the traffic, if the policy agrees, though the period is not over."""
        self.floor.timing.hurry()

    def send(self, agent: Agent, place: Place, heading: float | None = None) -> None:
        """Send a robot to a place; a stopped one drives on. Takes effect with the next plan; its actions end.

        It has arrived when it stands there, turned to `heading` in rad if one is given. Raises InvalidValueError for a
        robot that takes no part, a place that is not at a node, and one that no way leads to, UnknownNameError for a
        unknown station.
        """
        turned = np.nan if heading is None else as_float(heading, "heading in rad", low=-1e5, high=1e5)
        self.send_rows(np.array([self.row_of(agent)]), np.array([self.node_of(place)]), np.array([turned]))

    def send_rows(self, rows: Rows, nodes: Ints, headings: Floats | None = None) -> None:
        """Send the robots in `rows` (N,) to `nodes` (N,), all or none; raises as `send` does.

        `headings` (N,) are in rad, nan for any.
        """
        rows, turned = np.asarray(rows, np.int64), np.full(len(rows), np.nan) if headings is None else headings
        nodes, turned = self.check_goals(rows, np.asarray(nodes, np.int64), turned)
        table = self.table
        for row in self._world.actions.busy(rows).tolist():
            self._world.actions.cancel_base(row, "the traffic was told to send the robot elsewhere")
        turned, floor = quaternions.wrapped(turned), self.floor
        driving_mask = np.ones(len(rows), bool)
        if floor.rides.cabins:
            ends = floor.execution.graph.ends(table, rows)
            trips = zip(rows.tolist(), ends.tolist(), nodes.tolist(), turned.tolist(), strict=True)
            # Who rides to another storey is sent to a lift first.
            driving_mask[:] = [not floor.rides.send(*trip) for trip in trips]
        table.goal[rows[driving_mask]] = nodes[driving_mask]
        table.heading[rows[driving_mask]] = turned[driving_mask]
        table.arrived[rows] = False
        self.let_go(rows, STOPPED)

    def check_goals(self, rows: Rows, nodes: Ints, headings: Floats) -> tuple[Ints, Floats]:
        """Return nodes and headings as robots of all sizes have them; raises InvalidValueError as `send_rows` does."""
        table, floor = self.table, self.floor
        if len(rows) != len(nodes):
            raise InvalidValueError(f"expected a node for each of {len(rows)} robots, got {len(nodes)}")
        # All is checked before the first goal is set, so that none is set if one is wrong.
        strange = np.flatnonzero(~table.present[rows])
        if len(strange):
            raise not_enrolled(self._world, int(rows[strange[0]]))
        off = np.flatnonzero((nodes < 0) | (nodes >= len(floor.network)))
        if len(off):
            raise InvalidValueError(f"node {nodes[off[0]]}: nodes are numbered from 0 to {len(floor.network) - 1}")
        inside = nodes[np.isin(nodes, floor.rides.nodes)] if len(floor.rides.nodes) else NO_ROWS
        if len(inside):
            raise InvalidValueError(f"node {inside[0]} is in a lift, which robots enter only to ride")
        ends = floor.execution.graph.ends(table, rows)
        if floor.network.stands:
            nodes, headings = self._own_goals(rows, ends, nodes, headings)
        # Regions take one comparison; a planner would search the whole floor before it gives up.
        for index in np.flatnonzero(floor.regions[ends] != floor.regions[nodes]).tolist():
            floor.rides.check(int(rows[index]), int(ends[index]), int(nodes[index]))
        turned = np.flatnonzero(~np.isnan(headings))
        fixed = turned[turning_speeds(self._world, rows[turned]) <= 0.0] if len(turned) else turned
        if len(fixed):
            raise InvalidValueError(f"{self._world.label(int(rows[fixed[0]]))!r} cannot turn to a heading")
        return nodes, headings

    def _own_goals(self, rows: Rows, ends: Ints, nodes: Ints, headings: Floats) -> tuple[Ints, Floats]:
        """Return goals (N,) of robots at `ends` (N,), with own ones of those that take several cells, and headings.

        Raises InvalidValueError where one has no room, and for headings other than along rows and columns.
        """
        network, nodes, headings = self.floor.network, self.floor.network.bases[nodes], headings.copy()
        for index in np.flatnonzero(network.kinds[ends] >= 0).tolist():
            kind = self.floor.kinds[network.kinds[ends[index]]]
            own, label = network.own[kind][nodes[index]], self._world.label(int(rows[index]))
            if not np.isnan(headings[index]) and (kind.ways > 1 or kind.length != kind.width):
                own = own[[self._way_at_goal(int(rows[index]), kind, float(headings[index]))]]
                headings[index] = np.nan
            own = own[own >= 0]
            if not len(own):
                raise InvalidValueError(f"{label!r} has no room at node {nodes[index]}")
            with network.lock:
                ways = [int(network.distances(node)[ends[index]]) for node in own.tolist()]
            # The direction in which it is there soonest.
            nodes[index] = min(zip(ways, own.tolist(), strict=True), key=lambda pair: (pair[0] < 0, *pair))[1]
        return nodes, headings

    def _way_at_goal(self, row: int, kind: Kind, heading: float) -> int:
        """Return the direction of a robot that takes several cells, for a heading; raises InvalidValueError."""
        grid = self.floor.network.grid
        assert grid is not None
        way, off = way_of(heading + np.pi * (self.table.lead[row] == BACKWARD), grid)
        if kind.ways < 4 or off > ALIGNED:
            which = "no heading can be asked for" if kind.ways < 4 else "it stands along rows and columns only"
            raise InvalidValueError(f"{self._world.label(row)!r} takes more than a cell: {which}")
        return way

    def drive_rows(self, rows: Rows, paths: Ints) -> None:
        """Let robots in `rows` (R,) drive `paths` (R, T + 1), nodes at each step; the last ones become their goals.

        The order in which they pass each node is that of the paths, whatever the speeds. The policy `given` makes no
        plans that would replace them. Raises PlanError, without a change, for paths that robots may not drive.
        """
        rows, paths = np.asarray(rows, np.int64), np.asarray(paths, np.int64)
        strange = np.flatnonzero(~self.table.present[rows])
        # Other robots keep their plans.
        if len(strange):
            raise not_enrolled(self._world, int(rows[strange[0]]))
        if self.storeys.shafts:
            raise PlanError("paths are driven on a site of one storey: in a building robots wait for lifts")
        self.floor.timing.drive(rows, paths)
        self.table.goal[rows] = paths[:, -1]
        self.table.arrived[rows] = False

    def withdraw_goal(self, agent: Agent) -> None:
        """Let a robot stop at the next node that it can, with no goal any more; it gives way to others there."""
        self.withdraw_goals(np.array([self.row_of(agent)]))

    def withdraw_goals(self, rows: Rows) -> None:
        """Take the goals of robots away: they stand where their grants end."""
        rides = self.floor.rides
        # Who is in a lift gets out of it.
        ours = np.array([row for row in rows.tolist() if not rides.withdraw(row)], np.int64)
        self.table.goal[ours] = -1
        self.table.arrived[rows] = False
        self.floor.timing.changed = True

    def node_of(self, place: Place) -> int:
        """Return the node at a place; raises InvalidValueError where there is none."""
        return node_of(self.network, self.storeys, place)

    def beside(self, row: int, x: float, y: float) -> Place:
        """Return a point in m on the floor that a robot is on, as `node_of` and `send` have it."""
        return (x, y, self.height_of(row)) if self.storeys.several else (x, y)

    def nodes_at(self, points: Floats) -> Ints:
        """Return the nodes (K,) at points (K, 2) or, in a building, (K, 3) in m; -1 where there is none."""
        return self._nodes_at(self.floor, points)

    def _nodes_at(self, floor: Floor, points: Floats) -> Ints:
        return floor.network.node_at(self.storeys.on_chart(points))

    def spot(self, node: int) -> tuple[float, ...]:
        """Return the place of a node in the world: (x, y), and in a building the height of its floor."""
        floor = self.floor
        height = self.storeys.heights[floor.rides.storey_of[node]]
        return *floor.world_positions(np.array([node]))[0].tolist(), *([float(height)] if self.storeys.several else [])

    def height_of(self, row: int) -> float:
        """Return the height in m at which a robot is."""
        return float(self._world.position[row, 2])

    def goal_of(self, agent: Agent) -> int | None:
        """Return the node that a robot was sent to, None before it was."""
        goal = int(self.goals(np.array([self.row_of(agent)]))[0])
        return None if goal < 0 else goal

    def goals(self, rows: Rows) -> Ints:
        """Return the nodes (N,) that robots were sent to, -1 for none."""
        goals = self.table.goal[rows] if self._floor is None else self._floor.rides.goals(rows)
        return goals if self._floor is None else np.where(goals >= 0, self._floor.network.bases[goals], goals)

    def nodes(self, rows: Rows) -> Ints:
        """Return the nodes (N,) that robots stand on, or passed last."""
        graph = self.floor.execution.graph
        return self.floor.network.bases[graph.ways.nodes[rows, self.table.at[rows]]]

    def shared_nodes(self) -> Ints:
        """Return the nodes (K,) to which any robot can be sent, whatever its size, if a way leads there at all."""
        floor, rows = self.floor, self.rows
        network, regions = floor.network, floor.regions
        shared_mask = network.bases == np.arange(len(network))
        shared_mask[floor.rides.nodes] = False
        ends = floor.execution.graph.ends(self.table, rows)
        for region in np.unique(regions[ends[network.kinds[ends] >= 0]]).tolist() if network.stands else ():
            joined_mask = np.zeros(len(network), np.bool_)
            joined_mask[network.bases[(regions == region) & (network.kinds >= 0)]] = True
            shared_mask &= joined_mask
        return np.flatnonzero(shared_mask)

    def has_arrived(self, agent: Agent) -> bool:
        """Return whether a robot has stood at the goal that it has now."""
        return bool(self.table.arrived[self.row_of(agent)])

    def is_waiting(self, agent: Agent) -> bool:
        """Return whether a robot stands because others pass first, or its way is blocked."""
        return bool(self.table.waiting[self.row_of(agent)])

    def waits_for(self, agent: Agent) -> Agent | None:
        """Return the robot that a waiting one waits for next; None for nobody."""
        row = int(self.rule.waits_for(np.array([self.row_of(agent)]))[0])
        return None if row == NO_ROW else self._world.handles[row]

    def explain(self, agent: Agent) -> str:
        """Return why a robot does not drive: "a waits for b, which waits for c, which stands at desk"."""
        return requests.explained(self._world, self.floor, self.table, self.site, self.row_of(agent))

    def grants(self, agents: Agent | Sequence[Agent] | None = None) -> list[requests.Grant]:
        """Return which nodes robots have, who waits, and for whom; None: all, in the order they were spawned."""
        given = [agents] if isinstance(agents, Agent) else agents
        rows = self.rows if given is None else np.array([self.row_of(agent) for agent in given], np.int64)
        return requests.grants_of(self._world, self.table, self.floor, rows) if len(rows) else []

    # ---- stopping ----------------------------------------------------------------------------------------------------

    def stop(self, agent: Agent) -> None:
        """Let a robot brake and stand, also between nodes, until `resume` or `send`; others drive around it."""
        self.hold(np.array([self.row_of(agent)]), STOPPED)

    def resume(self, agent: Agent) -> None:
        """Let a stopped robot drive on to its goal."""
        self.let_go(np.array([self.row_of(agent)]), STOPPED)

    def pause_rows(self, rows: Rows) -> None:
        """Let robots in `rows` (N,) stand until `continue_rows`, as at a goal while they are served.

        They keep their place in the order: unlike around a stopped robot, others wait for them.
        """
        self.hold(rows, SERVING)

    def continue_rows(self, rows: Rows) -> None:
        """Let robots that were paused drive on."""
        self.let_go(rows, SERVING)

    def hold(self, rows: Rows, reason: int) -> None:
        """Let robots brake and stand, for a reason."""
        self.table.held[rows] |= np.uint8(reason)
        self.floor.timing.changed = True

    def let_go(self, rows: Rows, reason: int) -> None:
        """Let robots drive on that stand for this reason, unless they stand for others too."""
        self.table.held[rows] &= ~np.uint8(reason)
        self.floor.timing.changed = True

    def hold_robots(self, asked: requests.HoldRobots) -> CommandAck:
        """Carry out a HoldRobots; without names for all that take part."""
        world, accepted, rejected = self._world, list[str](), dict[str, str]()
        for name in asked.names or [world.label(row) for row in self.rows.tolist()]:
            try:
                row = requests.row_in_traffic(world, self.table, name)
            except FleetSimError as error:
                rejected[name] = str(error)
                continue
            (self.hold if asked.hold else self.let_go)(np.array([row]), STOPPED)
            accepted.append(name)
        return asked.ack(world.clock.time, accepted, rejected)

    # ---- places ------------------------------------------------------------------------------------------------------

    def close(self, places: ManyPlaces) -> Ints:
        """Close places: no robot enters these nodes, except those that cannot stop before any more.

        Places are stations, nodes and points, as for `send`, names of zones, and areas by their corners ((x, y), ...),
        on all floors of a building. Returns their nodes (K,).
        """
        return self._close(places, True)

    def open(self, places: ManyPlaces) -> Ints:
        """Open closed places; returns their nodes (K,)."""
        return self._close(places, False)

    def _close(self, places: ManyPlaces, closed: bool) -> Ints:
        nodes = nodes_of(self.network, self.storeys, places)
        self.floor.closed[nodes] = closed
        self.floor.open_up()
        return nodes

    def limit_speed(self, places: ManyPlaces, speed: float) -> Ints:
        """Let robots drive at most at `speed` in m/s at places, whatever zones and lanes say; 0: as they say again.

        Returns the nodes (K,) there.
        """
        given = as_float(speed, "speed in m/s", low=0.0, high=LARGEST_SPEED)
        nodes = nodes_of(self.network, self.storeys, places)
        self.floor.limit(nodes, given or np.nan)
        return nodes

    def occupy(self, places: ManyPlaces) -> Ints:
        """Let something stand in the cells of the map at places: robots come nowhere where they would touch it.

        Returns the cells (K,); raises InvalidValueError for those of walls, and for too many of them.
        """
        cells = cells_of(self.network, self.storeys, places)
        count = int(np.count_nonzero(self.floor.occupied)) + len(cells)
        if count > requests.MOST_OCCUPIED:
            raise InvalidValueError(
                f"at most {requests.MOST_OCCUPIED:,} cells may be occupied, with these there are {count:,}"
            )
        self.floor.occupy(cells, occupied=True)
        return cells

    def free(self, places: ManyPlaces) -> Ints:
        """Let cells be free that were occupied, and return them; raises InvalidValueError for walls of the site."""
        cells = cells_of(self.network, self.storeys, places)
        self.floor.occupy(cells, occupied=False)
        return cells

    def change_places(self, asked: requests.ChangePlaces) -> CommandAck:
        """Carry out a ChangePlaces; raises FleetSimError, and then nothing is changed."""
        if asked.operation not in requests.OPERATIONS:
            raise unknown_name("operation", asked.operation, requests.OPERATIONS)
        places, more = requests.places_of(asked), (asked.speed,) if asked.operation == "limit_speed" else ()
        changed: Ints = getattr(self, asked.operation)(places, *more)
        return CommandAck(asked.command_id, asked.source, self._world.clock.time, value=changed)

    def granted_ends(self, rows: Rows) -> Floats:
        """Return the places (N, 2) of the last nodes that robots were granted, to which they drive straight."""
        nodes = self.floor.execution.graph.ways.nodes[rows, self.table.granted[rows]]
        return self.floor.world_positions(nodes.astype(np.int64))

    def asked_nodes(self) -> tuple[Rows, Ints]:
        """Return the robots that stand as they may not drive on yet, and the node that each needs next."""
        table, rows = self.table, self.rows
        rows = rows[table.waiting[rows] & (table.held[rows] == 0) & (table.granted[rows] + 1 < table.length[rows])]
        return rows, self.floor.execution.graph.ways.nodes[rows, table.granted[rows] + 1]

    def wait_for(self, nodes: Bools, left: Bools | None = None) -> None:
        """Let robots wait before these nodes (N,) until it is called with others: plans lead through, as it is short.

        A robot that cannot stop before one any more enters it. Robots that stand on nodes that are to be `left` (N,)
        leave these first of all, and those that would go there wait where they are.
        """
        self.floor.wait_for(nodes)
        self.floor.timing.left = np.zeros_like(nodes) if left is None else left

    @property
    def blocked(self) -> tuple[Bools, Bools]:
        """Which nodes (N,) are closed, by `close` or by schedule; and on which, or before which, an obstacle is."""
        floor = self.floor
        return floor.closed | floor.scheduled | floor.occupied_nodes, floor.covered.copy()

    # ---- the step ----------------------------------------------------------------------------------------------------

    def span(self) -> int:
        """Return for how many ticks robots drive by what they have been told: until the next plan, at most."""
        floor, world = self._floor, self._world
        changing = any(not rule.ends_steps for rule in world.drive_rules)
        if floor is None or changing or any(rule.in_traffic for rule in world.speed_rules):
            return 1
        told = world.events.may_act("traffic_arrived", "traffic_left", "robot_starved")
        if told or len(world.entity_events) or len(world.actions.busy(self.rows)) or not floor.is_quiet:
            return 1
        return floor.timing.span()

    @property
    def may_plan(self) -> bool:
        """Whether a plan may be made in this step: before that, new goals have no effect."""
        return self._floor is None or self._floor.timing.is_due

    def step(self, dt: float) -> None:
        """Plan if it is time to, and move the robots; emits traffic_arrived for those that stand at their goals.

        In a step of several ticks they move as they would in as many steps.
        """
        floor, clock, pipeline = self._floor, self._world.clock, self._sim.pipeline
        made, left = 0, pipeline.ticks
        # Systems that act at the end of each tick need robots to be where they are then.
        one_by_one = left > 1 and pipeline.acts_in_ticks
        if floor is not None and len(floor.execution.rows):
            self._prepare(floor)
        while left:
            if made:
                # The next tick, or that in which all who were on their way have stayed long enough.
                clock.tick += 1
                changed, _ = serve_rows(self.stays, clock.tick, self.table.arrived, self.table.held)
                if changed and floor is not None:
                    floor.timing.changed = True
                for act in self.between:
                    act()
            trace = self._move(floor, dt, 1 if one_by_one or self.ends_step else left)
            made = len(trace.speeds)
            clock.tick += made - 1
            left -= made
            # Before those who stayed are sent on: what they did until then depends on how long they stay.
            for watch in self.watchers:
                watch(dt, trace)
            if (one_by_one and pipeline.end_tick(dt)) or self.ends_step:
                break

    def _prepare(self, floor: Floor) -> None:
        self._keep_others_off()
        displaced = floor.execution.displaced()
        if len(displaced):
            # Before anything is granted: a robot that was carried away must not keep its nodes.
            self.remove(displaced, "it was brought elsewhere")
        lost = floor.rides.step()
        if lost:
            self.remove(np.array(lost), "the lift on its way was removed")
        if floor.rides.changed:
            floor.timing.hurry()
        floor.execution.hold_unfit(self.rule)
        self._disturb(floor)
        floor.look()
        floor.ask()
        floor.timing.step(floor.blocked)

    def _move(self, floor: Floor | None, dt: float, ticks: int) -> Trace:
        if floor is None or not len(floor.execution.rows):
            return trace_of(NO_ROWS, ticks)
        rules = [rule for rule in self._world.speed_rules if rule.in_traffic]
        for rule in rules:
            rule.lower()
        try:
            trace, there = floor.execution.advance(dt, ticks, self.stays)
            arrived = floor.rides.arrived(there)
        finally:
            for rule in reversed(rules):
                rule.restore()
        if len(arrived):
            self._tell_arrived(arrived)
        return trace

    def _disturb(self, floor: Floor) -> None:
        gone, changed = floor.disturbances.step(floor.execution.rows)
        if len(gone):
            self._sim.remove_rows(gone)
        floor.timing.changed |= changed

    def _keep_others_off(self) -> None:
        """End what drives a robot past the rule, such as an action or a controller in Python."""
        world, rows = self._world, self.rows
        strays = rows[world.motion.control[rows] != IDLE]
        if len(strays):
            for row in world.actions.busy(strays).tolist():
                world.actions.cancel_base(row, InTraffic.reason)
            world.waypoints.discard(world.motion, strays)
            world.motion.control[strays] = IDLE

    def _tell_arrived(self, rows: Rows) -> None:
        world = self._world
        self._sim.actions.arrived(rows)
        if not (world.events.has_handlers("traffic_arrived") or len(world.entity_events)):
            return
        nodes = self.nodes(rows)
        for row, node in zip(rows.tolist(), nodes.tolist(), strict=True):
            # An earlier handler may have removed it.
            if self.table.present[row]:
                world.events.emit("traffic_arrived", agent=world.handles[row], node=node)
                world.entity_events.emit(row, "traffic_arrived", node=node)

    # ---- figures and state -------------------------------------------------------------------------------------------

    def figures(self) -> Mapping[str, Any]:
        """Return what happened so far: plans and refusals with the latest reason, planning times in ms, waiting."""
        table, rows = self.table, self.rows
        seconds = self._world.clock.seconds
        floor = self._floor
        counts = {} if floor is None else {**floor.timing.figures(), **floor.disturbances.counts._asdict()}
        return {
            "robots": len(rows),
            "waiting_s": seconds(int(table.waited[rows].sum())),
            "driven_m": float(table.driven[rows].sum()),
            **counts,
        }

    @property
    def planning_times(self) -> Floats:
        """How long the latest plans took (K,), in s of wall time."""
        return self.floor.timing.times

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how the traffic is written in state files."""
        return forms_of(self._floor_for)

    def _floor_for(self, radius: float, kinds: tuple[Kind, ...]) -> Floor:
        return self._floor or Floor(self._sim, self.storeys, self.table, self.settings, radius, kinds)

    def save(self) -> Any:
        """Return the state outside the columns, for a checkpoint."""
        floor = self._floor
        if floor is None:
            return None
        graph, timing = floor.execution.graph.save(), floor.timing.save()
        return floor, floor.changes(), graph, timing, floor.disturbances.counts, dict(floor.rides.trips)

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        if saved is None:
            self._floor = None
            return
        self._floor, changes, graph, timing, counts, trips = saved
        floor = self.floor
        floor.rides.trips = dict(trips)
        floor.execution.graph.restore(graph)
        floor.execution.renew()
        floor.timing.restore(timing)
        floor.disturbances.counts = counts
        changed = floor.timing.changed
        # Closed places are looked up again, as they may have changed between the two moments.
        floor.look()
        floor.restore(*changes)
        floor.timing.changed = changed


# The key `traffic` of a spawn entry, which `setup.cfg` declares: robots that take part as soon as they are spawned.


NAME = "traffic"


class TrafficBooth:
    """The place of the traffic in a simulation, there before the traffic itself: robots are spawned first."""

    def __init__(self, world: World) -> None:
        self.traffic: Traffic | None = None
        self.announced = False
        """Whether a section of the scenario will open a traffic when its robots are spawned."""
        self._world = world
        self._wishes: dict[int, bool] = {}

    def wishes(self, row: int) -> bool | None:
        """Return what the entry of a robot says that was spawned before there was a traffic; None: nothing."""
        return self._wishes.get(int(self._world.object_id[row]))

    def opened(self) -> Traffic:
        """Return the traffic; raises StateError where there is none."""
        if self.traffic is None:
            raise StateError("there is no traffic in this simulation")
        return self.traffic

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
        booth = TrafficBooth(host.world)
        host.dispatcher.handle(requests.ChangePlaces, lambda asked: booth.opened().change_places(asked))
        host.dispatcher.handle(requests.HoldRobots, lambda asked: booth.opened().hold_robots(asked))
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
        router = sim.extensions.find_manager("router")
        if not isinstance(router, Unfolds):
            raise ConfigError("needs a section 'site' or 'building' to drive in")
        site = router.unfolded(settings.cell)
    elif settings.cell is not None:
        raise ConfigError("is for a building; a site has its own: site.cell", path="cell")
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
    sim: MultiRobotSimulationCore, site: Site | Storeys, given: TrafficSettings | None = None, /, **values: Any
) -> Traffic:
    """Let robots of `sim` drive in `site` by common plans; returns the Traffic, which is also the manager "traffic".

    The `Storeys` of a building are `sim.get_manager("router").unfolded(cell)`.

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
    traffic = Traffic(sim, Storeys.of(site) if isinstance(site, Site) else site, table, chosen)

    def leave() -> None:
        sim.pipeline.remove(NAME)
        world.drive_rules.remove(traffic.rule)
        world.routes.conveyance = None
        world.waypoints.sources.remove(traffic.planned.paths_of)
        world.on_remove.remove(traffic.removed)
        booth.close()

    # First, as the name may be another manager's.
    until_cleared(sim, traffic, NAME, leave)
    sim.checkpoints.register_late(NAME, traffic)
    sim.pipeline.add(System(NAME, Phase.UPDATE, traffic.step, span=traffic.span), before="motion")
    # Machine code is loaded for the traffic anyway.
    sim.collisions.use_kernels()
    world.compiled = True
    world.drive_rules.append(traffic.rule)
    world.routes.conveyance = traffic.rule
    world.waypoints.sources.append(traffic.planned.paths_of)
    world.on_remove.append(traffic.removed)
    # Robots with the key take part from now on.
    booth.traffic, booth.announced = traffic, False
    return traffic


SECTION = TrafficSection(
    NAME,
    TrafficSettings,
    _open,
    "How the robots of the scenario drive in its site: planned for together, without touching each other.",
)


# The section `site` of a scenario, with routes in its building.


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
    until_cleared(sim, router, "router", sim.world.routes.withdraw)
    sim.world.routes.offer(SiteRoutes(sim.world, router))
    return router


SITE_SECTION = RoutedSiteSection()
