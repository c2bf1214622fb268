"""Names of the parts of a world, and how a part is made from a mapping with a `type`.

A `type` is a short name, a dotted path ("package.module:Class" or "package.module.Class"), or an entry point of the
group "fleet_sim.swarm.<kind>" of an installed distribution. The other keys are keyword arguments of its constructor.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from fleet_sim.entities.arguments import check_arguments
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError, unknown_name
from fleet_sim.registry import Fit, Registry

HOMES: dict[str, str] = {
    "agent": "fleet_sim.swarm.agent_types",
    "controller": "fleet_sim.swarm.controllers",
    "sensor": "fleet_sim.swarm.sensors",
    "spawner": "fleet_sim.swarm.spawners",
    "metric": "fleet_sim.swarm.metrics",
    "goal": "fleet_sim.swarm.regions",
    "subscriber": "fleet_sim.swarm.subscribers",
    "world": "fleet_sim.swarm.world",
}
"""The kinds of parts, and the modules whose `BUILT_IN` maps short names to classes."""

Part = TypeVar("Part")


def _built_in(home: str) -> dict[str, type[Any]]:
    types: dict[str, type[Any]] = import_module(home).BUILT_IN
    return types


KINDS: dict[str, Registry[type[Any]]] = {
    # Which base class a part needs is said by who makes it; see `check`.
    kind: Registry(
        kind,
        Fit("a class", lambda thing: isinstance(thing, type)),
        group=f"fleet_sim.swarm.{kind}",
        built_in=partial(_built_in, home),
    )
    for kind, home in HOMES.items()
}
"""A registry for each kind. The modules of `HOMES` are imported at the first look-up."""


def built_in_names(
    namespace: Mapping[str, object], *, suffix: str = "", short: Mapping[type[Any], str] | None = None
) -> dict[str, type[Any]]:
    """Return the classes that a package imported from its own modules, each by two names, for its `BUILT_IN`.

    These are the class's own, and that in lower case with underscores and without `suffix`, or what `short` says:
    BinaryFOVSensor is "binary_fov". A class whose name is the suffix is a base class and no part.
    """
    found: dict[str, type[Any]] = {}
    for name, value in namespace.items():
        own = isinstance(value, type) and value.__module__.startswith(f"{namespace['__name__']}.")
        if isinstance(value, type) and own and name != suffix:
            words = _WORD_STARTS.sub("_", name.removesuffix(suffix)).lower()
            found |= {name: value, (short or {}).get(value, words): value}
    return found


_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def register_dictlike_type(namespace: str, name: str, cls: type[Any]) -> None:
    """Make `cls` known as `name` among the parts of kind `namespace`, such as "sensor".

    Raises UnknownNameError for a namespace that does not exist, DuplicateNameError for a name that is taken and
    InvalidValueError for anything but a class.
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
    """Return the class called `name` among the parts of `kind`; a class is returned as it is.

    Raises UnknownNameError with the closest name, and InvalidValueError for a path that cannot be imported.
    """
    if isinstance(name, type):
        return name
    if not isinstance(name, str):
        raise InvalidValueError(f"{kind}: type must be a name or a dotted path, got {name!r}")
    return _registry(kind).find(name)


def _registry(kind: str) -> Registry[type[Any]]:
    if kind not in KINDS:
        raise unknown_name("kind of part", kind, KINDS)
    return KINDS[kind]


def split(kind: str, spec: object) -> tuple[type[Any], dict[str, Any]]:
    """Return (class, parameters) of `spec`: a name, a class, or a mapping with a `type` and parameters.

    Raises UnknownNameError and InvalidValueError.
    """
    if isinstance(spec, (str, type)):
        return find_type(kind, spec), {}
    if not isinstance(spec, Mapping):
        raise InvalidValueError(f"{kind}: must be a name or a mapping with a type and its parameters, got {spec!r}")
    params = dict(spec)
    if "type" not in params:
        raise InvalidValueError(f"{kind}: `type` is missing; known are {', '.join(sorted(known_types(kind)))}")
    return find_type(kind, params.pop("type")), params


def check(kind: str, spec: object, base: type[Part], given: int = 0) -> type[Part]:
    """Return the class of the part that `spec` describes, with the names of its parameters checked; makes nothing.

    The constructor gets `given` arguments besides. Raises UnknownNameError and InvalidValueError.
    """
    if isinstance(spec, base):
        return type(spec)
    cls, params = split(kind, spec)
    what = _what(kind, spec, cls)
    if not issubclass(cls, base):
        raise InvalidValueError(f"{what}: expected a class derived from {base.__name__}")
    check_arguments(_with_parameters(cls, given), params, what)
    return cls


def make(kind: str, spec: object, base: type[Any], *given: Any) -> Any:
    """Return the part that `spec` describes: `cls(*given, **parameters)`; an object of `base` is returned as it is.

    Raises UnknownNameError and InvalidValueError for a name, a parameter or a value that is not allowed.
    """
    if isinstance(spec, base):
        return spec
    cls = check(kind, spec, base, len(given))
    _, params = split(kind, spec)
    try:
        return cls(*given, **params)
    except ConfigError as error:
        raise ConfigError(f"{_what(kind, spec, cls)}: {error}") from error
    except FleetSimError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"{_what(kind, spec, cls)}: {error}") from error


def _what(kind: str, spec: object, cls: type[Any]) -> str:
    return f"{kind} {spec['type'] if isinstance(spec, Mapping) else cls.__name__}"


def parameters_of(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return what the constructor of `cls` takes by name; what it passes on as ** counts as its base's."""
    found: dict[str, inspect.Parameter] = {}
    found_any = False
    for ancestor in cls.__mro__:
        if "__init__" not in vars(ancestor) or ancestor is object:
            continue
        own = list(inspect.signature(vars(ancestor)["__init__"]).parameters.values())[1:]
        for parameter in own:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                # What a base class needs, the constructor above it may well give by itself.
                needed = not found_any or parameter.default is not parameter.empty
                found.setdefault(parameter.name, parameter if needed else parameter.replace(default=None))
        found_any = True
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in own):
            break
    return found


def _with_parameters(cls: type[Any], given: int) -> Callable[..., Any]:
    """Return a function with the signature of the constructor of `cls`, without the first `given` parameters."""

    def constructor() -> None:
        """Stand for the constructor."""

    parameters = list(parameters_of(cls).values())[given:]
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    constructor.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return constructor
