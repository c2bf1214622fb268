"""Common base of tasks in arenas: robots with goals, their observations, and drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.envs.arena import OBSTACLE_RADIUS, Arena, RobotKind, Share
from fleet_sim.envs.drawing import OBSTACLE, PAPER, ROBOTS, ArenaCanvas, Image
from fleet_sim.envs.observations import NEIGHBOUR_SIZE, OWN_SIZE, Observations, Scales, observe_arena
from fleet_sim.errors import ConfigError
from fleet_sim.gate.bounds import MOST_OBJECTS
from fleet_sim.settings import UsedSettings, setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import trigonometry as trig


@dataclass
class TaskParams(UsedSettings):
    """Settings of every task in an arena."""

    num_robots: int = setting(1, low=1, high=MOST_OBJECTS, doc="Number of robots per world.")
    num_obstacles: int = setting(4, low=0, high=MOST_OBJECTS, doc="Number of round obstacles per world.")
    arena_size: float = setting(8.0, above=0, unit="m", doc="Side of the square in which robots and goals are placed.")
    neighbours: int = setting(
        5, low=0, high=MOST_OBJECTS, doc="Number of nearest robots and obstacles in an observation."
    )
    reach: float = setting(4.0, above=0, unit="m", doc="Distance up to which neighbours are observed.")
    goal_radius: float = setting(0.3, above=0, unit="m", doc="Distance to the goal at which it is reached.")
    max_steps: int = setting(200, low=1, doc="Number of steps after which an episode is truncated.")
    timestep: float = setting(0.1, above=0, unit="s", doc="Simulated time per step.")
    max_speed: float = setting(1.0, above=0, unit="m/s", doc="Linear velocity of a robot at action 1.")
    max_turn: float = setting(2.5, above=0, unit="rad/s", doc="Angular velocity of a robot at action 1.")
    progress_reward: float = setting(1.0, doc="Reward per metre of progress to the goal.")
    goal_reward: float = setting(10.0, doc="Reward for reaching the goal.")
    collision_reward: float = setting(-10.0, doc="Reward for a collision.")
    step_reward: float = setting(-0.02, doc="Reward for each step.")

    def __post_init__(self) -> None:
        super().__post_init__()
        # Each robot, goal and obstacle needs about a square of side 2 * 0.3 m. Random placement works well only while
        # these squares fill at most half of the arena.
        needed = 4 * (2 * self.num_robots + self.num_obstacles) * 0.3**2
        if needed > 0.5 * self.arena_size**2:
            raise ConfigError(
                f"{self.num_robots} robots and {self.num_obstacles} obstacles do not fit into a square of "
                f"{self.arena_size:g} m; make it larger",
                path="arena_size",
            )


ParamsT = TypeVar("ParamsT", bound=TaskParams)


class StepOutcome(NamedTuple):
    """The result of a step per robot, all (W, R): reward, success in this step, and whether its episode has ended."""

    rewards: Floats
    success: Bools
    ended: Bools


class ArenaTask(Generic[ParamsT]):
    """Worlds of robots that have goals. Robots whose episode has ended wait until they are reset or parked."""

    extra_size = 0
    """Number of observed values besides those of the goal, the own motion and the neighbours."""

    def __init__(self, params: ParamsT, worlds: int = 1, share: Share | None = None) -> None:
        self.params = params
        kind = RobotKind(max_speed=params.max_speed, max_turn=params.max_turn)
        self.arena = Arena(
            worlds,
            params.num_robots,
            params.num_obstacles,
            size=params.arena_size,
            timestep=params.timestep,
            kind=kind,
            share=share,
        )
        self.shape = self.arena.robot_rows.shape
        self.goals: Floats = np.zeros((*self.shape, 2))
        """Current goals of the robots (W, R, 2), each in the frame of its world."""
        self.distances: Floats = np.zeros(self.shape)
        """Distances of the robots to their goals (W, R)."""
        self.spacing = 2.0 * max(kind.radius, OBSTACLE_RADIUS) + 0.25
        """Minimum distance in m between the centres of bodies that are placed at random."""

    @property
    def sim(self) -> MultiRobotSimulationCore:
        """The simulation of the arena."""
        return self.arena.sim

    @classmethod
    def observation_size(cls, params: TaskParams) -> int:
        """Return the number of values in an observation."""
        return OWN_SIZE + cls.extra_size + NEIGHBOUR_SIZE * params.neighbours

    # ---- to override -------------------------------------------------------------------------------------------------

    def reset_world(self, world: int, rng: np.random.Generator) -> None:
        """Reset `world`; all random numbers come from `rng`."""
        raise NotImplementedError

    def reset_worlds(self, worlds: Ints, streams: Sequence[np.random.Generator]) -> None:
        """Reset `worlds` (K,), each with its own of `streams`, as `reset_world` does."""
        for world, rng in zip(worlds.tolist(), streams, strict=True):
            self.reset_world(world, rng)

    def after_step(self, progress: Floats, touching: Bools) -> StepOutcome:
        """Return the result of a step, from `progress` (W, R) in m towards the goals and the `touching` mask (W, R)."""
        raise NotImplementedError

    def extra(self) -> Floats:
        """Return the additional observations (W, R, `extra_size`)."""
        return np.empty((*self.shape, 0))

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def step(self, actions: Floats) -> StepOutcome:
        """Drive with `actions` (W, R, 2) in [-1, 1], linear and angular velocity; return the result."""
        params, arena = self.params, self.arena
        wanted = np.clip(actions, -1.0, 1.0)
        arena.drive(wanted[..., 0] * params.max_speed, wanted[..., 1] * params.max_turn)
        touching = arena.step()
        # `measure` makes a new array, so this stays what it was.
        before = self.distances
        self.measure()
        return self.after_step(before - self.distances, touching)

    def measure(self) -> None:
        """Update the distances to the goals."""
        offsets = self.goals - self.arena.positions
        self.distances = trig.hypot(offsets[..., 0], offsets[..., 1])

    def simple_actions(self) -> Floats:
        """Return actions (W, R, 2) of a simple rule: turn towards the goal, and drive while it is ahead."""
        offsets = self.goals - self.arena.positions
        bearing = np.arctan2(offsets[..., 1], offsets[..., 0]) - self.arena.robots.headings
        bearing = (bearing + np.pi) % (2.0 * np.pi) - np.pi
        return np.stack([np.maximum(0.0, np.cos(bearing)), np.clip(bearing, -1.0, 1.0)], axis=-1)

    # ---- observing ---------------------------------------------------------------------------------------------------

    def observe(self) -> Observations:
        """Return the observations (W, R, `observation_size`), all values within [-2, 2]."""
        params, arena = self.params, self.arena
        # The largest relative velocity: two robots that drive towards each other.
        closing = 2.0 * params.max_speed
        scales = Scales(params.arena_size, params.max_speed, params.max_turn, params.reach, closing)
        radii = 2.0 * arena.kind.radius, OBSTACLE_RADIUS + arena.kind.radius
        return observe_arena(
            arena.squares(),
            arena.moving(),
            self.goals,
            scales,
            radii,
            self.extra(),
            params.neighbours,
            compiled=arena.world.compiled,
        )

    # ---- drawing -----------------------------------------------------------------------------------------------------

    def draw(self, world: int = 0, pixels: int = 480) -> Image:
        """Return a top view (H, W, 3) of a world: robots with their headings, goals as rings, obstacles."""
        arena = self.arena
        canvas = ArenaCanvas(pixels, 1.15 * self.params.arena_size)
        self.draw_ground(canvas, world)
        for obstacle in arena.obstacles[world]:
            canvas.disc(obstacle, OBSTACLE_RADIUS, OBSTACLE)
        positions, headings = arena.positions[world], arena.robots.headings[world]
        for robot in np.flatnonzero(arena.active[world]).tolist():
            color = ROBOTS[robot % len(ROBOTS)]
            goal, place = self.goals[world, robot], positions[robot]
            canvas.disc(goal, self.params.goal_radius, color, hole=0.75 * self.params.goal_radius)
            canvas.disc(place, arena.kind.radius, color)
            nose = place + 0.8 * arena.kind.radius * np.array([np.cos(headings[robot]), np.sin(headings[robot])])
            canvas.line(place, nose, 0.3 * arena.kind.radius, PAPER)
        self.draw_loads(canvas, world)
        return canvas.image

    def draw_ground(self, canvas: ArenaCanvas, world: int) -> None:
        """Draw below the robots."""

    def draw_loads(self, canvas: ArenaCanvas, world: int) -> None:
        """Draw on top of the robots."""

    def close(self) -> None:
        """End the simulation; may be called again."""
        self.arena.close()
