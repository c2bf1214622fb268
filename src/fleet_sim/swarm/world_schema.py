"""The JSON schema of world files, for editors: the registry and the settings classes as the reader knows them."""

from __future__ import annotations

from typing import Any

from fleet_sim.base.settings import json_schema, object_schema
from fleet_sim.swarm.parameters import Configured, parameters_of
from fleet_sim.swarm.registry import known_types
from fleet_sim.swarm.world_config import RectangularWorldConfig

TITLE = "A fleet_sim swarm world"
SECTIONS = {
    "agents": "agent",
    "objects": "agent",
    "spawners": "spawner",
    "goals": "goal",
    "metrics": "metric",
    "subscribers": "subscriber",
}
"""The sections of a world that are lists of parts, and the kinds of these."""

_GIVEN = {"spawner": 1}
"""How many arguments the world gives to the constructors of a kind."""


def world_schema() -> dict[str, Any]:
    """Return the JSON schema of a world; types of users' own pass, whatever their parameters."""
    schema = json_schema(RectangularWorldConfig, title=TITLE)
    schema["properties"]["type"] = {"type": "string", "description": "The class of the world."}
    for section, kind in SECTIONS.items():
        schema["properties"][section]["items"] = {"$ref": f"#/$defs/{kind}"}
    kinds = {*SECTIONS.values(), "controller", "sensor"}
    schema["$defs"] = {kind: _part_schema(kind) for kind in sorted(kinds)}
    return schema


def _part_schema(kind: str) -> dict[str, Any]:
    """Return the schema of a part: its name, or a mapping with its type and its parameters."""
    known = known_types(kind)
    rules = [
        {
            "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
            "then": _agent_schema(cls) if kind == "agent" else _constructor_schema(kind, cls),
        }
        for name, cls in known.items()
    ]
    mapping = {
        "type": "object",
        "properties": {"type": {"anyOf": [{"enum": list(known)}, {"type": "string"}]}},
        "required": ["type"],
        "allOf": rules,
    }
    return {"anyOf": [{"type": "string"}, mapping]}


def _agent_schema(cls: type[Any]) -> dict[str, Any]:
    schema = object_schema(cls.config_class)
    schema["properties"]["type"] = True
    schema["properties"]["controller"]["anyOf"] = [{"$ref": "#/$defs/controller"}, {"type": "null"}]
    schema["properties"]["sensors"]["items"] = {"$ref": "#/$defs/sensor"}
    return schema


def _constructor_schema(kind: str, cls: type[Any]) -> dict[str, Any]:
    """Return the JSON schema of the keys that a component takes from a file."""
    if issubclass(cls, Configured):
        schema = object_schema(cls)
        # The world passes these itself, so a file must not.
        for name in list(schema["properties"])[: _GIVEN.get(kind, 0)]:
            del schema["properties"][name]
            schema["required"].remove(name)
        schema["properties"]["type"] = True
        if "agent" in schema["properties"]:
            schema["properties"]["agent"] = {"$ref": "#/$defs/agent"}
        return schema
    names = list(parameters_of(cls).values())[_GIVEN.get(kind, 0) :]
    properties: dict[str, Any] = {"type": True, **{parameter.name: {} for parameter in names}}
    if "agent" in properties:
        properties["agent"] = {"$ref": "#/$defs/agent"}
    return {"properties": properties, "additionalProperties": False, "description": _first_line(cls)}


def _first_line(cls: type[Any]) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]
