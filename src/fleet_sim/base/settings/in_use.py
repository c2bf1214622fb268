"""Settings that something which runs was built from."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.settings.fields import fields_of, shown
from fleet_sim.base.settings.reader import Checked

S = TypeVar("S", bound="UsedSettings")


class _Use(NamedTuple):
    """What uses the settings, what to write in place of single settings, and what to call with new values of others.

    `on_change` is None where no setting is live.
    """

    owner: str
    advice: Mapping[str, str]
    on_change: dict[str, Callable[[Any], object]] | None


class UsedSettings(Checked):
    """Settings whose copy in use either counts when it is changed, or refuses the change.

    Settings declared `live` count whenever they are set. The others are read once, when something is built from them.
    Copies, also by `dataclasses.replace`, are free again.
    """

    # Not in `__dict__`, which copies and comparisons of settings take as it is.
    __slots__ = ("_use",)
    _use: ClassVar[_Use]

    def in_use(self: S, owner: str, advice: Mapping[str, str] = MappingProxyType({})) -> S:
        """Return a checked copy, with its sections, that belongs to `owner`, such as "a simulation".

        `advice` says for single settings that are not live what to do instead of setting them. Lists are shared with
        the original.
        """
        used = copy.copy(self)
        for name, value in vars(used).items():
            if isinstance(value, Checked):
                section = value._section_in_use(owner) if isinstance(value, UsedSettings) else copy.copy(value)
                object.__setattr__(used, name, section)
        # Rules that concern several settings hold at construction only.
        used.__post_init__()
        object.__setattr__(used, "_use", _Use(owner, advice, {}))
        return used

    def _section_in_use(self: S, owner: str) -> S:
        """Return a copy of which nothing is live: what is built from a section has a copy of its own."""
        used = self.in_use(owner)
        object.__setattr__(used, "_use", _Use(owner, {}, None))
        return used

    def when_changed(self, name: str, function: Callable[[Any], object]) -> None:
        """Call `function(value)` when the live setting `name` of this copy in use has another value."""
        assert self._use.on_change is not None, "sections of settings in use are not live"
        self._use.on_change[name] = function

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings alone: a copy is not in use."""
        return self.__dict__

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting, and hand the new value to what uses it; raises ConfigError where it is read once only.

        A refused setting keeps its value. The error says what to do in its place.
        """
        use: _Use | None = getattr(self, "_use", None)
        field = fields_of(type(self)).get(name) if use else None
        if use is None or field is None:
            super().__setattr__(name, value)
            return
        before = getattr(self, name)
        super().__setattr__(name, value)
        after = getattr(self, name)
        if after == before:
            return
        if use.on_change is None or not field.rules.live:
            object.__setattr__(self, name, before)
            instead = use.advice.get(
                name, f"set it before, or build another one with dataclasses.replace(..., {name}=...)"
            )
            raise ConfigError(
                f"is read when {use.owner} is built, and stays {before!r} in this one; {instead}", path=name
            )
        if name in use.on_change:
            use.on_change[name](after)


# Keys of nested settings by their path, such as simulation.seed or spawners[0].agent.controller.a[1].


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
