"""Forces and torques of the user, which last one step of the simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_sim.bullet.client import BulletClient

Push = tuple[int, str, dict[str, Any]]
"""Whose body is pushed (as `dynamics.BodySettings` counts bodies), by which function of PyBullet, and its arguments."""


class LastingForces:
    """Applies what pushes before each step of the engine, until the step of the simulation is over.

    PyBullet forgets forces after each of its steps, and a step of the simulation is several of them. Nothing is applied
    before: a body keeps a force that it was given, whatever state the engine is brought to.
    """

    def __init__(self, client: BulletClient, body_of: Callable[[int], int]) -> None:
        """`body_of` returns the body of whom a push is for; NO_BODY where it is gone."""
        self._client = client
        self._body_of = body_of
        self.waiting: list[Push] = []
        """What is applied in the next step."""
        self.enabled = False
        """Whether a simulation steps the engine; where the user does, forces are as long as PyBullet's own."""

    def add(self, subject: int, function: str, given: dict[str, Any]) -> None:
        """Apply a force from the next step of the engine on; without `posObj`, at the centre of mass."""
        self.waiting.append((subject, function, given))

    def apply(self) -> None:
        """Apply all of them, for one step of the engine."""
        client = self._client
        for subject, function, given in self.waiting:
            body = self._body_of(subject)
            if body < 0:
                continue
            if function == "applyExternalForce" and "posObj" not in given:
                # The body moves between steps of the engine, and the point is in world coordinates.
                given = {**given, "posObj": client.getBasePositionAndOrientation(body)[0]}
            key = "objectUniqueId" if function.startswith("apply") else "bodyUniqueId"
            getattr(client, function)(**{key: body}, **given)

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def clear(self) -> None:
        """Forget them: the step is over."""
        self.waiting.clear()
