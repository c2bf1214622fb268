"""`fleet-sim check`: validate scenarios without running them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.files import resolve_config
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.scenario import as_scenario, check_entries, with_implied_settings
from fleet_sim.base.sections import load_scenario


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("check", help="validate scenarios and report the errors")
    parser.add_argument("config", nargs="+", metavar="CONFIG", help="a YAML file, or the name of a shipped one")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print OK or the first error of each file; return 0 if all files are valid, else 1."""
    failed = False
    for name in args.config:
        try:
            path = resolve_config(name)
            check(as_scenario(load_scenario(path)), str(path))
        except FleetSimError as error:
            failed = True
            print(f"fleet-sim: error: {error}", file=sys.stderr)
        else:
            print(f"{path}: OK")
    return 1 if failed else 0


def check(config: Mapping[str, Any], source: str) -> None:
    """Raise FleetSimError where loading the scenario `config` would; robots, objects and sensors are really spawned.

    Whatever reads a scenario in another way finds other faults than loading does. No window is opened, no step is made.
    """
    # Imported here so that --help and a wrong option answer at once.
    from fleet_sim.robots.spawning import fill_scenario
    from fleet_sim.simulation import MultiRobotSimulationCore

    settings = with_implied_settings(config, source=source)
    check_entries(config, source=source)
    params = SimulationParams.from_dict(settings, source=source)
    # After reading them: a scenario with a window must be checkable where there is no display.
    params.gui = params.monitor = False
    with MultiRobotSimulationCore(params) as sim:
        fill_scenario(sim, settings, source=source)
