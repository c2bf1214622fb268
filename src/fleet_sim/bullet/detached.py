"""Bodies of users that entities stood for which were removed: a restored state brings those entities back."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.bullet.bodies import BulletBodies
from fleet_sim.bullet.client import NO_BODY
from fleet_sim.errors import InvalidValueError


class DetachedBodies:
    """Keeps which body an entity stood for, as bodies of users stay in PyBullet when their entity is removed."""

    def __init__(self, bodies: BulletBodies) -> None:
        self._bodies = bodies
        self._epoch = bodies.client.epoch
        self._kept: dict[int, int] = {}
        """Body by object id."""

    def note(self, rows: Rows) -> None:
        """Keep the bodies of `rows`, which are removed now, as far as they are users' own."""
        table = self._bodies.table
        rows = rows[table.adopted[rows]]
        if len(rows):
            self._renew()
            self._kept.update(zip(table.owner[rows].tolist(), table.body[rows].tolist(), strict=True))

    def forget(self, body: object) -> None:
        """Forget `body`, which the user removed: PyBullet gives its number to another one."""
        if self._kept:
            self._kept = {owner: kept for owner, kept in self._kept.items() if kept != body}

    def take_back(self, rows: Rows) -> Rows:
        """Give those of `rows` their bodies, at their poses, that had one which is still there; return the others."""
        if not self._kept:
            return rows
        self._renew()
        return rows[[not self._taken(row) for row in rows.tolist()]]

    def _taken(self, row: int) -> bool:
        """Give `row` back the body that it had; return whether it has one again, at the pose of the columns."""
        bodies, world = self._bodies, self._bodies.world
        body = self._kept.pop(int(world.object_id[row]), NO_BODY)
        if body == NO_BODY or bodies.rows_of_bodies([body])[0] >= 0:
            return False
        one = np.array([row])
        position, orientation = world.position[one], world.orientation[one]
        try:
            # It copies the pose that the body has in PyBullet.
            bodies.adopt(row, body)
        except InvalidValueError:  # the user removed the body where nobody saw it
            return False
        world.position[one], world.orientation[one] = position, orientation
        bodies.write_poses(one, position, orientation)
        if world.physics and world.robots.model[row] >= 0:
            bodies.joints.prepare(row)
        return True

    def _renew(self) -> None:
        # The numbers of an emptied engine begin anew.
        if self._epoch != self._bodies.client.epoch:
            self._epoch = self._bodies.client.epoch
            self._kept.clear()
