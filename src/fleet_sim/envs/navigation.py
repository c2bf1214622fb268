"""The navigation task: robots drive to goals without collisions, in any number of worlds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.envs.arena import scatter_points
from fleet_sim.envs.task import ArenaTask, StepOutcome, TaskParams


@dataclass
class NavigationParams(TaskParams):
    """Settings of the navigation task."""


class NavigationTask(ArenaTask[NavigationParams]):
    """A robot's episode ends at its goal or at a collision."""

    def reset_world(self, world: int, rng: np.random.Generator) -> None:
        """Reset `world`: obstacles, robots and goals at random, with a distance between them."""
        robots, size = self.shape[1], self.params.arena_size
        # No points to keep away from, so far.
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
        # Where progress is measured from in the first step.
        self.distances[world] = np.hypot(goals[:, 0] - points[:, 0], goals[:, 1] - points[:, 1])

    def reset_robot(self, world: int, robot: int, rng: np.random.Generator) -> None:
        """Put one robot at a free position, with a new goal; the rest of its world does not change."""
        arena, size = self.arena, self.params.arena_size
        others = np.arange(self.shape[1]) != robot
        obstacles = arena.obstacles[world]
        places = np.concatenate([obstacles, arena.positions[world][others]])
        goals = np.concatenate([obstacles, self.goals[world][others]])
        mask = np.zeros(self.shape, np.bool_)
        mask[world, robot] = True
        point = scatter_points(rng, 1, size, self.spacing, places)
        self.goals[world, robot] = scatter_points(rng, 1, size, self.spacing, goals)[0]
        arena.place_robots(mask, point, rng.uniform(-np.pi, np.pi, (1,)))
        offset = self.goals[world, robot] - point[0]
        self.distances[world, robot] = np.hypot(offset[0], offset[1])

    def after_step(self, progress: Floats, touching: Bools) -> StepOutcome:
        """Return rewards for progress, goals, collisions and each step; inactive robots get 0."""
        params, active = self.params, self.arena.active
        # Who collides at its goal has not reached it.
        reached = (self.distances <= params.goal_radius) & active & ~touching
        rewards = params.progress_reward * progress + params.step_reward
        rewards += params.goal_reward * reached + params.collision_reward * touching
        # A robot that is parked, waiting for its next episode, earns nothing.
        return StepOutcome(np.where(active, rewards, 0.0), reached, reached | touching)
