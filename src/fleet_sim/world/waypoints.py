"""The waypoints of all paths, in one flat pool, and of those that parts above the core drive robots along."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Ints, Rows, ranges
from fleet_sim.world.columns import compact_copy
from fleet_sim.world.schema import MotionColumns

_ARRAYS = ("position", "orientation", "speed_limit", "pass_speed", "braking")


class EntityPaths(NamedTuple):
    """Paths of entities, one after the other: `lengths` (N,) counts the waypoints of each, 0 without a path.

    `nexts` (N,) are the numbers of the waypoints that they come to next; `positions` (P, 3) in m and `orientations`
    (P, 4) are of the waypoints of all, in the frame of the world.
    """

    lengths: Ints
    nexts: Ints
    positions: Floats
    orientations: Floats


class PathSource(Protocol):
    """Drives robots along paths that are not in the pool, as the traffic of a site does."""

    def paths_of(self, rows: Rows) -> EntityPaths:
        """Return the paths of `rows` (N,), without waypoints for those that it does not drive; read only."""


class WaypointPool:
    """Waypoints of every robot's path: a robot's own are `path_start[row] : path_start[row] + path_length[row]`.

    Paths are appended; the space of dropped paths is reclaimed when it exceeds the space in use.
    """

    def __init__(self) -> None:
        self.position: Floats = np.empty((256, 3))
        self.orientation: Floats = np.empty((256, 4))
        self.speed_limit: Floats = np.full(256, np.inf)
        """Limit (m/s) on the line that ends at the waypoint, besides the robot's own."""
        self.limited = False
        """Whether there was ever a path with a limit: without one, the laws do not look at them."""
        self.pass_speed: Floats = np.zeros(256)
        """Speed (m/s) at which the waypoint is passed; 0 where the robot stops. Written by the motion laws."""
        self.braking: Floats = np.ones(256)
        """Fraction of the acceleration limit used to slow down for the waypoint. Written by the motion laws."""
        self.used = 0
        self.live = 0
        self.sources: list[PathSource] = []
        """Who else drives robots along paths; a robot has one path at most."""

    def assign(
        self,
        motion: MotionColumns,
        rows: Rows,
        lengths: Ints,
        position: Floats,
        orientation: Floats,
        speed_limit: Floats | None = None,
    ) -> None:
        """Assign new paths of `lengths` waypoints to `rows`, with their points concatenated in the arrays.

        `speed_limit` (M,) in m/s holds on the line to each waypoint; None: no limits.
        """
        # First: the dropped paths then need no room and are not copied along.
        self.discard(motion, rows)
        total = len(position)
        self._reserve(motion, total)
        span = slice(self.used, self.used + total)
        self.position[span] = position
        self.orientation[span] = orientation
        self.speed_limit[span] = np.inf if speed_limit is None else speed_limit
        self.limited = self.limited or bool(speed_limit is not None and np.isfinite(speed_limit).any())
        self.pass_speed[span] = 0.0
        self.braking[span] = 1.0
        motion.path_start[rows] = self.used + np.cumsum(lengths) - lengths
        motion.path_length[rows] = lengths
        motion.waypoint[rows] = 0
        self.used += total
        self.live += total

    def discard(self, motion: MotionColumns, rows: Rows | AnyArray) -> None:
        """Drop the paths of `rows`."""
        # Where nobody has a path, there is nothing to count.
        if self.live:
            self.live -= int(motion.path_length[rows].sum())
            motion.path_length[rows] = 0
        motion.waypoint[rows] = 0

    def paths(self, motion: MotionColumns, rows: Rows) -> EntityPaths:
        """Return the paths of `rows` (N,), whoever drives them; the arrays are copies, or read-only."""
        own = self._own_paths(motion, rows)
        for source in self.sources:
            own = _joined(own, source.paths_of(rows))
        return own

    def _own_paths(self, motion: MotionColumns, rows: Rows) -> EntityPaths:
        lengths = motion.path_length[rows]
        if not self.live:
            return EntityPaths(lengths, motion.waypoint[rows], self.position[:0], self.orientation[:0])
        driving = np.flatnonzero(lengths)
        places = ranges(motion.path_start[rows[driving]], lengths[driving])
        return EntityPaths(lengths, motion.waypoint[rows], self.position[places], self.orientation[places])

    def of(self, motion: MotionColumns, row: int) -> slice:
        """Return the slice of the path of `row` in the pool."""
        start = int(motion.path_start[row])
        return slice(start, start + int(motion.path_length[row]))

    def save(self) -> dict[str, AnyArray]:
        """Return copies of the points in use, for a checkpoint."""
        return {name: compact_copy(getattr(self, name)[: self.used]) for name in _ARRAYS} | {
            "live": np.array(self.live)
        }

    def restore(self, saved: dict[str, AnyArray]) -> None:
        """Restore what `save` returned."""
        self.used = len(saved["position"])
        self.live = int(saved["live"])
        for name in _ARRAYS:
            old = getattr(self, name)
            new = np.zeros((max(len(old), self.used), *old.shape[1:]))
            new[: self.used] = saved[name]
            setattr(self, name, new)
        self.limited = self.limited or bool(np.isfinite(self.speed_limit[: self.used]).any())

    def _reserve(self, motion: MotionColumns, total: int) -> None:
        """Make room for `total` more waypoints: paths move to the front, and the arrays grow if need be."""
        capacity = len(self.position)
        if self.used + total <= capacity:
            return
        # Half must be free after compacting, or the next few paths would compact again.
        if self.live + total > capacity // 2:
            # Doubled, so that adding a waypoint costs a constant time on average.
            capacity = max(2 * capacity, 2 * (self.live + total))
        # One copy to the front of new arrays both grows and reclaims.
        rows = np.flatnonzero(motion.path_length)
        lengths = motion.path_length[rows]
        kept = ranges(motion.path_start[rows], lengths)
        for name in _ARRAYS:
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]))
            new[: self.live] = old[kept]
            setattr(self, name, new)
        motion.path_start[rows] = np.cumsum(lengths) - lengths
        self.used = self.live


def _joined(paths: EntityPaths, others: EntityPaths) -> EntityPaths:
    """Return `paths`, but those of `others` where these have waypoints."""
    if not others.lengths.any():
        return paths
    if not paths.lengths.any():
        return others
    chosen_mask = others.lengths > 0
    lengths = np.where(chosen_mask, others.lengths, paths.lengths)
    from_mask, kept_mask = np.repeat(chosen_mask, lengths), np.repeat(~chosen_mask, paths.lengths)
    positions, orientations = np.empty((len(from_mask), 3)), np.empty((len(from_mask), 4))
    positions[from_mask], orientations[from_mask] = others.positions, others.orientations
    positions[~from_mask], orientations[~from_mask] = paths.positions[kept_mask], paths.orientations[kept_mask]
    return EntityPaths(lengths, np.where(chosen_mask, others.nexts, paths.nexts), positions, orientations)


# Keeps freed memory for the next step.


_KEPT = 30 << 20


@cache
def keep_freed_memory() -> None:
    """Make the C allocator keep tens of megabytes of freed memory instead of returning them each time.

    A step makes and frees the same temporary arrays again and again. glibc returns freed memory above a
    threshold that follows the largest block ever mapped and freed, at first a few hundred kilobytes; getting
    it back page by page costs more than the arithmetic on it (measured: half of the time of a collision check
    of 10,000 robots). Freeing one large block that was never touched raises the threshold. Elsewhere this
    does nothing.
    """
    block = np.empty(_KEPT, np.uint8)
    del block
