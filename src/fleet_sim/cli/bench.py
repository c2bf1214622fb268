"""`fleet-sim bench`: measure spawning and stepping on this machine."""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

from fleet_sim.cli.arguments import positive

WARM_UP_STEPS = 5


class Result(NamedTuple):
    """One measurement: times in seconds, the step as the median over all steps."""

    robots: int
    spawn: float
    step: float
    rtf: float


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("bench", help="measure spawning and stepping on this machine")
    parser.add_argument(
        "--robots",
        type=positive,
        nargs="+",
        default=[100, 1000, 10000],
        metavar="N",
        help="fleet sizes to measure",
    )
    parser.add_argument("--steps", type=positive, default=100, metavar="N", help="number of steps to measure")
    parser.add_argument(
        "--motion",
        choices=["omnidirectional", "differential"],
        default="differential",
        help="motion mode of the robots",
    )
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print one row per fleet size; return 0."""
    print(f"{args.motion} robots, physics off, time step 0.1 s, collisions in each step, half of the robots moving")
    print(f"{'robots':>8} {'spawn s':>9} {'step ms':>9} {'real-time factor':>17}")
    for robots in args.robots:
        result = measure(robots, args.steps, args.motion)
        print(f"{result.robots:8d} {result.spawn:9.3f} {result.step * 1e3:9.3f} {result.rtf:17.0f}", flush=True)
    return 0


def measure(robots: int, steps: int, motion: str) -> Result:
    """Return the times of a fleet of boxes on a grid; every second one drives past the others to a far goal."""
    # Imported here so that `fleet-sim --help` does not load the simulation.
    from fleet_sim.config.params import SimulationParams
    from fleet_sim.entities.agent_manager import AgentManager
    from fleet_sim.entities.grid import GridSpawnParams
    from fleet_sim.entities.shape_params import ShapeParams
    from fleet_sim.entities.spawn_params import AgentSpawnParams
    from fleet_sim.geometry import Pose
    from fleet_sim.simulation import MultiRobotSimulationCore

    params = SimulationParams(gui=False, monitor=False, target_rtf=0, timestep=0.1)
    sim = MultiRobotSimulationCore(params)
    manager = AgentManager(sim)
    box = ShapeParams(shape_type="box", half_extents=(0.3, 0.2, 0.1))
    start = time.perf_counter()
    grid = GridSpawnParams.from_count(robots, spacing=(2.0, 2.0, 0.0))
    agents = manager.spawn_agents_grid(robots, grid, AgentSpawnParams(collision_shape=box, motion_mode=motion))
    spawn = time.perf_counter() - start
    for agent in agents[::2]:
        x, y, z = agent.get_pose().position
        # So far away that none arrives while steps are measured.
        agent.set_goal(Pose((x + 1e4, y, z)))
    # The first steps also pay for first use of caches and for acceleration; they are measured but not counted. The
    # median is not moved by a step in which the machine did something else.
    times = []
    for _ in range(WARM_UP_STEPS + steps):
        start = time.perf_counter()
        sim.step_once()
        times.append(time.perf_counter() - start)
    step = sorted(times[WARM_UP_STEPS:])[steps // 2]
    return Result(robots, spawn, step, params.timestep / step)
