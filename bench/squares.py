"""Measure searches: small worlds stepped together, one after the other, and by RobotSwarmSimulator beside them.

Times are those the process used (CPU), so that other work on the machine does not count; the programs take turns.

Run: python bench/squares.py [--worlds 50 100] [--agents 1 6 20] [--update together] [--source PYTHON]
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.swarm import RectangularWorld, Squares, World_from_config

ROUNDS, STEPS = 3, 60
OFF, ON = (0.27, -0.6), (0.27, 0.6)


def config(agents: int, kind: str, seed: int, update: str) -> dict[str, Any]:
    """Return one candidate: the world of bench/swarm_source.py, with numbers of its own."""
    random = np.random.default_rng(seed)
    off, on = [0.27, random.uniform(-0.8, -0.4)], [0.27, random.uniform(0.4, 0.8)]
    view = {"type": "BinaryFOVSensor", "theta": random.uniform(0.3, 0.6), "distance": 3.0}
    parts: dict[str, Any] = {"controller": {"type": "StaticController", "output": off}}
    if kind == "fov":
        parts = {"controller": {"type": "BinaryController", "a": off, "b": on}, "sensors": [view]}
    places, angles = random.uniform(2.0, 8.0, (agents, 2)).tolist(), random.uniform(-3.0, 3.0, agents).tolist()
    agent = {"type": "MazeAgent", "agent_radius": 0.1, **parts}
    crowd = [{**agent, "position": place, "angle": angle} for place, angle in zip(places, angles, strict=True)]
    return {"size": [10, 10], "time_step": 0.05, "seed": seed, "update": update, "agents": crowd}


def together(worlds: int, agents: int, kind: str, update: str) -> tuple[float, float]:
    """Return the time of a step of one world in us, and of building one in ms."""
    taken = []
    begin = time.process_time()
    squares = Squares(config(agents, kind, seed, update) for seed in range(worlds))
    built = 1e3 * (time.process_time() - begin) / worlds
    squares.evaluate(20)
    for _ in range(ROUNDS):
        begin = time.process_time()
        squares.evaluate(10 * STEPS)
        taken.append(1e6 * (time.process_time() - begin) / (10 * STEPS * worlds))
    squares.close()
    return min(taken), built


def alone(world: RectangularWorld) -> float:
    """Return the time of a step of `world` in us."""
    world.evaluate(20)
    taken = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        world.evaluate(STEPS)
        taken.append(1e6 * (time.process_time() - begin) / STEPS)
    return min(taken)


def source(python: str, kind: str, agents: int) -> float:
    """Return the time of a step by RobotSwarmSimulator in us."""
    script = Path(__file__).with_name("swarm_source.py")
    command = [python, str(script), kind, str(agents), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-2])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, nargs="+", default=[50, 100], help="numbers of candidates")
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 2, 6, 20], help="numbers of agents of each")
    parser.add_argument("--update", choices=("together", "in_turn"), default="together", help="order within a world")
    parser.add_argument("--source", metavar="PYTHON", help="interpreter with RobotSwarmSimulator")
    args = parser.parse_args()
    print("CPU time of a step of one world in us, and how many times faster together")
    print(
        f"{'worlds':>7} {'agents':>7} {'parts':>7} {'together':>9} {'alone':>8} {'times':>6} {'source':>8} {'times':>6}"
    )
    for agents in args.agents:
        for kind in ("static", "fov"):
            single = alone(World_from_config(config(agents, kind, 0, args.update)))
            theirs = source(args.source, kind, agents) if args.source else float("nan")
            for worlds in args.worlds:
                ours, _ = together(worlds, agents, kind, args.update)
                print(
                    f"{worlds:7} {agents:7} {kind:>7} {ours:9.2f} {single:8.1f} {single / ours:6.1f}"
                    f" {theirs:8.1f} {theirs / ours:6.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
