"""Reads the settings of bin picking from files and mappings.

Keys may be written with hyphens or underscores; arms and joints are numbered (`arm-1`, `joint-1`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from fleet_sim.errors import ConfigError
from fleet_sim.manipulation.config import REST, BinPickingConfig
from fleet_sim.paths import resolve_config
from fleet_sim.settings import load_mapping, read
from fleet_sim.settings.schema import plain

Section = TypeVar("Section")


def load_bin_picking(config: str | Path | Mapping[str, Any] | BinPickingConfig | None) -> BinPickingConfig:
    """Return the settings in a YAML file, a mapping, or the defaults for None; raises ConfigError."""
    if isinstance(config, BinPickingConfig):
        return config
    if config is None:
        return BinPickingConfig()
    source = "" if isinstance(config, Mapping) else str(config)
    data = config if isinstance(config, Mapping) else load_mapping(resolve_config(config))
    # Keys of files have hyphens, settings have underscores; from here on there are only the latter.
    given = _underscored(data, source)
    arms = given.get("arms")
    if isinstance(arms, dict):
        given["arms"] = {name: _arm(arm, source, f"arms.{name}") for name, arm in arms.items()}
    return read(BinPickingConfig, given, source=source)


def load_section(cls: type[Section], given: Section | Mapping[str, Any], path: str) -> Section:
    """Return one section of the settings: `given` itself, or read from a mapping; raises ConfigError at `path`."""
    if isinstance(given, cls):
        return given
    if not isinstance(given, Mapping):
        raise ConfigError(f"expected {cls.__name__} or a mapping with its keys, got {given!r}", path=path)
    return read(cls, _underscored(given, path=path), path=path)


def as_mapping(config: BinPickingConfig) -> dict[str, Any]:
    """Return the settings as a mapping with hyphens that `load_bin_picking` reads back."""
    # For the type checker: a mapping stays a mapping.
    hyphened = _hyphened(plain(config))
    assert isinstance(hyphened, dict)
    return hyphened


def _hyphened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key).replace("_", "-"): _hyphened(entry) for key, entry in value.items()}
    return value


def _underscored(value: Any, source: str = "", path: str = "") -> Any:
    """Return mappings with keys as Python names; raises ConfigError for a key in both spellings."""
    if not isinstance(value, Mapping):
        return value
    names: dict[str, Any] = {}
    for key, entry in value.items():
        name = str(key).replace("-", "_")
        inner = f"{path}.{name}" if path else name
        if name in names:
            raise ConfigError("given twice, with a hyphen and with an underscore", source=source, path=inner)
        names[name] = _underscored(entry, source, inner)
    return names


def _arm(arm: Any, source: str, path: str) -> Any:
    """Return the settings of an arm with its numbered joints (`joint-1`, ...) as a list.

    If there is a `joint-0`, numbers begin at 0, otherwise at 1.
    """
    joints = arm.get("joints") if isinstance(arm, Mapping) else None
    if not isinstance(joints, Mapping):
        return arm
    # Both ways of counting are found in files of the reference.
    first = 0 if "joint_0" in joints else 1
    names = [f"joint_{number}" for number in range(first, first + len(REST))]
    if set(joints) != set(names):
        given = ", ".join(map(str, joints)).replace("_", "-")
        raise ConfigError(
            f"expected joint-1 to joint-{len(REST)} or joint-0 to joint-{len(REST) - 1}, got {given}",
            source=source,
            path=f"{path}.joints",
        )
    return {**arm, "joints": [joints[name] for name in names]}


_NUMBER = re.compile(r"\d+$")


def arm_number(name: str) -> int:
    """Return the number at the end of an arm's name, else 0; arms are created in that order."""
    found = _NUMBER.search(name)
    return int(found.group()) if found else 0
