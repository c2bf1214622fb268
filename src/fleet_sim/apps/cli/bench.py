"""`fleet-sim bench`: measure the parts of a step of a scenario on this machine."""

from __future__ import annotations

import argparse
from typing import Any

from fleet_sim.apps.cli.arguments import ProgressBar, add_progress, positive

WARM_UP_STEPS = 5
BAR = 40
"""Length of the longest bar."""
LEAST_SHARE = 0.002
"""Systems that take less of a step than this are summed up."""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("bench", help="measure the parts of a step of a scenario on this machine")
    parser.add_argument("scenario", metavar="SCENARIO", help="a YAML file, or the name of a shipped one")
    parser.add_argument("--steps", type=positive, default=100, metavar="N", help="number of steps to measure")
    add_progress(parser)
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print the median time of each system in a step of a scenario, as fast as it goes, as bars; return 0."""
    from fleet_sim.apps.verification.trace import quiet
    from fleet_sim.base.files import resolve_config
    from fleet_sim.base.kernels import compile_at_first_call
    from fleet_sim.base.settings import load_mapping
    from fleet_sim.simulation import MultiRobotSimulationCore

    # Else the first steps would be measured in Python.
    compile_at_first_call()
    file, steps = resolve_config(args.scenario), args.steps
    with MultiRobotSimulationCore.from_dict(quiet(load_mapping(file)), source=str(file)) as sim:
        for _ in range(WARM_UP_STEPS):
            sim.step_once()
        times: dict[str, list[float]] = {}
        totals = []
        line = ProgressBar(args.progress, "steps", steps)
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
    return 0


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
