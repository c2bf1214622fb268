"""What tasks in arenas have in common: robots with goals, what they observe, how they are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.envs.arena import OBSTACLE_RADIUS, Arena, RobotKind
from fleet_sim.envs.drawing import OBSTACLE, PAPER, ROBOTS, ArenaCanvas, Image
from fleet_sim.envs.observations import NEIGHBOUR_SIZE, OWN_SIZE, Observations, neighbour_part, own_part
from fleet_sim.errors import ConfigError
from fleet_sim.settings import Checked, setting


@dataclass
class TaskParams(Checked):
    """Settings of every task in an arena."""

    num_robots: int = setting(1, low=1, doc="Robots per world.")
    num_obstacles: int = setting(4, low=0, doc="Round obstacles per world.")
    arena_size: float = setting(8.0, above=0, unit="m", doc="Side of the square in which things are placed.")
    neighbours: int = setting(5, low=0, doc="How many of the nearest robots and obstacles a robot sees.")
    reach: float = setting(4.0, above=0, unit="m", doc="How far it sees.")
    goal_radius: float = setting(0.3, above=0, unit="m", doc="How near to its goal a robot has reached it.")
    max_steps: int = setting(200, low=1, doc="Steps after which an episode is truncated.")
    timestep: float = setting(0.1, above=0, unit="s", doc="Simulated time of one step.")
    max_speed: float = setting(1.0, above=0, unit="m/s", doc="Speed of a robot at action 1.")
    max_turn: float = setting(2.5, above=0, unit="rad/s", doc="Turning speed of a robot at action 1.")
    progress_reward: float = setting(1.0, doc="Per metre nearer to the goal.")
    goal_reward: float = setting(10.0, doc="For reaching the goal.")
    collision_reward: float = setting(-10.0, doc="For touching something.")
    step_reward: float = setting(-0.02, doc="For each step.")

    def __post_init__(self) -> None:
        super().__post_init__()
        needed = 4 * (2 * self.num_robots + self.num_obstacles) * 0.3**2
        if needed > 0.5 * self.arena_size**2:
            raise ConfigError(
                f"{self.num_robots} robots and {self.num_obstacles} obstacles do not fit into a square of "
                f"{self.arena_size:g} m; make it larger",
                path="arena_size",
            )


ParamsT = TypeVar("ParamsT", bound=TaskParams)


class StepOutcome(NamedTuple):
    """What a step brought each robot, all (W, R): reward, success in this step, and whether its episode has ended."""

    rewards: Floats
    success: Bools
    ended: Bools


class ArenaTask(Generic[ParamsT]):
    """Worlds of robots that have goals. Robots that are done wait until they are reset or parked."""

    extra_size = 0
    """How many numbers a robot observes besides its goal, its motion and its neighbours."""

    def __init__(self, params: ParamsT, worlds: int = 1) -> None:
        self.params = params
        kind = RobotKind(max_speed=params.max_speed, max_turn=params.max_turn)
        self.arena = Arena(
            worlds, params.num_robots, params.num_obstacles, size=params.arena_size, timestep=params.timestep, kind=kind
        )
        self.shape = self.arena.robot_rows.shape
        self.goals: Floats = np.zeros((*self.shape, 2))
        """Where the robots are to go at present, (W, R, 2)."""
        self.distances: Floats = np.zeros(self.shape)
        """How far they are from there, (W, R)."""
        self.spacing = 2.0 * max(kind.radius, OBSTACLE_RADIUS) + 0.25
        """Least distance of what is placed at random."""

    @classmethod
    def observation_size(cls, params: TaskParams) -> int:
        """Return how many numbers a robot observes."""
        return OWN_SIZE + cls.extra_size + NEIGHBOUR_SIZE * params.neighbours

    # ---- to override -------------------------------------------------------------------------------------------------

    def reset_world(self, world: int, rng: np.random.Generator) -> None:
        """Begin `world` anew, drawing from `rng` only."""
        raise NotImplementedError

    def after_step(self, progress: Floats, touching: Bools) -> StepOutcome:
        """Say what the step just made brought: `progress` (W, R) in m towards the goals, who touches something."""
        raise NotImplementedError

    def extra(self) -> Floats:
        """Return the additional observations (W, R, `extra_size`)."""
        return np.empty((*self.shape, 0))

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def step(self, actions: Floats) -> StepOutcome:
        """Drive with `actions` (W, R, 2) in [-1, 1]: speed and turning speed; return what that brought."""
        params, arena = self.params, self.arena
        wanted = np.clip(actions, -1.0, 1.0)
        arena.drive(wanted[..., 0] * params.max_speed, wanted[..., 1] * params.max_turn)
        touching = arena.step()
        before = self.distances
        self.measure()
        return self.after_step(before - self.distances, touching)

    def measure(self) -> None:
        """Take the distances to the goals anew."""
        offsets = self.goals - self.arena.positions
        self.distances = np.hypot(offsets[..., 0], offsets[..., 1])

    def simple_actions(self) -> Floats:
        """Return actions (W, R, 2) of a simple rule: turn towards the goal, and drive when it lies ahead."""
        offsets = self.goals - self.arena.positions
        bearing = np.arctan2(offsets[..., 1], offsets[..., 0]) - self.arena.headings
        bearing = (bearing + np.pi) % (2.0 * np.pi) - np.pi
        return np.stack([np.maximum(0.0, np.cos(bearing)), np.clip(bearing, -1.0, 1.0)], axis=-1)

    # ---- observing ---------------------------------------------------------------------------------------------------

    def observe(self) -> Observations:
        """Return what each robot observes, (W, R, `observation_size`), every number within [-2, 2]."""
        params, arena = self.params, self.arena
        positions, headings = arena.positions, arena.headings
        scales = (params.arena_size, params.max_speed, params.max_turn)
        own = own_part(self.goals, positions, headings, arena.speeds, arena.turns, scales)
        near = self._near(positions, headings)
        seen: Observations = np.clip(np.concatenate([own, self.extra(), near], axis=2), -2.0, 2.0).astype(np.float32)
        return seen

    def _near(self, positions: Floats, headings: Floats) -> Floats:
        params, arena = self.params, self.arena
        worlds, robots = self.shape
        obstacles, velocities = arena.obstacles, arena.velocities
        others = np.concatenate([positions, obstacles], axis=1)
        other_velocities = np.concatenate([velocities, np.zeros_like(obstacles)], axis=1)
        radii = np.concatenate([np.full(robots, arena.kind.radius), np.full(obstacles.shape[1], OBSTACLE_RADIUS)])
        present = np.ones((worlds, robots, others.shape[1]), np.bool_)
        present[:, :, :robots] = arena.active[:, None, :]
        own = np.arange(robots)
        present[:, own, own] = False
        return neighbour_part(
            positions,
            headings,
            velocities,
            radii + arena.kind.radius,
            others,
            other_velocities,
            present,
            params.neighbours,
            params.reach,
            2.0 * params.max_speed,
        )

    # ---- drawing -----------------------------------------------------------------------------------------------------

    def draw(self, world: int = 0, pixels: int = 480) -> Image:
        """Return a top view (H, W, 3) of a world: robots with their headings, goals as rings, obstacles."""
        arena = self.arena
        canvas = ArenaCanvas(pixels, 1.15 * self.params.arena_size)
        self.draw_ground(canvas, world)
        for obstacle in arena.obstacles[world]:
            canvas.disc(obstacle, OBSTACLE_RADIUS, OBSTACLE)
        positions, headings = arena.positions[world], arena.headings[world]
        for robot in np.flatnonzero(arena.active[world]).tolist():
            colour = ROBOTS[robot % len(ROBOTS)]
            goal, place = self.goals[world, robot], positions[robot]
            canvas.disc(goal, self.params.goal_radius, colour, hole=0.75 * self.params.goal_radius)
            canvas.disc(place, arena.kind.radius, colour)
            nose = place + 0.8 * arena.kind.radius * np.array([np.cos(headings[robot]), np.sin(headings[robot])])
            canvas.line(place, nose, 0.3 * arena.kind.radius, PAPER)
        self.draw_loads(canvas, world)
        return canvas.image

    def draw_ground(self, canvas: ArenaCanvas, world: int) -> None:
        """Draw what lies under the robots."""

    def draw_loads(self, canvas: ArenaCanvas, world: int) -> None:
        """Draw what lies on the robots."""

    def close(self) -> None:
        """End the simulation; may be called again."""
        self.arena.close()
