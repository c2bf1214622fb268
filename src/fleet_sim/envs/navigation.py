"""The navigation task: robots drive to goals without collisions, in any number of worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.envs.scattering import Beginnings, can_rewind, random_headings, scatter_points, scatter_worlds
from fleet_sim.envs.task import ArenaTask, StepOutcome, TaskParams
from fleet_sim.spatial import trigonometry as trig


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
        headings = random_headings(rng, robots)
        self._begin(np.array([world]), Beginnings(obstacles[None], points[None], headings[None], goals[None]))

    def reset_worlds(self, worlds: Ints, streams: Sequence[np.random.Generator]) -> None:
        """Reset `worlds` (K,), each with its own of `streams`; the same as one by one."""
        if not self.arena.world.compiled or not can_rewind(streams):
            super().reset_worlds(worlds, streams)
            return
        robots = self.shape[1]
        start, left = scatter_worlds(streams, robots, self.params.num_obstacles, self.params.arena_size, self.spacing)
        if not len(left):
            self._begin(worlds, start)
            return
        done = np.setdiff1d(np.arange(len(worlds)), left)
        self._begin(worlds[done], Beginnings(*(values[done] for values in start)))
        super().reset_worlds(worlds[left], [streams[index] for index in left.tolist()])

    def _begin(self, worlds: Ints, start: Beginnings) -> None:
        """Begin the episodes of `worlds` (K,), in ascending order."""
        mask = np.zeros(self.shape, np.bool_)
        mask[worlds] = True
        self.arena.place_obstacles(worlds, start.obstacles)
        self.arena.place_robots(mask, start.robots.reshape(-1, 2), start.headings.reshape(-1))
        self.goals[worlds] = start.goals
        offsets = start.goals - start.robots
        # Where progress is measured from in the first step.
        self.distances[worlds] = trig.hypot(offsets[..., 0], offsets[..., 1])

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
        arena.place_robots(mask, point, random_headings(rng, 1))
        offset = self.goals[world, robot] - point[0]
        self.distances[world, robot] = trig.hypot_of(*offset.tolist())

    def after_step(self, progress: Floats, touching: Bools) -> StepOutcome:
        """Return rewards for progress, goals, collisions and each step; inactive robots get 0."""
        params, active = self.params, self.arena.active
        # Who collides at its goal has not reached it.
        reached = (self.distances <= params.goal_radius) & active & ~touching
        rewards = params.progress_reward * progress + params.step_reward
        rewards += params.goal_reward * reached + params.collision_reward * touching
        # A robot that is parked, waiting for its next episode, earns nothing.
        return StepOutcome(np.where(active, rewards, 0.0), reached, reached | touching)
