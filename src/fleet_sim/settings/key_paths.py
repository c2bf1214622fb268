"""Keys of nested settings by their path, such as simulation.seed or spawners[0].agent.controller.a[1]."""

from __future__ import annotations

import re
from typing import Any

from fleet_sim.errors import ConfigError
from fleet_sim.settings.types import shown

_PART = r"[^.\[\]]+(?:\[\d+\])*"
_PATH = re.compile(rf"{_PART}(?:\.{_PART})*")
_KEY = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def set_key(data: dict[str, Any], path: str, value: object, *, create: bool = True) -> None:
    """Set `value` at the key path `path` in `data`; sections that are missing are made, unless `create` is false.

    Raises ConfigError for what is no path, where something on the way is neither a section nor a list, and for an index
    that a list does not have.
    """
    if not _PATH.fullmatch(path):
        raise ConfigError(f"expected a key path such as simulation.seed or robots[0].name, got {path!r}")
    target: Any = data
    keys = list(_KEY.finditer(path))
    for match, following in zip(keys, [*keys[1:], None], strict=True):
        name, index = match[1], match[2]
        key: Any = name if name is not None else int(index)
        _check_inside(target, key, path, path[: match.start()].rstrip("."))
        if following is None:
            if not create and isinstance(target, dict) and key not in target:
                raise ConfigError(f"there is no such key: {path!r}")
            target[key] = value
            return
        if isinstance(target, dict) and key not in target:
            # A list cannot be made up: which entries would it have?
            if not create or following[2] is not None:
                raise ConfigError(f"there is no such key: {path[: match.end()]!r}")
            target[key] = {}
        target = target[key]


def _check_inside(target: Any, key: str | int, path: str, where: str) -> None:
    """Raise ConfigError if `key` cannot be a key of `target`, the value at the path `where`."""
    if isinstance(key, int):
        if not isinstance(target, list):
            raise ConfigError(f"holds {shown(target)}, which is no list, so {path!r} cannot be set", path=where)
        if key >= len(target):
            raise ConfigError(f"has {len(target)} entries, so {path!r} cannot be set", path=where)
    elif not isinstance(target, dict):
        raise ConfigError(f"holds {shown(target)}, so {path!r} cannot be set inside it", path=where)
