"""AgentPlugin: what users derive plugins of one agent from."""

from __future__ import annotations

from fleet_sim.core.plugins import AgentHooks
from fleet_sim.entities.agent import Agent


class AgentPlugin(AgentHooks[Agent]):
    """Base of plugins of one agent: the same idea, a Python call per agent and step.

    `agent` is the agent, `config` what was given with the plugin.
    """
