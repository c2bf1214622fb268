"""NavigationEnv: one robot reaches its goal; the others of its world, if any, drive to theirs by a simple rule."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from fleet_sim.envs.drawing import Image
from fleet_sim.envs.navigation import NavigationParams, NavigationTask
from fleet_sim.envs.observations import Observations
from fleet_sim.envs.spaces import drive_box, observation_box
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import read


class NavigationEnv(gym.Env[Observations, Observations]):
    """A robot with a differential drive reaches a goal between obstacles and other robots.

    Observation (float32): distance and direction of the goal, own speeds, then the nearest robots and obstacles.
    Action: speed and turning speed in [-1, 1]. An episode ends at the goal or at the first touch, and is cut after
    `max_steps`. `info` says `is_success` and `distance`. Settings are those of NavigationParams.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as the base class declares it
        "render_modes": ["rgb_array"],
        "render_fps": 10,
    }

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.params = read(NavigationParams, settings)
        self.observation_space = observation_box(self.params.observation_size)
        self.action_space = drive_box()
        self._task: NavigationTask | None = None
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode; the same seed gives the same one."""
        super().reset(seed=seed)
        if self._task is None:
            self._task = NavigationTask(self.params)
        self._task.reset_world(0, self.np_random)
        self._steps = 0
        return self._task.observe()[0, 0], self._info(False)

    def step(self, action: Observations) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Move by one time step."""
        task = self._running()
        actions = self._others(task)
        actions[0, 0] = action
        outcome = task.step(actions)
        self._steps += 1
        done_mask = outcome.reached | outcome.collided
        done_mask[0, 0] = False
        if done_mask.any():
            task.arena.park(done_mask)
        reached, collided = bool(outcome.reached[0, 0]), bool(outcome.collided[0, 0])
        truncated = self._steps >= self.params.max_steps
        observation = task.observe()[0, 0]
        return observation, float(outcome.rewards[0, 0]), reached or collided, truncated, self._info(reached)

    def _others(self, task: NavigationTask) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return actions (1, R, 2) with which robots turn towards their goals and drive when they look there."""
        arena = task.arena
        offsets = task.goals - arena.positions
        bearing = np.arctan2(offsets[..., 1], offsets[..., 0]) - arena.headings
        bearing = (bearing + np.pi) % (2.0 * np.pi) - np.pi
        return np.stack([np.maximum(0.0, np.cos(bearing)), np.clip(bearing, -1.0, 1.0)], axis=-1)

    def _info(self, reached: bool) -> dict[str, Any]:
        assert self._task is not None
        return {"is_success": reached, "distance": float(self._task.distances[0, 0])}

    def _running(self) -> NavigationTask:
        if self._task is None:
            raise InvalidValueError("step() and render() need a running episode; call reset() first")
        return self._task

    def render(self) -> Image | None:
        """Return a top view (480, 480, 3), or None without a render mode."""
        return None if self.render_mode is None else self._running().draw()

    def close(self) -> None:
        """End the simulation; may be called again."""
        if self._task is not None:
            self._task.close()
            self._task = None


def check_render_mode(mode: str | None, allowed: list[str]) -> None:
    """Raise InvalidValueError unless `mode` is None or one of `allowed`."""
    if mode is not None and mode not in allowed:
        raise InvalidValueError(f"render_mode: expected one of {', '.join(allowed)} or None, got {mode!r}")
