"""Floor: all of the traffic that depends on its network."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateFileError
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.settings.reader import plain
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.bounds import active_mask, shape_arrays, world_aabbs
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.warehouse.traffic.dependency_graph import Tracks, tracks_of
from fleet_sim.warehouse.traffic.disturbances import Disturbances
from fleet_sim.warehouse.traffic.execution import Execution
from fleet_sim.warehouse.traffic.free_space import Rules
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.planner import Planner
from fleet_sim.warehouse.traffic.planners.registry import PLANNERS
from fleet_sim.warehouse.traffic.planning import PlanTiming
from fleet_sim.warehouse.traffic.settings import TrafficSettings
from fleet_sim.warehouse.traffic.sizes import Kind
from fleet_sim.warehouse.traffic.storeys import Rides, Storeys, with_cabins
from fleet_sim.world.state_files import Form
from fleet_sim.world.world import World

# CoveredNodes: those that robots cannot use because something outside of the traffic is in the way.


STATIC = CollisionMode.STATIC.code
BOX, PLANE = int(ShapeKind.BOX), int(ShapeKind.PLANE)
UPRIGHT = 1.0 - 1e-9
TOUCH = 1e-9
TALL = 1e6
DEEPEST = 8
"""Carriers of carriers that are looked for."""


class Samples(NamedTuple):
    """Places (K, 2) in m, by x, and the ends (K, 2) of the lanes that they are on, the nearer one first."""

    places: Floats
    nodes: Ints


class CoveredNodes:
    """Finds the nodes at which, or on the way to which, a robot of `radius` m would touch what is not in the traffic.

    That is every body that takes part in collisions, except robots in the traffic, what they carry, what is not at
    their height, and what is in the site of `storeys`: the network leads around that. Boxes count as they stand,
    other shapes as the box around them. An obstacle between two nodes takes one of them, or both.
    """

    def __init__(
        self, world: World, table: TrafficColumns, network: Network, tracks: Tracks, radius: float, storeys: Storeys
    ) -> None:
        self._world = world
        self._storeys = storeys
        self._network = network
        self._table = table
        self._tracks = tracks
        self._radius = radius
        self._covered: Bools = np.zeros(len(tracks.positions), np.bool_)
        self._still: Bools = self._covered
        self._passed: set[int] = set()
        self._version = -1
        self._parents: Ints = NO_ROWS
        self._movers: Rows = NO_ROWS
        self._poses: Floats = np.empty((0, 7))
        self._heights = (-np.inf, np.inf)

    def look(self, robots: Rows) -> tuple[Bools, bool]:
        """Return the covered nodes (N,), and whether they changed since the last look; `robots` stand on floors."""
        world = self._world
        # What stands, stands until something is spawned, removed, attached or changed.
        known = world.version == self._version and np.array_equal(world.parent, self._parents)
        if not known:
            self._sort_out(robots)
        if known and not len(self._movers):
            return self._covered, False
        poses = np.column_stack((world.position[self._movers], world.orientation[self._movers]))
        # Nobody moved: most steps end here.
        if known and np.array_equal(poses, self._poses):
            return self._covered, False
        before, self._poses = self._covered, poses
        self._covered = self._still | self._under(self._movers)
        return self._covered, not np.array_equal(before, self._covered)

    @property
    def may_move(self) -> bool:
        """Whether bodies outside of the traffic may move, or came since the last look."""
        return len(self._movers) > 0 or self._version != self._world.version

    def pass_under(self, ids: Sequence[int]) -> None:
        """Let the bodies with these object ids be in nobody's way while they are not carried."""
        self._passed.update(ids)
        self._version = -1

    def _sort_out(self, robots: Rows) -> None:
        """Find the bodies outside of the traffic anew; those that are static are measured here."""
        world = self._world
        self._version, self._parents = world.version, world.parent.copy()
        ours_mask = self._table.present.copy()
        # What robots of the traffic carry, and what that carries, is no obstacle to them.
        for _ in range(DEEPEST):
            ours_mask |= (world.parent >= 0) & ours_mask[world.parent]
        # Passages that open for robots are gates; where they stand when they are open, nobody drives ever.
        parts = self._parts_of_passages()
        ours_mask[parts] = True
        if self._storeys.cabins is not None:
            ours_mask[self._storeys.cabins.fittings()] = True
        rows = np.flatnonzero(active_mask(world) & ~ours_mask)
        names = world.index.names
        # The walls of the site are in the network already.
        rows = rows[[not (names[row] or "").startswith(self._storeys.walls) for row in rows.tolist()]]
        if self._passed:
            passed_mask = np.isin(world.object_id[rows], list(self._passed)) & (world.parent[rows] < 0)
            rows = rows[~passed_mask]
        if len(robots):
            # What is above or below all robots is in nobody's way.
            lower, upper = world_aabbs(*shape_arrays(world, robots), compiled=world.compiled)
            floors = self._floors[self._storeys.numbers(world.position[robots, 2])]
            self._heights = (float((lower[:, 2] - floors).min()), float((upper[:, 2] - floors).max()))
        static_mask = world.collision_mode[rows] == STATIC
        # Measured once; only what can move is measured in each step.
        self._still = self._under(rows[static_mask]) | self.under(self._at(parts, 1.0))
        self._movers = rows[~static_mask]

    @property
    def _floors(self) -> Floats:
        """The heights (S,) of the floors; of a single one 0."""
        return self._storeys.heights if len(self._storeys.heights) > 1 else np.zeros(1)

    @cached_property
    def _nodes(self) -> Samples:
        """The places of the nodes."""
        count = len(self._tracks.positions)
        return _sorted(self._tracks.positions, np.repeat(np.arange(count)[:, None], 2, axis=1))

    @cached_property
    def _lanes(self) -> Samples:
        """Points on lanes, so close that whatever comes nearer than the radius to a lane is within reach of one."""
        tracks = self._tracks
        begins, slots = np.nonzero(tracks.neighbours >= 0)
        ends = tracks.neighbours[begins, slots]
        places, nodes = [np.empty((0, 2))], [np.empty((0, 2), np.int64)]
        lengths = tracks.lengths.reshape(tracks.neighbours.shape)[begins, slots]
        # As many points as keep the gaps between them below the radius.
        pieces = np.ceil(lengths / self._radius).astype(np.int64)
        for piece in range(1, int(pieces.max(initial=0))):
            along = np.flatnonzero(pieces > piece)
            share = (piece / pieces[along])[:, None]
            places.append((1.0 - share) * tracks.positions[begins[along]] + share * tracks.positions[ends[along]])
            pairs = np.stack((begins[along], ends[along]), axis=1)
            # The nearer end first: it is the node that is covered.
            nodes.append(np.where(share < 0.5, pairs, pairs[:, ::-1]))
        return _sorted(np.concatenate(places), np.concatenate(nodes))

    def swept_by(self, passage: int) -> tuple[Bools, Bools]:
        """Return the nodes (N,) that a passage takes while it is closed, or moves; and those while it is open."""
        world, passages = self._world, self._world.routes.passages
        assert passages is not None
        parts = passages.parts_of(passage)
        longest = 2.0 * float(world.half_extents[parts, 0].max(initial=0.0))
        # So close that nothing of the size of a robot fits between two places of a leaf: it turns by pi at most.
        count = max(4, math.ceil(math.pi * longest / self._radius))
        swept: Bools = np.zeros(len(self._tracks.positions), np.bool_)
        for number in range(count):
            swept |= self.under(self._at(parts, number / count))
        return swept, self.under(self._at(parts, 1.0))

    def _parts_of_passages(self) -> Rows:
        passages = self._world.routes.passages
        if passages is None:
            return NO_ROWS
        return np.concatenate([NO_ROWS, *(passages.parts_of(row) for row in passages.opening_for_robots().tolist())])

    def _at(self, parts: Rows, opening: float) -> ShapeArrays:
        """Return the shapes of parts of passages that are open by `opening`."""
        shapes, passages = shape_arrays(self._world, parts), self._world.routes.passages
        return shapes if passages is None else shapes.at(*passages.poses_at(parts, opening))

    def _under(self, rows: Rows) -> Bools:
        """Return the nodes (N,) that `rows` take."""
        return self.under(shape_arrays(self._world, rows))

    def under(self, shapes: ShapeArrays, *, on_chart: bool = False) -> Bools:
        """Return the nodes (N,) that bodies of these shapes take, which are in the world or on the chart."""
        covered: Bools = np.zeros(len(self._tracks.positions), np.bool_)
        if len(shapes.kinds):
            covered[self._hit(self._nodes, shapes, self._radius, on_chart)[:, 0]] = True
            # A point of a lane is at most half a radius from the next: this reach covers what lies between.
            crossed = self._hit(self._lanes, shapes, float(np.sqrt(1.25) * self._radius), on_chart)
            # A lane to a node that is covered is of no use anyway.
            covered[crossed[~covered[crossed].any(axis=1), 0]] = True
            covered |= self._not_whole(shapes)
        return covered

    def _not_whole(self, shapes: ShapeArrays) -> Bools:
        """Return the nodes (N,) where robots hold cells in which one of `shapes` may be."""
        stands, grid = self._network.stands, self._network.grid
        touched: Bools = np.zeros(len(self._network), np.bool_)
        if not stands or grid is None:
            return touched
        # To the corners of cells.
        touched[self._hit(self._nodes, shapes, math.sqrt(0.5) * grid.cell)[:, 0]] = True
        owners = np.repeat(np.arange(len(touched)), np.diff(stands.begins))
        whole = np.zeros(len(touched), np.bool_)
        whole[owners[touched[stands.ids]]] = True
        return whole

    def _hit(self, points: Samples, shapes: ShapeArrays, reach: float, on_chart: bool = False) -> Ints:
        """Return the nodes (K, 2) of points that are nearer than `reach` to one of `shapes`."""
        lowers, uppers = world_aabbs(*shapes, compiled=self._world.compiled)
        low, high = self._heights
        found = [np.empty((0, 2), np.int64)]
        x, begins = points.places[:, 0], self._storeys.begins
        floors, offsets = self._floors, self._storeys.offsets
        if on_chart:
            floors, offsets, begins = np.zeros(1), np.zeros((1, 2)), np.array([-np.inf])
        bounds = np.append(np.searchsorted(x, begins), len(x))
        for number, (floor, offset) in enumerate(zip(floors.tolist(), offsets, strict=True)):
            near_mask = (lowers[:, 2] <= floor + high) & (uppers[:, 2] >= floor + low) & (shapes.kinds != PLANE)
            # Sorted by x, so that each body is compared with the points of its strip only.
            firsts = np.searchsorted(x, lowers[:, 0] + offset[0] - reach)
            lasts = np.searchsorted(x, uppers[:, 0] + offset[0] + reach, side="right")
            # What is beside its floor is not on the next one of the chart.
            firsts, lasts = np.maximum(firsts, bounds[number]), np.minimum(lasts, bounds[number + 1])
            for index in np.flatnonzero(near_mask & (lasts > firsts)).tolist():
                span = slice(int(firsts[index]), int(lasts[index]))
                gaps = _gaps(points.places[span] - offset, shapes, index, lowers[index], uppers[index])
                found.append(points.nodes[span][gaps < reach - TOUCH])
        return np.concatenate(found)


def _sorted(places: Floats, nodes: Ints) -> Samples:
    order = np.argsort(places[:, 0], kind="stable")
    return Samples(places[order], nodes[order])


def _gaps(points: Floats, shapes: ShapeArrays, index: int, lower: Floats, upper: Floats) -> Floats:
    """Return how far (K,) `points` (K, 2) are from a shape between corners `lower` and `upper`, seen from above."""
    offsets, half = points - 0.5 * (lower + upper)[:2], 0.5 * (upper - lower)[:2]
    turn = shapes.orientations[index]
    # By the height of its vertical axis: an upright box is measured as it is turned.
    if shapes.kinds[index] == BOX and 1.0 - 2.0 * (turn[0] * turn[0] + turn[1] * turn[1]) > UPRIGHT:
        flat = np.column_stack((offsets, np.zeros(len(offsets))))
        offsets = quaternions.rotate(np.repeat(quaternions.conjugate(turn[None]), len(flat), axis=0), flat)[:, :2]
        half = shapes.half_extents[index, :2]
    outside = np.maximum(np.abs(offsets) - half, 0.0)
    return np.asarray(np.sqrt(outside[:, 0] * outside[:, 0] + outside[:, 1] * outside[:, 1]))


# Regions: which nodes of a network are connected at all.


def regions_of(network: Network) -> Ints:
    """Return the number of the region (N,) of each node; nodes of different regions have no lanes between them.

    Lanes count in both directions: within a region a way may still be missing. Regions are numbered by their first
    nodes, from 0.
    """
    beside = np.concatenate((network.neighbours, network.sources()), axis=1)
    labels, count = np.full(len(network), -1), 0
    for start in range(len(network)):
        front = np.array([start]) if labels[start] < 0 else NO_ROWS
        count += len(front)
        while len(front):
            labels[front] = count - 1
            around = beside[front].ravel()
            # A node may be beside several of the front, and must be walked on from once.
            front = np.unique(around[(around >= 0) & (labels[around] < 0)])
    return labels


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

    @property
    def are_there(self) -> bool:
        """Whether there may be doors."""
        return len(self._passages) > 0 or self._version != self._world.version

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
        self,
        sim: MultiRobotSimulationCore,
        storeys: Storeys,
        table: TrafficColumns,
        settings: TrafficSettings,
        radius: float,
        kinds: tuple[Kind, ...] = (),
    ) -> None:
        """`radius` is that of the largest footprint, beside those of `kinds` that take more than a cell.

        Raises InvalidValueError where it does not fit.
        """
        # What is nearer than the margin counts as a collision.
        reach = radius + 0.5 * sim.params.collision_margin
        site = storeys.site
        # `auto` takes the roadmap where the site has one: its lanes are where somebody wanted robots to drive.
        roadmap = settings.network == "roadmap" or (settings.network == "auto" and site.roadmap is not None)
        if storeys.several and (roadmap or kinds or settings.footprint == "square"):
            what = "a roadmap" if roadmap else "robots that take more than a cell" if kinds else "squares"
            raise InvalidValueError(f"in a building the traffic drives along cells, as discs: {what} cannot be planned")
        if storeys.shafts and not PLANNERS.find(settings.planner).keeps_bars:
            keeps = "does not keep robots out of the cabins of lifts whose turn it is not; use pibt"
            raise InvalidValueError(f"planner {settings.planner!r} {keeps}")
        self.radius, self.kinds, self.storeys = radius, kinds, storeys
        network = Network.of_roadmap(site, reach) if roadmap else Network.of_grid(site, reach, kinds)
        self.network = with_cabins(network, storeys.shafts, reach, sim.world.label)
        tracks = tracks_of(
            self.network, 2.0 * reach, lane_limits(site, self.network), square=settings.footprint == "square"
        )
        self.execution = Execution(sim.world, table, tracks)
        self.obstacles = CoveredNodes(sim.world, table, self.network, tracks, reach, storeys)
        self.rides = Rides(sim.world, table, self.network, storeys, self.execution)
        self.gates = Gates(sim.world, table, self.execution, self.obstacles)
        self.regions = regions_of(self.network)
        self.closed: Bools = np.zeros(len(self.network), np.bool_)
        self.covered: Bools = np.zeros(len(self.network), np.bool_)
        self.scheduled: Bools = np.zeros(len(self.network), np.bool_)
        self.limits: Floats = np.full(len(self.network), np.nan)
        """Speed limits (N,) in m/s that hold in place of those of the site; nan: none."""
        self._site_limits = tracks.limits.copy()
        self.occupied: Bools = np.zeros(site.grid.count, np.bool_)
        """Cells of the site's grid where something stands that the map does not show."""
        self.occupied_nodes: Bools = np.zeros(len(self.network), np.bool_)
        self._grid = site.grid
        self.awaited: Bools = np.zeros(len(self.network), np.bool_)
        """Nodes (N,) that plans lead through, and that nobody is granted at present."""
        seed = sim.params.seed if settings.seed is None else settings.seed
        self.timing = PlanTiming(sim.world, table, self.network, self.execution, settings, seed)
        self.timing.barred[self.rides.nodes] = self.execution.barred[self.rides.nodes] = True
        self.disturbances = Disturbances(sim.world, table, storeys, self.network, settings.disturbances, seed)

    def world_positions(self, nodes: Ints) -> Floats:
        """Return where in the world nodes (K,) are: (K, 2) in m."""
        return self.storeys.in_world(self.network.positions[nodes])

    @property
    def blocked(self) -> Bools:
        """The nodes (N,) that are closed or covered."""
        return self.network.meeting(self.closed | self.scheduled | self.covered | self.occupied_nodes)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing outside of the traffic acts on its robots: no doors, lifts, moving bodies or disturbances."""
        return not (self.rides.cabins or self.gates.are_there or self.obstacles.may_move or self.disturbances.are_there)

    def look(self) -> None:
        """See what is closed and covered now."""
        scheduled, rescheduled = self.disturbances.closed()
        covered, moved = self.obstacles.look(self.rides.on_floors(self.execution.rows))
        # Only on a change: opening nodes makes the planner plan again.
        if rescheduled or moved:
            self.scheduled, self.covered = scheduled, covered
            self.open_up()

    def ask(self) -> None:
        """Open what robots come to, and let them enter what is open; plans lead through, open or not."""
        if self.gates.ask():
            self._open()

    def wait_for(self, nodes: Bools) -> None:
        """Let robots wait before these nodes (N,) until it is called with others; plans lead through."""
        if not np.array_equal(nodes, self.awaited):
            self.awaited = nodes
            self._open()

    def limit(self, nodes: Ints, speed: float) -> None:
        """Let `speed` in m/s be the limit on all lanes between `nodes`, and the most on those from or to them.

        With nan the limits of the site hold there again. Who is faster brakes from now on.
        """
        # Robots of all sizes that are there.
        bases = self.network.bases
        self.limits[np.isin(bases, bases[nodes])] = speed
        tracks = self.execution.graph.tracks
        width = tracks.neighbours.shape[1]
        begins, ends = self.limits.repeat(width), self.limits[tracks.neighbours.ravel()]
        within_mask = ~(np.isnan(begins) | np.isnan(ends))
        # Where only one end has a limit of its own, the lane leads through what is around it, too.
        own = np.where(within_mask, np.inf, self._site_limits)
        tracks.limits[:] = np.fmin(np.fmin(begins, ends), own)

    def occupy(self, cells: Ints, *, occupied: bool) -> None:
        """Let something stand in `cells` of the grid, or no longer; nodes where robots would touch it are closed."""
        self.occupied[cells] = occupied
        standing = np.flatnonzero(self.occupied)
        middles, count, half = self._grid.positions(standing), len(standing), 0.5 * self._grid.cell
        ones = np.ones((count, 1))
        turn = quaternions.from_yaws(np.full(count, self._grid.origin[2]))
        # Of any height: the map has none.
        tall = np.column_stack((np.full((count, 2), half), np.full(count, TALL)))
        kinds, places = np.full(count, BOX), np.column_stack((middles, 0.0 * ones))
        boxes = ShapeArrays(kinds, places, turn, tall, np.zeros(count))
        self.occupied_nodes = self.obstacles.under(boxes, on_chart=True)
        self.open_up()

    def changes(self) -> tuple[Bools, Floats, Bools]:
        """Return what was closed, limited and occupied at run time, as copies."""
        return self.closed.copy(), self.limits.copy(), self.occupied.copy()

    def restore(self, closed: Bools, limits: Floats, occupied: Bools) -> None:
        """Take back what `changes` returned."""
        self.closed[:], self.limits[:], self.occupied[:] = closed, limits, occupied
        self.limit(NO_ROWS, np.nan)
        self.occupy(NO_ROWS, occupied=False)

    def open_up(self) -> None:
        """Let robots enter what is neither closed nor covered."""
        self._open()
        self.execution.barred[:] = self.timing.barred
        # Plans may lead through what has just been closed, or around what is open now.
        self.timing.changed = True

    def _open(self) -> None:
        self.execution.open_mask[:] = ~(self.blocked | self.network.meeting(self.gates.shut | self.awaited))


# How the traffic is written in state files: its network and planner are those of the simulation that reads it.


def forms_of(make: Callable[[float, tuple[Kind, ...]], Floor]) -> Iterator[Form[Any]]:
    """Yield the forms of one traffic; `make` returns what it drives on, for a radius and kinds where there is none."""
    present: list[Floor] = []

    def floor(saved: tuple[float, tuple[Kind, ...], str]) -> Floor:
        found = make(*saved[:2])
        if _digest(found.network) != saved[2]:
            raise StateFileError("the site was changed since the state was saved: its network is another one")
        present[:] = [found]
        return found

    def network(nothing: None) -> Network:
        if not present:
            raise StateFileError("a network without a traffic")
        return present[0].network

    def planner(saved: tuple[str, dict[str, Any]]) -> Planner:
        own, (name, settings) = network(None), saved
        known, cls = present[0].timing.planner, PLANNERS.get(name)
        # One that is alike stays: what it has worked out for the network is still right.
        return known if type(known) is cls and plain(known.settings) == settings else cls(own, **settings)

    yield Form("floor", Floor, lambda floor: (floor.radius, floor.kinds, _digest(floor.network)), floor)
    yield Form("network", Network, lambda network: None, network)
    yield Form("planner", Planner, _of_planner, planner)


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
