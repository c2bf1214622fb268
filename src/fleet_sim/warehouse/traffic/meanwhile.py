"""What robots drive along the last plan while the next one is made, which takes time: it begins where they will be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.traffic.columns import TrafficColumns, turning_speeds
from fleet_sim.warehouse.traffic.graph import ActionDependencyGraph
from fleet_sim.world.world import World

TICK = 0.25
"""Time in s from one look at who may go on to the next."""


@saved
class Driven(NamedTuple):
    """Nodes of robots by object id at each step, `paths` (R, T + 1), and `bases` (R,): their last places granted at
    step 0, as the dependency graph counts them since its plan number `plan`."""

    ids: Ints
    paths: Ints
    bases: Ints
    plan: int

    def of(self, ids: Ints) -> Driven:
        """Return those of robots (N,), which it has."""
        places = places_of(self.ids, ids)
        return Driven(ids, self.paths[places], self.bases[places], self.plan)

    def ahead(self, granted: Ints, ends: Ints) -> Ints:
        """Return what is left of the paths (R, S + 1) of robots whose last `granted` places (R,) are at `ends` (R,)."""
        passed_mask = _moves(self.paths) <= (granted - self.bases)[:, None]
        paths = np.where(passed_mask, ends[:, None], self.paths)
        return paths[:, int(passed_mask.all(axis=0).sum()) - 1 :]


def places_of(ids: Ints, asked: Ints) -> Ints:
    """Return where in `ids` (R,) each of `asked` (N,) is, -1 for those that are not."""
    if not len(ids):
        return np.full(len(asked), -1)
    order = np.argsort(ids, kind="stable")
    places = np.minimum(np.searchsorted(ids[order], asked), len(ids) - 1)
    return np.where(ids[order][places] == asked, order[places], -1)


def _moves(paths: Ints) -> Ints:
    """Return how many moves (R, T + 1) robots have made at each step."""
    return np.pad(np.cumsum(paths[:, 1:] != paths[:, :-1], axis=1), ((0, 0), (1, 0)))


class Pace(NamedTuple):
    """How long in s robots (R,) take: until they are at the end of what was granted, for a m, and for a turn by `turns`
    rad more than 0, to stop before it included; and in which direction in rad they drive or stand there."""

    ready: Floats
    per_metre: Floats
    stop: Floats
    turn: Floats
    yaws: Floats


def pace_of(world: World, table: TrafficColumns, graph: ActionDependencyGraph, rows: Rows, lane: float) -> Pace:
    """Return the pace of `rows` (R,) on lanes of about `lane` m; those that are held are never ready."""
    motion, ways = world.motion, graph.ways
    speeds = np.minimum(motion.linear_limit[rows], motion.linear_limits[rows, 0]) * table.pace[rows]
    accels = np.minimum(motion.linear_accel[rows], motion.linear_accels[rows, 0])
    left = (table.granted[rows] - table.at[rows]) * lane - table.progress[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        per_metre = np.nan_to_num(1.0 / speeds, nan=np.inf)
        stop = np.nan_to_num(speeds / accels)
        spins = turning_speeds(world, rows)
        turn = np.where(table.turns[rows] & (spins > 0.0), 1.0 / spins, 0.0)
    ready = np.where(table.held[rows] != 0, np.inf, np.maximum(left, 0.0) * per_metre)
    drives_mask = table.granted[rows] > table.at[rows]
    lanes = graph.tracks.yaws[ways.lanes[rows, table.granted[rows]]]
    return Pace(ready, per_metre, stop, turn, np.where(drives_mask, lanes, table.yaw[rows]))


def kept_for(paths: Ints, goals: Ints, shut: Bools, positions: Floats, pace: Pace, seconds: float) -> Ints:
    """Return `paths` (R, T + 1) as far as robots come along them in `seconds`, as they pass nodes in the same order.

    They end at their `goals` (R,), and enter none of `shut` (N,) nodes at `positions` (N, 2) in m. A robot goes to its
    next node when all have left that who are there before it by the plan.
    """
    robots, counts = np.arange(len(paths)), _moves(paths)
    steps = [np.flatnonzero(row) + 1 for row in paths[:, 1:] != paths[:, :-1]]
    most = max(map(len, steps), default=0)
    # By robot and move: the step of the plan, the node, and how long it takes to get there.
    never = paths.shape[1]
    when = np.full((len(paths), most + 1), never)
    for robot, own in enumerate(steps):
        when[robot, : len(own)] = own
    nodes = paths[robots[:, None], np.minimum(when, never - 1)]
    ways = positions[nodes] - positions[np.column_stack((paths[:, 0], nodes[:, :-1]))]
    yaws = trig.arctan2(ways[..., 1], ways[..., 0])
    bends = np.abs(quaternions.wrapped(yaws - np.column_stack((pace.yaws, yaws[:, :-1]))))
    takes = np.sqrt((ways * ways).sum(axis=2)) * pace.per_metre[:, None]
    takes += np.where(bends > 1e-6, bends * pace.turn[:, None] + (pace.stop * (pace.turn > 0.0))[:, None], 0.0)
    at, ready, made = paths[:, 0].copy(), pace.ready.copy(), np.zeros(len(paths), np.int64)
    firsts = np.empty(len(positions), np.int64)
    for time in np.arange(0.0, seconds + TICK, TICK).tolist():
        while True:
            # Who is the next to enter each node, of all who have not yet.
            firsts[:] = never
            left_mask = np.arange(most + 1) >= made[:, None]
            np.minimum.at(firsts, nodes[left_mask], when[left_mask])
            step, node = when[robots, made], nodes[robots, made]
            goes_mask = (step < never) & (ready <= time) & (step == firsts[node]) & ~shut[node] & (at != goals)
            taken = np.bincount(at, minlength=len(positions))
            goes_mask &= taken[node] == 0
            if not goes_mask.any():
                break
            ready[goes_mask] = np.maximum(ready, time)[goes_mask] + takes[robots, made][goes_mask]
            at[goes_mask] = node[goes_mask]
            made[goes_mask] += 1
    ends = np.where(counts <= made[:, None], paths, at[:, None])
    return ends[:, : int(np.max(when[robots, np.maximum(made - 1, 0)] * (made > 0), initial=0)) + 1]
