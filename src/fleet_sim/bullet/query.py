"""Queries of PyBullet by row: distances, boxes, contacts, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Rows, as_float
from fleet_sim.bullet.client import NO_BODY
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.models import inertial_frame
from fleet_sim.core.contacts import Contact, Vector
from fleet_sim.core.shapes import BodyShape
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial.shapes import ShapeKind


class BulletQueries:
    """Queries by row; only the queried rows get bodies and are written."""

    def __init__(self, mirror: BulletMirror) -> None:
        self.mirror = mirror
        self.world = mirror.world
        self._bounds: dict[int, tuple[Floats, Floats]] = {}

    def closest_distances(self, pairs: Rows, limit: float) -> Floats:
        """Return the distance in m of each pair of rows (M, 2) -> (M,), negative where they overlap.

        Infinite if they are farther apart than `limit` or have no collision shape. All links of models are included.
        """
        pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
        distances = np.full(len(pairs), np.inf)
        if not len(pairs):
            return distances
        limit = as_float(limit, "limit", low=0.0)
        self.mirror.ensure(np.unique(pairs))
        ask = self.mirror.client.getClosestPoints
        bodies = self.mirror.bodies.table.body[pairs].tolist()
        for index, (first, second) in enumerate(bodies):
            # Entry 8 of a point is the distance; a body of several links has several points.
            points = ask(first, second, limit)
            if points:
                distances[index] = min(point[8] for point in points)
        return distances

    def aabbs(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return the world boxes (N, 3), (N, 3) around all links of `rows`; a body without shape is a point."""
        rows = np.asarray(rows, np.int64)
        self.mirror.ensure(rows)
        boxes = [self._aabb(body) for body in self.mirror.bodies.table.body[rows].tolist()]
        lower = np.array([box[0] for box in boxes], np.float64).reshape(-1, 3)
        upper = np.array([box[1] for box in boxes], np.float64).reshape(-1, 3)
        return lower, upper

    def contacts(self, row: int) -> list[Contact]:
        """Return the contact points of the entity in `row` in the last step of physics, in the engine's order."""
        mirror = self.mirror
        body = int(mirror.bodies.table.body[row])
        if body == NO_BODY or not mirror.client.connected:
            return []
        # Without `ensure`: these are the contacts of the last step, whatever was written since.
        points = mirror.client.getContactPoints(bodyA=body) or ()
        rows = mirror.rows_of_bodies([point[2] for point in points]).tolist()
        others = [None if row < 0 else self.world.handles[row] for row in rows]
        return [
            Contact(other, point[3], point[4], point[6], point[7], point[8], point[9], _friction(point))
            for other, point in zip(others, points, strict=True)
        ]

    def local_bounds(self, shape_id: int) -> tuple[Floats, Floats]:
        """Return centre and half extents (3,), (3,) of the box around a shape's collision geometry, in the body frame.

        A model is measured with all links, its joints at zero. Raises InvalidValueError for unusable files and for
        planes, which are unbounded.
        """
        known = self._bounds.get(shape_id)
        if known is None:
            known = self._bounds[shape_id] = self._measure(self.world.shapes[shape_id])
        # Copies: the cached arrays serve all bodies of this shape.
        return known[0].copy(), known[1].copy()

    def body_bounds(self, row: int) -> tuple[Floats, Floats]:
        """Return centre and half extents (3,), (3,) of the body of `row` in its body frame, at present joint values.

        For bodies the user made and registered. The body is rotated upright for the measurement and put back.
        """
        self.mirror.ensure(np.array([row], np.int64))
        return self._measure_body(int(self.mirror.bodies.table.body[row]))

    def _measure(self, shape: BodyShape) -> tuple[Floats, Floats]:
        """Return center and half extents (3,) in m of a shape, in the frame of its body.

        Measured by a body that is made for it and removed again. Raises InvalidValueError for a plane.
        """
        if shape.collision is not None and shape.collision.kind == ShapeKind.PLANE:
            raise InvalidValueError("a plane is unbounded and has no bounds; query a finite shape")
        bodies = self.mirror.bodies
        body = bodies.create_loose(shape)
        try:
            return self._measure_body(body)
        finally:
            bodies.remove_loose(body)

    def _measure_body(self, body: int) -> tuple[Floats, Floats]:
        """Return center and half extents (3,) in m of the box around a body, in its base frame.

        The body is moved for it, and put back with its velocity.
        """
        client = self.mirror.client
        pose = client.getBasePositionAndOrientation(body)
        # Writing a pose also stops a body, so its velocity is put back as well.
        twist = client.getBaseVelocity(body)
        com_position, com_orientation = inertial_frame(client, body)
        # With the centre of mass at its offset, the base frame is at the origin and the box is in that frame.
        client.resetBasePositionAndOrientation(body, com_position.tolist(), com_orientation.tolist())
        lower, upper = (np.array(corner) for corner in self._aabb(body))
        client.resetBasePositionAndOrientation(body, *pose)
        client.resetBaseVelocity(body, *twist)
        return 0.5 * (lower + upper), 0.5 * (upper - lower)

    def _aabb(self, body: int) -> tuple[list[float], list[float]]:
        """Return the lower and the upper corner in the world, in m, of the box around all links of a body that collide.

        A body of which nothing collides has both corners at its base.
        """
        client = self.mirror.client
        boxes = [client.getAABB(body, link) for link in range(-1, client.getNumJoints(body))]
        # What does not collide has the box of a point. Asking for shapes would miss height fields.
        boxes = [box for box in boxes if box[0] != box[1]]
        if not boxes:
            point = list(client.getBasePositionAndOrientation(body)[0])
            return point, point
        lower = [min(box[0][axis] for box in boxes) for axis in range(3)]
        upper = [max(box[1][axis] for box in boxes) for axis in range(3)]
        return lower, upper


def _friction(point: Any) -> Vector:
    """Return the friction force (along the surface) of a PyBullet contact point."""
    first, first_way, second, second_way = point[10:14]
    x, y, z = (first * a + second * b for a, b in zip(first_way, second_way, strict=True))
    return x, y, z
