"""The waypoints of all paths, in one flat pool."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.core.schema import MotionColumns

_ARRAYS = ("position", "orientation", "speed_limit", "pass_speed", "braking")


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

    def of(self, motion: MotionColumns, row: int) -> slice:
        """Return the slice of the path of `row` in the pool."""
        start = int(motion.path_start[row])
        return slice(start, start + int(motion.path_length[row]))

    def save(self) -> dict[str, AnyArray]:
        """Return copies of the points in use, for a checkpoint."""
        return {name: getattr(self, name)[: self.used].copy() for name in _ARRAYS} | {"live": np.array(self.live)}

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
        ends = np.cumsum(lengths)
        kept = np.arange(self.live) + np.repeat(motion.path_start[rows] - (ends - lengths), lengths)
        for name in _ARRAYS:
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]))
            new[: self.live] = old[kept]
            setattr(self, name, new)
        motion.path_start[rows] = ends - lengths
        self.used = self.live
