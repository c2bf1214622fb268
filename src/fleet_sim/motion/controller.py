"""Controllers in plain Python, one per agent: simple to write, but slow for large fleets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from fleet_sim.entities.agent import Agent


class AgentController(ABC):
    """Steers one agent: called in each step before the laws move the robots.

    It commands a velocity, a goal or a path like any other caller; the agent's motion law executes it in the same step,
    within the limits. This costs one Python call per agent and step: for large fleets write a MotionLaw.
    """

    @abstractmethod
    def compute(self, agent: Agent, dt: float) -> None:
        """Command `agent` for the step of `dt` seconds that begins."""

    def save(self) -> dict[str, Any]:
        """Return the controller's state for checkpoints and reset: its attributes.

        The copy is shallow: assign new values to attributes instead of changing them in place.
        """
        return dict(vars(self))

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned."""
        vars(self).clear()
        vars(self).update(saved)
