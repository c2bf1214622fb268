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
    if args.world:
        from fleet_sim.swarm.registry import world_schema

        schema = world_schema()
    else:
        schema = scenario_schema()
    print(json.dumps(schema, indent=2))
    return 0


def scenario_schema() -> dict[str, Any]:
    """Return the JSON schema of a scenario file, put together from the settings of every part that reads a section."""
    # Imported here: a schema loads every part with settings, and --help needs none of them.
    from fleet_sim.base.params import SimulationParams
    from fleet_sim.base.scenario import OWN_SECTIONS, SECTIONS
    from fleet_sim.base.settings import json_schema, nullable, object_schema
    from fleet_sim.robots.spawning import ENTRIES
    from fleet_sim.sensing.sensors.registry import sensors_schema
    from fleet_sim.world.features import FEATURES

    features = {
        name: {**object_schema(feature.settings), "description": feature.doc}
        for name, feature in FEATURES.all().items()
    }
    schemas: dict[str, Any] = {"simulation": nullable(object_schema(SimulationParams))}
    for section, (_, entry) in ENTRIES.items():
        items = object_schema(entry)
        # At the top of an entry, as scenarios have them; `features` is how entries are kept after reading.
        items["properties"].update(features)
        items["properties"]["features"].update(additionalProperties=False, properties=features)
        # In a file a name is mandatory; in code it is not.
        items["properties"]["name"] = {**items["properties"]["name"], "type": "string", "minLength": 1}
        items["required"] = ["name", *items.get("required", [])]
        schemas[section] = nullable({"type": "array", "items": items})
    schemas["sensors"] = schemas["robots"]["items"]["properties"]["sensors"] = sensors_schema()
    return {
        **json_schema(SimulationParams, title="A fleet_sim scenario"),
        "description": "Settings of a simulation and the entities in it.",
        "properties": {
            **{name: {**schemas[name], "description": doc} for name, doc in OWN_SECTIONS.items()},
            **{name: {**section.schema(), "description": section.doc} for name, section in SECTIONS.all().items()},
        },
    }
