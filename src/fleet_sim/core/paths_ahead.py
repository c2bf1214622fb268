"""What is left of paths, as lines; in recordings, which do not say how far robots have come, by where they are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Ints
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.core.world import World
from fleet_sim.spatial.lines import distances_to_lines

NEAR = 0.3
"""How far from the line between two waypoints a robot is taken to be on it, in m."""


@dataclass(frozen=True, eq=False)
class PathsAhead:
    """What is left of the paths of robots: lines between points (L, 2, 3), and the robot that each belongs to (L,)."""

    lines: Floats = field(default_factory=lambda: np.empty((0, 2, 3)))
    robots: Ints = field(default_factory=lambda: NO_ROWS)


def paths_ahead(world: World) -> PathsAhead:
    """Return what is left of the paths of all entities; `robots` are indices of a snapshot."""
    rows = world.rows
    paths = world.waypoints.paths(world.motion, rows)
    return lines_ahead(paths.lengths, paths.nexts, paths.positions, world.position[rows])


def lines_ahead(lengths: Ints, nexts: Ints, waypoints: Floats, positions: Floats) -> PathsAhead:
    """Return the lines that entities at `positions` (N, 3) have ahead of them; the first of each begins at it.

    `lengths`, `nexts` (N,) and `waypoints` (P, 3) are those of EntityPaths.
    """
    left = np.maximum(lengths - nexts, 0)
    driving = np.flatnonzero(left)
    some = left[driving]
    robots = np.repeat(driving, some)
    # The numbers 0, 1, 2 ... of what is left of each path, one after the other.
    number = np.arange(len(robots)) - np.repeat(np.cumsum(some) - some, some)
    firsts = (np.cumsum(lengths) - lengths + nexts)[driving]
    ends = waypoints[np.repeat(firsts, some) + number]
    begins = np.where((number == 0)[:, None], positions[robots], np.roll(ends, 1, axis=0))
    return PathsAhead(np.stack((begins, ends), axis=1), robots)


def recorded_paths_ahead(snapshot: Snapshot) -> PathsAhead:
    """Return the lines that robots have ahead of them in a snapshot of a recording.

    A robot is on the nearest of the lines between its waypoints, on the later one of two; far from all of them, it is
    on its way to the first.
    """
    lengths, waypoints = np.diff(snapshot.path_starts), snapshot.path_positions
    robots = np.repeat(np.arange(len(lengths)), lengths)
    number = np.arange(len(robots)) - snapshot.path_starts[robots]
    inner = np.flatnonzero(number > 0)
    away = distances_to_lines(snapshot.positions[robots[inner]], waypoints[inner - 1], waypoints[inner])
    near = inner[away < NEAR]
    # Nearest last, and of two that are as near the later one, so that it is what remains.
    order = near[np.lexsort((number[near], -np.round(away[away < NEAR], 3), robots[near]))]
    nexts = np.zeros(len(lengths), np.int64)
    nexts[robots[order]] = number[order]
    return lines_ahead(lengths, nexts, waypoints, snapshot.positions)
