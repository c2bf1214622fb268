"""`fleet-sim warm`: compile in advance the code that is otherwise compiled at its first use."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STEPS = 20


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("warm", help="compile in advance the code that is otherwise compiled at its first use")
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO", help="names of shipped scenarios (default: all)")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Run shipped scenarios, and what none of them has, for some steps with compiled code; print how long each took.

    Returns 0. Raises MissingDependencyError without numba, InvalidValueError for a scenario that is not shipped.
    """
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.apps.cli.warm_cases import CASES
    from fleet_sim.apps.verification import trace as table
    from fleet_sim.base.errors import InvalidValueError, MissingDependencyError, did_you_mean
    from fleet_sim.base.kernels import check_installed, compile_at_first_call

    check_installed()
    compile_at_first_call()
    files = table.shipped()
    for name in args.scenario:
        if name not in files:
            raise InvalidValueError(f"there is no shipped scenario {name!r}.{did_you_mean(name, files)}")
    begin = time.perf_counter()
    for name in args.scenario or files:
        for variant, scenario in _variants(files[name]):
            started = time.perf_counter()
            try:
                _run(scenario, files[name])
            except (MissingDependencyError, InvalidValueError) as error:
                # An extra that is not installed; or a planner that refuses such robots.
                if not variant and isinstance(error, InvalidValueError):
                    raise
                print(f"  {name}{variant}: left out: {error}")
            else:
                print(f"  {name}{variant}: {time.perf_counter() - started:.1f} s", flush=True)
    cases = {} if args.scenario else CASES
    for name, run in cases.items():
        started = time.perf_counter()
        try:
            run()
        except MissingDependencyError as error:
            print(f"  {name}: left out: {error}")
        else:
            print(f"  {name}: {time.perf_counter() - started:.1f} s", flush=True)
    print(f"all that these use is compiled ({time.perf_counter() - begin:.0f} s)")
    return 0


def _variants(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a scenario as it is, and where it has traffic also with each other planner; and how they differ."""
    from fleet_sim.apps.verification.trace import quiet
    from fleet_sim.base.settings import load_mapping
    from fleet_sim.warehouse.traffic import PLANNERS

    scenario = quiet(load_mapping(file))
    scenario["simulation"]["compiled_code"] = "always"
    yield "", scenario
    traffic = scenario.get("traffic")
    if isinstance(traffic, dict):
        # `external` plans nothing itself, and `astar` is for one robot.
        for planner in sorted({*PLANNERS.registered()} - {traffic.get("planner"), "external", "astar"}):
            yield f" with {planner}", {**scenario, "traffic": {**traffic, "planner": planner}}


def _run(scenario: dict[str, Any], file: Path) -> None:
    from fleet_sim.simulation import MultiRobotSimulationCore

    with MultiRobotSimulationCore.from_dict(scenario, source=str(file)) as sim:
        for _ in range(STEPS):
            sim.step_once()
