"""`fleet-sim bench`: measure spawning and stepping on this machine, of boxes or of a scenario."""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

from fleet_sim.apps.cli.arguments import ProgressBar, TextTable, add_progress, positive
from fleet_sim.base.errors import InvalidValueError, brief
from fleet_sim.base.gate import MOST_ALIKE

WARM_UP_STEPS = 5
SIZES = (100, 1000, 10000)
BAR = 40
"""Length of the longest bar."""
LEAST_SHARE = 0.002
"""Systems that take less of a step than this are summed up."""


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
        "scenario", nargs="?", metavar="SCENARIO", help="scenario to profile, part by part (default: measure boxes)"
    )
    parser.add_argument(
        "--robots", type=positive, nargs="+", metavar="N", help="fleet sizes to measure (default: 100 1000 10000)"
    )
    parser.add_argument("--steps", type=positive, default=100, metavar="N", help="number of steps to measure")
    parser.add_argument(
        "--motion",
        choices=["omnidirectional", "differential"],
        help="motion mode of the robots (default: differential)",
    )
    add_progress(parser)
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print one row per fleet size, or one per system of the scenario; return 0."""
    from fleet_sim.base.kernels import compile_at_first_call

    # Else the first steps would be measured in Python.
    compile_at_first_call()
    if args.scenario is not None:
        if args.robots or args.motion:
            raise InvalidValueError("--robots and --motion are for boxes; a scenario has robots of its own")
        print_systems(args.scenario, args.steps, args.progress)
        return 0
    for robots in args.robots or ():
        if robots > MOST_ALIKE:
            raise InvalidValueError(f"--robots: expected at most {MOST_ALIKE}, got {brief(robots)}")
    motion = args.motion or "differential"
    print(f"{motion} robots, physics off, time step 0.1 s, collisions in each step, half of the robots moving")
    with TextTable({"robots": 8, "spawn s": 8, "step ms": 8, "real-time factor": 16}) as table:
        for robots in args.robots or SIZES:
            line = ProgressBar(args.progress, "steps", WARM_UP_STEPS + args.steps, f"{robots} robots  ")
            result = measure(robots, args.steps, motion, line)
            line.close()
            times = (f"{result.spawn:.3f}", f"{result.step * 1e3:.3f}", f"{result.rtf:.0f}")
            table.row([str(result.robots), *times])
    return 0


def measure(robots: int, steps: int, motion: str, line: ProgressBar) -> Result:
    """Return the times of a fleet of boxes on a grid; every second one drives past the others to a far goal."""
    # Imported here so that `fleet-sim --help` does not load the simulation.
    from fleet_sim.base.geometry import Pose
    from fleet_sim.base.params import SimulationParams
    from fleet_sim.robots.manager import AgentManager
    from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams
    from fleet_sim.robots.spawning import GridSpawnParams
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
    for done in range(1, WARM_UP_STEPS + steps + 1):
        start = time.perf_counter()
        sim.step_once()
        times.append(time.perf_counter() - start)
        line.show(done)
    step = _median(times[WARM_UP_STEPS:])
    return Result(robots, spawn, step, params.timestep / step)


def print_systems(scenario: str, steps: int, progress: bool | None) -> None:
    """Print the median time of each system in a step of a scenario, as fast as it goes, as bars."""
    from fleet_sim.apps.verification.trace import quiet
    from fleet_sim.base.files import resolve_config
    from fleet_sim.base.settings import load_mapping
    from fleet_sim.simulation import MultiRobotSimulationCore

    file = resolve_config(scenario)
    with MultiRobotSimulationCore.from_dict(quiet(load_mapping(file)), source=str(file)) as sim:
        for _ in range(WARM_UP_STEPS):
            sim.step_once()
        times: dict[str, list[float]] = {}
        totals = []
        line = ProgressBar(progress, "steps", steps)
        for done in range(1, steps + 1):
            sim.step_once()
            line.show(done)
            totals.append(sim.pipeline.total)
            for name, taken in sim.pipeline.times.items():
                times.setdefault(name, []).append(taken)
        line.close()
        step, count = _median(totals), len(sim.world)
        rtf = sim.params.timestep / step
        print(f"{count} entities, {steps} steps; median step {step * 1e3:.3f} ms, {rtf:.0f} times real time")
        print("compiled code is in use" if sim.world.compiled else "no compiled code is in use (setting compiled_code)")
    print("\n".join(bars({name: _median(taken) for name, taken in times.items()}, step)))


def bars(systems: dict[str, float], step: float) -> list[str]:
    """Return a line for each system (seconds, by name): its ms, its share of the step, and a bar; longest first."""
    shown = {name: taken for name, taken in systems.items() if taken >= LEAST_SHARE * step}
    # What is left is the pipeline itself, and medians that do not add up to that of their sum.
    shown["the rest"] = max(step - sum(shown.values()), 0.0)
    longest = max(shown.values()) or 1.0
    order = sorted(shown.items(), key=lambda entry: -entry[1])
    return [
        f"{name:20} {taken * 1e3:9.4f} ms {taken / (step or 1.0):6.1%}  {'#' * round(BAR * taken / longest)}"
        for name, taken in order
    ]


def _median(numbers: list[float]) -> float:
    return sorted(numbers)[len(numbers) // 2]
