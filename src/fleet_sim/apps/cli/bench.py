"""`fleet-sim bench`: measure the parts of a step of a scenario on this machine."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from fleet_sim.apps.cli.arguments import ProgressBar, add_progress, positive

WARM_UP_STEPS = 5
BAR = 40
"""Length of the longest bar."""
LEAST_SHARE = 0.002
"""Systems that take less of a step than this are summed up."""
OF_MOTION = {
    "blocking": ("blocking", ("before", "after"), "robots stop before what is in their way (block_on_collision)"),
    "avoidance": ("avoidance", ("before", "after"), "robots drive around others (avoidance)"),
    "laws": ("motion", ("advance", "settle"), "robots follow laws of motion"),
}
"""Parts of the system `motion`: attribute of the simulation, methods, and what makes them due."""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("bench", help="measure the parts of a step of a scenario on this machine")
    parser.add_argument("scenario", metavar="SCENARIO", help="a YAML file, or the name of a shipped one")
    parser.add_argument("--steps", type=positive, default=100, metavar="N", help="number of steps to measure")
    parser.add_argument("--json", action="store_true", help="print the times as JSON, in s")
    add_progress(parser)
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print the median time of each system in a step of a scenario, as fast as it goes, as bars; return 0."""
    from fleet_sim.apps.verification import quiet
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
        spent = dict.fromkeys(OF_MOTION, 0.0)
        for name, (part, methods, _) in OF_MOTION.items():
            for method in methods:
                _add_up(spent, name, getattr(sim, part), method)
        line = ProgressBar(args.progress, "steps", steps)
        for done in range(1, steps + 1):
            sim.step_once()
            line.show(done)
            totals.append(sim.pipeline.total)
            for name, taken in sim.pipeline.times.items():
                times.setdefault(name, []).append(taken)
        line.close()
        step, count = _median(totals), len(sim.world)
        rtf, compiled = sim.params.timestep / step, sim.world.compiled
        systems = {name: _median(taken) for name, taken in times.items()}
        if args.json:
            found = {"entities": count, "steps": steps, "step": step, "real_time_factor": rtf, "compiled": compiled}
            print(
                json.dumps(
                    {**found, "systems": systems, "motion": {name: seconds / steps for name, seconds in spent.items()}},
                    indent=1,
                )
            )
            return 0
        print(f"{count} entities, {steps} steps; median step {step * 1e3:.3f} ms, {rtf:.0f} times real time")
        why = "small worlds run in Python" if sim.params.compiled_code == "auto" else "setting compiled_code"
        print("compiled code is in use" if compiled else f"no compiled code is in use ({why})")
        motion = sim.world.motion
        numbers = {
            "blocking": np.count_nonzero(sim.world.block_on_collision & sim.world.alive),
            "avoidance": np.count_nonzero((motion.avoidance > 0.0) & sim.world.alive),
            "laws": np.count_nonzero(motion.control),
        }
    print("\n".join(bars(systems, step)))
    whole = sum(totals) or 1.0
    for name, seconds in spent.items():
        if seconds >= LEAST_SHARE * whole and numbers[name]:
            print(f"motion: {name} {seconds / whole:.1%} of the run, as {numbers[name]} {OF_MOTION[name][2]}")
    return 0


def _add_up(spent: dict[str, float], name: str, part: Any, method: str) -> None:
    """Have calls of a method of `part` add their seconds to `spent[name]`."""
    call = getattr(part, method)

    def timed(*arguments: Any) -> Any:
        begin = time.perf_counter()
        try:
            return call(*arguments)
        finally:
            spent[name] += time.perf_counter() - begin

    setattr(part, method, timed)


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
