"""Environments of arenas: one robot in a world, or thousands of worlds in one simulation, stepped together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import read
from fleet_sim.learning.envs import tasks
from fleet_sim.learning.envs.arena import Observations
from fleet_sim.learning.envs.shared import RENDER_MODES, Fixed, Image, check_render_mode, drive_box, observation_box

# Gymnasium environments for one robot; other robots in its world drive to their goals by a simple rule.


class ArenaEnv(tasks.TaskEnv, gym.Env[Observations, Observations]):
    """One robot of an arena. A subclass sets the task and params classes."""

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 10}  # noqa: RUF012  # as the base class has it

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        self.configure(render_mode, settings)
        self.observation_space = observation_box(self.task_class.observation_size(self.params))
        self.action_space = drive_box()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode; the same seed gives the same episode."""
        super().reset(seed=seed)
        task = self.begin(self.np_random)
        return task.observe()[0, 0], self._info(False)

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

    task_class = tasks.NavigationTask
    params_class = tasks.NavigationParams


class WarehouseEnv(ArenaEnv):
    """A robot fetches crates at stations and delivers them, among other robots that do the same by a simple rule.

    Like NavigationEnv, with one more observation: whether the robot carries a crate. `is_success` is true at each
    delivery. Episodes are truncated after `max_steps` and never terminate. Settings are those of WarehouseParams.
    """

    task_class = tasks.WarehouseTask
    params_class = tasks.WarehouseParams


class ArenaVectorEnv(VectorEnv[Observations, Observations, Any]):
    """`num_envs` robots, each with an environment of its own, in one simulation. A subclass sets the task and params.

    With `num_robots` > 1, that many robots share a world; each has its own episodes and is an obstacle to the others.
    World k has its own random stream, seeded with `seed + k`. `autoreset_mode` is as in Gymnasium: NEXT_STEP (default),
    SAME_STEP (the last observation of an ended episode is in `infos["final_obs"]`) or DISABLED (reset ended robots with
    `reset(options={"reset_mask": mask})`).
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012  # as the base class has it

    closed = True
    """Whether there is nothing to close: Gymnasium closes what goes away, also what could not be built."""
    task_class: type[tasks.ArenaTask[Any]]
    params_class: type[tasks.TaskParams]
    params = Fixed[tasks.TaskParams]()

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        check_render_mode(render_mode, ["rgb_array"])
        self.render_mode = render_mode
        self.params = read(self.params_class, settings).in_use("an environment")
        robots = self.params.num_robots
        if num_envs < 1 or num_envs % robots:
            raise InvalidValueError(
                f"num_envs counts robots, {robots} to a world: expected a multiple of {robots}, got {num_envs}"
            )
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_box(self.task_class.observation_size(self.params))
        self.single_action_space = drive_box()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        worlds = num_envs // robots
        self._task = self.task_class(self.params, worlds)
        self._streams = [seeding.np_random(None)[0] for _ in range(worlds)]
        self._steps: Ints = np.zeros(num_envs, np.int64)
        self._ended: Bools = np.zeros(num_envs, np.bool_)
        self.closed = False

    def _reset_mask(self, options: dict[str, Any] | None) -> Bools:
        """Return which robots begin anew; raises InvalidValueError."""
        if not options or "reset_mask" not in options:
            return np.ones(self.num_envs, np.bool_)
        mask = np.asarray(options["reset_mask"], np.bool_)
        if mask.shape != (self.num_envs,) or not mask.any():
            raise InvalidValueError(f"reset_mask: expected {self.num_envs} booleans, one of them true, got {mask!r}")
        return mask

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """Return the seed of each world, None where its stream goes on; raises InvalidValueError."""
        worlds = self._task.shape[0]
        if seed is None:
            return [None] * worlds
        # World k has the seed + k, as in Gymnasium.
        several = range(seed, seed + worlds) if isinstance(seed, int) else seed
        seeds: list[int | None] = list(several)
        if len(seeds) != worlds:
            raise InvalidValueError(f"seed: expected one per world ({worlds}), got {len(seeds)}")
        return seeds

    def _infos(self, reached: Bools, last: Observations | None) -> dict[str, Any]:
        """Return the infos of a step: who reached a goal; with SAME_STEP the `last` observations of what ended."""
        infos: dict[str, Any] = {"is_success": reached, "_is_success": np.ones(self.num_envs, np.bool_)}
        if last is not None:
            ended = self._ended
            infos["final_obs"], infos["_final_obs"] = last, ended.copy()
            infos["final_info"] = {"is_success": reached.copy(), "_is_success": ended.copy()}
            infos["_final_info"] = ended.copy()
        return infos

    @property
    def task(self) -> tasks.ArenaTask[Any]:
        """The task of all worlds."""
        return self._task

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin new episodes in all worlds, or for the robots of `options["reset_mask"]` (a bool array)."""
        mask = self._reset_mask(options)
        self._seed(seed, mask)
        self._begin(mask)
        return self._observe(), {}

    def step(self, actions: Any) -> tuple[Observations, Floats, Bools, Bools, dict[str, Any]]:
        """Advance all worlds by one time step."""
        again = self._ended.copy()
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise InvalidValueError(
                "some robots have ended; reset them with options={'reset_mask': mask} before step()"
            )
        wanted = np.asarray(actions, np.float64).reshape(*self._task.shape, 2)
        outcome = self._task.step(wanted)
        rewards = outcome.rewards.reshape(-1)
        reached, terminated = outcome.success.reshape(-1), outcome.ended.reshape(-1)
        self._steps += 1
        # A robot that has ended is not also cut off.
        truncated = ~terminated & (self._steps >= self.params.max_steps)
        if again.any():
            # NEXT_STEP: for robots that had ended, this step is the reset, and their action is ignored.
            self._begin(again)
            rewards = np.where(again, 0.0, rewards)
            reached, terminated, truncated = reached & ~again, terminated & ~again, truncated & ~again
        self._ended = terminated | truncated
        # Seen before those that ended begin anew.
        observations = self._observe()
        if self.autoreset_mode is not AutoresetMode.SAME_STEP or not self._ended.any():
            return observations, rewards, terminated, truncated, self._infos(reached, None)
        # The observations are a new array, which the reset below does not change.
        infos = self._infos(reached, observations)
        self._begin(self._ended.copy())
        return self._observe(), rewards, terminated, truncated, infos

    def render(self) -> tuple[Image, ...] | None:
        """Return a top view of each world, or None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(self._task.draw(world, 160) for world in range(self._task.shape[0]))

    def close_extras(self, **kwargs: Any) -> None:
        """End the simulation."""
        self._task.close()

    def _seed(self, seed: int | Sequence[int | None] | None, mask: Bools) -> None:
        seeds, (worlds, robots) = self._seeds(seed), self._task.shape
        # Streams of worlds in which nobody begins stay as they are.
        for world in np.flatnonzero(mask.reshape(worlds, robots).any(axis=1)).tolist():
            if seeds[world] is not None:
                self._streams[world] = seeding.np_random(seeds[world])[0]

    def _begin(self, mask: Bools) -> None:
        """Begin new episodes for the robots of `mask`; a world whose robots all begin is reset as a whole."""
        task = self._task
        by_world = mask.reshape(task.shape)
        # Robots that share a world with others still in an episode are placed between them; only an empty world gets
        # new obstacles.
        whole_mask: Bools = np.asarray(by_world.all(axis=1), np.bool_)
        whole = np.flatnonzero(whole_mask)
        task.reset_worlds(whole, [self._streams[world] for world in whole.tolist()])
        for world, robot in np.argwhere(by_world & ~whole_mask[:, None]).tolist():
            task.reset_robot(world, robot, self._streams[world])
        self._steps[mask] = 0
        self._ended[mask] = False

    def _observe(self) -> Observations:
        return self._task.observe().reshape(self.num_envs, -1)


class NavigationVectorEnv(ArenaVectorEnv):
    """Robots, each with an environment like NavigationEnv, in one simulation."""

    task_class = tasks.NavigationTask
    params_class = tasks.NavigationParams


class WarehouseVectorEnv(ArenaVectorEnv):
    """Robots, each with an environment like WarehouseEnv, in one simulation."""

    task_class = tasks.WarehouseTask
    params_class = tasks.WarehouseParams
