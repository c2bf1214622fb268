"""Notes which robots drove through walls, in runs that do not report collisions with static bodies."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Ints, Rows
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.bounds import shape_arrays
from fleet_sim.sensing.collision.broad import cross_pairs
from fleet_sim.sensing.collision.distances import distances_between
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

_INTERVAL = 0.1
"""Seconds of simulated time between two looks: at 2 m/s a robot drives 0.2 m meanwhile."""
_CORE_HEIGHT, _CORE_RADIUS = 0.15, 0.1
"""Where a robot of links is certainly solid: height of the middle above its lowest point, and radius, in m."""
_LAST_SOLID = int(ShapeKind.CAPSULE)
_IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


class WallPassages:
    """The robots whose middle was inside a static box, cylinder, sphere or capsule while they drove.

    Only a ball in the middle of each robot is compared: robots that touch a wall, or stand on a static floor, are not
    found. Bodies of links, meshes and planes are not walls here. The state of the world is only read.
    """

    def __init__(self, world: World) -> None:
        self.names: list[str] = []
        """Names of the robots found so far, in the order in which they were found."""
        self._world = world
        # Object ids, which unlike rows are never given to another robot.
        self._ids: Ints = np.empty(0, np.int64)
        self._next = 0.0

    def look(self, sim_time: float) -> None:
        """Add the robots that are inside a wall now. Boxes of all bodies must be up to date."""
        # An interval of whole steps may end a rounding error early.
        if sim_time < self._next - 1e-9:
            return
        self._next = sim_time + _INTERVAL
        robots, world = self._drivers(), self._world
        if not len(robots):
            return
        kinds = world.shape_kind
        mask = world.collision_rules.static_mask() & world.alive & (kinds != ShapeKind.NONE) & (kinds <= _LAST_SOLID)
        walls = np.flatnonzero(mask)
        balls = self._middles(robots)
        reach = balls.radii[:, None]
        bounds = world.aabb_lower[walls], world.aabb_upper[walls]
        pairs = cross_pairs(balls.positions - reach, balls.positions + reach, *bounds, compiled=world.compiled)
        if len(pairs):
            self._note(robots, balls, pairs[:, 0], walls.take(pairs[:, 1]))

    def _note(self, robots: Rows, balls: ShapeArrays, first: Rows, walls: Rows) -> None:
        """Note those of `robots` whose ball overlaps its wall; pairs are (index of a robot, row of a wall)."""
        world = self._world
        rows, heights = robots.take(first), balls.positions[:, 2].take(first)
        # A wall rises above the middle of a robot, and begins below it; a floor does not.
        mask = (world.aabb_lower[walls, 2] < heights) & (world.aabb_upper[walls, 2] > heights)
        mask &= world.collision_rules.may_collide(np.stack((rows, walls), axis=1))
        first, rows, walls = first[mask], rows[mask], walls[mask]
        if not len(rows):
            return
        distances, _ = distances_between(
            balls.take(first), shape_arrays(world, walls), reach=0.0, compiled=world.compiled
        )
        with np.errstate(invalid="ignore"):
            inside = np.unique(rows[distances < 0.0])
        self._ids = np.append(self._ids, world.object_id[inside])
        self.names += [world.label(int(row)) for row in inside]

    def _drivers(self) -> Rows:
        """Return the rows of robots that drive by a motion law, are carried by nothing, and were not found yet."""
        world = self._world
        mask = world.alive & (world.motion.control != 0) & (world.parent == NO_ROW) & ~world.dynamic
        rows = np.flatnonzero(mask & (world.shape_kind != ShapeKind.NONE))
        return rows[~np.isin(world.object_id[rows], self._ids)] if len(self._ids) else rows

    def _middles(self, rows: Rows) -> ShapeArrays:
        """Return a ball in the middle of each of `rows`."""
        world = self._world
        lower, upper = world.aabb_lower[rows], world.aabb_upper[rows]
        positions, halves = 0.5 * (lower + upper), 0.5 * (upper - lower)
        radii = 0.9 * halves.min(axis=1)
        # The box of a robot with an arm may have its middle outside of it: its base is where its origin is.
        linked = np.flatnonzero(world.shape_kind[rows] > _LAST_SOLID)
        positions[linked, :2] = world.position[rows[linked], :2]
        positions[linked, 2] = lower[linked, 2] + np.minimum(_CORE_HEIGHT, halves[linked, 2])
        radii[linked] = np.minimum(_CORE_RADIUS, radii[linked])
        count = len(rows)
        kinds = np.full(count, ShapeKind.SPHERE, np.uint8)
        return ShapeArrays(kinds, positions, np.tile(_IDENTITY, (count, 1)), np.tile(radii[:, None], 3), radii)
