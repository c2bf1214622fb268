"""Our vector environments as those of stable-baselines3."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from fleet_sim.envs.vector import NavigationVectorEnv
from fleet_sim.errors import InvalidValueError, missing_extra

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise missing_extra("stable_baselines3", "learn", "training with stable-baselines3") from error


class FleetVecEnv(VecEnv):
    """A NavigationVectorEnv for stable-baselines3: nothing is copied to other processes, one step moves all robots."""

    def __init__(self, envs: NavigationVectorEnv) -> None:
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise InvalidValueError(
                "stable-baselines3 expects the observation of the next episode at once; "
                "make the environment with autoreset_mode=AutoresetMode.SAME_STEP"
            )
        self.envs = envs
        self.render_mode = envs.render_mode
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._actions: Any = None
        self._seed: int | None = None

    def reset(self) -> Any:
        """Begin anew, with the seed given by `seed` since the last time."""
        seen, _ = self.envs.reset(seed=self._seed)
        self._seed = None
        return seen

    def step_async(self, actions: Any) -> None:
        """Take the actions of the next step."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Make the step."""
        seen, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        dones = terminated | truncated
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(dones).tolist():
            told[index] = {
                "terminal_observation": infos["final_obs"][index],
                "TimeLimit.truncated": bool(truncated[index]),
                "is_success": bool(infos["is_success"][index]),
            }
        return seen, rewards.astype(np.float32), dones, told

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seed the next reset."""
        self._seed = seed
        return [None if seed is None else seed + index for index in range(self.num_envs)]

    def close(self) -> None:
        """End the simulation."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute, the same for all robots."""
        return [getattr(self.envs, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute for all robots."""
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of the environment, once for all robots."""
        return [getattr(self.envs, method_name)(*args, **kwargs)] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return that robots are not wrapped one by one."""
        return [False] * len(list(self._get_indices(indices)))
