"""The BodyBook of a simulation: the PyBullet data that handles of entities query."""

from __future__ import annotations

from functools import partial

from fleet_sim.arrays import Floats, Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.query import BulletQueries
from fleet_sim.core.contacts import Contact


class BulletBook:
    """Serves the handles of a world from its mirror and queries."""

    def __init__(self, mirror: BulletMirror, queries: BulletQueries) -> None:
        self._mirror = mirror
        self._queries = queries

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of the entity, creating it if needed."""
        return self._mirror.body_id(row)

    def tell_body(self, row: int) -> int:
        """As `body_id`, for users: PyBullet keeps up with that body from now on."""
        return self._mirror.tell_body(row)

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity that PyBullet `body` stands for, NO_ROW for none; all bodies are made first."""
        return self._mirror.row_of_body(body)

    def local_bounds(self, shape_id: int) -> tuple[Floats, Floats]:
        """Return centre (3,) and half extents (3,) of a shape in its body frame."""
        return self._queries.local_bounds(shape_id)

    def pose_written(self, rows: Rows) -> None:
        """Handle poses of `rows` that were written outside a step."""
        self._mirror.pose_written(rows)

    def push(self, row: int, force: Floats, position: Floats | None) -> None:
        """Push the entity with `force` (3,) in N, world frame, for the next step; at its centre of mass or a point."""
        mirror = self._mirror
        body, client = mirror.body_id(row), mirror.client
        apply = partial(self._push_centre, body, force.tolist())
        if position is not None:
            apply = partial(client.applyExternalForce, body, -1, force.tolist(), position.tolist(), client.WORLD_FRAME)
        apply()
        mirror.forces.add(apply)

    def _push_centre(self, body: int, force: list[float]) -> None:
        client = self._mirror.client
        # Read at each push: the body moves between substeps, and the point is in world coordinates.
        centre = client.getBasePositionAndOrientation(body)[0]
        client.applyExternalForce(body, -1, force, centre, client.WORLD_FRAME)

    def twist(self, row: int, torque: Floats) -> None:
        """Turn the entity with `torque` (3,) in Nm, world frame, for the next step."""
        mirror = self._mirror
        body, client = mirror.body_id(row), mirror.client
        apply = partial(client.applyExternalTorque, body, -1, torque.tolist(), client.WORLD_FRAME)
        apply()
        mirror.forces.add(apply)

    def contacts(self, row: int) -> list[Contact]:
        """Return the contacts of the entity in the last step of physics."""
        return self._queries.contacts(row)
