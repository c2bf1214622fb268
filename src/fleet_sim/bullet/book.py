"""The BodyBook of a simulation: the PyBullet data that handles of entities query."""

from __future__ import annotations

from fleet_sim.arrays import Floats, Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.query import BulletQueries
from fleet_sim.core.contacts import TouchPoint


class BulletBook:
    """Serves the handles of a world from its mirror and queries."""

    def __init__(self, mirror: BulletMirror, queries: BulletQueries) -> None:
        self._mirror = mirror
        self._queries = queries

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of the entity, creating it if needed."""
        return self._mirror.body_id(row)

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity that PyBullet `body` stands for, NO_ROW for none; all bodies are made first."""
        return self._mirror.row_of_body(body)

    def local_bounds(self, shape_id: int) -> tuple[Floats, Floats]:
        """Return centre (3,) and half extents (3,) of a shape in its body frame."""
        return self._queries.local_bounds(shape_id)

    def pose_written(self, rows: Rows) -> None:
        """Handle poses of `rows` that were written outside a step."""
        self._mirror.pose_written(rows)

    def contacts(self, row: int) -> list[TouchPoint]:
        """Return the contacts of the entity in the last step, each with the rows and links that touch."""
        return self._queries.contacts(row)
