"""Arenas: many small worlds side by side in one simulation, so that one step moves the robots of all worlds.

World k is a square around `origins[k]`, with a gap of `GAP` m to the next. Arrays of robots are (W, R): world, then
robot. Positions are in the frame of their world, (x, y) in m.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import compiled_loop, compiled_step, inlined
from fleet_sim.base.params import MotionMode, SimulationParams
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.rotations import heading, sin_cos
from fleet_sim.robots import drive
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.motion.rows import quaternion_of
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams, SimObjectSpawnParams
from fleet_sim.robots.spawning import spawn_many
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world import steering
from fleet_sim.world.columns import numbers_of
from fleet_sim.world.world import PlanarRows

# Random places for what begins an episode: at a distance from each other, in a square around 0.


_MISSES, _LESS = 200, 0.8
_TURN = 2.0 * np.pi


def scatter_points(rng: np.random.Generator, count: int, size: float, distance: float, taken: Floats) -> Floats:
    """Return `count` points (N, 2) in a square of side `size` around 0, at least `distance` m apart and from `taken`.

    If there is no room left, the distance is reduced step by step, so that the function always returns.
    """
    points = np.empty((count, 2))
    # Drawn two by two, as each point takes: the stream of any generator is where the last point left it.
    draws: Any = _Draws(rng)
    _scatter.in_python(draws, 0, numbers_of(points), numbers_of(np.array(taken, np.float64)), size, distance)
    return points


class _Draws:
    """Numbers of a generator in [0, 1), by their places, as many as are asked for."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._numbers: list[float] = []

    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, place: int) -> float:
        while place >= len(self._numbers):
            # Not `uniform`, which some builds of NumPy round otherwise than a product and a sum.
            self._numbers += self._rng.random(2).tolist()
        return self._numbers[place]


def random_headings(rng: np.random.Generator, count: int) -> Floats:
    """Return `count` angles from -pi to pi."""
    return _TURN * rng.random(count) - np.pi


class Beginnings(NamedTuple):
    """How episodes of K worlds begin: obstacles (K, O, 2), robots (K, R, 2), their headings (K, R), goals (K, R, 2)."""

    obstacles: Floats
    robots: Floats
    headings: Floats
    goals: Floats


def can_rewind(streams: Sequence[np.random.Generator]) -> bool:
    """Return whether `scatter_worlds` can draw from `streams`: numbers drawn too many are put back."""
    return all(type(stream.bit_generator) is np.random.PCG64 for stream in streams)


def scatter_worlds(
    streams: Sequence[np.random.Generator], robots: int, obstacles: int, size: float, distance: float
) -> tuple[Beginnings, Ints]:
    """Return how a world for each of `streams` (K,) begins, and which of them had too little room to be so quick.

    Streams are afterwards where drawing number by number leaves them; those of the second part are where they were.
    """
    worlds, most = len(streams), 4 * (obstacles + 2 * robots) + robots + 16
    draws, used = np.empty((worlds, most)), np.empty(worlds, np.int64)
    for world, stream in enumerate(streams):
        stream.random(out=draws[world])
    start = Beginnings(*(np.empty((worlds, *rest)) for rest in ((obstacles, 2), (robots, 2), (robots,), (robots, 2))))
    place_worlds(draws, size, distance, start, used)
    for stream, count in zip(streams, used.tolist(), strict=True):
        generator = stream.bit_generator
        assert isinstance(generator, np.random.PCG64)
        # A period of the stream, less what was not used, is back.
        generator.advance((1 << 128) - (most - max(count, 0)))
    return start, np.flatnonzero(used < 0)


@compiled_loop
def place_worlds(draws: Floats, size: float, distance: float, start: Beginnings, used: Ints) -> None:
    """Fill `start` from `draws` (K, D) in [0, 1), and `used` (K,): how many each took, -1 where all are too few."""
    robots = start.robots.shape[1]
    for world in range(len(draws)):
        standing = start.obstacles[world]
        taken = _scatter(draws[world], 0, standing, standing[:0], size, distance)
        taken = _scatter(draws[world], taken, start.robots[world], standing, size, distance)
        taken = _scatter(draws[world], taken, start.goals[world], standing, size, distance)
        used[world] = taken + robots if 0 <= taken <= draws.shape[1] - robots else -1
        if used[world] >= 0:
            for robot in range(robots):
                start.headings[world, robot] = _TURN * draws[world, taken + robot] - np.pi


@compiled_step
def _scatter(draws: Floats, taken: int, points: Floats, standing: Floats, size: float, distance: float) -> int:
    """Fill `points` (N, 2), away from each other and from `standing`; return how many draws are used, -1: too few.

    After 200 misses in a row the squared distance shrinks by a fifth.
    """
    have, tries, limit = 0, 0, distance * distance
    while have < len(points):
        if taken < 0 or taken + 2 > len(draws):
            return -1
        x, y = size * draws[taken] - 0.5 * size, size * draws[taken + 1] - 0.5 * size
        taken += 2
        free = True
        for place in range(len(standing)):
            across, along = standing[place, 0] - x, standing[place, 1] - y
            free = free and across * across + along * along >= limit
        for place in range(have):
            across, along = points[place, 0] - x, points[place, 1] - y
            free = free and across * across + along * along >= limit
        if free:
            points[have, 0], points[have, 1] = x, y
            have += 1
            tries = 0
        else:
            tries += 1
            if tries >= _MISSES:
                limit, tries = _LESS * limit, 0
    return taken


# Observations of the robots of an arena: the goal, the own motion, and the nearest robots and obstacles. Values are
# in the body frame and divided by a scale, so that a policy does not depend on where a robot is in its world.


Observations = npt.NDArray[np.float32]

OWN_SIZE = 5
"""Number of values about a robot's goal and its own motion."""
NEIGHBOUR_SIZE = 5
"""Number of values per neighbour."""

LIMIT = 2.0
"""Observed values beyond it, on either side, are observed as it."""


class ArenaRows(NamedTuple):
    """W worlds: rows of their robots (W, R) and obstacles (W, O), who is in an episode, and their middles (W, 2)."""

    robots: Rows
    obstacles: Rows
    active: Bools
    origins: Floats


class Moving(NamedTuple):
    """Columns of all rows: poses, velocities in the world's frame, and forward speeds and turns in the body's."""

    position: Floats
    orientation: Floats
    velocity: Floats
    body_linear: Floats
    body_angular: Floats


class Scales(NamedTuple):
    """What observed values are divided by: distances, speeds, turns, distances of neighbours, and their speeds."""

    length: float
    speed: float
    turn: float
    reach: float
    closing: float


NearestOthers = tuple[Floats, Ints]
"""Room for the nearest others of a robot: their gaps and numbers, (K,) each."""


def observe_arena(
    squares: ArenaRows,
    moving: Moving,
    goals: Floats,
    scales: Scales,
    radii: tuple[float, float],
    extra: Floats,
    neighbours: int,
    *,
    compiled: bool,
) -> Observations:
    """Return what all robots observe (W, R, 5 + E + 5 `neighbours`): own part, `extra` (W, R, E), the nearest others.

    The own part is the distance to the goal, its direction (cosine, sine in the body frame), speed and angular
    velocity. That of a neighbour is its offset, its relative velocity, and its closeness from 0 (at the reach) to 1
    (touching); nearest first, and zeros where there are fewer. `goals` are (W, R, 2), in the frames of the worlds;
    `radii` those of a robot and another one, and of a robot and an obstacle, added.
    """
    skipped = extra.shape[2]
    size = OWN_SIZE + skipped + NEIGHBOUR_SIZE * neighbours
    seen: Observations = np.zeros((*squares.robots.shape, size), np.float32)
    count = min(neighbours, squares.robots.shape[1] + squares.obstacles.shape[1])
    near: NearestOthers = np.empty(count), np.empty(count, np.int64)
    if compiled:
        _write(squares, moving, goals, scales, radii, skipped, near, seen)
    else:
        squares, moving, goals, *room = map(numbers_of, (squares, moving, goals, *near))
        _write.in_python(squares, moving, goals, scales, radii, skipped, (room[0], room[1]), numbers_of(seen))
    if skipped:
        seen[..., OWN_SIZE : OWN_SIZE + skipped] = np.clip(extra, -LIMIT, LIMIT)
    return seen


@compiled_step
def _write(
    squares: ArenaRows,
    moving: Moving,
    goals: Floats,
    scales: Scales,
    radii: tuple[float, float],
    skipped: int,
    near: NearestOthers,
    out: npt.NDArray[np.float32],
) -> None:
    """Write own parts and neighbours of all robots to `out`, which is 0; the extra part is `skipped` values long."""
    (worlds, robots), (gaps, numbers) = squares.robots.shape, near
    for world in range(worlds):
        at_x, at_y = squares.origins[world, 0], squares.origins[world, 1]
        for robot in range(robots):
            row = squares.robots[world, robot]
            sine, cosine = sin_cos(heading(quaternion_of(moving.orientation, row)))
            x, y = moving.position[row, 0] - at_x, moving.position[row, 1] - at_y
            ahead, aside = _to_body(goals[world, robot, 0] - x, goals[world, robot, 1] - y, cosine, sine)
            distance = math.sqrt(ahead * ahead + aside * aside)
            # At the goal there is no direction; a number that is none stays so.
            safe = distance if distance > 1e-9 or distance != distance else 1e-9
            out[world, robot, 0], out[world, robot, 1] = _cut(distance / scales.length), _cut(ahead / safe)
            out[world, robot, 2] = _cut(aside / safe)
            out[world, robot, 3] = _cut(moving.body_linear[row, 0] / scales.speed)
            out[world, robot, 4] = _cut(moving.body_angular[row, 2] / scales.turn)
            first = 5 + skipped
            count = _find_nearest(squares, moving, world, robot, x, y, radii, scales.reach, near)
            # Nearest first; what is left of the row is 0.
            for place in range(count):
                number = numbers[place]
                is_robot = number < robots
                other = squares.robots[world, number] if is_robot else squares.obstacles[world, number - robots]
                across, along = moving.position[other, 0] - at_x - x, moving.position[other, 1] - at_y - y
                ahead, aside = _to_body(across, along, cosine, sine)
                out[world, robot, first] = _cut(ahead / scales.reach)
                out[world, robot, first + 1] = _cut(aside / scales.reach)
                # Obstacles stand, whatever their columns say.
                faster_x = (moving.velocity[other, 0] if is_robot else 0.0) - moving.velocity[row, 0]
                faster_y = (moving.velocity[other, 1] if is_robot else 0.0) - moving.velocity[row, 1]
                ahead, aside = _to_body(faster_x, faster_y, cosine, sine)
                out[world, robot, first + 2] = _cut(ahead / scales.closing)
                out[world, robot, first + 3] = _cut(aside / scales.closing)
                # 1 at a touch, 0 at the reach: what is not there looks like what is far away.
                out[world, robot, first + 4] = _cut(1.0 - gaps[place] / scales.reach)
                first += 5


@inlined
def _find_nearest(
    squares: ArenaRows,
    moving: Moving,
    world: int,
    robot: int,
    x: float,
    y: float,
    radii: tuple[float, float],
    reach: float,
    near: NearestOthers,
) -> int:
    """Write the nearest others of a robot to `near`, nearest first, those at one distance in order; return how many."""
    gaps, numbers = near
    robots, most = squares.robots.shape[1], len(gaps)
    found = 0
    for number in range(robots + squares.obstacles.shape[1]):
        if number < robots:
            # Parked robots and the robot itself are no neighbours.
            if number == robot or not squares.active[world, number]:
                continue
            other, radius = squares.robots[world, number], radii[0]
        else:
            other, radius = squares.obstacles[world, number - robots], radii[1]
        across = moving.position[other, 0] - squares.origins[world, 0] - x
        along = moving.position[other, 1] - squares.origins[world, 1] - y
        gap = math.sqrt(across * across + along * along) - radius
        # Not `>=`: a gap that is no number is none.
        if not gap < reach or (found == most and (most == 0 or not gap < gaps[most - 1])):
            continue
        place = min(found, most - 1)
        found = min(found + 1, most)
        # Insertion sort: few are kept.
        while place > 0 and gap < gaps[place - 1]:
            gaps[place], numbers[place] = gaps[place - 1], numbers[place - 1]
            place -= 1
        gaps[place], numbers[place] = gap, number
    return found


@inlined
def _to_body(across: float, along: float, cosine: float, sine: float) -> tuple[float, float]:
    return cosine * across + sine * along, cosine * along - sine * across


@inlined
def _cut(value: float) -> float:
    # As `np.clip`: what is not a number stays that.
    return -LIMIT if value < -LIMIT else LIMIT if value > LIMIT else value


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


class Arena:
    """W worlds with R robots and O round obstacles each, in one simulation."""

    def __init__(
        self, worlds: int, robots: int, obstacles: int, *, size: float, timestep: float, kind: RobotKind | None = None
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
        self.origins = _origins(worlds, size + GAP)
        self.robot_rows: Rows = self._spawn_robots(worlds, robots)
        self.robots = PlanarRows(self.world, self.robot_rows)
        """How the robots look and move, as arrays (W, R)."""
        self.obstacle_rows: Rows = self._spawn_obstacles(worlds, obstacles)
        self.active: Bools = np.ones((worlds, robots), np.bool_)
        """The robots in an episode, (W, R); the others are parked or wait for a reset."""

    def _spawn_robots(self, worlds: int, robots: int) -> Rows:
        """Spawn the robots of all worlds and return their rows (worlds, robots)."""
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
        names = [f"world_{world}/robot_{robot}" for world in range(worlds) for robot in range(robots)]
        return self._spawn(Agent, params, worlds, robots, names)

    def _spawn_obstacles(self, worlds: int, obstacles: int) -> Rows:
        shape = ShapeParams(
            shape_type="cylinder", radius=OBSTACLE_RADIUS, height=ROBOT_HEIGHT, rgba_color=OBSTACLE_COLOR
        )
        params = SimObjectSpawnParams(visual_shape=shape, collision_shape=shape, pickable=False)
        return self._spawn(SimObject, params, worlds, obstacles, [None] * (worlds * obstacles))

    def _spawn(
        self, cls: type[SimObject], params: SimObjectSpawnParams, worlds: int, count: int, names: Sequence[str | None]
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
        # Without a timeout, which robots of arenas do not have: a command lasts until the next one.
        drive.start_velocities(self.world, rows, linear, angular)

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
