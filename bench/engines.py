"""PyBullet and MuJoCo side by side: the time of a step, and what comes of the same worlds.

Run: python bench/engines.py [--scale 1.0]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

import fleet_sim as fs

CUBE = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
BALL = fs.ShapeParams("sphere", radius=0.1)
SMALL = fs.ShapeParams("box", half_extents=(0.03, 0.03, 0.03))
WALL = fs.ShapeParams("box", half_extents=(0.3, 0.02, 0.15))
MODULES = {"bullet": "pybullet", "mujoco": "mujoco"}


class World(NamedTuple):
    """A world: how many of it there are at scale 1, what makes it, its steps, and what is told of its end."""

    name: str
    count: int
    build: Callable[[fs.MultiRobotSimulationCore, int], None]
    steps: int
    told: str
    tell: Callable[[fs.MultiRobotSimulationCore], float]


def thing(
    sim: fs.MultiRobotSimulationCore, shape: fs.ShapeParams, place: tuple[float, ...], **settings: object
) -> None:
    """Spawn an object."""
    params = {"mass": 1.0, **settings}
    sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(*place), **params))  # type: ignore[arg-type]


def resting(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    """Cubes side by side on the floor."""
    side = int(np.ceil(count**0.5))
    for index in range(count):
        thing(sim, CUBE, (0.3 * (index % side), 0.3 * (index // side), 0.1))


def falling(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    """Balls high above the floor."""
    for index in range(count):
        thing(sim, BALL, (0.3 * (index % 10), 0.3 * (index // 10), 20.0))


def stack(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    """Cubes on each other."""
    for level in range(count):
        thing(sim, CUBE, (0.0, 0.0, 0.1 + 0.2 * level))


def bases(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    """Bases that drive 1 m ahead by the motors of their wheels."""
    for index in range(count):
        place = fs.Pose.from_xyz(2.0 * (index % 10), 2.0 * (index // 10), 0.0)
        base = sim.spawn(
            fs.AgentSpawnParams(urdf_path="diff_base", mass=None, motion_mode="differential", initial_pose=place)
        )
        base.set_goal_pose(fs.Pose.from_xyz(place.x + 1.0, place.y, 0.0))


def heap(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    """Small cubes that fall into a box."""
    for sign in (-1.0, 1.0):
        thing(sim, WALL, (0.0, 0.15 * sign, 0.15), mass=0.0)
        params = fs.SimObjectSpawnParams(WALL, WALL, fs.Pose.from_yaw(0.15 * sign, 0.0, 0.15, np.pi / 2))
        sim.spawn(params)
    for index in range(count):
        thing(sim, SMALL, (0.07 * (index % 3 - 1), 0.07 * (index // 3 % 3 - 1), 0.1 + 0.08 * (index // 9)), mass=0.05)


def rows(sim: fs.MultiRobotSimulationCore) -> np.ndarray:
    """Return the rows that the engine moves."""
    return np.flatnonzero(sim.world.dynamic & sim.world.alive)


def fastest(sim: fs.MultiRobotSimulationCore) -> float:
    """Return the largest speed, in m/s."""
    return float(np.linalg.norm(sim.world.velocity[rows(sim)], axis=1).max())


def highest(sim: fs.MultiRobotSimulationCore) -> float:
    """Return the largest height, in m."""
    return float(sim.world.position[rows(sim), 2].max())


def farthest_off(sim: fs.MultiRobotSimulationCore) -> float:
    """Return how far the base that is farthest from its goal is, in m."""
    return max(abs(float(agent.get_pose().x) % 2.0 - 1.0) for agent in sim.agents)


WORLDS = [
    World("cubes at rest", 1000, resting, 60, "highest m", highest),
    World("balls falling", 100, falling, 60, "highest m", highest),
    World("stack, 10 min", 10, stack, 30_000, "highest m", highest),
    World("bases on wheels", 100, bases, 200, "off goal m", farthest_off),
    World("heap", 40, heap, 300, "fastest m/s", fastest),
]


def measure(world: World, engine: str, scale: float) -> tuple[float, float, float, float]:
    """Return the time of the first step and of the others, the steps per second at the end, and what is told."""
    params = fs.SimulationParams(gui=False, physics=True, engine=engine, timestep=0.02, collision_check_frequency=0.0)
    with fs.MultiRobotSimulationCore(params) as sim:
        world.build(sim, max(1, int(world.count * scale)))
        begin = time.perf_counter()
        sim.step_once()
        first = time.perf_counter() - begin
        times = []
        for _ in range(max(10, int(world.steps * min(1.0, scale)))):
            begin = time.perf_counter()
            sim.step_once()
            times.append(time.perf_counter() - begin)
        return first, float(np.mean(times)), float(np.mean(times[-10:])), world.tell(sim)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="how much of each world and run")
    options = parser.parse_args()
    print(f"{'world':16} {'engine':7} {'first ms':>9} {'step ms':>8} {'last ms':>8}  what came of it")
    for world in WORLDS:
        for engine, module in MODULES.items():
            if find_spec(module) is None:
                print(f"{world.name:16} {engine:7} {module} is not installed")
                continue
            first, step, last, told = measure(world, engine, options.scale)
            print(
                f"{world.name:16} {engine:7} {1e3 * first:9.1f} {1e3 * step:8.3f} {1e3 * last:8.3f}  "
                f"{world.told} {told:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
