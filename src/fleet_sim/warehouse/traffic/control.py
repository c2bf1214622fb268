"""TrafficControl: the state of the traffic, and what happens to it in each step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateError, StateFileError
from fleet_sim.base.settings.reader import plain
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic import columns
from fleet_sim.warehouse.traffic.floor import Floor
from fleet_sim.warehouse.traffic.graph import ActionDependencyGraph, Small, Tracks
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.planner import NO_BARS, Planner
from fleet_sim.warehouse.traffic.planners.registry import PLANNERS
from fleet_sim.warehouse.traffic.settings import TrafficSettings
from fleet_sim.warehouse.traffic.sizes import ALIGNED, Kind, kind_of, way_of
from fleet_sim.warehouse.traffic.waits import explained, waits_for
from fleet_sim.world.joints import EntityPaths
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.state_files import Form
from fleet_sim.world.steering import IDLE
from fleet_sim.world.world import DriveRule, World

# Planned paths: where the plan leads the robots of the traffic, as readers outside of it see their paths.


class _Corners(NamedTuple):
    """The corners of ways, way after way: the row and the place in its way of each, and its pose."""

    rows: Rows
    places: Ints
    positions: Floats
    orientations: Floats


class _Ahead(NamedTuple):
    """The corners that are ahead of the robots that were asked for: of whom each is, and what does not change of them.

    `owners` (K,) are indices of the robots, `counts` (N,) how many corners each has.
    """

    owners: Ints
    counts: Ints
    rows: Rows
    places: Ints
    positions: Floats
    orientations: Floats


class PlannedPaths:
    """The ways of robots as paths (a PathSource): their corners and their ends, from one plan to the next the same.

    A robot that stands at the end of its way has no path.
    """

    def __init__(
        self, world: World, table: columns.TrafficColumns, graph: Callable[[], ActionDependencyGraph | None]
    ) -> None:
        self._world, self._table, self._graph = world, table, graph
        # Found once for a plan: paths are read at each sample of a recording, and there are thousands of nodes.
        self._corners: tuple[object, int, int, _Corners] | None = None
        self._ahead: tuple[_Corners, bytes, bytes, _Ahead] | None = None
        """Of which corners, for which rows, and which of them were ahead the last time."""
        self._turned: tuple[Tracks, Floats] | None = None
        """The directions of all lanes, as orientations."""

    def paths_of(self, rows: Rows) -> EntityPaths:
        """Return the planned paths of `rows` (N,); read only. None has waypoints before the first robot takes part."""
        graph = self._graph()
        if graph is None:
            none = np.zeros(len(rows), np.int64)
            return EntityPaths(none, none, np.empty((0, 3)), np.empty((0, 4)))
        ahead = self._ahead_of(self._corners_of(graph), rows)
        passed_mask = ahead.places <= self._table.at[ahead.rows]
        nexts = np.bincount(ahead.owners[passed_mask], minlength=len(rows))
        nexts.flags.writeable = False
        return EntityPaths(ahead.counts, nexts, ahead.positions, ahead.orientations)

    def _ahead_of(self, corners: _Corners, rows: Rows) -> _Ahead:
        """Return the corners ahead of `rows` (N,), arranged anew where others are asked for or one has arrived."""
        # Who has driven all of its way has nothing ahead of it.
        left_mask = self._table.at[rows] < self._table.length[rows] - 1
        asked, left, known = rows.tobytes(), left_mask.tobytes(), self._ahead
        if known is None or known[0] is not corners or known[1:3] != (asked, left):
            self._ahead = known = (corners, asked, left, self._arrange(corners, rows, left_mask))
        return known[3]

    def _arrange(self, corners: _Corners, rows: Rows, left_mask: Bools) -> _Ahead:
        """Return the corners of those of `rows` (N,) in `left_mask`, in their order, each in the order of its way."""
        index = np.full(self._world.capacity, -1, np.int64)
        index[rows[left_mask]] = np.flatnonzero(left_mask)
        owners = index[corners.rows]
        order = np.flatnonzero(owners >= 0)
        own = owners[order]
        # Most readers ask for all, in the order in which they were found.
        if (own[1:] < own[:-1]).any():
            order = order[np.argsort(own, kind="stable")]
        counts = np.bincount(owners[order], minlength=len(rows))
        # Rows of few numbers: `take` finds them several times as fast as an index does.
        poses = corners.positions.take(order, axis=0), corners.orientations.take(order, axis=0)
        ahead = _Ahead(owners[order], counts, corners.rows[order], corners.places[order], *poses)
        for array in ahead:
            array.flags.writeable = False
        return ahead

    def _corners_of(self, graph: ActionDependencyGraph) -> _Corners:
        known = self._corners
        if known is None or known[0] is not graph or known[1:3] != (graph.version, self._world.version):
            found = self._find(graph)
            self._corners = known = (graph, graph.version, self._world.version, found)
        return known[3]

    def _find(self, graph: ActionDependencyGraph) -> _Corners:
        """Return the poses at which the robots turn, or end, on what is left of their planned ways.

        Positions (K, 3) in m and orientations (K, 4) xyzw, in the world; those of one robot stand together, in order.
        """
        world, table, ways = self._world, self._table, graph.ways
        present = table.among(world.rows)
        left = np.maximum(table.length[present] - 1, 0)
        ends = np.cumsum(left)
        owners = np.repeat(np.arange(len(present)), left)
        # The places 1, 2, 3 ... of each way: the robot was at place 0 when the plan was made.
        places = 1 + np.arange(len(owners)) - (ends - left)[owners]
        # One number for row and place: `take` finds numbers several times as fast as two indices do.
        flat = (ways.bends.shape[1] * present)[owners] + places
        # Where the lane after a node is not straight on, the node is a corner; the last one is, whatever comes after.
        corner_mask = ways.bends.reshape(-1).take(flat + 1, mode="clip")
        corner_mask[ends[left > 0] - 1] = True
        corners = np.flatnonzero(corner_mask)
        owners, places, flat = owners[corners], places[corners], flat[corners]
        rows, nodes, lanes = present[owners], ways.nodes.reshape(-1).take(flat), ways.lanes.reshape(-1).take(flat)
        positions = np.empty((len(rows), 3))
        positions[:, :2], positions[:, 2] = graph.tracks.positions.take(nodes, axis=0), world.position[rows, 2]
        asked_mask = (places == left[owners]) & (nodes == table.goal[rows]) & ~np.isnan(table.heading[rows])
        return _Corners(rows, places, positions, self._orientations(graph.tracks, rows, lanes, asked_mask))

    def _orientations(self, tracks: Tracks, rows: Rows, lanes: Small, asked_mask: Bools) -> Floats:
        """Return how robots (K,) stand at the end of lanes, or as their goals ask for."""
        table = self._table
        if self._turned is None or self._turned[0] is not tracks:
            self._turned = (tracks, quaternions.from_yaws(tracks.yaws))
        orientations = self._turned[1].take(lanes, axis=0)
        # Those that never turn keep their heading.
        keep_mask = ~table.turns[rows]
        orientations[keep_mask] = quaternions.from_yaws(table.yaw[rows[keep_mask]])
        orientations[asked_mask] = quaternions.from_yaws(table.heading[rows[asked_mask]])
        tilts = table.tilt[rows]
        # Next to all stand upright.
        return quaternions.multiply(orientations, tilts) if (tilts != quaternions.IDENTITY).any() else orientations


# How the traffic is written in state files: its network and planner are those of the simulation that reads it.


class TrafficForms:
    """The forms of one traffic; `floor` returns what it drives on, made for a radius and kinds where there is none."""

    def __init__(self, floor: Callable[[float, tuple[Kind, ...]], Floor]) -> None:
        self._floor = floor
        self._read: Floor | None = None

    def forms(self) -> Iterator[Form[Any]]:
        """Yield all forms."""
        yield Form("floor", Floor, _of_floor, self._take_floor)
        yield Form("network", Network, lambda network: None, lambda nothing: self._present.network)
        yield Form("planner", Planner, _of_planner, self._planner)

    @property
    def _present(self) -> Floor:
        if self._read is None:
            raise StateFileError("a network without a traffic")
        return self._read

    def _take_floor(self, saved: tuple[float, tuple[Kind, ...], str]) -> Floor:
        radius, kinds, digest = saved
        floor = self._floor(radius, kinds)
        if _digest(floor.network) != digest:
            raise StateFileError("the site was changed since the state was saved: its network is another one")
        self._read = floor
        return floor

    def _planner(self, saved: tuple[str, dict[str, Any]]) -> Planner:
        name, settings = saved
        known, cls = self._present.timing.planner, PLANNERS.get(name)
        # One that is alike stays: what it has worked out for the network is still right.
        if type(known) is cls and plain(known.settings) == settings:
            return known
        return cls(self._present.network, **settings)


def _of_floor(floor: Floor) -> object:
    return floor.radius, floor.kinds, _digest(floor.network)


def _of_planner(planner: Planner) -> object:
    """Return name and settings of a planner, as written to a file; raises StateFileError for an unregistered one."""
    name = next((name for name, cls in PLANNERS.registered().items() if cls is type(planner)), None)
    if name is None:
        cls = type(planner)
        raise StateFileError(
            f"the planner {cls.__module__}.{cls.__qualname__} cannot be saved: it has no name by which another process "
            "finds it; give it one with PLANNERS.register(name, cls)"
        )
    return name, plain(planner.settings)


def _digest(network: Network) -> str:
    """Return a hash of places and ways."""
    found = hashlib.sha256()
    for values in (network.positions, network.neighbours, network.cells):
        found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()[:32]


class InTraffic(DriveRule):
    """A robot in the traffic is driven by nothing else; actions send it by the traffic (a Conveyance)."""

    reason = "it takes part in the traffic; send it there (MoveTo with route=True), or let it leave the traffic first"

    def __init__(self, control: TrafficControl, table: columns.TrafficColumns) -> None:
        self._control = control
        self._table = table

    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` take part."""
        return np.asarray(self._table.present[rows])

    def drives(self, row: int) -> bool:
        """Return whether the robot in `row` takes part."""
        return bool(self._table.present[row])

    def check_goal(self, row: int, point: Floats, heading: float | None, tolerance: float) -> None:
        """Raise InvalidValueError where `send_to` would."""
        self._control.check_goals(*self._goal(row, point, heading, tolerance))

    def send_to(self, row: int, point: Floats, heading: float | None, tolerance: float) -> None:
        """Send a robot to the node that is within `tolerance` m of `point` (2,); raises InvalidValueError."""
        self._control.send(*self._goal(row, point, heading, tolerance))

    def _goal(self, row: int, point: Floats, heading: float | None, tolerance: float) -> tuple[Rows, Ints, Floats]:
        """Return robot, node and heading as `send` has them; raises InvalidValueError for a point at no node."""
        network = self._control.floor.network
        node = int(network.node_at(point[None])[0])
        place = f"({point[0]:g}, {point[1]:g})"
        # Checked here and not in `send`: an action may ask for a point, the traffic knows only nodes.
        if node < 0:
            raise InvalidValueError(f"the goal {place} is at no node: in a wall, outside, or too narrow for the robot")
        off = trig.hypot_of(*(network.positions[node] - point).tolist())
        if off > max(tolerance, columns.NEAR):
            x, y = network.positions[node].tolist()
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
            points[sent_mask] = self._control.floor.network.positions[table.goal[rows[sent_mask]]]
        return points, table.heading[rows], sent_mask

    def waits_for(self, rows: Rows) -> Rows:
        """Return whom each of `rows` (N,) waits for in the traffic, NO_ROW for nobody."""
        return self._control.waits_for(rows)

    def stopped(self, rows: Rows, *, stay: bool) -> None:
        """Let robots stand that were told to stop; those whose action ended have no goal any more."""
        ours = rows[self._table.present[rows]]
        # A stop by a user holds the robot; one at the end of an action only ends its goal.
        if len(ours) and stay:
            self._control.hold(ours, columns.STOPPED)
        elif len(ours):
            self._control.withdraw_goal(ours)


class TrafficControl:
    """Carries out what Traffic is told, and makes the steps of it; a participant in checkpoints."""

    def __init__(
        self, sim: MultiRobotSimulationCore, site: Site, table: columns.TrafficColumns, settings: TrafficSettings
    ) -> None:
        self.rule = InTraffic(self, table)
        self._sim = sim
        self._world = sim.world
        self._site = site
        self._table = table
        self._settings = settings
        self._floor: Floor | None = None
        self.paths = PlannedPaths(
            self._world, table, lambda: None if self._floor is None else self._floor.execution.graph
        )

    # ---- parts -------------------------------------------------------------------------------------------------------

    @property
    def floor(self) -> Floor:
        """What depends on the network; raises StateError before there is one."""
        if self._floor is None:
            raise StateError("no robot takes part in the traffic yet, and its network depends on their size; enrol one")
        return self._floor

    @property
    def time(self) -> float:
        """Simulation time in s."""
        return self._world.clock.time

    @property
    def rows(self) -> Rows:
        """The rows of the robots that take part."""
        return NO_ROWS if self._floor is None else self._floor.execution.rows

    def nodes(self, rows: Rows) -> Ints:
        """Return the nodes (N,) that robots stand on, or passed last."""
        graph = self.floor.execution.graph
        return self.floor.network.bases[graph.ways.nodes[rows, self._table.at[rows]]]

    def next_nodes(self, rows: Rows) -> Ints:
        """Return the nodes (N,) that robots are planned to pass next, or where they stand."""
        table, graph = self._table, self.floor.execution.graph
        nodes = graph.ways.nodes[rows, np.minimum(table.at[rows] + 1, table.length[rows] - 1)]
        return self.floor.network.bases[nodes]

    def goals(self, rows: Rows) -> Ints:
        """Return the nodes (N,) that robots were sent to, -1 for none."""
        goals = self._table.goal[rows]
        return goals if self._floor is None else np.where(goals >= 0, self._floor.network.bases[goals], goals)

    def shared_nodes(self) -> Ints:
        """Return the nodes (K,) of places where all robots have room; those of several cells have ways there."""
        floor, rows = self.floor, self.rows
        network, regions = floor.network, floor.regions
        shared_mask = network.bases == np.arange(len(network))
        ends = floor.execution.graph.ends(self._table, rows)
        for region in np.unique(regions[ends[network.kinds[ends] >= 0]]).tolist() if network.stands else ():
            joined_mask = np.zeros(len(network), np.bool_)
            joined_mask[network.bases[(regions == region) & (network.kinds >= 0)]] = True
            shared_mask &= joined_mask
        return np.flatnonzero(shared_mask)

    def waits_for(self, rows: Rows) -> Rows:
        """Return whom each of `rows` (N,) waits for, NO_ROW for nobody."""
        return np.full(len(rows), NO_ROW) if self._floor is None else waits_for(self._floor, self._table, rows)

    def explained(self, row: int) -> str:
        """Return why a robot that takes part does not drive, as a sentence."""
        return explained(self._world, self.floor, self._table, self._site, row)

    # ---- who takes part ----------------------------------------------------------------------------------------------

    def enroll(self, rows: Rows) -> None:
        """Let robots take part; raises InvalidValueError, and then enrols none."""
        world, table = self._world, self._table
        for row in rows.tolist():
            reason = "it takes part already" if table.present[row] else columns.hindrance(world, row)
            if reason:
                raise columns.refused(world, row, reason)
        try:
            for row in rows.tolist():
                columns.enter(world, table, row)
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
        world, table = self._world, self._table
        floor = self._floor or self._floor_of(rows)
        world.version += 1
        present = floor.execution.rows
        before = np.setdiff1d(present, rows)
        floor.timing.charge(before, rows)
        # Places of robots that stay, as well as of those that come together.
        held = set(floor.execution.graph.held(table, before).tolist())
        nodes = floor.network.node_at(world.position[rows, :2])
        for index, (row, node) in enumerate(zip(rows.tolist(), nodes.tolist(), strict=True)):
            at = world.position[row, :2].tolist()
            if node < 0 or np.abs(floor.network.positions[node] - at).max() > columns.NEAR:
                raise columns.refused(world, row, f"it stands at ({at[0]:g}, {at[1]:g}), where there is no node")
            if table.radius[row] > floor.radius * (1.0 + 1e-9):
                nodes[index] = self._own_node(floor, row, node)
            taken = {node, *floor.network.stands.of(int(nodes[index])).tolist()}
            if not held.isdisjoint(taken):
                raise columns.refused(world, row, f"another robot has node {node}, or a part of what it needs there")
            held |= taken
            if floor.gates.is_in_swing(int(nodes[index])):
                raise columns.refused(
                    world, row, f"it stands at ({at[0]:g}, {at[1]:g}), where a door moves that is not open"
                )
        floor.execution.stand(rows, nodes)
        floor.disturbances.enter(rows)
        self._floor = floor

    def _floor_of(self, rows: Rows) -> Floor:
        """Return a floor for the first robots: the largest that fit into a cell decide for all, others have kinds."""
        table, settings = self._table, self._settings
        radius, kinds = settings.radius or float(table.radius[rows].max()), list[Kind]()
        grid, margin = self._site.grid, 0.5 * self._sim.params.collision_margin
        roadmap = settings.network == "roadmap" or (settings.network == "auto" and self._site.roadmap is not None)
        if settings.radius is None and not roadmap:
            single_mask = table.radius[rows] + margin <= 0.5 * grid.cell * (1.0 + 1e-9)
            kinds = [kind_of(self._world, table, row, grid, margin) for row in rows[~single_mask].tolist()]
            if kinds:
                radius = float(table.radius[rows[single_mask]].max(initial=0.0)) or 0.5 * grid.cell - margin
        return Floor(self._sim, self._site, table, settings, radius, tuple(sorted(set(kinds))))

    def _own_node(self, floor: Floor, row: int, node: int) -> int:
        """Return where a robot that takes more than a cell stands; raises InvalidValueError where it cannot."""
        world, table, network = self._world, self._table, floor.network
        grid = network.grid
        kind = None if grid is None else kind_of(world, table, row, grid, 0.5 * self._sim.params.collision_margin)
        if grid is None or kind not in network.own:
            raise columns.refused(
                world, row, f"its footprint of {table.radius[row]:g} m is larger than {floor.radius:g} m"
            )
        backward = table.lead[row] == columns.BACKWARD
        way, off = way_of(float(table.yaw[row]) + np.pi * backward, grid)
        if kind.ways > 1 and off > ALIGNED:
            raise columns.refused(world, row, "it takes more than a cell, and stands neither along a row nor a column")
        own = int(network.own[kind][node, way % kind.ways])
        if own < 0:
            at = network.positions[node].tolist()
            raise columns.refused(world, row, f"it stands at ({at[0]:g}, {at[1]:g}), where it has no room")
        if kind.ways > 1:
            self._align(row, grid.origin[2] - 0.5 * np.pi * way - np.pi * backward)
        return own

    def _align(self, row: int, yaw: float) -> None:
        """Turn a robot by the little that it is off its direction."""
        world, table = self._world, self._table
        table.yaw[row] = float(quaternions.wrapped(np.array([yaw]))[0])
        turned = quaternions.multiply(quaternions.from_yaws(table.yaw[row : row + 1]), table.tilt[row][None])
        if not np.array_equal(turned[0], world.orientation[row]):
            world.orientation[row] = turned[0]
            world.touch(np.array([row]))

    def remove(self, rows: Rows, reason: str) -> None:
        """Let robots take no part any more; emits traffic_left for each."""
        world, table, execution = self._world, self._table, self.floor.execution
        for row in rows.tolist():
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
        table = self._table
        for row in rows[table.present[rows]].tolist():
            execution = self.floor.execution
            execution.graph.forget(table, execution.rows, row, stays=False)
            table.clear_rows(np.array([row]))
            execution.renew()
            self.floor.timing.changed = True

    # ---- where they go -----------------------------------------------------------------------------------------------

    def check_goals(self, rows: Rows, nodes: Ints, headings: Floats) -> tuple[Ints, Floats]:
        """Raise InvalidValueError where `send` would; return nodes and headings as robots of all sizes have them."""
        table, floor = self._table, self.floor
        if len(rows) != len(nodes):
            raise InvalidValueError(f"expected a node for each of {len(rows)} robots, got {len(nodes)}")
        # All is checked before the first goal is set, so that none is set if one is wrong.
        strange = np.flatnonzero(~table.present[rows])
        if len(strange):
            raise columns.not_enrolled(self._world, int(rows[strange[0]]))
        off = np.flatnonzero((nodes < 0) | (nodes >= len(floor.network)))
        if len(off):
            raise InvalidValueError(f"node {nodes[off[0]]}: nodes are numbered from 0 to {len(floor.network) - 1}")
        ends = floor.execution.graph.ends(table, rows)
        if floor.network.stands:
            nodes, headings = self._own_goals(rows, ends, nodes, headings)
        # Regions take one comparison; a planner would search the whole floor before it gives up.
        apart = np.flatnonzero(floor.regions[ends] != floor.regions[nodes])
        if len(apart):
            row = int(rows[apart[0]])
            raise InvalidValueError(f"no way leads {self._world.label(row)!r} to node {nodes[apart[0]]}")
        turned = np.flatnonzero(~np.isnan(headings))
        fixed = turned[columns.turning_speeds(self._world, rows[turned]) <= 0.0] if len(turned) else turned
        if len(fixed):
            raise InvalidValueError(f"{self._world.label(int(rows[fixed[0]]))!r} cannot turn to a heading")
        return nodes, headings

    def send(self, rows: Rows, nodes: Ints, headings: Floats) -> None:
        """Send robots to nodes and headings (N,) there, nan for any; all or none; raises InvalidValueError."""
        nodes, headings = self.check_goals(rows, nodes, headings)
        table = self._table
        for row in self._world.actions.busy(rows).tolist():
            self._world.actions.cancel_base(row, "the traffic was told to send the robot elsewhere")
        table.goal[rows] = nodes
        table.heading[rows] = quaternions.wrapped(headings)
        table.arrived[rows] = False
        self.let_go(rows, columns.STOPPED)

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
        way, off = way_of(heading + np.pi * (self._table.lead[row] == columns.BACKWARD), grid)
        if kind.ways < 4 or off > ALIGNED:
            which = "no heading can be asked for" if kind.ways < 4 else "it stands along rows and columns only"
            raise InvalidValueError(f"{self._world.label(row)!r} takes more than a cell: {which}")
        return way

    def drive(self, rows: Rows, paths: Ints) -> None:
        """Let robots drive given paths; raises PlanError."""
        table, floor = self._table, self.floor
        strange = np.flatnonzero(~table.present[rows])
        # Other robots keep their plans.
        if len(strange):
            raise columns.not_enrolled(self._world, int(rows[strange[0]]))
        floor.timing.drive(rows, paths)
        table.goal[rows] = paths[:, -1]
        table.arrived[rows] = False

    def withdraw_goal(self, rows: Rows) -> None:
        """Take the goals of robots away: they stand where their grants end."""
        self._table.goal[rows] = -1
        self._table.arrived[rows] = False
        self.floor.timing.changed = True

    def hold(self, rows: Rows, reason: int) -> None:
        """Let robots brake and stand, for a reason."""
        self._table.held[rows] |= np.uint8(reason)
        self.floor.timing.changed = True

    def let_go(self, rows: Rows, reason: int) -> None:
        """Let robots drive on that stand for this reason, unless they stand for others too."""
        self._table.held[rows] &= ~np.uint8(reason)
        self.floor.timing.changed = True

    def close(self, nodes: Ints, *, closed: bool = True) -> None:
        """Close nodes, or open them."""
        self.floor.closed[nodes] = closed
        self.floor.open_up()

    def bar(self, nodes: Ints, *, barred: bool = True) -> None:
        """Bar nodes to wide robots, or no longer; raises InvalidValueError for a planner that does not keep to it."""
        floor = self.floor
        if barred and not floor.timing.planner.keeps_bars:
            raise InvalidValueError(f"planner {self._settings.planner!r} {NO_BARS}")
        floor.timing.barred[nodes] = barred
        floor.open_up()

    def widen(self, row: int, *, wide: bool = True) -> None:
        """Let the robot in `row` keep off barred nodes from now on, or no longer; raises InvalidValueError."""
        table, floor = self._table, self.floor
        ahead = floor.execution.graph.held(table, np.array([row]))[1:]
        if wide and (floor.timing.barred[ahead].any() or table.speed[row] > 0.0 or table.progress[row] > 0.0):
            label = self._world.label(row)
            raise InvalidValueError(f"{label!r} cannot become wide while it drives; let it stop at its goal before")
        table.wide[row] = wide
        floor.timing.changed = True

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Plan if it is time to, and move the robots; emits traffic_arrived for those that stand at their goals."""
        floor = self._floor
        if floor is None or not len(floor.execution.rows):
            return
        self._keep_others_off()
        displaced = floor.execution.displaced()
        if len(displaced):
            # Before anything is granted: a robot that was carried away must not keep its nodes.
            self.remove(displaced, "it was brought elsewhere")
        floor.execution.hold_unfit(self.rule)
        self._disturb(floor)
        floor.look()
        floor.ask()
        floor.timing.step(floor.blocked)
        rules = [rule for rule in self._world.speed_rules if rule.in_traffic]
        for rule in rules:
            rule.lower()
        try:
            arrived = floor.execution.advance(dt)
        finally:
            for rule in reversed(rules):
                rule.restore()
        if len(arrived):
            self._tell_arrived(arrived)

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
            if self._table.present[row]:
                world.events.emit("traffic_arrived", agent=world.handles[row], node=node)
                world.entity_events.emit(row, "traffic_arrived", node=node)

    # ---- figures and state -------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, Any]:
        """Return what happened so far."""
        table, rows = self._table, self.rows
        seconds = self._world.clock.seconds
        floor = self._floor
        counts = {} if floor is None else {**floor.timing.figures(), **floor.disturbances.counts._asdict()}
        return {
            "robots": len(rows),
            "waiting_s": seconds(int(table.waited[rows].sum())),
            "driven_m": float(table.driven[rows].sum()),
            **counts,
        }

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how the traffic is written in state files."""
        return TrafficForms(self._floor_for).forms()

    def _floor_for(self, radius: float, kinds: tuple[Kind, ...]) -> Floor:
        return self._floor or Floor(self._sim, self._site, self._table, self._settings, radius, kinds)

    def save(self) -> Any:
        """Return the state outside the columns, for a checkpoint."""
        floor = self._floor
        if floor is None:
            return None
        graph, timing = floor.execution.graph.save(), floor.timing.save()
        return floor, floor.changes(), graph, timing, floor.disturbances.counts

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        if saved is None:
            self._floor = None
            return
        self._floor, changes, graph, timing, counts = saved
        floor = self.floor
        floor.execution.graph.restore(graph)
        floor.execution.renew()
        floor.timing.restore(timing)
        floor.disturbances.counts = counts
        changed = floor.timing.changed
        # Closed places are looked up again, as they may have changed between the two moments.
        floor.look()
        floor.restore(*changes)
        floor.timing.changed = changed
