"""Speed limits of zones, held by all robots that drive: to goals, along paths, routes and by velocity commands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.speed_rules import SpeedRule
from fleet_sim.core.world import World
from fleet_sim.sites.stations import Zone, ZoneKind

IDLE = ControllerMode.IDLE.code
FASTEST = 1e6
"""Accelerations in m/s^2 that count as no limit: such robots brake where they are."""


class SpeedZones(SpeedRule):
    """Lowers the limits of robots in zones, and before them, while their laws of motion move them.

    A robot that drives straight at a zone has braked to its limit when it comes to the edge; one that turns into it
    brakes there. Where zones overlap the lowest limit holds. A robot's own limits are never changed but within a step.
    """

    def __init__(self, world: World, zones: Sequence[Zone]) -> None:
        self._world = world
        self._zones = [zone for zone in zones if zone.kind is ZoneKind.SPEED_LIMIT]
        if self._zones:
            world.speed_rules.add(self)
        self._rows: Rows = NO_ROWS
        self._limit: Floats = np.empty(0)
        self._limits: Floats = np.empty((0, 3))

    def end(self) -> None:
        """Limit nobody any more."""
        if self._zones:
            self._world.speed_rules.remove(self)

    def lower(self) -> None:
        """Lower the limits of robots in zones and before them."""
        world, motion = self._world, self._world.motion
        rows = np.flatnonzero((motion.control != IDLE) & world.alive & (motion.law != 0))
        if not len(rows):
            return
        limits = self._limits_at(rows)
        at = np.flatnonzero(limits < np.inf)
        self._rows = rows = rows[at]
        self._limit, self._limits = motion.linear_limit[rows], motion.linear_limits[rows]
        motion.linear_limit[rows] = np.minimum(self._limit, limits[at])
        motion.linear_limits[rows] = np.minimum(self._limits, limits[at, None])

    def restore(self) -> None:
        """Give robots their own limits again."""
        motion, rows = self._world.motion, self._rows
        if not len(rows):
            return
        motion.linear_limit[rows], motion.linear_limits[rows] = self._limit, self._limits
        self._rows = NO_ROWS

    def _limits_at(self, rows: Rows) -> Floats:
        """Return the speeds (N,) that zones allow `rows` in this step, inf where no zone is near their way."""
        world, motion, dt = self._world, self._world.motion, self._world.clock.dt
        places, velocities = world.position[rows, :2], world.velocity[rows, :2]
        speeds = np.sqrt(velocities[:, 0] * velocities[:, 0] + velocities[:, 1] * velocities[:, 1])
        headings = velocities / np.where(speeds > 0.0, speeds, 1.0)[:, None]
        accels = np.minimum(motion.linear_accel[rows], motion.linear_accels[rows].max(axis=1))
        accels = np.minimum(accels, FASTEST)
        found = np.full(len(rows), np.inf)
        for zone in self._zones:
            distances = np.where(zone.contains(places), 0.0, _ahead(zone.corners, places, headings))
            # A robot may speed up in this step, and brakes from the next one on.
            left = np.maximum(distances - (speeds + 0.5 * accels * dt) * dt, 0.0)
            allowed = np.sqrt(zone.speed * zone.speed + 2.0 * accels * left)
            found = np.minimum(found, np.where(distances < np.inf, allowed, np.inf))
        return found


def _ahead(corners: Floats, places: Floats, headings: Floats) -> Floats:
    """Return how far (N,) ahead of `places` (N, 2) the edge of a polygon is, along unit `headings`; inf if nowhere."""
    found = np.full(len(places), np.inf)
    for begin, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        edge = end - begin
        to_x, to_y = begin[0] - places[:, 0], begin[1] - places[:, 1]
        across = headings[:, 0] * edge[1] - headings[:, 1] * edge[0]
        # Robots at rest have no heading, and those along an edge do not come to it.
        crossing_mask = np.abs(across) > 1e-12
        safe = np.where(crossing_mask, across, 1.0)
        along = (to_x * edge[1] - to_y * edge[0]) / safe
        share = (to_x * headings[:, 1] - to_y * headings[:, 0]) / safe
        hit_mask = crossing_mask & (along >= 0.0) & (share >= 0.0) & (share <= 1.0)
        found = np.where(hit_mask, np.minimum(found, along), found)
    return found
