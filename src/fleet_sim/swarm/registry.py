"""The registries of all kinds of parts, and registering parts of your own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fleet_sim.base.errors import InvalidValueError, unknown_name
from fleet_sim.base.settings import json_schema, object_schema
from fleet_sim.swarm.agent_config import AgentConfig
from fleet_sim.swarm.agents import AGENT_TYPES
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.parameters import Configured, PartRegistry, parameters_of
from fleet_sim.swarm.pictures import SUBSCRIBERS
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.swarm_state import GOALS
from fleet_sim.swarm.world import WORLDS
from fleet_sim.swarm.world_config import RectangularWorldConfig, WorldConfig

Part = TypeVar("Part")
Settings = TypeVar("Settings", bound=type[Any])

KINDS: dict[str, PartRegistry[Any]] = {
    registry.noun: registry
    for registry in (AGENT_TYPES, CONTROLLERS, SENSORS, SPAWNERS, METRICS, GOALS, SUBSCRIBERS, WORLDS)
}
"""The kinds of parts by the name they have in configurations; in the plural, as a key of worlds, they are known too."""


def register_dictlike_namespace(key: str) -> None:
    """Let there be parts of kind `key`, of any class, for `register_dictlike_type` and `find_type`.

    A kind that is there stays as it is. Raises InvalidValueError for what is not a name.
    """
    if not isinstance(key, str) or not key.isidentifier():
        raise InvalidValueError(f"key: must be a name, such as 'planner', got {key!r}")
    # Once more is allowed, for modules that are reloaded.
    if _singular(key) not in KINDS:
        KINDS[key] = PartRegistry(key, object, {})


def register_dictlike_type(namespace: str, name: str, cls: type[Any]) -> None:
    """Make `cls` known as `name` among the parts of kind `namespace`, such as "sensor".

    Raises UnknownNameError for a namespace that does not exist, DuplicateNameError for a name that is taken and
    InvalidValueError for anything but a class of that kind.
    """
    registry = _registry(namespace)
    # Naming a class once more does no harm: notebooks run their cells again.
    if registry.registered().get(name) is not cls:
        registry.register(name, cls)


def register_agent_type(name: str, cls: type[Any], config_cls: type[Any] | None = None) -> None:
    """Make a type of agent known as `name`, made from settings of `config_cls`; see `register_dictlike_type`.

    Without `config_cls`, its settings are those that `cls.config_class` names.
    """
    _settle_settings(cls, config_cls, AgentConfig)
    register_dictlike_type("agent", name, cls)


def register_controller_type(name: str, cls: type[Any]) -> None:
    """Make a type of controller known as `name`; see `register_dictlike_type`."""
    register_dictlike_type("controller", name, cls)


def register_sensor_type(name: str, cls: type[Any]) -> None:
    """Make a type of sensor known as `name`; see `register_dictlike_type`."""
    register_dictlike_type("sensor", name, cls)


def register_spawner_type(name: str, cls: type[Any]) -> None:
    """Make a type of spawner known as `name`; see `register_dictlike_type`."""
    register_dictlike_type("spawner", name, cls)


def register_metric_type(name: str, cls: type[Any]) -> None:
    """Make a type of metric known as `name`; see `register_dictlike_type`."""
    register_dictlike_type("metric", name, cls)


def register_world_type(name: str, cls: type[Any], config_cls: type[Any] | None = None) -> None:
    """Make a type of world known as `name`, made from settings of `config_cls`; see `register_agent_type`."""
    _settle_settings(cls, config_cls, RectangularWorldConfig)
    register_dictlike_type("world", name, cls)


def associated_type(type_name: str) -> Callable[[Settings], Settings]:
    """Return a decorator of settings classes: theirs are settings of the type known as `type_name`.

    So `world.spawn(MySettings(...))` knows what to make.
    """

    def name(cls: Settings) -> Settings:
        if not issubclass(cls, (AgentConfig, WorldConfig)):
            raise InvalidValueError(f"{cls.__name__}: derive it from AgentConfig or WorldConfig, or one of theirs")
        cls.associated_type = type_name
        return cls

    return name


def _settle_settings(cls: type[Any], config_cls: type[Any] | None, base: type[Any]) -> None:
    """Let agents or worlds of `cls` be made from `config_cls`; raises InvalidValueError where they cannot be."""
    if config_cls is None:
        return
    known: type[Any] = getattr(cls, "config_class", base)
    if known is config_cls:
        return
    if not (isinstance(config_cls, type) and issubclass(config_cls, known)):
        raise InvalidValueError(f"{cls.__name__}: its settings must derive from {known.__name__}, got {config_cls!r}")
    # Of its own, not inherited: two registrations would otherwise change each other's settings.
    if "config_class" in vars(cls):
        raise InvalidValueError(f"{cls.__name__} has settings of its own, {known.__name__}; use those")
    cls.config_class = config_cls


def known_types(kind: str) -> dict[str, type[Any]]:
    """Return the classes of a kind by name: built in, registered, and of other distributions."""
    registry = _registry(kind)
    known = registry.registered()
    return {**known, **registry.all()}


def find_type(kind: str, name: object) -> type[Any]:
    """Return the class called `name` among the parts of `kind`; see `PartRegistry.type_of`."""
    return _registry(kind).type_of(name)


def make(kind: str, spec: object, base: type[Part], *given: Any) -> Part:
    """Return the part of `kind` that `spec` describes, an object of `base`; see `PartRegistry.make`."""
    part: Part = _registry(kind).make(spec, *given)
    return part


def _registry(kind: str) -> PartRegistry[Any]:
    if _singular(kind) not in KINDS:
        raise unknown_name("kind of part", kind, KINDS)
    return KINDS[_singular(kind)]


def _singular(kind: str) -> str:
    """Return the name of a kind that may be given as the key of a list of such parts, as in "sensors"."""
    # Only the plural of a kind that is known: a kind of users' own may end in s itself.
    return kind[:-1] if kind not in KINDS and kind.endswith("s") and kind[:-1] in KINDS else kind


# The JSON schema of world files, for editors: the registry and the settings classes as the reader knows them.


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
