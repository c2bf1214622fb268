"""The warehouse task: robots fetch crates at stations on one side and deliver them to stations on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.config.modes import CollisionMode
from fleet_sim.entities import attachments
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.entities.spawning import spawn_many
from fleet_sim.envs.arena import PARKING_HEIGHT, ROBOT_HEIGHT
from fleet_sim.envs.drawing import ArenaCanvas
from fleet_sim.envs.scattering import scatter_points
from fleet_sim.envs.task import ArenaTask, StepOutcome, TaskParams
from fleet_sim.gate.bounds import MOST_OBJECTS
from fleet_sim.settings import setting

CRATE = 0.12
"""Half of the side length of a crate in m."""
_ON_TOP = np.array([0.0, 0.0, 0.5 * ROBOT_HEIGHT + CRATE])
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
        places = np.tile([0.0, 0.0, PARKING_HEIGHT], (count, 1))
        handles = spawn_many(self.arena.world, SimObject, params, places, np.tile(_UPRIGHT, (count, 1)))
        return np.array([handle.row for handle in handles], np.int64).reshape(self.shape)

    def reset_world(self, world: int, rng: np.random.Generator) -> None:
        """Reset `world`: racks and robots at random between the stations, and new orders."""
        # Stations are 0.5 m from the edge; 2 m on each side stay free of racks in front of them.
        robots, size = self.shape[1], self.params.arena_size - 4.0
        self._streams[world] = rng
        racks = scatter_points(rng, self.params.num_obstacles, size, 2.0 * self.spacing, np.empty((0, 2)))
        points = scatter_points(rng, robots, size, self.spacing, racks)
        mask = np.zeros(self.shape, np.bool_)
        mask[world] = True
        self.arena.place_obstacles(world, racks)
        self.arena.place_robots(mask, points, rng.uniform(-np.pi, np.pi, (robots,)))
        self.delivered[world] = 0
        self._touched[world] = False
        for robot in range(robots):
            if self.loaded[world, robot]:
                self._let_go(world, robot)
            self._order(world, robot)
        self.measure()

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
