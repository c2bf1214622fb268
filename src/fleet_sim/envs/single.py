"""Gymnasium environments for one robot; other robots in its world drive to their goals by a simple rule."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from fleet_sim.envs.episode import RENDER_MODES, Fixed, Rendered, begun
from fleet_sim.envs.navigation import NavigationParams, NavigationTask
from fleet_sim.envs.observations import Observations
from fleet_sim.envs.spaces import drive_box, observation_box
from fleet_sim.envs.task import ArenaTask, TaskParams
from fleet_sim.envs.warehouse import WarehouseParams, WarehouseTask
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import read


class ArenaEnv(Rendered[ArenaTask[Any]], gym.Env[Observations, Observations]):
    """One robot of an arena. A subclass sets the task and params classes."""

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 10}  # noqa: RUF012  # as the base class has it
    task_class: type[ArenaTask[Any]]
    params_class: type[TaskParams]
    params = Fixed[TaskParams]()

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.params = read(self.params_class, settings).in_use("an environment")
        self.observation_space = observation_box(self.task_class.observation_size(self.params))
        self.action_space = drive_box()
        self._steps = 0

    @property
    def task(self) -> ArenaTask[Any]:
        """The task; raises InvalidValueError before the first reset."""
        return begun(self._shown)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode; the same seed gives the same episode."""
        super().reset(seed=seed)
        shown = self.begun_anew(
            lambda: self.task_class(self.params), lambda shown: shown.reset_world(0, self.np_random)
        )
        self._steps = 0
        return shown.observe()[0, 0], self._info(False)

    def step(self, action: Observations) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Advance by one time step."""
        task = self.task
        actions = task.simple_actions()
        actions[0, 0] = action
        outcome = task.step(actions)
        self._steps += 1
        # Other robots whose episode has ended are parked: nothing resets them before the next episode of this robot.
        others_mask = outcome.ended.copy()
        others_mask[0, 0] = False
        if others_mask.any():
            task.arena.park(others_mask)
        terminated = bool(outcome.ended[0, 0])
        truncated = not terminated and self._steps >= self.params.max_steps
        info = self._info(bool(outcome.success[0, 0]))
        return task.observe()[0, 0], float(outcome.rewards[0, 0]), terminated, truncated, info

    def _info(self, success: bool) -> dict[str, Any]:
        return {"is_success": success, "distance": float(self.task.distances[0, 0])}


class NavigationEnv(ArenaEnv):
    """A differential-drive robot drives to a goal among obstacles and other robots.

    Observation (float32): distance and direction of the goal, own velocities, then the nearest robots and obstacles.
    Action: linear and angular velocity in [-1, 1]. An episode terminates at the goal or at the first collision, and is
    truncated after `max_steps`. `info` has `is_success` and `distance` (m). Settings are those of NavigationParams.
    """

    task_class = NavigationTask
    params_class = NavigationParams


class WarehouseEnv(ArenaEnv):
    """A robot fetches crates at stations and delivers them, among other robots that do the same by a simple rule.

    Like NavigationEnv, with one more observation: whether the robot carries a crate. `is_success` is true at each
    delivery. Episodes are truncated after `max_steps` and never terminate. Settings are those of WarehouseParams.
    """

    task_class = WarehouseTask
    params_class = WarehouseParams


def check_render_mode(mode: str | None, allowed: list[str]) -> None:
    """Raise InvalidValueError unless `mode` is None or one of `allowed`."""
    if mode is not None and mode not in allowed:
        raise InvalidValueError(f"render_mode: expected one of {', '.join(allowed)} or None, got {mode!r}")
