"""CoveredNodes: those that robots cannot use because something outside of the traffic is in the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.collision.bounds import active_mask, shape_arrays, world_aabbs
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.world import World
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.execution.tracks import Tracks

STATIC = CollisionMode.STATIC.code
BOX, PLANE = int(ShapeKind.BOX), int(ShapeKind.PLANE)
UPRIGHT = 1.0 - 1e-9
TOUCH = 1e-9
DEEPEST = 8
"""Carriers of carriers that are looked for."""


class Samples(NamedTuple):
    """Places (K, 2) in m, by x, and the ends (K, 2) of the lanes that they are on, the nearer one first."""

    places: Floats
    nodes: Ints


class CoveredNodes:
    """Finds the nodes at which, or on the way to which, a robot of `radius` m would touch what is not in the traffic.

    That is every body that takes part in collisions, except robots in the traffic, what they carry, what is not at
    their height, and bodies whose names begin with `walls`: the network leads around those. Boxes count as they stand,
    other shapes as the box around them. An obstacle between two nodes takes one of them, or both.
    """

    def __init__(self, world: World, table: TrafficColumns, tracks: Tracks, radius: float, walls: str) -> None:
        self._world = world
        self._table = table
        self._tracks = tracks
        self._radius = radius
        self._walls = walls
        self._covered: Bools = np.zeros(len(tracks.positions), np.bool_)
        self._still: Bools = self._covered
        self._passed: set[int] = set()
        self._version = -1
        self._parents: Ints = NO_ROWS
        self._movers: Rows = NO_ROWS
        self._poses: Floats = np.empty((0, 7))
        self._heights = (-np.inf, np.inf)

    def look(self, robots: Rows) -> tuple[Bools, bool]:
        """Return the covered nodes (N,), and whether they changed since the last look; `robots` are in the traffic."""
        world = self._world
        # What stands, stands until something is spawned, removed, attached or changed.
        known = world.version == self._version and np.array_equal(world.parent, self._parents)
        if not known:
            self._sort_out(robots)
        poses = np.column_stack((world.position[self._movers], world.orientation[self._movers]))
        # Nobody moved: most steps end here.
        if known and np.array_equal(poses, self._poses):
            return self._covered, False
        before, self._poses = self._covered, poses
        self._covered = self._still | self._under(self._movers)
        return self._covered, not np.array_equal(before, self._covered)

    def pass_under(self, ids: Sequence[int]) -> None:
        """Let the bodies with these object ids be in nobody's way while they are not carried."""
        self._passed.update(ids)
        self._version = -1

    def _sort_out(self, robots: Rows) -> None:
        """Find the bodies outside of the traffic anew; those that are static are measured here."""
        world = self._world
        self._version, self._parents = world.version, world.parent.copy()
        ours_mask = self._table.present.copy()
        # What robots of the traffic carry, and what that carries, is no obstacle to them.
        for _ in range(DEEPEST):
            ours_mask |= (world.parent >= 0) & ours_mask[world.parent]
        # Passages that open for robots are gates; where they stand when they are open, nobody drives ever.
        parts = self._parts_of_passages()
        ours_mask[parts] = True
        rows = np.flatnonzero(active_mask(world) & ~ours_mask)
        names = world.index.names
        # The walls of the site are in the network already.
        rows = rows[[not (names[row] or "").startswith(self._walls) for row in rows.tolist()]]
        if self._passed:
            passed_mask = np.isin(world.object_id[rows], list(self._passed)) & (world.parent[rows] < 0)
            rows = rows[~passed_mask]
        if len(robots):
            # What is above or below all robots is in nobody's way.
            lower, upper = world_aabbs(*shape_arrays(world, robots), compiled=world.compiled)
            self._heights = (float(lower[:, 2].min()), float(upper[:, 2].max()))
        static_mask = world.collision_mode[rows] == STATIC
        # Measured once; only what can move is measured in each step.
        self._still = self._under(rows[static_mask]) | self.under(self._at(parts, 1.0))
        self._movers = rows[~static_mask]

    @cached_property
    def _nodes(self) -> Samples:
        """The places of the nodes."""
        count = len(self._tracks.positions)
        return _sorted(self._tracks.positions, np.repeat(np.arange(count)[:, None], 2, axis=1))

    @cached_property
    def _lanes(self) -> Samples:
        """Points on lanes, so close that whatever comes nearer than the radius to a lane is within reach of one."""
        tracks = self._tracks
        begins, slots = np.nonzero(tracks.neighbours >= 0)
        ends = tracks.neighbours[begins, slots]
        places, nodes = [np.empty((0, 2))], [np.empty((0, 2), np.int64)]
        lengths = tracks.lengths.reshape(tracks.neighbours.shape)[begins, slots]
        # As many points as keep the gaps between them below the radius.
        pieces = np.ceil(lengths / self._radius).astype(np.int64)
        for piece in range(1, int(pieces.max(initial=0))):
            along = np.flatnonzero(pieces > piece)
            share = (piece / pieces[along])[:, None]
            places.append((1.0 - share) * tracks.positions[begins[along]] + share * tracks.positions[ends[along]])
            pairs = np.stack((begins[along], ends[along]), axis=1)
            # The nearer end first: it is the node that is covered.
            nodes.append(np.where(share < 0.5, pairs, pairs[:, ::-1]))
        return _sorted(np.concatenate(places), np.concatenate(nodes))

    def swept_by(self, passage: int) -> tuple[Bools, Bools]:
        """Return the nodes (N,) that a passage takes while it is closed, or moves; and those while it is open."""
        world, passages = self._world, self._world.routes.passages
        assert passages is not None
        parts = passages.parts_of(passage)
        longest = 2.0 * float(world.half_extents[parts, 0].max(initial=0.0))
        # So close that nothing of the size of a robot fits between two places of a leaf: it turns by pi at most.
        count = max(4, math.ceil(math.pi * longest / self._radius))
        swept: Bools = np.zeros(len(self._tracks.positions), np.bool_)
        for number in range(count):
            swept |= self.under(self._at(parts, number / count))
        return swept, self.under(self._at(parts, 1.0))

    def _parts_of_passages(self) -> Rows:
        passages = self._world.routes.passages
        if passages is None:
            return NO_ROWS
        return np.concatenate([NO_ROWS, *(passages.parts_of(row) for row in passages.opening_for_robots().tolist())])

    def _at(self, parts: Rows, opening: float) -> ShapeArrays:
        """Return the shapes of parts of passages that are open by `opening`."""
        shapes, passages = shape_arrays(self._world, parts), self._world.routes.passages
        return shapes if passages is None else shapes.at(*passages.poses_at(parts, opening))

    def _under(self, rows: Rows) -> Bools:
        """Return the nodes (N,) that `rows` take."""
        return self.under(shape_arrays(self._world, rows))

    def under(self, shapes: ShapeArrays) -> Bools:
        """Return the nodes (N,) that bodies of these shapes take."""
        covered: Bools = np.zeros(len(self._tracks.positions), np.bool_)
        if len(shapes.kinds):
            covered[self._hit(self._nodes, shapes, self._radius)[:, 0]] = True
            # A point of a lane is at most half a radius from the next: this reach covers what lies between.
            crossed = self._hit(self._lanes, shapes, float(np.sqrt(1.25) * self._radius))
            # A lane to a node that is covered is of no use anyway.
            covered[crossed[~covered[crossed].any(axis=1), 0]] = True
        return covered

    def _hit(self, points: Samples, shapes: ShapeArrays, reach: float) -> Ints:
        """Return the nodes (K, 2) of points that are nearer than `reach` to one of `shapes`."""
        lowers, uppers = world_aabbs(*shapes, compiled=self._world.compiled)
        low, high = self._heights
        near_mask = (lowers[:, 2] <= high) & (uppers[:, 2] >= low) & (shapes.kinds != PLANE)
        # Sorted by x, so that each body is compared with the points of its strip only.
        firsts = np.searchsorted(points.places[:, 0], lowers[:, 0] - reach)
        lasts = np.searchsorted(points.places[:, 0], uppers[:, 0] + reach, side="right")
        found = [np.empty((0, 2), np.int64)]
        for index in np.flatnonzero(near_mask & (lasts > firsts)).tolist():
            span = slice(int(firsts[index]), int(lasts[index]))
            gaps = _gaps(points.places[span], shapes, index, lowers[index], uppers[index])
            found.append(points.nodes[span][gaps < reach - TOUCH])
        return np.concatenate(found)


def _sorted(places: Floats, nodes: Ints) -> Samples:
    order = np.argsort(places[:, 0], kind="stable")
    return Samples(places[order], nodes[order])


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
