"""Measure swarm worlds: arrays compared with loops over agents; small and large swarms; memory over a long run.

Times are those the process used (CPU), so that other work on the machine does not count; the programs take turns.

Run: python bench/swarm.py [--agents 1000] [--rounds 5] [--small 6] [--large 10000] [--memory 100000]
"""

from __future__ import annotations

import argparse
import gc
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from swarm_loop import Agent, LoopController, LoopSensor, LoopWorld

from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.world import RectangularWorld

DT, RADIUS, THETA = 0.05, 0.05, 0.45
ACTIONS = ((0.27, -0.6), (0.27, 0.6))
SMALL_SIDE, SMALL_REACH = 10.0, 3.0
DENSITY = 2.5  # agents per square metre
REAL_TIME = 20.0  # steps per second
MIB = 2.0**20


def start(agents: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the side of the world, and the positions (N, 2) and headings (N,) of the agents."""
    side = float(np.sqrt(agents / DENSITY))
    random = np.random.default_rng(1)
    return side, random.uniform(0.0, side, (agents, 2)), random.uniform(-np.pi, np.pi, agents)


def world_of(agents: int, controller: object, sensors: list[object], *, collides: bool = False) -> RectangularWorld:
    """Return a world of unicycles."""
    side, positions, angles = start(agents)
    world = RectangularWorld({"size": [side, side], "time_step": DT, "collide_walls": False})
    world.setup()
    spec = {"type": "MazeAgent", "agent_radius": RADIUS, "collides": collides}
    world.spawn_many(world.recipe({**spec, "controller": controller, "sensors": sensors}), positions, angles)
    return world


def fov_worlds(agents: int, distance: float) -> dict[str, tuple[int, Callable[[], None], Callable[[], np.ndarray]]]:
    """Return the same world in three programs: (steps per round, step, positions) by name."""
    view, (off, on) = {"theta": THETA, "distance": distance}, ACTIONS
    arrays = world_of(agents, {"type": "BinaryController", "a": off, "b": on}, [{"type": "BinaryFOVSensor", **view}])
    each = world_of(agents, {"type": LoopController, "a": off, "b": on}, [{"type": LoopSensor, **view}])
    _, positions, angles = start(agents)
    crowd = [Agent(x, y, angle, RADIUS) for (x, y), angle in zip(positions.tolist(), angles.tolist(), strict=True)]
    plain = LoopWorld(crowd, DT, THETA, distance, ACTIONS)
    return {
        "arrays": (40, arrays.step, lambda: arrays.everyone.positions),
        "plain Python": (2, plain.step, lambda: np.array([(agent.x, agent.y) for agent in crowd])),
        "per agent": (1, each.step, lambda: each.everyone.positions),
    }


def timed(step: Callable[[], None], count: int) -> float:
    """Return the time of a step in ms: the mean of `count`."""
    begin = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - begin) / count * 1e3


def compare(agents: int, distance: float, rounds: int) -> None:
    """Print the times of arrays and loops, after a check that all three programs do the same."""
    worlds = fov_worlds(agents, distance)
    for _, step, _ in worlds.values():
        for _ in range(3):
            step()
    places = [positions() for _, _, positions in worlds.values()]
    apart = max(float(np.abs(place - places[0]).max()) for place in places)
    assert apart < 1e-9, f"the programs do not do the same: {apart} m apart after three steps"
    times: dict[str, list[float]] = {name: [] for name in worlds}
    for _ in range(rounds):
        for name, (count, step, _) in worlds.items():
            times[name].append(timed(step, count))
    ours = median(times["arrays"])
    for name, taken in times.items():
        ratio = median(other / own for own, other in zip(times["arrays"], taken, strict=True))
        print(f"{agents:7} {distance:8g}  {name:14} {median(taken):10.3f} {1e3 / median(taken):10.1f} {ratio:10.1f}")
    assert ours > 0.0


def small(agents: int, rounds: int) -> None:
    """Print the time of a step of a small world, without and with a field of view, in both orders of updating."""
    off, on = ACTIONS
    static = {"controller": {"type": "StaticController", "output": off}, "sensors": []}
    view = {"type": "BinaryFOVSensor", "theta": THETA, "distance": SMALL_REACH}
    field = {"controller": {"type": "BinaryController", "a": off, "b": on}, "sensors": [view]}
    random = np.random.default_rng(1)
    places, angles = random.uniform(2.0, SMALL_SIDE - 2.0, (agents, 2)), random.uniform(-3.0, 3.0, agents)
    taken = []
    for parts in (static, field):
        for update in ("together", "in_turn"):
            world = RectangularWorld({"size": [SMALL_SIDE, SMALL_SIDE], "time_step": DT, "update": update})
            world.setup()
            world.spawn_many(world.recipe({"type": "MazeAgent", "agent_radius": 0.1, **parts}), places, angles)
            timed(world.step, 30)
            # The least: what else the machine does only adds to it.
            taken.append(1e3 * min(timed(world.step, 60) for _ in range(rounds)))
    print(f"{agents:7} {taken[0]:12.0f} {taken[1]:12.0f} {taken[2]:14.0f} {taken[3]:14.0f}")


def large(agents: int, rounds: int) -> None:
    """Print the time of a step with boids and with reciprocal avoidance."""
    side, _, _ = start(agents)
    goals = np.random.default_rng(2).uniform(0.0, side, (agents, 2)).tolist()
    for name, controller, collides in (
        ("boids", {"type": "BoidsController"}, True),
        ("boids, no collisions", {"type": "BoidsController"}, False),
        ("reciprocal avoidance", {"type": "OrcaController", "waypoints": goals, "reach": 1.0}, False),
    ):
        world = world_of(agents, controller, [], collides=collides)
        timed(world.step, 10)
        taken = median(timed(world.step, 5) for _ in range(rounds))
        share = f"{1e3 / REAL_TIME / taken:.1f} x real time at {REAL_TIME:g} Hz"
        print(f"{agents:7} {name:24} {taken:10.3f} ms   {share}")


def memory(steps: int) -> None:
    """Print the memory of a world over a long run, with sensors, metrics and false readings."""
    view = {"type": "BinaryFOVSensor", "theta": THETA, "distance": 2.0, "false_positive": 0.05, "store_history": True}
    world = world_of(20, {"type": "BinaryController", "a": ACTIONS[0], "b": ACTIONS[1]}, [view])
    config = {"type": "LevyController", "velocity": 0.3, "angular_velocity": 2.0}
    world.spawn({"type": "MazeAgent", "agent_radius": RADIUS, "controller": config})
    for name in ("Circliness", "TotalCollisions", "Throughput", "DistanceTravelled"):
        world.add_metric(METRICS.get(name)())
    print(f"\n{'steps':>9} {'resident MiB':>14}")
    for done in range(steps + 1):
        if done % max(1, steps // 10) == 0:
            gc.collect()
            print(f"{done:9} {resident():14.2f}", flush=True)
        world.step()


def resident() -> float:
    """Return the present memory of the process in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / MIB


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--agents", type=int, default=1000, help="number of agents, each with a field of view (default 1000)"
    )
    parser.add_argument(
        "--distances", type=float, nargs="+", default=[0.5, 1.0, 2.0], help="ranges of the field of view in m"
    )
    parser.add_argument("--rounds", type=int, default=5, help="number of measurements (default 5)")
    parser.add_argument(
        "--small", type=int, nargs="+", default=[1, 6, 20], help="numbers of agents of the small worlds"
    )
    parser.add_argument(
        "--large", type=int, nargs="+", default=[1000, 10000], help="numbers of agents of the large swarms"
    )
    parser.add_argument(
        "--memory", type=int, default=0, metavar="STEPS", help="print the memory over a run of this many steps"
    )
    args = parser.parse_args()
    print("A binary field of view each; the same world in three programs. CPU time")
    print(f"{'agents':>7} {'range m':>8}  {'program':14} {'step ms':>10} {'steps/s':>10} {'ratio':>10}")
    for distance in args.distances:
        compare(args.agents, distance, args.rounds)
    print("\nSmall worlds. Least CPU time of a step in us, without and with a field of view")
    print(f"{'agents':>7} {'together':>12} {'in turn':>12} {'view, together':>14} {'view, in turn':>14}")
    for agents in args.small:
        small(agents, args.rounds)
    print("\nLarge swarms. CPU time of a step")
    for agents in args.large:
        large(agents, args.rounds)
    if args.memory:
        memory(args.memory)


if __name__ == "__main__":
    main()
