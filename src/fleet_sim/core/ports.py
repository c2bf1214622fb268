"""What the core knows of features above it: the calls an entity's handle needs, without importing the feature."""

from __future__ import annotations

from typing import Any, Protocol

from fleet_sim.errors import StateError


class ActionBook(Protocol):
    """The action queues of all agents."""

    def add(self, row: int, action: Any) -> None:
        """Append `action` to the queue of the agent in `row`."""

    def cancel(self, row: int, reason: str) -> bool:
        """End the running and all queued actions CANCELLED with `reason`; returns whether there were any."""

    def current(self, row: int) -> Any | None:
        """Return the running action, or None."""

    def queued(self, row: int) -> int:
        """Return how many actions are running or waiting."""


class NoActions:
    """The ActionBook of a world without an action system."""

    def add(self, row: int, action: Any) -> None:
        """Raise StateError."""
        raise StateError("this world has no action system; use MultiRobotSimulationCore")

    def cancel(self, row: int, reason: str) -> bool:
        """There is nothing to cancel."""
        return False

    def current(self, row: int) -> Any | None:
        """There is no action."""
        return None

    def queued(self, row: int) -> int:
        """There is no queue."""
        return 0
