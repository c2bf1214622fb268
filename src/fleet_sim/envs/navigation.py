"""The navigation task: robots reach goals without touching anything. One task, any number of worlds and robots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.envs.arena import scatter_points
from fleet_sim.envs.task import ArenaTask, Outcome, TaskParams


@dataclass
class NavigationParams(TaskParams):
    """The navigation task's settings."""


class NavigationTask(ArenaTask[NavigationParams]):
    """A robot's episode ends at its goal, or when it touches something."""

    def reset_world(self, world: int, rng: np.random.Generator) -> None:
        """Begin `world` anew: obstacles, robots and goals at random, apart from each other."""
        robots, size = self.shape[1], self.params.arena_size
        nothing = np.empty((0, 2))
        obstacles = scatter_points(rng, self.params.num_obstacles, size, self.spacing, nothing)
        points = scatter_points(rng, robots, size, self.spacing, obstacles)
        # A goal may be where a robot starts, but not in an obstacle nor at another goal.
        goals = scatter_points(rng, robots, size, self.spacing, obstacles)
        mask = np.zeros(self.shape, np.bool_)
        mask[world] = True
        self.arena.place_obstacles(world, obstacles)
        self.arena.place_robots(mask, points, rng.uniform(-np.pi, np.pi, (robots,)))
        self.goals[world] = goals
        self.distances[world] = np.hypot(goals[:, 0] - points[:, 0], goals[:, 1] - points[:, 1])

    def after_step(self, progress: Floats, touching: Bools) -> Outcome:
        """Reward progress, the goal, and every step; touching costs."""
        params, active = self.params, self.arena.active
        reached = (self.distances <= params.goal_radius) & active & ~touching
        rewards = params.progress_reward * progress + params.step_reward
        rewards += params.goal_reward * reached + params.collision_reward * touching
        return Outcome(np.where(active, rewards, 0.0), reached, reached | touching)
