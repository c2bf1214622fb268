"""The registries of all kinds of parts: names of users' own, and what is known by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from fleet_sim.errors import unknown_name
from fleet_sim.swarm import parts
from fleet_sim.swarm.agent_types import AGENT_TYPES
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.parts import PartRegistry
from fleet_sim.swarm.regions import GOALS
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.subscribers import SUBSCRIBERS
from fleet_sim.swarm.world import WORLDS

Part = TypeVar("Part")

KINDS: Mapping[str, PartRegistry[Any]] = {
    registry.noun: registry
    for registry in (AGENT_TYPES, CONTROLLERS, SENSORS, SPAWNERS, METRICS, GOALS, SUBSCRIBERS, WORLDS)
}
"""The kinds of parts by the name they have in configurations."""


def register_dictlike_type(namespace: str, name: str, cls: type[Any]) -> None:
    """Make `cls` known as `name` among the parts of kind `namespace`, such as "sensor".

    Raises UnknownNameError for a namespace that does not exist, DuplicateNameError for a name that is taken and
    InvalidValueError for anything but a class of that kind.
    """
    registry = _registry(namespace)
    # Naming a class once more does no harm: notebooks run their cells again.
    if registry.registered().get(name) is not cls:
        registry.register(name, cls)


def register_agent_type(name: str, cls: type[Any]) -> None:
    """Make a type of agent known as `name`; see `register_dictlike_type`."""
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


def register_world_type(name: str, cls: type[Any]) -> None:
    """Make a type of world known as `name`; see `register_dictlike_type`."""
    register_dictlike_type("world", name, cls)


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


def parameters_of(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return what the constructor of `cls` takes by name; see `parts.parameters_of`."""
    return parts.parameters_of(cls)


def _registry(kind: str) -> PartRegistry[Any]:
    if kind not in KINDS:
        raise unknown_name("kind of part", kind, KINDS)
    return KINDS[kind]
