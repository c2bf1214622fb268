"""Forces and torques of the user, which last one step of the simulation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fleet_sim.bullet.client import BulletClient

Push = Callable[[], Any]
"""Applies a force or a torque, as PyBullet was told to."""


class LastingForces:
    """Applies what pushes again before each step of the engine, until the step of the simulation is over.

    PyBullet forgets forces after each of its steps, and a step of the simulation is several of them.
    """

    def __init__(self, client: BulletClient) -> None:
        self._client = client
        self._pushes: list[Push] = []
        self.enabled = False
        """Whether a simulation steps the engine; where the user does, forces are as long as PyBullet's own."""

    def add(self, push: Push) -> None:
        """Remember what has been applied once already."""
        if self.enabled:
            self._pushes.append(push)

    def again(self) -> None:
        """Apply all of them once more."""
        for push in self._pushes:
            # Its body may have been removed since.
            with suppress(self._client.module.error):
                push()

    def __bool__(self) -> bool:
        return bool(self._pushes)

    def clear(self) -> None:
        """Forget them: the step is over, or the engine was emptied."""
        self._pushes.clear()
