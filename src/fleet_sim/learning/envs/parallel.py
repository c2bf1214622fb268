"""PettingZoo parallel environments in which every robot of a fleet is an agent: navigation and warehouse."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.errors import of_extra
from fleet_sim.learning.envs import tasks
from fleet_sim.learning.envs.arena import Observations
from fleet_sim.learning.envs.shared import RENDER_MODES, drive_box, observation_box

with of_extra("pettingzoo", "gym", "fleet_navigation"):
    from pettingzoo import ParallelEnv
from gymnasium.utils import seeding

AgentDict = dict[str, Any]
METADATA = {"render_modes": RENDER_MODES, "render_fps": 10, "is_parallelizable": True}


class ArenaParallelEnv(tasks.TaskEnv, ParallelEnv[str, Observations, Observations]):
    """A fleet in one arena; agents are "robot_0", "robot_1" and so on. A subclass sets the task and params classes.

    Observations and actions are those of the Gymnasium environments. An agent whose episode has ended leaves the arena;
    all episodes are truncated after `max_steps`.
    """

    metadata: ClassVar[dict[str, Any]] = {}

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        self.configure(render_mode, settings)
        size = self.task_class.observation_size(self.params)
        self.possible_agents = [f"robot_{robot}" for robot in range(self.params.num_robots)]
        self.agents: list[str] = []
        self.observation_spaces = {name: observation_box(size) for name in self.possible_agents}
        self.action_spaces = {name: drive_box() for name in self.possible_agents}
        self._number = {name: robot for robot, name in enumerate(self.possible_agents)}
        self._rng, _ = seeding.np_random(None)

    def observation_space(self, agent: str) -> Any:
        """Return what `agent` observes: always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return what `agent` can do: always the same object."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observations], dict[str, AgentDict]]:
        """Begin an episode with all robots; the same seed gives the same episode."""
        if seed is not None:
            self._rng, _ = seeding.np_random(seed)
        task = self.begin(self._rng)
        self.agents = list(self.possible_agents)
        return self._observe(task, self.agents), {name: {} for name in self.agents}

    def step(
        self, actions: dict[str, Observations]
    ) -> tuple[dict[str, Observations], dict[str, float], dict[str, bool], dict[str, bool], dict[str, AgentDict]]:
        """Advance by one time step; an agent without an action stops."""
        task = self.task
        if not self.agents:
            return {}, {}, {}, {}, {}
        # Zeros for everybody: who sends no action stops.
        wanted = np.zeros((*task.shape, 2))
        for name, action in actions.items():
            wanted[0, self._number[name]] = action
        outcome = task.step(wanted)
        self._steps += 1
        agents = self.agents
        # Observed before robots are parked: agents that end now still get their last observation.
        observations = self._observe(task, agents)
        late = self._steps >= self.params.max_steps
        index = [self._number[name] for name in agents]
        success, ended = outcome.success[0, index].tolist(), outcome.ended[0, index].tolist()
        rewards = dict(zip(agents, outcome.rewards[0, index].tolist(), strict=True))
        terminated = dict(zip(agents, ended, strict=True))
        # Whoever ended has terminated; only the others were cut off by time.
        truncated = {name: late and not done for name, done in terminated.items()}
        infos: dict[str, AgentDict] = {name: {"is_success": got} for name, got in zip(agents, success, strict=True)}
        if outcome.ended.any():
            task.arena.park(outcome.ended)
        self.agents = [] if late else [name for name in agents if not terminated[name]]
        return observations, rewards, terminated, truncated, infos

    def _observe(self, task: tasks.ArenaTask[Any], agents: list[str]) -> dict[str, Observations]:
        seen = task.observe()[0]
        return {name: seen[self._number[name]] for name in agents}

    def state(self) -> Observations:
        """Return the concatenated observations of all robots, for a central critic."""
        return self.task.observe()[0].reshape(-1)


class FleetNavigation(ArenaParallelEnv):
    """Robots drive to their goals without collisions; an agent ends at its goal or at a collision."""

    task_class = tasks.NavigationTask
    params_class = tasks.NavigationParams
    defaults: ClassVar[dict[str, Any]] = {"num_robots": 8, "arena_size": 12.0}
    metadata: ClassVar[dict[str, Any]] = {"name": "fleet_navigation_v0", **METADATA}


class FleetWarehouse(ArenaParallelEnv):
    """Robots fetch crates at stations on one side and deliver them to the other, until `max_steps`."""

    task_class = tasks.WarehouseTask
    params_class = tasks.WarehouseParams
    metadata: ClassVar[dict[str, Any]] = {"name": "warehouse_v0", **METADATA}
