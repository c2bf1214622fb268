"""Arenas: many small worlds side by side in one simulation, so that one step moves the robots of all worlds.

World k is a square around `origins[k]`, with a gap of `GAP` m to the next. Arrays of robots are (W, R): world, then
robot. Positions are in the frame of their world, (x, y) in m.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.config.modes import MotionMode
from fleet_sim.config.params import SimulationParams
from fleet_sim.core import steering
from fleet_sim.core.planar import PlanarRows
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.entities.spawning import spawn_many
from fleet_sim.envs.observations import ArenaRows, Moving
from fleet_sim.errors import InvalidValueError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import quaternions

GAP = 4.0
"""Distance between the squares of neighbouring worlds in m."""
PARKING_HEIGHT = -50.0
"""Height of parked robots in m, far below everything else, so that they collide with no active robot."""
ROBOT_HEIGHT = 0.3
OBSTACLE_RADIUS = 0.3
ROBOT_COLOR, OBSTACLE_COLOR, GOAL_COLOR = (0.16, 0.42, 0.75, 1.0), (0.45, 0.45, 0.47, 1.0), (0.18, 0.62, 0.32, 1.0)


@dataclass(frozen=True)
class RobotKind:
    """The robots of an arena: discs with a differential drive. Lengths in m, times in s."""

    radius: float = 0.2
    max_speed: float = 1.0
    max_turn: float = 2.5
    max_accel: float = 3.0
    max_turn_accel: float = 12.0


@dataclass(frozen=True)
class Share:
    """The worlds from number `first` on, of `total` ones whose others are in other processes.

    They lie where they would lie among all of them, as rounding depends on how far from its origin a simulation is.
    """

    first: int
    total: int


class Arena:
    """W worlds with R robots and O round obstacles each, in one simulation. With `share` they are some of more."""

    def __init__(
        self,
        worlds: int,
        robots: int,
        obstacles: int,
        *,
        size: float,
        timestep: float,
        kind: RobotKind | None = None,
        share: Share | None = None,
    ) -> None:
        if worlds < 1 or robots < 1 or obstacles < 0:
            raise InvalidValueError(
                f"an arena needs at least one world and one robot, got {worlds} worlds, {robots} robots, "
                f"{obstacles} obstacles"
            )
        self.kind = kind or RobotKind()
        self.size = size
        self.sim = _empty_simulation(timestep)
        self.world = self.sim.world
        self._share = share or Share(0, worlds)
        first = self._share.first
        self.origins = _origins(self._share.total, size + GAP)[first : first + worlds]
        self.robot_rows: Rows = self._spawn_robots(worlds, robots)
        self.robots = PlanarRows(self.world, self.robot_rows)
        """How the robots look and move, as arrays (W, R)."""
        self.obstacle_rows: Rows = self._spawn_obstacles(worlds, obstacles)
        self.active: Bools = np.ones((worlds, robots), np.bool_)
        """The robots in an episode, (W, R); the others are parked or wait for a reset."""

    def _spawn_robots(self, worlds: int, robots: int) -> Rows:
        """Spawn the robots of all worlds and return their rows (worlds, robots).

        Names have the number of the world among all processes, so those of two processes differ.
        """
        kind = self.kind
        shape = ShapeParams(shape_type="cylinder", radius=kind.radius, height=ROBOT_HEIGHT, rgba_color=ROBOT_COLOR)
        params = AgentSpawnParams(
            visual_shape=shape,
            collision_shape=shape,
            motion_mode=MotionMode.DIFFERENTIAL,
            max_linear_vel=kind.max_speed,
            max_linear_accel=kind.max_accel,
            max_angular_vel=kind.max_turn,
            max_angular_accel=kind.max_turn_accel,
        )
        first = self._share.first
        names = [f"world_{first + world}/robot_{robot}" for world in range(worlds) for robot in range(robots)]
        return self._spawn(Agent, params, worlds, robots, names)

    def _spawn_obstacles(self, worlds: int, obstacles: int) -> Rows:
        shape = ShapeParams(
            shape_type="cylinder", radius=OBSTACLE_RADIUS, height=ROBOT_HEIGHT, rgba_color=OBSTACLE_COLOR
        )
        params = SimObjectSpawnParams(visual_shape=shape, collision_shape=shape, pickable=False)
        return self._spawn(SimObject, params, worlds, obstacles, [None] * (worlds * obstacles))

    def _spawn(
        self,
        cls: type[SimObject],
        params: SimObjectSpawnParams,
        worlds: int,
        count: int,
        names: Sequence[str | None],
    ) -> Rows:
        """Spawn `count` entities in each of `worlds`, parked apart, and return their rows (worlds, count)."""
        total = worlds * count
        positions = np.zeros((total, 3))
        # Provisional places below the floor, with gaps, so that nothing collides before `place_robots` is called.
        positions[:, :2], positions[:, 2] = _origins(total, 4.0 * self.size), PARKING_HEIGHT
        handles = spawn_many(self.world, cls, params, positions, np.tile([0.0, 0.0, 0.0, 1.0], (total, 1)), names)
        return np.array([handle.row for handle in handles], np.int64).reshape(worlds, count)

    # ---- placing -----------------------------------------------------------------------------------------------------

    def place_robots(self, mask: Bools, positions: Floats, headings: Floats) -> None:
        """Put the robots of `mask` (W, R) at `positions` (N, 2), `headings` (N,), at rest, and make them active."""
        rows = self.robot_rows[mask]
        self._place(rows, self._in_world(mask, positions), quaternions.from_yaws(headings))
        steering.halt(self.world, rows)
        self.active[mask] = True

    def place_obstacles(self, worlds: Ints | int, positions: Floats) -> None:
        """Put the obstacles of `worlds` (K,) at `positions` (K, O, 2); of one world, at (O, 2)."""
        rows = self.obstacle_rows[worlds].reshape(-1)
        turns = np.tile([0.0, 0.0, 0.0, 1.0], (len(rows), 1))
        self._place(rows, (positions + self.origins[worlds][..., None, :]).reshape(-1, 2), turns)

    def park(self, mask: Bools) -> None:
        """Move the robots of `mask` (W, R) below the floor and make them inactive."""
        # Robots are moved, not removed: spawning again would cost far more than a step. Parked robots may overlap each
        # other, so `touching` reports active robots only.
        rows = self.robot_rows[mask]
        steering.halt(self.world, rows)
        positions = self.world.position[rows]
        positions[:, 2] = PARKING_HEIGHT
        self.world.place(rows, positions, self.world.orientation[rows], preserve_velocity=False)
        self.active[mask] = False

    def _place(self, rows: Rows, points: Floats, turns: Floats) -> None:
        positions = np.empty((len(rows), 3))
        positions[:, :2] = points
        positions[:, 2] = 0.5 * ROBOT_HEIGHT
        # At rest: the velocity of the last episode must not reach into this one.
        self.world.place(rows, positions, turns, preserve_velocity=False)

    def _in_world(self, mask: Bools, positions: Floats) -> Floats:
        return positions + self.origins[np.nonzero(mask)[0]]

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def drive(self, speeds: Floats, turns: Floats) -> None:
        """Command the active robots: forward `speeds` (W, R) in m/s, `turns` (W, R) in rad/s."""
        rows = self.robot_rows[self.active]
        linear, angular = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        linear[:, 0] = speeds[self.active]
        angular[:, 2] = turns[self.active]
        # A timeout of 0: a command lasts until the next one.
        drive.start_velocities(self.world, rows, linear, angular, 0.0)

    def step(self) -> Bools:
        """Advance by one time step; return a mask (W, R) of the robots that touch something."""
        self.sim.step_once()
        return self.touching()

    def touching(self) -> Bools:
        """Return a mask (W, R) of the active robots that touch another robot or an obstacle."""
        # One mark per row, so that all robots are looked up in one call.
        hit_mask = np.zeros(self.world.capacity, np.bool_)
        hit_mask[self.sim.collisions.pairs.reshape(-1)] = True
        touching: Bools = hit_mask[self.robot_rows] & self.active
        return touching

    # ---- reading -----------------------------------------------------------------------------------------------------

    def squares(self) -> ArenaRows:
        """Return who is where, for kernels."""
        return ArenaRows(self.robot_rows, self.obstacle_rows, self.active, self.origins)

    def moving(self) -> Moving:
        """Return the columns that robots move in, for kernels."""
        world = self.world
        return Moving(
            world.position, world.orientation, world.velocity, world.motion.body_linear, world.motion.body_angular
        )

    @property
    def positions(self) -> Floats:
        """Positions of the robots (W, R, 2), each in the frame of its world."""
        found: Floats = self.world.position[self.robot_rows, :2] - self.origins[:, None, :]
        return found

    @property
    def obstacles(self) -> Floats:
        """Positions of the obstacles (W, O, 2), each in the frame of its world."""
        found: Floats = self.world.position[self.obstacle_rows, :2] - self.origins[:, None, :]
        return found

    def close(self) -> None:
        """End the simulation; may be called again."""
        self.sim.close()


def _empty_simulation(timestep: float) -> MultiRobotSimulationCore:
    """Return a simulation without window, monitor or pacing, with exact contacts (no margin) and a floor."""
    return MultiRobotSimulationCore(
        SimulationParams(
            gui=False,
            monitor=False,
            target_rtf=0,
            timestep=timestep,
            # Episodes place robots anew; `sim.reset()` is never called.
            keep_initial_state=False,
            ignore_static_collision=False,
            collision_margin=0.0,
            enable_floor=True,
        )
    )


def _origins(worlds: int, pitch: float) -> Floats:
    """Return the centres (W, 2) of squares, on a square grid; of none too."""
    columns = max(1, math.ceil(math.sqrt(worlds)))
    index: Ints = np.arange(worlds)
    return pitch * np.stack([index % columns, index // columns], axis=1).astype(np.float64)
