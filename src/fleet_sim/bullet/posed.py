"""Distances of bodies at hypothetical poses, for swept collision tests."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.spatial import quaternions


class PosedQueries:
    """Measures pairs with one body moved temporarily to another pose."""

    def __init__(self, mirror: BulletMirror) -> None:
        self._mirror = mirror

    def distances(self, pairs: Rows, positions: Floats, orientations: Floats, limit: float) -> Floats:
        """Return the distance in m (K,) of each pair (K, 2), with the first row's shape at the given pose.

        `positions` (K, 3) and `orientations` (K, 4) are of collision shapes; the second row of a pair is at the pose
        that queries see. Infinite beyond `limit`.
        """
        mirror, bodies = self._mirror, self._mirror.bodies
        movers = pairs[:, 0]
        mirror.ensure(np.unique(pairs))
        points, turns = self._body_poses(movers, positions, orientations)
        table = bodies.table.body
        out = np.full(len(pairs), np.inf)
        # One after the other: a mover may be measured at several poses.
        for index, (first, second) in enumerate(table[pairs].tolist()):
            bodies.write_poses(movers[index : index + 1], points[index : index + 1], turns[index : index + 1])
            found = mirror.client.getClosestPoints(first, second, limit)
            if found:
                out[index] = min(point[8] for point in found)
        rows = np.unique(movers)
        # Back to what other queries in this phase must see; the columns are ahead of that.
        _, back_points, back_turns = mirror.staged.poses(rows)
        bodies.write_poses(rows, back_points, back_turns)
        mirror.world.bullet_behind[rows] = True
        return out

    def _body_poses(self, rows: Rows, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        """Return the body poses that put the collision shapes of `rows` at the given poses."""
        world = self._mirror.world
        if world.shape_centred[rows].all():
            return positions, orientations
        turns = quaternions.multiply(orientations, quaternions.conjugate(world.shape_orientation[rows]))
        return positions - quaternions.rotate(turns, world.shape_position[rows]), turns
