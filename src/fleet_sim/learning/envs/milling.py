"""Milling: a swarm whose agents sense one bit each learns to circle in a ring. The reward is a metric of the swarm.

In `MillingEnv` one action sets the behaviour of all agents, in `FleetMilling` each agent has its own action.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import of_extra
from fleet_sim.base.gate import MOST_OBJECTS
from fleet_sim.base.settings import UsedSettings, read, setting
from fleet_sim.learning.envs import episode
from fleet_sim.learning.envs.arena import Observations, scatter_points
from fleet_sim.learning.envs.episode import SpaceBook
from fleet_sim.learning.envs.vector import check_render_mode
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm import Controller, RectangularWorld, World_from_config

if TYPE_CHECKING:
    from fleet_sim.swarm.agents import Group

with of_extra("pettingzoo", "gym", "FleetMilling"):
    from pettingzoo import ParallelEnv

SPEED, TURN = 0.4, 1.2
"""Linear velocity in m/s and angular velocity in rad/s of an agent at action 1."""


class MillingController(Controller):
    """Applies the actions of an environment: from `table` by the agent's bit if it is set, else from `actions`."""

    def __init__(self) -> None:
        self.table: Floats | None = None
        """Actions (2, 2): row 0 for agents that see no one ahead, row 1 for those that do."""
        self.actions: Floats = np.zeros((0, 2))
        """Actions (N, 2), one per agent."""

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        if self.table is not None:
            chosen: Floats = self.table[group.readings[0].astype(np.int64)]
            return chosen
        # Before the first step of an episode there may be no action yet: everybody stands.
        return self.actions if len(self.actions) == len(group) else np.zeros((len(group), 2))


@dataclass
class MillingParams(UsedSettings):
    """Settings of the milling environments."""

    num_agents: int = setting(8, low=2, high=MOST_OBJECTS, doc="Number of agents.")
    theta: float = setting(0.33, above=0, high=3.2, unit="rad", doc="Half the angle of an agent's field of view.")
    distance: float = setting(2.0, above=0, unit="m", doc="Range of an agent's sensor.")
    world_size: float = setting(8.0, above=1, unit="m", doc="Side length of the square world.")
    steps_per_action: int = setting(20, low=1, doc="World steps of 0.05 s per environment step.")
    max_steps: int = setting(60, low=1, doc="Steps after which an episode is truncated.")


class MillingWorld:
    """The swarm: created once, reset for each episode."""

    def __init__(self, params: MillingParams) -> None:
        middle, reach = 0.5 * params.world_size, min(1.0, 0.2 * params.world_size)
        low, high = middle - reach, middle + reach
        agent = {
            "type": "MazeAgent",
            "agent_radius": 0.1,
            "sensors": [{"type": "binary_fov", "theta": params.theta, "distance": params.distance}],
            # By its dotted path, as a world on disk would name it.
            "controller": f"{__name__}:MillingController",
        }
        self.world: RectangularWorld = World_from_config(
            {
                "type": "RectangularWorld",
                "size": [params.world_size, params.world_size],
                "time_step": 0.05,
                "metrics": ["Circliness", "Scatter", "GroupRotation"],
                "spawners": [
                    {
                        "type": "uniform",
                        "n": params.num_agents,
                        "region": [[low, low], [high, low], [high, high], [low, high]],
                        "facing": "away",
                        "avoid_overlap": True,
                        "agent": agent,
                    }
                ],
            }
        )
        self.world.setup()
        self.params = params
        # It works on arrays, so one controller serves all agents.
        controller = self.world.population[0].controller
        assert isinstance(controller, MillingController)
        self.controller = controller

    def begin(self, rng: np.random.Generator) -> None:
        """Begin an episode: agents at random around the centre, facing away from it."""
        # Back to the first state; the poses then come from the generator of the environment.
        self.world.reset()
        size = self.params.world_size
        reach = min(2.0, 0.4 * size)
        points = scatter_points(rng, self.params.num_agents, reach, 0.25, np.empty((0, 2)))
        for row, point in zip(self.group.rows.tolist(), points, strict=True):
            # Points are about the middle, the world's coordinates begin at its corner.
            self.world.place(row, point + 0.5 * size, float(np.arctan2(point[1], point[0])))
        self.controller.table, self.controller.actions = None, np.zeros((0, 2))

    def step(self) -> None:
        """Advance by one step of the environment."""
        # Several steps per action, or a policy would decide far more often than anything changes.
        self.world.evaluate(self.params.steps_per_action)

    @property
    def sim(self) -> MultiRobotSimulationCore:
        """The simulation of the world."""
        return self.world.sim

    @property
    def group(self) -> Group:
        """The agents."""
        return self.world.groups[0]

    def metric(self, name: str) -> float:
        """Return the current value of a metric; 0 before the first step."""
        value = self.world.metric(name).current_value
        # An observation has to be a number, also before there is a value.
        return 0.0 if value is None or not np.isfinite(value) else float(value)

    def draw(self, pixels: int = 480) -> episode.Image:
        """Return a picture (H, W, 3)."""
        size = self.params.world_size
        canvas = episode.ArenaCanvas(pixels, 1.05 * size)
        for start, end in (((-1, -1), (1, -1)), ((1, -1), (1, 1)), ((1, 1), (-1, 1)), ((-1, 1), (-1, -1))):
            canvas.line(0.5 * size * np.array(start, float), 0.5 * size * np.array(end, float), 0.04, episode.OBSTACLE)
        group = self.group
        for place, heading in zip(group.positions - 0.5 * size, group.headings.tolist(), strict=True):
            canvas.disc(place, 0.1, episode.ROBOTS[0])
            canvas.line(place, place + 0.1 * np.array([np.cos(heading), np.sin(heading)]), 0.04, episode.PAPER)
        return canvas.image

    def close(self) -> None:
        """End the world."""
        self.world.close()


class MillingEnv(episode.Rendered[MillingWorld], gym.Env[Observations, Observations]):
    """One action (4,) in [-1, 1] sets the behaviour of all agents of a swarm.

    Elements 0-1: linear and angular velocity of agents that see no one ahead; elements 2-3: of those that do. The
    observation holds circliness, scatter, group rotation, and the share of agents that see another one. The reward is
    the circliness, from 0 to 1. Settings are those of MillingParams.
    """

    metadata: dict[str, Any] = {"render_modes": episode.RENDER_MODES, "render_fps": 10}  # noqa: RUF012  # as the base class has it
    params = episode.Fixed[MillingParams]()

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        check_render_mode(render_mode, episode.RENDER_MODES)
        self.render_mode = render_mode
        self.params = read(MillingParams, settings).in_use("an environment")
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)
        self._steps = 0

    @property
    def swarm(self) -> MillingWorld:
        """The swarm; raises InvalidValueError before the first reset."""
        return episode.begun(self._shown)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode with new random positions; the same seed gives the same ones."""
        super().reset(seed=seed)
        self.begun_anew(lambda: MillingWorld(self.params), lambda shown: shown.begin(self.np_random))
        self._steps = 0
        return self._observe(), {}

    def step(self, action: Observations) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Apply `action` for `steps_per_action` steps of the world."""
        swarm = self.swarm
        # Clipped: policies explore beyond the space.
        swarm.controller.table = np.clip(np.asarray(action, float).reshape(2, 2), -1.0, 1.0) * [SPEED, TURN]
        swarm.step()
        self._steps += 1
        circliness = swarm.metric("Circliness")
        return self._observe(), circliness, False, self._steps >= self.params.max_steps, {"circliness": circliness}

    def _observe(self) -> Observations:
        swarm = self.swarm
        numbers = [swarm.metric(name) for name in ("Circliness", "Scatter", "GroupRotation")]
        numbers.append(float(np.mean(swarm.group.readings[0])))
        return np.clip(numbers, -1.0, 1.0).astype(np.float32)


class FleetMilling(episode.Rendered[MillingWorld], SpaceBook, ParallelEnv[str, Observations, Observations]):
    """Each agent of a swarm has its own action, linear and angular velocity in [-1, 1], and observes only its own bit.

    Agents are "agent_0" and so on; all share the reward, the circliness of the swarm.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "milling_v0",
        "render_modes": episode.RENDER_MODES,
        "render_fps": 10,
        "is_parallelizable": True,
    }
    params = episode.Fixed[MillingParams]()

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        check_render_mode(render_mode, episode.RENDER_MODES)
        self.render_mode = render_mode
        self.params = read(MillingParams, {"steps_per_action": 1, "max_steps": 1200, **settings}).in_use(
            "an environment"
        )
        self.possible_agents = [f"agent_{index}" for index in range(self.params.num_agents)]
        self.agents: list[str] = []
        self.observation_spaces = {name: gym.spaces.MultiBinary(1) for name in self.possible_agents}
        self.action_spaces = {name: gym.spaces.Box(-1.0, 1.0, (2,), np.float32) for name in self.possible_agents}
        self._rng, _ = seeding.np_random(None)
        self._steps = 0

    @property
    def swarm(self) -> MillingWorld:
        """The swarm; raises InvalidValueError before the first reset."""
        return episode.begun(self._shown)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin an episode with new random positions; the same seed gives the same ones."""
        if seed is not None:
            # Without a seed the stream goes on, so that episodes differ.
            self._rng, _ = seeding.np_random(seed)
        shown = self.begun_anew(lambda: MillingWorld(self.params), lambda shown: shown.begin(self._rng))
        self._steps = 0
        self.agents = list(self.possible_agents)
        return self._observe(shown), {name: {} for name in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Apply the action of each agent; an agent without an action stands still."""
        swarm, agents = self.swarm, self.agents
        # After the end of an episode there is nobody to step.
        if not agents:
            return {}, {}, {}, {}, {}
        wanted = np.array([np.asarray(actions.get(name, (0.0, 0.0)), float) for name in self.possible_agents])
        swarm.controller.actions = np.clip(wanted, -1.0, 1.0) * [SPEED, TURN]
        swarm.step()
        self._steps += 1
        circliness, late = swarm.metric("Circliness"), self._steps >= self.params.max_steps
        # PettingZoo ends an episode by having no agents left.
        self.agents = [] if late else agents
        return (
            self._observe(swarm),
            dict.fromkeys(agents, circliness),
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, late),
            {name: {} for name in agents},
        )

    def _observe(self, swarm: MillingWorld) -> dict[str, Any]:
        bits = swarm.group.readings[0].astype(np.int8).reshape(-1, 1)
        return dict(zip(self.possible_agents, bits, strict=True))
