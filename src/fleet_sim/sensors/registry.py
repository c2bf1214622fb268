"""Kinds of sensors by name: what the `sensors` of a robot may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fleet_sim.errors import ConfigError, DuplicateNameError, InvalidValueError, did_you_mean
from fleet_sim.sensors.base import SensorKind, SensorParams
from fleet_sim.settings import object_schema, read

_KINDS: dict[str, type[SensorKind]] = {}


class SensorPlan(NamedTuple):
    """A sensor to be: the name of its kind, and its parameters."""

    type: str
    params: SensorParams


def register_sensor(name: str, kind: type[SensorKind]) -> None:
    """Make a kind of sensor known as `name`; its `params_class` is its own, and read strictly.

    Raises DuplicateNameError, or InvalidValueError for anything that is not a SensorKind.
    """
    if not (isinstance(kind, type) and issubclass(kind, SensorKind)):
        raise InvalidValueError(f"sensor {name!r}: expected a class derived from SensorKind, got {kind!r}")
    if name in _KINDS:
        raise DuplicateNameError(f"a kind of sensor named {name!r} exists already")
    owner = next((known for known, other in _KINDS.items() if other.params_class is kind.params_class), None)
    if owner is not None or kind.params_class is SensorParams:
        raise InvalidValueError(
            f"sensor {name!r}: its params_class must be its own, derived from SensorParams, which "
            f"{kind.params_class.__name__} is not{f' (it is that of {owner!r})' if owner else ''}"
        )
    _KINDS[name] = kind


def list_sensors() -> list[str]:
    """Return the names of all kinds of sensors, in alphabetical order."""
    return sorted(_KINDS)


def sensor_kind(name: str) -> type[SensorKind]:
    """Return the kind registered as `name`; raises KeyError."""
    return _KINDS[name]


def sensor_params_class(name: str) -> type[SensorParams]:
    """Return what sensors of the kind `name` are made from; raises KeyError."""
    return _KINDS[name].params_class


def plan_sensor(
    spec: Any, settings: Mapping[str, Any] | None = None, *, source: str = "", path: str = ""
) -> SensorPlan:
    """Return what `spec` asks for: a mapping with `type` and parameters, the name of a kind, or sensor parameters.

    `settings` are more parameters, which win over those of `spec`. Raises ConfigError naming the key that is wrong.
    """
    if isinstance(spec, SensorParams):
        return _named(_type_of(spec), replace(spec, **settings) if settings else spec)
    if isinstance(spec, str):
        spec = {"type": spec}
    if not isinstance(spec, Mapping) or not isinstance(spec.get("type"), str):
        raise ConfigError(
            f"must be a mapping with `type` ({', '.join(list_sensors())}) and its parameters, got {spec!r}",
            source=source,
            path=path,
        )
    data = {**spec, **(settings or {})}
    kind = data.pop("type")
    if kind not in _KINDS:
        where = f"{path}.type" if path else "type"
        raise ConfigError(f"unknown sensor {kind!r}.{did_you_mean(kind, _KINDS)}", source=source, path=where)
    params = read(_KINDS[kind].params_class, data, source=source, path=path)
    return _named(kind, params)


def plan_sensors(specs: Any, *, source: str = "", path: str = "sensors") -> tuple[SensorPlan, ...]:
    """Return the plans of a list of specs (None: of none); raises ConfigError, also for a name given twice."""
    if specs is None:
        return ()
    if not isinstance(specs, Sequence) or isinstance(specs, str):
        raise ConfigError(f"must be a list of sensors, got {specs!r}", source=source, path=path)
    plans = []
    names: set[str] = set()
    for index, spec in enumerate(specs):
        where = f"{path}[{index}]"
        plan = plan_sensor(spec, source=source, path=where)
        if plan.params.name in names:
            raise ConfigError(
                f"there are two sensors named {plan.params.name!r}; give one of them another name",
                source=source,
                path=f"{where}.name",
            )
        names.add(plan.params.name)
        plans.append(plan)
    return tuple(plans)


def sensors_schema() -> dict[str, Any]:
    """Return the JSON schema of a list of sensors."""
    kinds = []
    for name in list_sensors():
        schema = object_schema(_KINDS[name].params_class)
        properties = {"type": {"const": name}, **schema["properties"]}
        kinds.append({**schema, "properties": properties, "required": ["type", *schema.get("required", [])]})
    return {"type": "array", "description": "What it carries.", "items": {"anyOf": kinds}}


def _type_of(params: SensorParams) -> str:
    for name, kind in _KINDS.items():
        if kind.params_class is type(params):
            return name
    raise InvalidValueError(f"{type(params).__name__} belongs to no registered kind of sensor; see register_sensor")


def _named(kind: str, params: SensorParams) -> SensorPlan:
    return SensorPlan(kind, params if params.name else replace(params, name=kind))
