"""Adapter of vectorized environments to the VecEnv of stable-baselines3."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from fleet_sim.base.errors import InvalidValueError, of_extra

with of_extra("stable_baselines3", "learn", "training with stable-baselines3"):
    from stable_baselines3.common.vec_env import VecEnv


class FleetVecEnv(VecEnv):
    """What `gymnasium.make_vec` returns of any environment, for stable-baselines3, with `autoreset_mode` SAME_STEP.

    There are no worker processes: an ArenaVectorEnv moves all robots in one step, others one world after the other.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        if envs.metadata.get("autoreset_mode") is not AutoresetMode.SAME_STEP:
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
        """Reset all worlds, with the seed of the last call of `seed`, which is used once."""
        seen, _ = self.envs.reset(seed=self._seed)
        self._seed = None
        return seen

    def step_async(self, actions: Any) -> None:
        """Store the actions of the next step."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Make the step."""
        seen, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        dones = terminated | truncated
        # stable-baselines3 expects one dictionary per environment, with keys of its own.
        sb3_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(dones).tolist():
            last = infos["final_info"]
            sb3_infos[index] = {
                "terminal_observation": infos["final_obs"][index],
                "TimeLimit.truncated": bool(truncated[index]),
            }
            # Of bin picking success is a pick; environments of others may have none.
            success = last.get("is_success", last.get("successful_grab"))
            if success is not None:
                sb3_infos[index]["is_success"] = bool(success[index])
        return seen, rewards.astype(np.float32), dones, sb3_infos

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Store the seed of the next reset; return the seeds."""
        self._seed = seed
        return [None if seed is None else seed + index for index in range(self.num_envs)]

    def close(self) -> None:
        """End the simulation."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute, once per robot; all robots share it."""
        return [getattr(self.envs, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute for all robots."""
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of the environment, once for all robots."""
        return [getattr(self.envs, method_name)(*args, **kwargs)] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for each robot: wrappers of single environments are not supported."""
        return [False] * len(list(self._get_indices(indices)))
