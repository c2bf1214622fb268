"""Execution: drives the robots of the traffic in a world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled
from fleet_sim.base.spatial.rotations import sin_cos
from fleet_sim.robots.motion.rows import BodyArrays, touch
from fleet_sim.warehouse.traffic.columns import UNFIT, TrafficColumns
from fleet_sim.warehouse.traffic.driving import (
    ARRIVED,
    MOVED,
    TURNED,
    Drivers,
    Limits,
    Plans,
    Roads,
    Stride,
    advance,
    stride_of,
)
from fleet_sim.warehouse.traffic.graph import ActionDependencyGraph, Tracks, marks_of
from fleet_sim.world.columns import named_columns
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
        if not motions[index] & (MOVED | TURNED):
            continue
        touch(bodies, row)
        if motions[index] & TURNED:
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
        if motions[index] & MOVED:
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
        self._drivers, self._marks = named_columns(Drivers, table), marks_of(table)
        self._limits = named_columns(Limits, world.motion)
        self._step = stride_of(0)

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
        rows, world = self.rows, self._world
        position, place, offset = world.position, self._table.place, self._table.offset
        # By equality: whoever left it there wrote these numbers.
        moved_mask = position[rows, 0] != place[rows, 0] - offset[rows, 0]
        moved_mask |= position[rows, 1] != place[rows, 1] - offset[rows, 1]
        moved_mask |= world.parent[rows] >= 0
        return rows[moved_mask] if np.count_nonzero(moved_mask) else NO_ROWS

    def hold_unfit(self, own: DriveRule) -> None:
        """Let robots stand that another rule than `own` keeps from driving, and drive on when it does not."""
        rows, held = self.rows, self._table.held
        unfit_mask = np.zeros(len(rows), np.bool_)
        others = [rule for rule in self._world.drive_rules if rule is not own]
        for rule in others:
            unfit_mask |= rule.refuses(rows)
        if others:
            held[rows] = np.where(unfit_mask, held[rows] | UNFIT, held[rows] & ~np.uint8(UNFIT))

    def advance(self, dt: float) -> Rows:
        """Move the robots, inside a step of the world; return those that stand at their goals and did not before."""
        rows = self.rows
        if not len(rows):
            return NO_ROWS
        self._pack(len(rows))
        step = self._step
        roads = Roads(self._tracks, self.open_mask, self.barred)
        plans = Plans(self._marks, self.graph.ways, self.graph.uses, self.graph.rounds)
        advance(rows, dt, roads, plans, self._drivers, self._limits, step)
        self._write(step)
        arrived: Rows = rows[step.motions & ARRIVED != 0]
        return arrived

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
            self._drivers, self._marks = named_columns(Drivers, table), marks_of(table)
        if self._limits.linear_limit is not motion.linear_limit:
            self._limits = named_columns(Limits, motion)
        if len(self._step.motions) != count:
            self._step = stride_of(count)

    def _write(self, step: Stride) -> None:
        """Write where the robots have come to in this step."""
        rows, table, world = self.rows, self._table, self._world
        where = (table.place, step.velocities, table.yaw, table.spin, table.tilt, table.offset)
        write_poses(rows, step.motions, *where, poses_of(world))
