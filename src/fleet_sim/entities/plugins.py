"""AgentPlugin: the base class of plugins of one agent."""

from __future__ import annotations

from fleet_sim.core.plugins import AgentHooks
from fleet_sim.entities.agent import Agent


class AgentPlugin(AgentHooks[Agent]):
    """Base class of plugins of one agent; costs one Python call per agent and step.

    `agent` is the agent, `config` the value given with the plugin.
    """
