"""Kinds of sensors by name, for the `sensors` of a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fleet_sim.base.errors import ConfigError, InvalidValueError, UnknownNameError
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.settings import nullable, object_schema, read
from fleet_sim.sensing.sensors.contact import ContactSensor, ForceTorque
from fleet_sim.sensing.sensors.imu import Imu, Odometry
from fleet_sim.sensing.sensors.lidar import Lidar, Lidar3d, Range
from fleet_sim.sensing.sensors.sensor import CameraSensor, SensorKind, SensorParams


def _check_params_class(name: str, kind: type[SensorKind]) -> None:
    """Raise InvalidValueError unless `kind` has parameters of its own: they tell which kind is meant."""
    owner = _name_of(kind.params_class, SENSORS.registered())
    if owner or kind.params_class is SensorParams:
        raise InvalidValueError(
            f"sensor {name!r}: its params_class must be its own, derived from SensorParams, which "
            f"{kind.params_class.__name__} is not{f' (it is that of {owner!r})' if owner else ''}"
        )


def _name_of(params_class: type[SensorParams], kinds: Mapping[str, type[SensorKind]]) -> str:
    """Return the name of the kind that `params_class` belongs to, or ""."""
    return next((name for name, kind in kinds.items() if kind.params_class is params_class), "")


BUILT_IN: dict[str, type[SensorKind]] = {
    "camera": CameraSensor,
    "contact": ContactSensor,
    "force_torque": ForceTorque,
    "imu": Imu,
    "lidar": Lidar,
    "lidar_3d": Lidar3d,
    "odometry": Odometry,
    "range": Range,
}

SENSORS = Registry(
    "sensor", subclasses_of(SensorKind), group="fleet_sim.sensor", built_in=BUILT_IN, check=_check_params_class
)
"""The kinds of sensors by name."""


class SensorPlan(NamedTuple):
    """A sensor to be: the name of its kind, and its parameters."""

    type: str
    params: SensorParams


def register_sensor(name: str, kind: type[SensorKind]) -> None:
    """Register a kind of sensor as `name`; it needs its own `params_class`, which is read strictly.

    Raises DuplicateNameError, or InvalidValueError for anything that is not a SensorKind.
    """
    SENSORS.register(name, kind)


def list_sensors() -> list[str]:
    """Return the names of all kinds of sensors, in alphabetical order."""
    return SENSORS.names()


def sensor_kind(name: str) -> type[SensorKind]:
    """Return the kind called `name`, or at the dotted path `name`; raises UnknownNameError and InvalidValueError."""
    return SENSORS.find(name)


def sensor_params_class(name: str) -> type[SensorParams]:
    """Return what sensors of the kind `name` are made from; raises as `sensor_kind` does."""
    return sensor_kind(name).params_class


def plan_sensor(
    spec: Any, settings: Mapping[str, Any] | None = None, *, source: str = "", path: str = ""
) -> SensorPlan:
    """Return what `spec` asks for: a mapping with `type` and parameters, the name of a kind, or sensor parameters.

    The name may be a dotted path. `settings` are more parameters, which win over those of `spec`. Raises ConfigError
    naming the key that is wrong.
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
    try:
        params_class = sensor_params_class(kind)
    except (UnknownNameError, InvalidValueError) as error:
        raise ConfigError(str(error), source=source, path=f"{path}.type" if path else "type") from error
    params = read(params_class, data, source=source, path=path)
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
    for name, kind in SENSORS.all().items():
        schema = object_schema(kind.params_class)
        # The constant type ties each set of parameters to its kind, so editors complete the right ones.
        properties = {"type": {"const": name}, **schema["properties"]}
        kinds.append({**schema, "properties": properties, "required": ["type", *schema.get("required", [])]})
    # A name alone is a sensor with its defaults; which names there are is left to the reader.
    items = {"anyOf": [*kinds, {"type": "string"}]}
    return nullable({"type": "array", "description": "What it carries.", "items": items})


def _type_of(params: SensorParams) -> str:
    # Registered ones first: looking among those of other packages imports these.
    name = _name_of(type(params), SENSORS.known()) or _name_of(type(params), SENSORS.all())
    if name:
        return name
    raise InvalidValueError(f"{type(params).__name__} belongs to no registered kind of sensor; see register_sensor")


def _named(kind: str, params: SensorParams) -> SensorPlan:
    # Named after its kind where it has no name: the usual robot has one of each.
    return SensorPlan(kind, params if params.name else replace(params, name=kind))
