"""Reads mappings into settings classes and checks single values. Everything that is not allowed raises an error.

Settings that a simulation or node uses are checked again when they are changed: `UsedSettings`.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar, get_args, get_origin

import numpy as np

from fleet_sim.base.errors import ConfigError, InvalidValueError, UnknownNameError, did_you_mean, unknown_name
from fleet_sim.base.request_budget import check_name, is_from_outside
from fleet_sim.base.settings.fields import (
    NO_RULES,
    Field,
    Setting,
    as_number,
    describe,
    fields_of,
    is_union,
    names_of,
    shown,
)

T = TypeVar("T")

MOST_FAULTS = 20
"""Faults of one mapping or list that are looked for."""


class Where(NamedTuple):
    """A place in a configuration: the file and the dotted key path inside it."""

    source: str = ""
    path: str = ""

    def key(self, name: str) -> Where:
        return Where(self.source, f"{self.path}.{name}" if self.path else name)

    def item(self, index: int) -> Where:
        return Where(self.source, f"{self.path}[{index}]")

    def fault(self, message: str) -> ConfigError:
        return ConfigError(message, source=self.source, path=self.path)

    def fail(self, message: str) -> NoReturn:
        raise self.fault(message)


def read(cls: type[T], data: object, *, source: str = "", path: str = "") -> T:
    """Return the settings class `cls` filled from the mapping `data`; missing keys get their defaults.

    Raises ConfigError with `source` and the key path for an unknown or missing key or a value that is not
    allowed.
    """
    return _read(cls, data, Where(source, path))


def read_list(cls: type[T], data: object, *, source: str = "", path: str = "") -> list[T]:
    """Return a list of `cls` read from a list of mappings; raises ConfigError as `read` does."""
    items: list[T] = convert(list[cls], data, NO_RULES, Where(source, path))  # type: ignore[valid-type]
    return items


def check_fields(settings: object) -> None:
    """Check the fields of a dataclass object in place and convert them to their types; raises ConfigError."""
    for name, (given, checked, field) in _checks_of(type(settings)).items():
        value = getattr(settings, name)
        # Most fields keep their default, which is checked once per class.
        result = checked if value is given else convert(field.hint, value, field.rules, Where(path=name))
        if result is not value:
            # The only way to set a field of a frozen class.
            object.__setattr__(settings, name, result)


class Checked:
    """Base of settings dataclasses that are checked whenever they are constructed or a field is assigned."""

    def __post_init__(self) -> None:
        """Check the fields of a frozen class; those of other classes were checked when they were assigned."""
        if type(self).__dataclass_params__.frozen:  # type: ignore[attr-defined]
            check_fields(self)

    def __setattr__(self, name: str, value: object) -> None:
        cls = type(self)
        # Asked for here first: spawn params have forty fields, and a call for each is dear.
        check = (cls.__dict__.get("_checks") or _checks_of(cls)).get(name)
        if check is not None:
            given, checked, field = check
            value = checked if value is given else convert(field.hint, value, field.rules, Where(path=name))
        # What the class itself defines may be set, as a property; a misspelt setting may not.
        elif not hasattr(cls, name):
            raise unknown_name(f"setting of {cls.__name__}", name, fields_of(cls))
        object.__setattr__(self, name, value)


Checks = dict[str, tuple[object, Any, Field]]
"""By name: the default of a field, or MISSING where each object has its own; what it is converted to; and the field."""


def _checks_of(cls: type) -> Checks:
    """Return how the fields of `cls` are checked."""
    # Kept in the class itself, but not inherited.
    known: Checks | None = cls.__dict__.get("_checks")
    if known is None:
        known = {name: (*_checked_default(cls, field), field) for name, field in fields_of(cls).items()}
        type.__setattr__(cls, "_checks", known)
    return known


def _checked_default(cls: type, field: Field) -> tuple[object, Any]:
    """Return (default, checked default) if they can be shared between objects."""
    given = getattr(cls, field.name, MISSING)
    if given is not MISSING and isinstance(given, Hashable):
        checked = convert(field.hint, given, field.rules, Where(path=field.name))
        if isinstance(checked, Hashable):
            return given, checked
    return MISSING, None


def key_hint(cls: type, key: str, names: Iterable[str]) -> str:
    """Return what to say after an unknown key: the closest name, or all with an example of `cls` if it has one."""
    hint, example = did_you_mean(key, names), getattr(cls, "EXAMPLE", None)
    return f"{hint} For example: {example}" if example and "Did you mean" not in hint else hint


def _read(cls: type[T], data: object, where: Where) -> T:
    """Return settings from a mapping; raises ConfigError with file and key, and the closest key to an unknown one."""
    # Settings that were made in code may stand among those of a mapping.
    if isinstance(data, cls):
        return data
    if not isinstance(data, Mapping):
        # Who made an object of another class in Python looks for the name of the right one.
        made = f"of the class {cls.__name__}, or " if dataclasses.is_dataclass(data) else ""
        where.fail(f"must be {made}{describe(cls, NO_RULES)}, got {shown(data)}")
    fields, names = fields_of(cls), names_of(cls)
    values: dict[str, Any] = {}
    faults: list[ConfigError] = []
    for key, value in data.items():
        try:
            if key not in names:
                where.key(str(key)).fail(f"unknown key.{key_hint(cls, str(key), names)}")
            field = fields[names[key]]
            if field.name in values:
                both = ", ".join(repr(name) for name in (field.name, *field.rules.aliases) if name in data)
                where.key(key).fail(f"given twice: {both} are names of one setting; keep one of them")
            values[field.name] = None
            values[field.name] = convert(field.hint, value, field.rules, where.key(key))
            if field.name in ("name", "id") and is_from_outside():
                _check_name(value, where.key(key))
        except ConfigError as error:
            _add_fault(faults, error)
    missing = (field for field in fields.values() if field.name not in values and field.default is None)
    faults += [where.key(f.name).fault(f"missing; it must be {describe(f.hint, f.rules)}") for f in missing]
    _raise_faults(faults)
    try:
        return cls(**values)
    except ConfigError as error:
        raise error.within(where.path, source=where.source) from error
    except InvalidValueError as error:
        raise ConfigError(str(error), source=where.source, path=where.path) from error


def _add_fault(faults: list[ConfigError], fault: ConfigError) -> None:
    """Add a fault to those of one reading; raises them where there are MOST_FAULTS."""
    faults.append(fault)
    if len(faults) == MOST_FAULTS:
        _raise_faults(faults)


def _raise_faults(faults: Sequence[ConfigError]) -> None:
    """Raise the first of the faults with the others, if there are any."""
    if faults:
        faults[0].others = [*faults[0].others, *faults[1:]]
        raise faults[0]


def _check_name(value: object, where: Where) -> None:
    try:
        check_name(value)
    except InvalidValueError as error:
        where.fail(str(error).removeprefix("name: "))


def convert(hint: Any, value: object, rules: Setting, where: Where) -> Any:
    """Return `value` as the type `hint` within `rules`; raises ConfigError at `where`."""
    if rules.reader is not None:
        try:
            return rules.reader(value)
        except ConfigError as error:
            raise error.within(where.path, source=where.source) from error
        except (ValueError, UnknownNameError) as error:
            raise ConfigError(str(error), source=where.source, path=where.path) from error
    # The most common types first: spawning converts tens of thousands of them.
    if hint is float or hint is int:
        return _convert_scalar(hint, value, rules, where)
    if hint is Any or hint is object or type(value) is hint:
        return value
    origin = get_origin(hint)
    if is_union(hint):
        return _convert_union(hint, value, rules, where)
    if origin in (list, tuple):
        return _convert_sequence(hint, value, rules, where)
    if origin in (dict, Mapping) or hint is dict:
        return _convert_dict(hint, value, rules, where)
    if origin is Literal:
        return _pick(value, {choice: choice for choice in get_args(hint)}, hint, where)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return value if isinstance(value, hint) else _pick(value, {m.value: m for m in hint}, hint, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _read(hint, value, where)
    return _convert_scalar(hint, value, rules, where)


def _convert_scalar(hint: Any, value: object, rules: Setting, where: Where) -> Any:
    """Return a number, a truth value or an object of the class `hint`; raises ConfigError with the key."""
    if hint in (int, float):
        number = as_number(hint, value, rules)
        if number is not None:
            return number
    elif hint is bool and isinstance(value, (bool, np.bool_)):
        return bool(value)
    elif isinstance(hint, type) and hint is not bool and isinstance(value, hint):
        return value
    where.fail(f"must be {describe(hint, rules)}, got {shown(value)}")


def _convert_union(hint: Any, value: object, rules: Setting, where: Where) -> Any:
    """Return the value as the first of the options that takes it; raises ConfigError with the key."""
    options = get_args(hint)
    if value is None and type(None) in options:
        return None
    options = tuple(option for option in options if option is not type(None))
    if len(options) == 1:
        try:
            return convert(options[0], value, rules, where)
        except ConfigError as error:
            # Only an error about this value itself may mention null; errors from nested values are unchanged.
            if error.path != where.path or isinstance(value, Mapping):
                raise
            where.fail(f"must be {describe(hint, rules)}, got {shown(value)}")
    classes = [option for option in options if dataclasses.is_dataclass(option)]
    # Read as that class alone, so that an error names the key inside and not the whole value.
    if isinstance(value, Mapping) and len(classes) == 1 and not any(get_origin(o) is dict for o in options):
        return convert(classes[0], value, rules, where)
    lists = [option for option in options if get_origin(option) is list]
    if isinstance(value, list) and len(lists) == 1 and classes:
        return convert(lists[0], value, rules, where)
    for option in options:
        try:
            return convert(option, value, rules, where)
        except ConfigError:
            continue
    where.fail(f"must be {describe(hint, rules)}, got {shown(value)}")


def _convert_sequence(hint: Any, value: object, rules: Setting, where: Where) -> Any:
    """Return a list or tuple whose items are converted one by one; raises ConfigError with the index."""
    origin, items = get_origin(hint), get_args(hint)
    # As a list its items are Python's numbers, which the checks below know.
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if rules.one_is_list and not isinstance(value, (list, tuple)):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        where.fail(f"must be {describe(hint, rules)}, got {shown(value)}")
    if origin is list or (len(items) == 2 and items[1] is Ellipsis):
        wanted: Sequence[Any] = [items[0]] * len(value)
    else:
        wanted = items
    if len(wanted) != len(value):
        where.fail(f"must be {describe(hint, rules)}, got {len(value)}: {shown(value)}")
    converted: list[Any] = []
    faults: list[ConfigError] = []
    for i, (kind, item) in enumerate(zip(wanted, value, strict=True)):
        try:
            converted.append(convert(kind, item, rules, where.item(i)))
        except ConfigError as error:
            _add_fault(faults, error)
    _raise_faults(faults)
    return converted if origin is list else tuple(converted)


def _convert_dict(hint: Any, value: object, rules: Setting, where: Where) -> dict[str, Any]:
    _, kind = get_args(hint) or (str, Any)
    if not isinstance(value, Mapping):
        where.fail(f"must be {describe(hint, rules)}, got {shown(value)}")
    bad = next((key for key in value if not isinstance(key, str)), None)
    if bad is not None:
        where.fail(f"keys must be text, got {bad!r}; put it in quotes")
    return {key: convert(kind, item, rules, where.key(key)) for key, item in value.items()}


def _pick(value: object, choices: Mapping[Any, Any], hint: Any, where: Where) -> Any:
    for choice, result in choices.items():
        # By type as well: in Python True equals 1.
        if type(value) is type(choice) and value == choice:
            return result
    where.fail(f"must be {describe(hint, NO_RULES)}, got {shown(value)}")


# JSON schemas of settings classes, for editors, from the same declarations that the reader uses.


_JSON = (type(None), bool, int, float, str, list)
_TYPES = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}


def json_schema(cls: type, *, title: str = "") -> dict[str, Any]:
    """Return a JSON schema (draft 2020-12) of the settings class `cls`.

    It accepts the same as `read`, except for conditions across several fields, which only `read` checks.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **object_schema(cls),
        "title": title or cls.__name__,
    }


def object_schema(cls: type) -> dict[str, Any]:
    """Return the schema of `cls` without the header, for use inside another schema."""
    fields = fields_of(cls)
    properties: dict[str, Any] = {}
    exclusive: list[dict[str, Any]] = []
    for field in fields.values():
        properties[field.name] = _field_schema(field)
        for alias in field.rules.aliases:
            properties[alias] = {**_field_schema(field), "description": f"Alias of {field.name}."}
            # Given under both of its names, a setting would have two values.
            exclusive.append({"not": {"type": "object", "required": [field.name, alias]}})
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    required = [field.name for field in fields.values() if field.default is None]
    if required:
        schema["required"] = required
    if exclusive:
        schema["allOf"] = exclusive
    if cls.__doc__:
        schema["description"] = cls.__doc__.strip().splitlines()[0]
    return schema


def nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `schema` of a section so that it accepts null as well: what YAML reads where a section is empty."""
    return {**schema, "type": [schema["type"], "null"]}


def _field_schema(field: Field) -> dict[str, Any]:
    """Return the JSON schema of one setting, with its text, its unit and its default."""
    rules = field.rules
    schema = dict(rules.schema or {}) if rules.reader is not None else type_schema(field.hint, rules)
    text = rules.doc + (f" [{rules.unit}]" if rules.unit else "")
    if text:
        schema["description"] = text.strip()
    default = plain(field.default()) if field.default is not None else None
    # JSON has no infinity.
    if field.default is not None and isinstance(default, _JSON) and default not in (math.inf, -math.inf):
        schema["default"] = default
    return schema


def type_schema(hint: Any, rules: Setting = NO_RULES) -> dict[str, Any]:
    """Return the schema of one type within `rules`."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return {}
    if is_union(hint):
        return {"anyOf": [type_schema(option, rules) for option in args]}
    if origin is list or (origin is tuple and args[-1] is Ellipsis):
        items = type_schema(args[0], rules)
        several = {"type": "array", "items": items}
        # Any is what has a name: a text, or a mapping with a type.
        return {"anyOf": [several, items or {"type": ["string", "object"]}]} if rules.one_is_list else several
    if origin is tuple:
        each = [type_schema(item, rules) for item in args]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    if origin in (dict, Mapping) or hint is dict:
        return {"type": "object", "additionalProperties": type_schema(args[1], rules) if args else True}
    if origin is Literal:
        return {"enum": list(args)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return object_schema(hint)
    return {"type": _TYPES[hint], **(_bounds(rules) if hint in (int, float) else {})}


def _bounds(rules: Setting) -> dict[str, Any]:
    bounds = {"minimum": rules.low, "maximum": rules.high, "exclusiveMinimum": rules.above}
    given = {key: bound for key, bound in bounds.items() if bound is not None}
    return {"anyOf": [{"const": 0}, given]} if rules.or_zero else given


def plain(value: Any) -> Any:
    """Return `value` in JSON types: enums as values, tuples as lists, settings as mappings."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in fields_of(type(value))}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


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
    _use: _Use

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
