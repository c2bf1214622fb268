"""BulletEngine: PyBullet as the engine of a simulation, see `core.physics_engine`."""

from __future__ import annotations

import math

from fleet_sim.arrays import Floats, Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.physics import BulletPhysics
from fleet_sim.bullet.query import BulletQueries
from fleet_sim.bullet.saved import BulletCheckpoints
from fleet_sim.core.contacts import Contact

TREMBLING, RESTING = 1.0, 0.05
"""Sleep thresholds of the engine, sums of squared velocities (m/s, rad/s): while falling asleep, and later on."""


class BulletEngine:
    """Steps the dynamic rows of a mirror's world with PyBullet; bodies have PyBullet's numbers."""

    name = "bullet"
    mends_itself = False

    def __init__(self, mirror: BulletMirror, queries: BulletQueries, *, substep: float) -> None:
        self._mirror = mirror
        self._queries = queries
        self._physics = BulletPhysics(mirror, substep=substep)
        self._dozing: list[int] = []
        """Bodies that fall asleep in the next step."""
        self.reactions = mirror.reactions
        self.checkpoints = BulletCheckpoints(mirror)

    def begin_step(self) -> None:
        """Do nothing: the mirror keeps the poses from the beginning of a step."""

    def step(self, dt: float) -> int:
        """Advance dynamic rows by `dt` seconds, in substeps, and read them back; return how many."""
        count = self._physics.step(dt)
        if self._dozing:
            for body in self._dozing:
                self._mirror.client.changeDynamics(body, -1, sleepThreshold=RESTING)
            self._dozing.clear()
        return count

    def contact_pairs(self, limit: float = math.inf) -> Rows:
        """Return the pairs of rows (M, 2) in contact in the last step, at most `limit` m apart: sorted, each once."""
        return self._physics.contact_pairs(limit)

    def contacts(self, row: int) -> list[Contact]:
        """Return the contacts of the entity in the last step, in the engine's order."""
        return self._queries.contacts(row)

    # ---- what pushes, and what sleeps --------------------------------------------------------------------------------

    def push(self, row: int, force: Floats, position: Floats | None) -> None:
        """Push the entity with `force` (3,) in N, world frame, for the next step; at its centre of mass or a point."""
        mirror = self._mirror
        given = {"linkIndex": -1, "forceObj": force.tolist(), "flags": mirror.client.WORLD_FRAME}
        if position is not None:
            given["posObj"] = position.tolist()
        mirror.forces.add(int(mirror.world.object_id[row]), "applyExternalForce", given)

    def twist(self, row: int, torque: Floats) -> None:
        """Turn the entity with `torque` (3,) in Nm, world frame, for the next step."""
        mirror = self._mirror
        given = {"linkIndex": -1, "torqueObj": torque.tolist(), "flags": mirror.client.WORLD_FRAME}
        mirror.forces.add(int(mirror.world.object_id[row]), "applyExternalTorque", given)

    def put_to_sleep(self, rows: Rows) -> None:
        """Stop dynamic `rows` that rest on each other, so that they cost nothing until something touches them."""
        mirror, client = self._mirror, self._mirror.client
        mirror.ensure(rows)
        bodies = mirror.bodies.table.body[rows].tolist()
        for body in bodies:
            client.resetBaseVelocity(body, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            client.changeDynamics(
                body, -1, activationState=client.ACTIVATION_STATE_ENABLE_SLEEPING, sleepThreshold=TREMBLING
            )
            client.changeDynamics(body, -1, activationState=client.ACTIVATION_STATE_SLEEP)
        # They fall asleep in the next step. The high threshold is for it only: a high heap trembles that fast, but
        # later an object with that velocity really moves and must stay awake.
        self._dozing = bodies

    def wake_up(self, rows: Rows) -> None:
        """Let sleeping `rows` move again."""
        mirror, client = self._mirror, self._mirror.client
        mirror.ensure(rows)
        for body in mirror.bodies.table.body[rows].tolist():
            client.changeDynamics(body, -1, activationState=client.ACTIVATION_STATE_WAKE_UP)

    # ---- numbers of bodies -------------------------------------------------------------------------------------------

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of the entity, creating it if needed."""
        return self._mirror.body_id(row)

    def tell_body(self, row: int) -> int:
        """As `body_id`, for users: PyBullet keeps up with that body from now on."""
        return self._mirror.tell_body(row)

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity that PyBullet `body` stands for, NO_ROW for none; all bodies are made first."""
        return self._mirror.row_of_body(body)

    def other_body(self, body: int) -> str:
        """Return what PyBullet `body` is that stands for no entity; "" where there is no such body."""
        return self._mirror.other_body(body)

    def floor_id(self) -> int:
        """Return the number of the floor's body, -1 for none."""
        self._mirror.client.connect()
        return int(self._mirror.client.floor_id)

    def pose_written(self, rows: Rows) -> None:
        """Handle poses of `rows` that were written outside a step."""
        self._mirror.pose_written(rows)

    def reset(self) -> None:
        """Forget all bodies and contacts; what the columns hold is made again when it is needed."""
        self._dozing.clear()
        self._mirror.reset()
