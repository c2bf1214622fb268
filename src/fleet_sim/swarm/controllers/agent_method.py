"""A controller that asks the agent's own method."""

from __future__ import annotations

from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Controller, SwarmAgent


class AgentMethodController(Controller):
    """Asks the agent: its type, a class of yours derived from one here, has a method `get_actions()`.

    It returns the two numbers of the action.
    """

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        """Return what `agent.get_actions()` does; raises InvalidValueError for a type without that method."""
        decide = getattr(agent, "get_actions", None)
        if not callable(decide):
            raise InvalidValueError(
                f"AgentMethodController: {type(agent).__name__} has no method get_actions(); derive a type of agent"
                " from it that has one, and name that one in `type`"
            )
        first, second = decide()
        return float(first), float(second)
