"""`fleet-sim schema`: print the JSON schema of scenarios, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("schema", help="print the JSON schema of scenarios, for editors")
    parser.add_argument("--world", action="store_true", help="print the schema of swarm worlds instead")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print the schema; return 0."""
    # Imported here: a schema loads every part with settings, and --help needs none of them.
    if args.world:
        from fleet_sim.swarm.world_schema import world_schema as schema
    else:
        from fleet_sim.apps.cli.scenario_schema import scenario_schema as schema
    print(json.dumps(schema(), indent=2))
    return 0
