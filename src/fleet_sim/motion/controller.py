"""Controllers in plain Python, one per agent: the slow but simple way to steer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from fleet_sim.entities.agent import Agent


class AgentController(ABC):
    """Steers one agent: asked in each step before the laws move the robots.

    It gives the agent a velocity, a goal or a path as any other caller would; the agent's motion law carries it out in
    the same step, limits included. One Python call per agent and step: for large fleets write a MotionLaw.
    """

    @abstractmethod
    def compute(self, agent: Agent, dt: float) -> None:
        """Look at `agent` and command it for the step of `dt` seconds that begins."""

    def save(self) -> dict[str, Any]:
        """Return the controller's state, for checkpoints and reset: its attributes, to be replaced, not changed."""
        return dict(vars(self))

    def restore(self, saved: dict[str, Any]) -> None:
        """Go back to what `save` returned."""
        vars(self).clear()
        vars(self).update(saved)
