"""What the engine holds beyond the columns - contacts, impulses of the last step - in checkpoints."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from fleet_sim.bullet.client import NO_BODY, BulletClient
from fleet_sim.bullet.mirror import BulletMirror


class EngineState:
    """A state kept in the engine's memory, for as long as this object lives."""

    def __init__(self, client: BulletClient, version: int) -> None:
        self.epoch = client.epoch
        self.version = version
        self.number = int(client.saveState())
        weakref.finalize(self, _forget, client, client.epoch, self.number)


def _forget(client: BulletClient, epoch: int, number: int) -> None:
    if client.connected and client.epoch == epoch:
        client.removeState(number)


class BulletCheckpoints:
    """Saves and restores the engine with the world, so that a simulation with physics goes on bit by bit as before.

    That holds as long as no body was made or removed since the state was saved. Where some were, the engine begins
    anew from the columns, as it does at the start of a run: going back to the start is exact in any case.
    """

    def __init__(self, mirror: BulletMirror) -> None:
        self._mirror = mirror

    def save(self) -> EngineState | None:
        """Return the engine's state; None where it moves nothing, since the columns are everything then."""
        mirror, world = self._mirror, self._mirror.world
        if not (world.physics and world.dynamic.any()):
            return None
        mirror.ensure()
        mirror.bodies.refresh_masses(world.rows)
        mirror.bodies.refresh_materials(world.rows)
        if mirror.bodies.stepped_version != mirror.bodies.version:
            # Going back finds contacts before the first step; so does setting out, or the two would differ.
            mirror.client.performCollisionDetection()
        return EngineState(mirror.client, mirror.bodies.version)

    def restore(self, saved: Any) -> None:
        """Fit the engine to the columns, which are back already."""
        mirror, world = self._mirror, self._mirror.world
        mirror.reconcile()
        if saved is None:
            return
        if saved.epoch == mirror.client.epoch and saved.version == mirror.bodies.version:
            mirror.client.restoreState(saved.number)
            mirror.bodies.refresh_materials(world.rows[mirror.bodies.table.body[world.rows] != NO_BODY])
            rows = np.flatnonzero(world.dynamic & world.alive)
            world.bullet_behind[rows] = False
            world.robots.joints_behind[rows] = False
            world.joints.motor_behind[: world.joints.used] = True
        elif not (mirror.live or mirror.bodies.table.adopted.any()):
            mirror.reset()
