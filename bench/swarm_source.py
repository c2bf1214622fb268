"""Measure the small worlds of bench/swarm.py with RobotSwarmSimulator, where that is installed.

Run: <its python> bench/swarm_source.py fov 6 [steps]; prints the least CPU time of a step in us, of building one in ms
"""

from __future__ import annotations

import sys
import time

import numpy as np
from swarmsim.agent.control.BinaryController import BinaryController
from swarmsim.agent.control.StaticController import StaticController
from swarmsim.agent.MazeAgent import MazeAgent, MazeAgentConfig
from swarmsim.sensors.BinaryFOVSensor import BinaryFOVSensor
from swarmsim.world.RectangularWorld import RectangularWorld, RectangularWorldConfig

OFF, ON = (0.27, -0.6), (0.27, 0.6)


def world_of(agents: int, kind: str) -> RectangularWorld:
    """Return a world of unicycles, with a field of view each if `kind` is "fov"."""
    world = RectangularWorld(RectangularWorldConfig(size=[10, 10], time_step=0.05, seed=1))
    world.setup()
    random = np.random.default_rng(1)
    for place, angle in zip(random.uniform(2, 8, (agents, 2)), random.uniform(-3, 3, agents), strict=True):
        agent = MazeAgent(MazeAgentConfig(position=tuple(place), angle=float(angle), agent_radius=0.1), world)
        if kind == "fov":
            agent.sensors.append(BinaryFOVSensor(agent, theta=0.45, distance=3.0))
            agent.controller = BinaryController(OFF, ON, parent=agent)
        else:
            agent.controller = StaticController(agent, output=OFF)
        world.population.append(agent)
    return world


def main() -> None:
    """Measure and print."""
    kind, agents = sys.argv[1], int(sys.argv[2])
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    world_of(agents, kind)
    taken, built = [], []
    for _ in range(5):
        begin = time.process_time()
        world = world_of(agents, kind)
        built.append(time.process_time() - begin)
        for _ in range(20):
            world.step()
        begin = time.process_time()
        for _ in range(steps):
            world.step()
        taken.append((time.process_time() - begin) / steps)
    print(1e6 * min(taken), 1e3 * min(built))


if __name__ == "__main__":
    main()
