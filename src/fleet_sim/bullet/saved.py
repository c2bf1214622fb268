"""Checkpoints of engine state that is not in the columns: contacts and the impulses of the last step.

PyBullet's own states lack the order in which contacts are solved, and motors; both are brought to what they were.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.bullet.adopted import count_own
from fleet_sim.bullet.client import NO_BODY, BulletClient
from fleet_sim.bullet.dynamics import MOTORS, Kept, body_of_own
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.core.saving.forms import Form
from fleet_sim.core.schema import UNIT_QUATERNION
from fleet_sim.errors import StateFileError

FAR, APART = 1e6, 1e3
"""In metres: a place far from everything, and a distance at which bodies do not meet there."""
PAIRS_PER_BODY = 8
"""Assumed maximum number of pairs of near bodies, per body."""
MOST_REMOVED = 200
"""Removed bodies after which going back to a saved state empties the engine, if there are no more than these to be made
again: PyBullet keeps 0.8 kB of each."""


class EngineState:
    """A state in the engine's memory, kept as long as this object lives."""

    def __init__(self, mirror: BulletMirror) -> None:
        client = mirror.client
        # What PyBullet counts of bodies, as those made elsewhere have no version here.
        self.epoch = client.epoch
        self.version = mirror.bodies.version
        self.kept = mirror.bodies.dynamics.kept
        """What is in none of PyBullet's states: dynamics that the user set, motors, and forces that wait."""
        self.forces = list(mirror.forces.waiting)
        self.bodies = int(client.getNumBodies())
        self.number = int(client.saveState())
        # Neither `self` nor the client, which knows the world that keeps states: both would be kept alive for ever.
        weakref.finalize(self, _forget, weakref.ref(client), client.epoch, self.number)


@dataclass(frozen=True, eq=False)
class StoredEngine:
    """A state of the engine from a file: its bytes, the rows in the order of their bodies, what users set of them."""

    content: bytes
    order: Rows
    kept: Kept


def _forget(owner: weakref.ref[BulletClient], epoch: int, number: int) -> None:
    client = owner()
    if client is not None and client.connected and client.epoch == epoch:
        client.removeState(number)


class BulletCheckpoints:
    """Saves and restores the engine with the world, so that a simulation with physics continues bit for bit as before.

    This holds as long as no body was made or removed since the state was saved. Otherwise the engine is built again
    from the columns, as at the start of a run: going back to the start is exact in any case.
    """

    def __init__(self, mirror: BulletMirror) -> None:
        self._mirror = mirror

    def save(self) -> EngineState | None:
        """Return the engine's state; None if it moves nothing, as the columns then hold the whole state."""
        mirror, world = self._mirror, self._mirror.world
        if not (world.physics and mirror.engine_moves):
            return None
        mirror.ensure()
        self._prepare()
        state = EngineState(mirror)
        # Goes to the state just saved: the run that continues and the one restored later then solve contacts alike.
        self._go_to({"stateId": state.number})
        return state

    def _prepare(self) -> None:
        mirror, rows = self._mirror, self._mirror.world.rows
        # The engine has to have what the columns say before it is saved.
        mirror.bodies.refresh_masses(rows)
        mirror.bodies.refresh_materials(rows)
        mirror.filters.refresh()

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how the engine's state is written in state files: as PyBullet writes it."""
        yield Form("engine", EngineState, self._written, _stored)

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError for what is no state of the engine."""
        if saved is not None and not isinstance(saved, StoredEngine):
            raise StateFileError("the engine's state is not as it was written")

    def _written(self, state: EngineState) -> object:
        """Return the engine's state, which must be that of `state`, as it is when this was saved just now."""
        mirror, world = self._mirror, self._mirror.world
        if mirror.live or mirror.bodies.table.adopted[world.rows].any() or any(count_own(mirror)):
            raise StateFileError(
                "bodies or constraints were made with PyBullet's own functions, or its client was handed out: what was "
                "done there is in no file"
            )
        if mirror.forces:
            # A file has no forces: the next step would be another one.
            raise StateFileError("forces wait for the next step; save the state before they are applied")
        rows = world.rows
        # Bodies are made in this order when the state is read.
        rows = rows[np.argsort(mirror.bodies.table.body[rows], kind="stable")]
        with TemporaryDirectory() as folder:
            file = Path(folder, "state.bullet")
            mirror.client.saveBullet(str(file))
            return file.read_bytes(), rows, mirror.bodies.dynamics.kept

    def _load(self, stored: StoredEngine) -> None:
        """Make all bodies anew, in the order that they had, and give them the engine's state from a file."""
        mirror, world = self._mirror, self._mirror.world
        if not np.array_equal(np.sort(stored.order), np.sort(world.rows)):
            raise StateFileError("the engine's state is one of other bodies")
        mirror.reset()
        mirror.forces.clear()
        mirror.bodies.dynamics.take(stored.kept)
        mirror.ensure(stored.order)
        self._prepare()
        with TemporaryDirectory() as folder:
            file = Path(folder, "state.bullet")
            file.write_bytes(stored.content)
            try:
                self._go_to({"fileName": str(file)})
            except mirror.client.module.error as error:
                raise StateFileError(f"PyBullet does not take the engine's state back: {error}") from error
        self._catch_up()

    def restore(self, saved: Any) -> None:
        """Restore the engine's state; the columns must be restored already."""
        if isinstance(saved, StoredEngine):
            self._load(saved)
            return
        mirror = self._mirror
        dynamics = mirror.bodies.dynamics
        mirror.forces.clear()
        if saved is not None:
            mirror.forces.waiting += saved.forces
            kept, now = saved.kept, dynamics.kept
            dynamics.take(kept)
        mirror.reconcile()
        if saved is None:
            # Emptied at times only, as making all bodies anew takes long.
            if mirror.bodies.removed > max(MOST_REMOVED, mirror.bodies.count) and not mirror.known_to_user:
                mirror.reset()
            return
        rebuilds = not (mirror.live or mirror.bodies.table.adopted.any() or mirror.has_others)
        if (
            saved.epoch == mirror.client.epoch
            and saved.version == mirror.bodies.version
            and saved.bodies == mirror.client.getNumBodies()
            # PyBullet cannot tell what it had before; a body that is made anew has it.
            and not (rebuilds and _without_motors(kept) != _without_motors(now))
        ):
            # Filters first: changing a filter after the engine is restored would drop restored contacts.
            mirror.filters.refresh()
            self._go_to({"stateId": saved.number})
            self._catch_up()
            self._restore_own_motors(now)
        elif rebuilds:
            mirror.reset()
            # Makes all bodies and brings the engine to a definite order of contacts, as at the start of a run.
            self.save()

    def _restore_own_motors(self, now: Kept) -> None:
        """Give motors of the user's own bodies their commands again, where another one was given since: `now`."""
        client, dynamics = self._mirror.client, self._mirror.bodies.dynamics
        for subject, settings in now.items():
            for what, joint in settings:
                if what != MOTORS or body_of_own(subject) < 0:
                    continue
                # As PyBullet makes a motor, with an impulse of 1.
                begun = {"controlMode": client.VELOCITY_CONTROL, "force": 1.0 / client.timestep}
                given = dict(dynamics.kept_of(subject).get((what, joint), begun))
                function = given.pop("function", "setJointMotorControl2")
                getattr(client, function)(body_of_own(subject), joint, **given)

    def _catch_up(self) -> None:
        """Note that the engine has what the columns say of bodies that it moves."""
        mirror, world = self._mirror, self._mirror.world
        mirror.bodies.refresh_materials(world.rows[mirror.bodies.table.body[world.rows] != NO_BODY])
        rows = np.flatnonzero(world.dynamic & world.alive)
        world.bullet_behind[rows] = False
        world.robots.joints_behind[rows] = False
        # Motors are no part of the engine's states.
        world.joints.motor_behind[: world.joints.used] = True

    def _go_to(self, place: dict[str, Any]) -> None:
        """Bring the engine to a state in its memory or in a file: `place` are the arguments of restoreState.

        The result is the same whatever its present state is.

        Contacts are solved in the order in which bodies first met, which a saved state does not contain. So all bodies
        are moved apart first: after restoring, they meet again in the order of their ids.
        """
        bodies = self._mirror.bodies
        client = self._mirror.client
        with client.quiet():
            if bodies.met:
                self._take_apart()
            self._mirror.filters.renumber()
            client.restoreState(**place)
        bodies.met = True

    def _take_apart(self) -> None:
        """Move bodies far apart until the engine has dropped all its pairs of near bodies.

        The engine checks a tenth of its pairs, at least one, whenever something has moved. So the number of rounds
        grows with the logarithm of the number of pairs.
        """
        mirror, world = self._mirror, self._mirror.world
        client, table = mirror.client, mirror.bodies.table
        rows = world.rows
        # Enough to part all pairs: two of the others never collide.
        bodies = table.body[rows[(table.mass[rows] > 0.0) | table.model[rows]]].tolist()
        pairs = PAIRS_PER_BODY * len(bodies)
        for turn in range(int(20.0 + 10.0 * math.log(1.0 + pairs))):
            for index, body in enumerate(bodies):
                client.resetBasePositionAndOrientation(body, (APART * index, FAR + APART * turn, FAR), UNIT_QUATERNION)
            client.performCollisionDetection()


def _without_motors(kept: Kept) -> list[tuple[int, str, int, str]]:
    """Return what is kept but for motors, in a form that compares arrays and lists by their numbers."""
    return sorted(
        (subject, what, link, repr(sorted((name, np.asarray(value).tolist()) for name, value in values.items())))
        for subject, settings in kept.items()
        for (what, link), values in settings.items()
        if what != MOTORS
    )


def _stored(saved: tuple[bytes, Rows, Kept]) -> StoredEngine:
    content, order, kept = saved
    if not isinstance(content, bytes) or not isinstance(order, np.ndarray) or order.dtype != np.int64:
        raise StateFileError("the engine's state is not as it was written")
    return StoredEngine(content, order, kept)
