"""Execution: drives the robots of the traffic in a world."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Ints, Rows
from fleet_sim.core.columns import named_columns
from fleet_sim.core.drive_rules import DriveRule
from fleet_sim.core.world import World
from fleet_sim.traffic.columns import UNFIT, TrafficColumns
from fleet_sim.traffic.execution.drivers import ARRIVED, Drivers, Limits, Stride, stride_of
from fleet_sim.traffic.execution.graph import ActionDependencyGraph, marks_of
from fleet_sim.traffic.execution.law import Plans, Roads, advance
from fleet_sim.traffic.execution.poses import poses_of, write_poses
from fleet_sim.traffic.execution.tracks import Tracks


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
        self.frozen = False
        """Whether nothing is granted at present, as a plan is being made from where all grants end."""
        self._none_open: Bools = np.zeros(len(tracks.positions), np.bool_)
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
        position, place = world.position, self._table.place
        # By equality: whoever left it there wrote these numbers.
        moved_mask = position[rows, 0] != place[rows, 0]
        moved_mask |= position[rows, 1] != place[rows, 1]
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
        roads = Roads(self._tracks, self._none_open if self.frozen else self.open_mask, self.barred)
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
        if not np.array_equal(world.position[rows, :2], table.place[rows]):
            world.position[rows, :2] = table.place[rows]
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
        where = (table.place, step.velocities, table.yaw, table.spin, table.tilt)
        write_poses(rows, step.motions, *where, poses_of(world))
