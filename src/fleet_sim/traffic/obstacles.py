"""CoveredNodes: those that robots cannot use because something outside of the traffic is in the way."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.collision.bounds import active_mask, shape_arrays
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.world import World
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.execution.tracks import Tracks

STATIC = CollisionMode.STATIC.code
BOX, PLANE = int(ShapeKind.BOX), int(ShapeKind.PLANE)
UPRIGHT = 1.0 - 1e-9
TOUCH = 1e-9
DEEPEST = 8
"""Carriers of carriers that are looked for."""


class CoveredNodes:
    """Finds the nodes at which, or on the way to which, a robot of `radius` m would touch what is not in the traffic.

    That is every body that takes part in collisions, except robots in the traffic, what they carry, what is not at
    their height, and bodies whose names begin with `walls`: the network leads around those. Boxes count as they stand,
    other shapes as the box around them. An obstacle beside the middle of a lane takes the node nearer to it.
    """

    def __init__(self, world: World, table: TrafficColumns, tracks: Tracks, radius: float, walls: str) -> None:
        self._world = world
        self._table = table
        self._tracks = tracks
        self._radius = radius
        self._walls = walls
        self._covered: Bools = np.zeros(len(tracks.positions), np.bool_)
        self._still: Bools = self._covered
        self._version = -1
        self._parents: Ints = NO_ROWS
        self._movers: Rows = NO_ROWS
        self._poses: Floats = np.empty((0, 7))
        self._heights = (-np.inf, np.inf)

    def look(self, robots: Rows) -> tuple[Bools, bool]:
        """Return the covered nodes (N,), and whether they changed since the last look; `robots` are in the traffic."""
        world = self._world
        known = world.version == self._version and np.array_equal(world.parent, self._parents)
        if not known:
            self._sort_out(robots)
        poses = np.column_stack((world.position[self._movers], world.orientation[self._movers]))
        if known and np.array_equal(poses, self._poses):
            return self._covered, False
        before, self._poses = self._covered, poses
        self._covered = self._still | self._under(self._movers)
        return self._covered, not np.array_equal(before, self._covered)

    def _sort_out(self, robots: Rows) -> None:
        """Find the bodies outside of the traffic anew; those that are static are measured here."""
        world = self._world
        self._version, self._parents = world.version, world.parent.copy()
        ours_mask = self._table.present.copy()
        for _ in range(DEEPEST):
            ours_mask |= (world.parent >= 0) & ours_mask[world.parent]
        rows = np.flatnonzero(active_mask(world) & ~ours_mask)
        names = world.index.names
        rows = rows[[not (names[row] or "").startswith(self._walls) for row in rows.tolist()]]
        if len(robots):
            lower, upper = world_aabbs(*shape_arrays(world, robots))
            self._heights = (float(lower[:, 2].min()), float(upper[:, 2].max()))
        static_mask = world.collision_mode[rows] == STATIC
        self._still = self._under(rows[static_mask])
        self._movers = rows[~static_mask]

    @cached_property
    def _samples(self) -> tuple[Floats, Ints, float]:
        """Points (K, 2) on nodes and lanes, by x; the node (K,) of each; and how near an obstacle may come to them.

        Whatever comes nearer than the radius to a lane is within that distance of one of its points.
        """
        tracks, count = self._tracks, len(self._tracks.positions)
        begins, slots = np.nonzero(tracks.neighbours >= 0)
        ends = tracks.neighbours[begins, slots]
        points, owners = [tracks.positions], [np.arange(count)]
        lengths = tracks.lengths.reshape(tracks.neighbours.shape)[begins, slots]
        pieces = np.ceil(lengths / self._radius).astype(np.int64)
        for piece in range(1, int(pieces.max(initial=0))):
            along = np.flatnonzero(pieces > piece)
            share = (piece / pieces[along])[:, None]
            points.append((1.0 - share) * tracks.positions[begins[along]] + share * tracks.positions[ends[along]])
            owners.append(np.where(share[:, 0] < 0.5, begins[along], ends[along]))
        everywhere, nodes = np.concatenate(points), np.concatenate(owners)
        order = np.argsort(everywhere[:, 0], kind="stable")
        return everywhere[order], nodes[order], float(np.sqrt(1.25) * self._radius)

    def _under(self, rows: Rows) -> Bools:
        """Return the nodes (N,) that `rows` take."""
        covered: Bools = np.zeros(len(self._tracks.positions), np.bool_)
        if not len(rows):
            return covered
        points, owners, reach = self._samples
        shapes = shape_arrays(self._world, rows)
        lowers, uppers = world_aabbs(*shapes)
        low, high = self._heights
        near_mask = (lowers[:, 2] <= high) & (uppers[:, 2] >= low) & (shapes.kinds != PLANE)
        firsts = np.searchsorted(points[:, 0], lowers[:, 0] - reach)
        lasts = np.searchsorted(points[:, 0], uppers[:, 0] + reach, side="right")
        for index in np.flatnonzero(near_mask & (lasts > firsts)).tolist():
            span = slice(int(firsts[index]), int(lasts[index]))
            gaps = _gaps(points[span], shapes, index, lowers[index], uppers[index])
            covered[owners[span][gaps < reach - TOUCH]] = True
        return covered


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
