"""The tasks of arenas: robots with goals that drive to them, or fetch crates, in any number of worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.limits import MOST_OBJECTS
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.settings import UsedSettings, read, setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.learning.envs import arena as arenas
from fleet_sim.learning.envs.shared import (
    HUMAN,
    OBSTACLE,
    PAPER,
    PICTURES,
    RENDER_MODES,
    ROBOTS,
    ArenaCanvas,
    Fixed,
    Image,
    begun,
    check_render_mode,
    show_to_people,
)
from fleet_sim.robots import attachments
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import ShapeParams, SimObjectSpawnParams
from fleet_sim.robots.spawning import spawn_many
from fleet_sim.simulation import MultiRobotSimulationCore


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

    def __init__(self, params: ParamsT, worlds: int = 1) -> None:
        self.params = params
        kind = arenas.RobotKind(max_speed=params.max_speed, max_turn=params.max_turn)
        self.arena = arenas.Arena(
            *(worlds, params.num_robots, params.num_obstacles),
            size=params.arena_size,
            timestep=params.timestep,
            kind=kind,
        )
        self.shape = self.arena.robot_rows.shape
        self.goals: Floats = np.zeros((*self.shape, 2))
        """Current goals of the robots (W, R, 2), each in the frame of its world."""
        self.distances: Floats = np.zeros(self.shape)
        """Distances of the robots to their goals (W, R)."""
        self.spacing = 2.0 * max(kind.radius, arenas.OBSTACLE_RADIUS) + 0.25
        """Minimum distance in m between the centres of bodies that are placed at random."""
        self.start_size = params.arena_size
        """Side in m of the square in which robots begin."""

    @property
    def sim(self) -> MultiRobotSimulationCore:
        """The simulation of the arena."""
        return self.arena.sim

    @classmethod
    def observation_size(cls, params: TaskParams) -> int:
        """Return the number of values in an observation."""
        return arenas.OWN_SIZE + cls.extra_size + arenas.NEIGHBOUR_SIZE * params.neighbours

    # ---- to override -------------------------------------------------------------------------------------------------

    def reset_world(self, world: int, rng: np.random.Generator) -> None:
        """Reset `world`; all random numbers come from `rng`."""
        raise NotImplementedError

    def reset_worlds(self, worlds: Ints, streams: Sequence[np.random.Generator]) -> None:
        """Reset `worlds` (K,), each with its own of `streams`, as `reset_world` does."""
        for world, rng in zip(worlds.tolist(), streams, strict=True):
            self.reset_world(world, rng)

    def new_goal(self, world: int, robot: int, rng: np.random.Generator) -> None:
        """Give a robot that begins an episode among others its goal; all random numbers come from `rng`."""
        raise NotImplementedError

    def after_step(self, progress: Floats, touching: Bools) -> StepOutcome:
        """Return the result of a step, from `progress` (W, R) in m towards the goals and the `touching` mask (W, R)."""
        raise NotImplementedError

    def extra(self) -> Floats:
        """Return the additional observations (W, R, `extra_size`)."""
        return np.empty((*self.shape, 0))

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def reset_robot(self, world: int, robot: int, rng: np.random.Generator) -> None:
        """Put one robot at a free position, with a new goal; the rest of its world does not change."""
        arena = self.arena
        others = np.arange(self.shape[1]) != robot
        places = np.concatenate([arena.obstacles[world], arena.positions[world][others]])
        mask = np.zeros(self.shape, np.bool_)
        mask[world, robot] = True
        point = arenas.scatter_points(rng, 1, self.start_size, self.spacing, places)
        self.new_goal(world, robot, rng)
        arena.place_robots(mask, point, arenas.random_headings(rng, 1))
        offset = self.goals[world, robot] - point[0]
        self.distances[world, robot] = trig.hypot_of(*offset.tolist())

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

    def observe(self) -> arenas.Observations:
        """Return the observations (W, R, `observation_size`), all values within [-2, 2]."""
        params, arena = self.params, self.arena
        # The largest relative velocity: two robots that drive towards each other.
        closing = 2.0 * params.max_speed
        scales = arenas.Scales(params.arena_size, params.max_speed, params.max_turn, params.reach, closing)
        radii = 2.0 * arena.kind.radius, arenas.OBSTACLE_RADIUS + arena.kind.radius
        return arenas.observe_arena(
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
            canvas.disc(obstacle, arenas.OBSTACLE_RADIUS, OBSTACLE)
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


class TaskEnv:
    """What environments of one world have in common: settings, and a task that is made by the first reset."""

    task_class: type[ArenaTask[Any]]
    params_class: type[TaskParams]
    params = Fixed[TaskParams]()
    defaults: ClassVar[dict[str, Any]] = {}
    render_mode: str | None
    _task: ArenaTask[Any] | None = None
    _steps = 0

    def configure(self, render_mode: str | None, settings: dict[str, Any]) -> None:
        """Check and keep the arguments of the constructor; what the user says wins over the defaults of the class."""
        check_render_mode(render_mode, RENDER_MODES)
        self.render_mode = render_mode
        self.params = read(self.params_class, {**self.defaults, **settings}).in_use("an environment")

    @property
    def task(self) -> ArenaTask[Any]:
        """The task; raises InvalidValueError before the first reset."""
        return begun(self._task)

    def begin(self, rng: np.random.Generator) -> ArenaTask[Any]:
        """Begin an episode, which people see from the first one on in the mode human; returns the task."""
        new = self._task is None
        task = self._task = self._task or self.task_class(self.params)
        task.reset_world(0, rng)
        self._steps = 0
        if new and self.render_mode == HUMAN:
            # Not before, when all of it is out of the way: pages begin where all is seen.
            show_to_people(task.sim)
        return task

    def render(self) -> Image | None:
        """Return a picture (480, 480, 3) in the mode rgb_array, else None: "human" is the live view in the browser."""
        return self.task.draw() if self.render_mode == PICTURES else None

    def close(self) -> None:
        """End the simulation; may be called again."""
        if self._task is not None:
            self._task.close()
            self._task = None


# The navigation task: robots drive to goals without collisions, in any number of worlds.


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
        obstacles = arenas.scatter_points(rng, self.params.num_obstacles, size, self.spacing, nothing)
        points = arenas.scatter_points(rng, robots, size, self.spacing, obstacles)
        # A goal may be where a robot starts, but not in an obstacle nor at another goal.
        goals = arenas.scatter_points(rng, robots, size, self.spacing, obstacles)
        headings = arenas.random_headings(rng, robots)
        self._begin(np.array([world]), arenas.Beginnings(obstacles[None], points[None], headings[None], goals[None]))

    def reset_worlds(self, worlds: Ints, streams: Sequence[np.random.Generator]) -> None:
        """Reset `worlds` (K,), each with its own of `streams`; the same as one by one."""
        if not self.arena.world.compiled or not arenas.can_rewind(streams):
            super().reset_worlds(worlds, streams)
            return
        robots = self.shape[1]
        start, left = arenas.scatter_worlds(
            streams, robots, self.params.num_obstacles, self.params.arena_size, self.spacing
        )
        if not len(left):
            self._begin(worlds, start)
            return
        done = np.setdiff1d(np.arange(len(worlds)), left)
        self._begin(worlds[done], arenas.Beginnings(*(values[done] for values in start)))
        super().reset_worlds(worlds[left], [streams[index] for index in left.tolist()])

    def _begin(self, worlds: Ints, start: arenas.Beginnings) -> None:
        """Begin the episodes of `worlds` (K,), in ascending order."""
        mask = np.zeros(self.shape, np.bool_)
        mask[worlds] = True
        self.arena.place_obstacles(worlds, start.obstacles)
        self.arena.place_robots(mask, start.robots.reshape(-1, 2), start.headings.reshape(-1))
        self.goals[worlds] = start.goals
        offsets = start.goals - start.robots
        # Where progress is measured from in the first step.
        self.distances[worlds] = trig.hypot(offsets[..., 0], offsets[..., 1])

    def new_goal(self, world: int, robot: int, rng: np.random.Generator) -> None:
        """Draw a goal that is in no obstacle and at no other goal."""
        others = np.arange(self.shape[1]) != robot
        goals = np.concatenate([self.arena.obstacles[world], self.goals[world][others]])
        self.goals[world, robot] = arenas.scatter_points(rng, 1, self.params.arena_size, self.spacing, goals)[0]

    def after_step(self, progress: Floats, touching: Bools) -> StepOutcome:
        """Return rewards for progress, goals, collisions and each step; inactive robots get 0."""
        params, active = self.params, self.arena.active
        # Who collides at its goal has not reached it.
        reached = (self.distances <= params.goal_radius) & active & ~touching
        rewards = params.progress_reward * progress + params.step_reward
        rewards += params.goal_reward * reached + params.collision_reward * touching
        # A robot that is parked, waiting for its next episode, earns nothing.
        return StepOutcome(np.where(active, rewards, 0.0), reached, reached | touching)


# The warehouse task: robots fetch crates at stations on one side and deliver them to stations on the other.


CRATE = 0.12
"""Half of the side length of a crate in m."""
_ON_TOP = np.array([0.0, 0.0, 0.5 * arenas.ROBOT_HEIGHT + CRATE])
_UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass
class WarehouseParams(TaskParams):
    """Settings of the warehouse task: those of every task, and the stations."""

    num_robots: int = setting(4, low=1, high=MOST_OBJECTS, doc="Number of robots per world.")
    num_obstacles: int = setting(6, low=0, high=MOST_OBJECTS, doc="Number of round racks between the stations.")
    arena_size: float = setting(12.0, above=0, unit="m", doc="Side of the square that contains stations and racks.")
    max_steps: int = setting(600, low=1, doc="Number of steps after which an episode is truncated.")
    goal_radius: float = setting(0.5, above=0, unit="m", doc="Distance to a station at which it is reached.")
    collision_reward: float = setting(-2.0, doc="Reward when a contact begins.")
    num_stations: int = setting(4, low=1, high=MOST_OBJECTS, doc="Number of stations on each side.")


class WarehouseTask(ArenaTask[WarehouseParams]):
    """Each robot has an order: fetch a crate at one station and deliver it to another. Then it gets the next order.

    Crates are attached and detached automatically at the stations. Episodes end only by `max_steps`.
    """

    # Whether the robot carries a crate, see `extra`.
    extra_size = 1

    def __init__(self, params: WarehouseParams, worlds: int = 1) -> None:
        super().__init__(params, worlds)
        # Stations are 0.5 m from the edge; 2 m on each side stay free of racks in front of them.
        self.start_size = params.arena_size - 4.0
        self.loaded: Bools = np.zeros(self.shape, np.bool_)
        """Mask (W, R) of the robots that carry a crate."""
        self.delivered: Ints = np.zeros(self.shape, np.int64)
        """Number of crates (W, R) delivered in the episode."""
        # Evenly along the side, none in a corner.
        heights = params.arena_size * ((np.arange(params.num_stations) + 0.5) / params.num_stations - 0.5)
        edge = 0.5 * params.arena_size - 0.5
        self.sources: Floats = np.stack([np.full_like(heights, -edge), heights], axis=1)
        """Stations where crates are fetched, (S, 2)."""
        self.sinks: Floats = np.stack([np.full_like(heights, edge), heights], axis=1)
        """Stations where crates are delivered, (S, 2)."""
        self._orders: Ints = np.zeros((*self.shape, 2), np.int64)
        self._touched: Bools = np.zeros(self.shape, np.bool_)
        self._streams: list[np.random.Generator] = [np.random.default_rng(0) for _ in range(worlds)]
        self.crates: Rows = self._spawn_crates()
        """Rows (W, R) of the crates, one for the order of each robot."""

    def _spawn_crates(self) -> Rows:
        shape = ShapeParams(shape_type="box", half_extents=(CRATE,) * 3, rgba_color=(0.72, 0.5, 0.26, 1.0))
        params = SimObjectSpawnParams(visual_shape=shape, collision_mode=CollisionMode.DISABLED)
        count = self.loaded.size
        # High above the arena, where no robot sees them.
        places = np.tile([0.0, 0.0, arenas.PARKING_HEIGHT], (count, 1))
        handles = spawn_many(self.arena.world, SimObject, params, places, np.tile(_UPRIGHT, (count, 1)))
        return np.array([handle.row for handle in handles], np.int64).reshape(self.shape)

    def reset_world(self, world: int, rng: np.random.Generator) -> None:
        """Reset `world`: racks and robots at random between the stations, and new orders."""
        robots, size = self.shape[1], self.start_size
        self._streams[world] = rng
        racks = arenas.scatter_points(rng, self.params.num_obstacles, size, 2.0 * self.spacing, np.empty((0, 2)))
        points = arenas.scatter_points(rng, robots, size, self.spacing, racks)
        mask = np.zeros(self.shape, np.bool_)
        mask[world] = True
        self.arena.place_obstacles(world, racks)
        self.arena.place_robots(mask, points, rng.uniform(-np.pi, np.pi, (robots,)))
        for robot in range(robots):
            self._begin_order(world, robot)
        self.measure()

    def new_goal(self, world: int, robot: int, rng: np.random.Generator) -> None:
        """Give a robot a new order."""
        self._streams[world] = rng
        self._begin_order(world, robot)

    def _begin_order(self, world: int, robot: int) -> None:
        """Give a robot that begins an episode its first order."""
        self.delivered[world, robot] = 0
        self._touched[world, robot] = False
        if self.loaded[world, robot]:
            self._let_go(world, robot)
        self._order(world, robot)

    def after_step(self, progress: Floats, touching: Bools) -> StepOutcome:
        """Return rewards for progress, fetched and delivered crates, new contacts and each step."""
        # A collision does not end an episode here, so only its first step is penalised: else a robot that is stuck
        # would collect the penalty in every step.
        params = self.params
        rewards = params.progress_reward * progress + params.step_reward
        rewards += params.collision_reward * (touching & ~self._touched)
        self._touched = touching
        arrived = (self.distances <= params.goal_radius) & self.arena.active
        # The goal is where the crate is fetched, or where it is taken to.
        delivered = arrived & self.loaded
        rewards += params.goal_reward * delivered + 0.5 * params.goal_reward * (arrived & ~self.loaded)
        for world, robot in np.argwhere(arrived).tolist():
            if self.loaded[world, robot]:
                self.delivered[world, robot] += 1
                self._let_go(world, robot)
                self._order(world, robot)
            else:
                self._take(world, robot)
        # New goals: measured again, so that the jump in distance does not count as progress in the next step.
        if arrived.any():
            self.measure()
        return StepOutcome(np.where(self.arena.active, rewards, 0.0), delivered, np.zeros(self.shape, np.bool_))

    def extra(self) -> Floats:
        """Return whether each robot carries a crate, (W, R, 1)."""
        return self.loaded[..., None].astype(np.float64)

    def _order(self, world: int, robot: int) -> None:
        """Give the robot its next order, and put its crate at the station where it is fetched."""
        order = self._streams[world].integers(0, self.params.num_stations, 2)
        self._orders[world, robot] = order
        source = self.sources[order[0]]
        self.goals[world, robot] = source
        # Goals are in the frame of each world, poses in that of the simulation.
        place = np.array([[*(source + self.arena.origins[world]), CRATE]])
        row = self.crates[world, robot]
        self.arena.world.place(np.array([row]), place, _UPRIGHT[None], preserve_velocity=False)

    def _take(self, world: int, robot: int) -> None:
        crate, carrier = int(self.crates[world, robot]), int(self.arena.robot_rows[world, robot])
        attachments.attach(self.arena.world, crate, carrier, _ON_TOP, _UPRIGHT)
        self.loaded[world, robot] = True
        self.goals[world, robot] = self.sinks[self._orders[world, robot, 1]]

    def _let_go(self, world: int, robot: int) -> None:
        attachments.detach(self.arena.world, int(self.crates[world, robot]), dynamic=False)
        self.loaded[world, robot] = False

    def draw_ground(self, canvas: ArenaCanvas, world: int) -> None:
        """Draw the stations and the waiting crates."""
        for stations, color in ((self.sources, (225, 208, 178)), (self.sinks, (196, 216, 200))):
            for station in stations:
                canvas.disc(station, self.params.goal_radius, color)
        self._draw_crates(canvas, world, ~self.loaded[world])

    def draw_loads(self, canvas: ArenaCanvas, world: int) -> None:
        """Draw the carried crates."""
        self._draw_crates(canvas, world, self.loaded[world])

    def _draw_crates(self, canvas: ArenaCanvas, world: int, mask: Bools) -> None:
        places = self.arena.world.position[self.crates[world][mask], :2] - self.arena.origins[world]
        for place in places:
            canvas.line(place - [0.4 * CRATE, 0.0], place + [0.4 * CRATE, 0.0], 1.6 * CRATE, (150, 98, 44))
