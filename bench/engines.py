"""PyBullet and MuJoCo in turn: the processor time of a step, what comes of the same worlds, and bytes of a body.

Run: python bench/engines.py [--scale 1.0] [--rounds 3] [--only heap]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

import fleet_sim as fs
from fleet_sim.learning.envs.franka import Franka2Env
from fleet_sim.learning.manipulation.arm import MANY

CUBE = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
BALL = fs.ShapeParams("sphere", radius=0.1)
SMALL = fs.ShapeParams("box", half_extents=(0.03, 0.03, 0.03))
WALL = fs.ShapeParams("box", half_extents=(0.3, 0.02, 0.15))
ARMS = 16
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


class Measured(NamedTuple):
    """Processor time of the first step and of the others, in s, and what is told of the end."""

    first: float
    step: float
    told: float


Kind: TypeAlias = tuple[str, str, Callable[[list[str], float], dict[str, Measured]]]
"""A name, what is told of the end, and what measures one round with all engines."""


def measure(world: World, engine: str, scale: float) -> Measured:
    """Return what a world costs with an engine."""
    params = fs.SimulationParams(gui=False, physics=True, engine=engine, timestep=0.02, collision_check_frequency=0.0)
    with fs.MultiRobotSimulationCore(params) as sim:
        world.build(sim, max(1, int(world.count * scale)))
        begin = time.process_time()
        sim.step_once()
        first = time.process_time() - begin
        steps = max(10, int(world.steps * min(1.0, scale)))
        begin = time.process_time()
        for _ in range(steps):
            sim.step_once()
        return Measured(first, (time.process_time() - begin) / steps, world.tell(sim))


def measure_in_turn(world: World, engines: list[str], scale: float) -> dict[str, Measured]:
    """Return what a world costs with each engine."""
    return {engine: measure(world, engine, scale) for engine in engines}


def measure_arms(engines: list[str], scale: float) -> dict[str, Measured]:
    """Return what steps of environments cost in which Franka arms reach into bins of 20 things.

    All worlds of all engines take each step in turn, as a machine that also does other work is not always equally fast.
    """
    settings = {"scene": {"bin": {"objects": {"min-number-of-objects": 20, "max-number-of-objects": 20}}}}
    count = max(1, int(ARMS * scale))
    worlds = {
        engine: [Franka2Env(settings, engine=engine, max_steps=10**9) for _ in range(count)] for engine in engines
    }
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (12, 5)).astype(np.float32)
    actions[:, :3] *= 0.01
    first, spent, begun = dict[str, float](), dict.fromkeys(engines, 0.0), dict[str, list[np.ndarray]]()
    for engine, envs in worlds.items():
        begin = time.process_time()
        for seed, env in enumerate(envs):
            env.reset(seed=seed)
        first[engine] = time.process_time() - begin
        arm = envs[0].arm()
        for _ in range(MANY + 1):
            # The last one loads the compiled code of inverse kinematics, once in a process.
            arm.get_joint_poses_ik(arm.get_gripper_state()[0].tolist(), use_null_space=True)
        begun[engine] = [env.arm().get_gripper_state()[0] for env in envs]
    for action in actions:
        for turn in zip(*worlds.values(), strict=True):
            for engine, env in zip(engines, turn, strict=True):
                begin = time.process_time()
                env.step(action)
                spent[engine] += time.process_time() - begin
    found = {}
    for engine, envs in worlds.items():
        ends = [env.arm().get_gripper_state()[0] for env in envs]
        moved = float(np.mean(np.linalg.norm(np.subtract(ends, begun[engine]), axis=1)))
        found[engine] = Measured(first[engine], spent[engine] / (count * len(actions)), moved)
        for env in envs:
            env.close()
    return found


def bytes_per_body(engine: str, count: int) -> float:
    """Return by how much this process grows with a cube at rest, in bytes: run it in a process of its own."""
    # Without compiled code, which takes more memory than all of the bodies.
    params = fs.SimulationParams(
        gui=False, physics=True, engine=engine, timestep=0.02, collision_check_frequency=0.0, compiled_code="never"
    )

    def resident() -> int:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    with fs.MultiRobotSimulationCore(params) as sim:
        # A first one loads the engine.
        resting(sim, 1)
        sim.step_once()
        before = resident()
        resting(sim, count)
        for _ in range(5):
            sim.step_once()
        return (resident() - before) / count


def told_bytes(engine: str, count: int) -> float:
    """Return `bytes_per_body` of a new process."""
    command = [sys.executable, __file__, "--bytes", engine, str(count)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def show(name: str, found: dict[str, list[Measured]], told: str) -> None:
    """Print the median of each engine, and how many times as fast MuJoCo is."""
    for engine, runs in found.items():
        first, step, end = (float(np.median(values)) for values in zip(*runs, strict=True))
        print(f"{name:16} {engine:7} {1e3 * first:9.1f} {1e3 * step:8.3f}  {told} {end:.4f}", flush=True)
    if len(found) == len(MODULES):
        bullet, mujoco = (float(np.median([run.step for run in found[engine]])) for engine in MODULES)
        print(f"{name:16} MuJoCo is {bullet / mujoco:.2f} times as fast", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="how much of each world and run")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, in turn; medians are printed")
    parser.add_argument("--only", default="", help="part of the names of the worlds to measure")
    parser.add_argument("--bytes", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bytes:
        print(bytes_per_body(options.bytes[0], int(options.bytes[1])))
        return
    engines = [engine for engine, module in MODULES.items() if find_spec(module) is not None]
    print(f"{'world':16} {'engine':7} {'first ms':>9} {'step ms':>8}  what came of it (processor time)")
    kinds: list[Kind] = [(world.name, world.told, partial(measure_in_turn, world)) for world in WORLDS]
    kinds.append(("Franka worlds", "moved m", measure_arms))
    for name, told, run in kinds:
        if options.only in name:
            rounds = [run(engines, options.scale) for _ in range(options.rounds)]
            show(name, {engine: [each[engine] for each in rounds] for engine in engines}, told)
    if options.only in "bytes":
        for engine in engines:
            print(f"{'bytes of a cube':16} {engine:7} {told_bytes(engine, max(200, int(1000 * options.scale))):9.0f}")


if __name__ == "__main__":
    main()
