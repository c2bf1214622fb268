"""`fleet-sim check`: validate scenarios without running them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from fleet_sim.config.params import SimulationParams
from fleet_sim.config.scenario import as_scenario, check_entries, with_implied_settings
from fleet_sim.entities.entries import ENTRIES, read_entries
from fleet_sim.errors import ConfigError
from fleet_sim.paths import resolve_config
from fleet_sim.settings import load_mapping


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("check", help="validate scenarios and report the errors")
    parser.add_argument("config", nargs="+", metavar="CONFIG", help="a YAML file, or the name of a shipped one")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print OK or the first error of each file; return 0 if all files are valid, else 1."""
    failed = False
    for name in args.config:
        path = resolve_config(name)
        try:
            config = as_scenario(load_mapping(path))
            # Settings are read as in `MultiRobotSimulationCore.from_dict`, but nothing is spawned.
            SimulationParams.from_dict(with_implied_settings(config, source=str(path)), source=str(path))
            check_entries(config, source=str(path))
            for section, (cls, _) in ENTRIES.items():
                read_entries(config.get(section) or [], cls, source=str(path), path=section)
        except ConfigError as error:
            failed = True
            print(f"fleet-sim: error: {error}", file=sys.stderr)
        else:
            print(f"{path}: OK")
    return 1 if failed else 0
