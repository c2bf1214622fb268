"""Configurations as plain data: objects and classes are written as the entries of a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import yaml

from fleet_sim.errors import ConfigError
from fleet_sim.settings.fields import fields_of
from fleet_sim.settings.types import shown

PACKAGE = "fleet_sim.swarm."


@runtime_checkable
class Written(Protocol):
    """What can be written as an entry of a configuration."""

    def as_config_dict(self) -> dict[str, Any]:
        """Return it as a mapping with its `type` and what makes it."""


def plain(value: object, key: str) -> Any:
    """Return `value` as mappings, lists, numbers and texts; raises ConfigError with the key for what is code."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(item, f"{key}.{name}") for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{key}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, type):
        return class_name(value, key)
    if isinstance(value, Written):
        return plain(value.as_config_dict(), key)
    raise ConfigError(
        f"{shown(value)} is an object and cannot be written; give it as a mapping with a type, or by name", path=key
    )


def class_name(cls: type[Any], key: str = "type") -> str:
    """Return the name by which a configuration finds `cls`; raises ConfigError where none can."""
    if cls.__module__.startswith(PACKAGE):
        return cls.__name__
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        raise ConfigError(f"{cls.__qualname__} cannot be found by name; put the class into a module", path=key)
    return f"{cls.__module__}:{cls.__qualname__}"


def type_entry(cls: type[Any]) -> str | type[Any]:
    """Return the `type` of an entry that makes a `cls`: its name, or itself where no name finds it."""
    try:
        return class_name(cls)
    except ConfigError:
        return cls


def changed_settings(settings: Any) -> dict[str, Any]:
    """Return the settings of a dataclass object that are not those it has by default."""
    found = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if field.name in fields_of(type(settings)) and not same(value, _default_of(field)):
            found[field.name] = value
    return found


def _default_of(field: dataclasses.Field[Any]) -> object:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def same(a: object, b: object) -> bool:
    """Whether two values are equal, arrays and lists of them included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and np.array_equal(a, b)  # type: ignore[arg-type]  # both are arrays
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    # Of one type as well: True equals 1, and is written as something else.
    return type(a) is type(b) and bool(a == b)


def yaml_of(data: Mapping[str, Any]) -> str:
    """Return plain data as YAML; what is read from it is the same to the last bit."""
    # In the order of the class, in which people write them too.
    text: str = yaml.safe_dump(dict(data), sort_keys=False, default_flow_style=None, allow_unicode=True, width=110)
    return text
