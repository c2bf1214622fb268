"""The environments in RLlib, the learning library of Ray: `register_rllib()`, then names as in Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium

from fleet_sim.base.errors import of_extra
from fleet_sim.learning.envs.parallel import AgentDict, ArenaParallelEnv, FleetNavigation, FleetWarehouse
from fleet_sim.learning.envs.shared import ENVIRONMENTS, NAMESPACE, register_all

with of_extra("ray.rllib", "rllib", "training with RLlib"):
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
    from ray.tune.registry import register_env

FLEETS: Mapping[str, Callable[..., ArenaParallelEnv]] = {
    f"{NAMESPACE}/FleetNavigation-v0": FleetNavigation,
    f"{NAMESPACE}/FleetWarehouse-v0": FleetWarehouse,
}
"""The environments in which every robot is an agent, by their names in RLlib."""


class FleetMultiAgentEnv(MultiAgentEnv):
    """A fleet in RLlib: agents, observations and rewards are those of its PettingZoo environment.

    RLlib's own adapter ends an episode only where all agents end in the same way in its last step. Here it ends when
    no agent is left, and counts as truncated where the time limit cut one off.
    """

    def __init__(self, fleet: ArenaParallelEnv) -> None:
        self.fleet = fleet
        self.possible_agents = list(fleet.possible_agents)
        self.agents = list(fleet.possible_agents)
        self.observation_spaces = {name: fleet.observation_space(name) for name in fleet.possible_agents}
        self.action_spaces = {name: fleet.action_space(name) for name in fleet.possible_agents}
        super().__init__()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[AgentDict, AgentDict]:
        """Begin an episode with all robots; the same seed gives the same episode."""
        observations, infos = self.fleet.reset(seed=seed, options=options)
        self.agents = list(self.fleet.agents)
        return observations, infos

    def step(self, action_dict: AgentDict) -> tuple[AgentDict, AgentDict, AgentDict, AgentDict, AgentDict]:
        """Advance by one time step; an agent without an action stops."""
        observations, rewards, terminated, truncated, infos = self.fleet.step(action_dict)
        self.agents = list(self.fleet.agents)
        cut_off, over = any(truncated.values()), not self.agents
        ended, late = {**terminated, "__all__": over and not cut_off}, {**truncated, "__all__": over and cut_off}
        return observations, rewards, ended, late, infos

    def render(self) -> Any:
        """Draw as the fleet does."""
        return self.fleet.render()

    def close(self) -> None:
        """End the simulation."""
        self.fleet.close()


def register_rllib() -> list[str]:
    """Make all environments known to RLlib, also in its env runners; return their names. May be called again.

    Those for one robot have their names of Gymnasium, those for fleets the ones of FLEETS. What RLlib calls
    `env_config` are their settings.
    """
    for name in ENVIRONMENTS:
        register_env(name, partial(_single, name))
    for name in FLEETS:
        register_env(name, partial(_fleet, name))
    return [*ENVIRONMENTS, *FLEETS]


def _single(name: str, settings: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    # In an env runner nobody has registered the ids yet.
    register_all()
    return gymnasium.make(name, **settings)


def _fleet(name: str, settings: Mapping[str, Any]) -> FleetMultiAgentEnv:
    return FleetMultiAgentEnv(FLEETS[name](**settings))
