"""Execution: drives the robots of the traffic in a world; and PlannedPaths: where the plan leads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled, compiled_step
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.rotations import sin_cos
from fleet_sim.robots.motion.rows import BodyArrays, touch
from fleet_sim.warehouse.traffic import driving
from fleet_sim.warehouse.traffic.columns import UNFIT, TrafficColumns
from fleet_sim.warehouse.traffic.dependency_graph import ActionDependencyGraph, Small, Tracks, marks_of
from fleet_sim.world.columns import named_columns
from fleet_sim.world.joints import EntityPaths
from fleet_sim.world.world import DriveRule, World

# Writes where robots have come to in the columns of a world, by compiled code.


class Poses(NamedTuple):
    """The columns of a world that say where robots are and how fast they move, in its frame and in their own."""

    bodies: BodyArrays
    body_linear: Floats
    body_angular: Floats


def poses_of(world: World) -> Poses:
    """Return the columns of `world`; they are valid until it grows."""
    return Poses(named_columns(BodyArrays, world), world.motion.body_linear, world.motion.body_angular)


@compiled
def write_poses(
    rows: Rows,
    motions: Bytes,
    places: Floats,
    velocities: Floats,
    yaws: Floats,
    spins: Floats,
    tilts: Floats,
    offsets: Floats,
    poses: Poses,
) -> None:
    """Write the poses of those `rows` (n,) that moved or turned, by their `motions` (n,), and touch them.

    By row: `places`, `yaws`, `spins`, `tilts`, the orientations at yaw 0, and `offsets` of places from the world. By
    place in `rows`: `velocities` (n, 2).
    """
    bodies = poses.bodies
    for index in range(len(rows)):
        row = rows[index]
        if not motions[index] & (driving.MOVED | driving.TURNED):
            continue
        touch(bodies, row)
        if motions[index] & driving.TURNED:
            x, y, z, w = tilts[row, 0], tilts[row, 1], tilts[row, 2], tilts[row, 3]
            # Half the angle, as quaternions have it.
            sine, cosine = sin_cos(0.5 * yaws[row])
            turn = _normalized(_turned(sine, cosine, x, y, z, w))
            bodies.angular_velocity[row, 2] = spin = spins[row]
            body = _to_body(turn, 0.0, 0.0, spin)
            for part in range(4):
                bodies.orientation[row, part] = turn[part]
            for axis in range(3):
                poses.body_angular[row, axis] = body[axis]
        # After the turn: the velocity in the robot's own axes depends on it.
        if motions[index] & driving.MOVED:
            x, y = bodies.orientation[row, 0], bodies.orientation[row, 1]
            z, w = bodies.orientation[row, 2], bodies.orientation[row, 3]
            body = _to_body((x, y, z, w), velocities[index, 0], velocities[index, 1], 0.0)
            for axis in range(2):
                bodies.position[row, axis] = places[row, axis] - offsets[row, axis]
                bodies.velocity[row, axis] = velocities[index, axis]
            for axis in range(3):
                poses.body_linear[row, axis] = body[axis]


# The products and sums of `spatial`, in its order, so that the bits are those of its functions.


@compiled
def _turned(sine: float, cosine: float, x: float, y: float, z: float, w: float) -> tuple[float, float, float, float]:
    """Return the orientation (x, y, z, w), turned about the vertical by the angle of whose half these are."""
    return (
        cosine * x + 0.0 * w + 0.0 * z - sine * y,
        cosine * y - 0.0 * z + 0.0 * w + sine * x,
        cosine * z + 0.0 * y - 0.0 * x + sine * w,
        cosine * w - 0.0 * x - 0.0 * y - sine * z,
    )


@compiled
def _normalized(turn: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    norm = np.sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2] + turn[3] * turn[3])
    if abs(norm - 1.0) < 1e-12:
        return turn
    return (turn[0] / norm, turn[1] / norm, turn[2] / norm, turn[3] / norm)


@compiled
def _to_body(turn: tuple[float, float, float, float], vx: float, vy: float, vz: float) -> tuple[float, float, float]:
    """Return a vector of the world as the body sees it."""
    x, y, z, w = turn
    tx, ty, tz = y * vz - z * vy, z * vx - x * vz, x * vy - y * vx
    tx, ty, tz = tx + tx, ty + ty, tz + tz
    return (vx - w * tx + (y * tz - z * ty), vy - w * ty + (z * tx - x * tz), vz - w * tz + (x * ty - y * tx))


@compiled_step
def mark_displaced(
    rows: Rows, position: Floats, place: Floats, offset: Floats, parent: Ints, moved_mask: Bools
) -> bool:
    """Write which of `rows` (n,) are not at their places, or carried; return whether one is."""
    found = False
    for index in range(len(rows)):
        row = rows[index]
        # By equality: whoever left it there wrote these numbers.
        moved = position[row, 0] != place[row, 0] - offset[row, 0] or position[row, 1] != place[row, 1] - offset[row, 1]
        moved_mask[index] = moved or parent[row] >= 0
        found = found or moved_mask[index]
    return found


class Execution:
    """Moves the robots that have the columns `table` along their ways, and grants them what is free.

    A robot never leaves the lanes that it was granted, and stands exactly on a node when it has driven them. Where it
    is brought elsewhere, by hand or by physics, it is no longer driven: see `displaced`.
    """

    def __init__(self, world: World, table: TrafficColumns, tracks: Tracks) -> None:
        self.graph = ActionDependencyGraph(tracks, world.capacity)
        self.open_mask: Bools = np.ones(len(tracks.positions), np.bool_)
        """Nodes (N,) that may be entered."""
        self.barred: Bools = np.zeros(len(tracks.positions), np.bool_)
        """Those (N,) that wide robots enter only as their goals."""
        self._world = world
        self._table = table
        self._tracks = tracks
        self._rows: Rows = NO_ROWS
        self._version = -1
        self._drivers, self._marks = named_columns(driving.Drivers, table), marks_of(table)
        self._limits = named_columns(driving.Limits, world.motion)
        self._poses = poses_of(world)
        self._step = driving.stride_of(0)

    @property
    def rows(self) -> Rows:
        """The rows of all robots in the traffic, in the order they were spawned."""
        if self._version != self._world.version:
            self._rows, self._version = self._table.among(self._world.rows), self._world.version
        return self._rows

    def renew(self) -> None:
        """Look for the robots again: some came or left."""
        self._version = -1

    def displaced(self) -> Rows:
        """Return the robots that are not where they were left in the last step."""
        rows, world, table = self.rows, self._world, self._table
        moved_mask = np.empty(len(rows), np.bool_)
        return (
            rows[moved_mask]
            if mark_displaced(rows, world.position, table.place, table.offset, world.parent, moved_mask)
            else NO_ROWS
        )

    def hold_unfit(self, own: DriveRule) -> None:
        """Let robots stand that another rule than `own` keeps from driving, and drive on when it does not."""
        rows, held = self.rows, self._table.held
        unfit_mask = np.zeros(len(rows), np.bool_)
        others = [rule for rule in self._world.drive_rules if rule is not own]
        for rule in others:
            unfit_mask |= rule.refuses(rows)
        if others:
            held[rows] = np.where(unfit_mask, held[rows] | UNFIT, held[rows] & ~np.uint8(UNFIT))

    def advance(self, dt: float, ticks: int, stays: driving.Stays) -> tuple[driving.Trace, Rows]:
        """Move the robots, inside a step of the world, by `ticks` of `dt` s, or fewer where all have `stays`.

        Returns where they were after each tick that was made, and who stands at its goal and did not before.
        """
        rows = self.rows
        trace = driving.trace_of(rows, ticks)
        if not len(rows):
            return trace, NO_ROWS
        self._pack(len(rows))
        step, begin = self._step, self._world.clock.tick
        roads = driving.Roads(self._tracks, self.open_mask, self.barred)
        plans = driving.Plans(self._marks, self.graph.ways, self.graph.uses, self.graph.rounds)
        columns = self._drivers, self._limits
        made = driving.advance(rows, dt, roads, plans, *columns, stays, begin, step, trace)
        self._write(step, trace.velocities[made - 1])
        arrived: Rows = rows[step.all & driving.ARRIVED != 0]
        return (trace if made == ticks else driving.Trace(rows, *(part[:made] for part in trace[1:]))), arrived

    def stand(self, rows: Rows, nodes: Ints) -> None:
        """Put robots in `rows` exactly on `nodes` (N,), which nobody holds, at rest."""
        world, table = self._world, self._table
        table.place[rows] = self._tracks.positions[nodes]
        # What stands there already has not moved.
        places = table.place[rows] - table.offset[rows]
        if not np.array_equal(world.position[rows, :2], places):
            world.position[rows, :2] = places
            world.touch(rows)
        world.rest(rows)
        self.renew()
        self.graph.place(table, self.rows, rows, nodes)

    def _pack(self, count: int) -> None:
        """Have the columns and room for `count` robots as the law takes them: packed anew when columns were replaced.

        Tables replace all of their columns at once, when they grow or are put together with others.
        """
        table, motion = self._table, self._world.motion
        if self._drivers.goal is not table.goal:
            self._drivers, self._marks = named_columns(driving.Drivers, table), marks_of(table)
        if self._limits.linear_limit is not motion.linear_limit:
            self._limits = named_columns(driving.Limits, motion)
        world = self._world
        if self._poses.bodies.position is not world.position or self._poses.body_linear is not motion.body_linear:
            self._poses = poses_of(world)
        if len(self._step.all) != count:
            self._step = driving.stride_of(count)

    def _write(self, step: driving.Stride, velocities: Floats) -> None:
        """Write where the robots have come to in this step, and their `velocities` (N, 2) at its end."""
        table = self._table
        where = (table.place, velocities, table.yaw, table.spin, table.tilt, table.offset)
        write_poses(self.rows, step.all, *where, self._poses)


# Planned paths: where the plan leads the robots of the traffic, as readers outside of it see their paths.


class _Corners(NamedTuple):
    """The corners of ways, way after way: the row and the place in its way of each, and its pose."""

    rows: Rows
    places: Ints
    positions: Floats
    orientations: Floats


class _Ahead(NamedTuple):
    """The `corners` (K,) ahead of robots (N,) that are asked for: `owners` (K,) are of whom, `counts` (N,) how many."""

    owners: Ints
    counts: Ints
    corners: _Corners


class PlannedPaths:
    """The ways of robots as paths (a PathSource): their corners and their ends, from one plan to the next the same.

    A robot that stands at the end of its way has no path.
    """

    def __init__(self, world: World, table: TrafficColumns, graph: Callable[[], ActionDependencyGraph | None]) -> None:
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
        corners = ahead.corners
        passed_mask = corners.places <= self._table.at[corners.rows]
        nexts = np.bincount(ahead.owners[passed_mask], minlength=len(rows))
        nexts.flags.writeable = False
        return EntityPaths(ahead.counts, nexts, corners.positions, corners.orientations)

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
        # `take` finds rows of few numbers several times as fast as an index does.
        poses = corners.positions.take(order, axis=0), corners.orientations.take(order, axis=0)
        chosen = _Corners(corners.rows[order], corners.places[order], *poses)
        for array in (counts, chosen.positions, chosen.orientations):
            array.flags.writeable = False
        return _Ahead(owners[order], counts, chosen)

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
        positions[:, :2] = graph.tracks.positions.take(nodes, axis=0) - table.offset[rows]
        positions[:, 2] = world.position[rows, 2]
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
