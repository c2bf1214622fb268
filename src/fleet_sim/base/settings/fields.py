"""The declaration of one setting, and the settings of a class."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from enum import Enum
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.limits import LONGEST_TIME


@dataclass(frozen=True)
class Setting:
    """The rules for one field beyond its type. Bounds apply to a number or to each number of a list.

    With `or_zero` 0 is allowed whatever the bounds say: it means never, or without a limit.

    `reader` replaces the check by type for values with several spellings: it gets the given value, or one it
    returned before, and returns the converted value or raises ValueError saying what is allowed. `schema` is its JSON
    schema.

    `column`, "<table>.<name>", is the column that takes the value of this setting unchanged when an object is made from
    the settings; without a value the column keeps its default.

    With `one_is_list` one item stands for a list of one; items are then no lists themselves.

    `live` settings count whenever they are changed, also in what is running (see `UsedSettings`).
    """

    low: float | None = None
    high: float | None = None
    above: float | None = None
    doc: str = ""
    unit: str = ""
    aliases: tuple[str, ...] = ()
    reader: Callable[[object], Any] | None = None
    schema: Mapping[str, Any] | None = None
    column: str = ""
    live: bool = False
    one_is_list: bool = False
    or_zero: bool = False


NO_RULES = Setting()


def setting(
    default: Any = MISSING,
    *,
    factory: Callable[[], Any] | None = None,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    doc: str = "",
    unit: str = "",
    aliases: tuple[str, ...] = (),
    reader: Callable[[object], Any] | None = None,
    schema: Mapping[str, Any] | None = None,
    column: str = "",
    live: bool = False,
    one_is_list: bool = False,
    or_zero: bool = False,
) -> Any:
    """Return a dataclass field with `low <= value <= high`, `value > above`; choices are Enums or Literals.

    Without `default` and `factory` the setting is required.
    """
    rules = Setting(low, high, above, doc, unit, aliases, reader, schema, column, live, one_is_list, or_zero)
    metadata = {"setting": rules}
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def time_setting(default: Any, *, doc: str, low: float | None = None, above: float | None = None) -> Any:
    """Return a `setting` for a time in s of at most LONGEST_TIME, and at least 0 unless `low` or `above` says more."""
    least = 0.0 if low is None and above is None else low
    return setting(default, low=least, above=above, high=LONGEST_TIME, unit="s", doc=doc)


@dataclass(frozen=True)
class Field:
    """One field of a settings class: name, resolved type, rules, and factory of its default (None = required)."""

    name: str
    hint: Any
    rules: Setting
    default: Callable[[], Any] | None


# Weak: a class made inside a function, and all that its methods hold, must be able to go.
# Kept, as resolving type hints is slow and fields are looked up at each assignment.
_FIELDS: WeakKeyDictionary[type, dict[str, Field]] = WeakKeyDictionary()


def fields_of(cls: type) -> dict[str, Field]:
    """Return the settings of the dataclass `cls` by name, in order of definition."""
    if cls not in _FIELDS:
        _FIELDS[cls] = _fields_of(cls)
    return _FIELDS[cls]


def names_of(cls: type) -> dict[str, str]:
    """Return the name of the setting by every key that is accepted for it: its own name and its aliases."""
    fields = fields_of(cls)
    names = {name: name for name in fields}
    names.update({alias: field.name for field in fields.values() for alias in field.rules.aliases})
    return names


def _fields_of(cls: type) -> dict[str, Field]:
    hints = _hints_of(cls)
    return {
        field.name: Field(field.name, hints[field.name], field.metadata.get("setting", NO_RULES), _default_of(field))
        for field in dataclasses.fields(cls)
        # Fields that the constructor does not take are computed, and cannot be given in a file.
        if field.init
    }


def _hints_of(cls: type) -> dict[str, Any]:
    """Return the resolved annotations of `cls` and its bases, but not `_: KW_ONLY`, which 3.10 cannot resolve."""
    hints: dict[str, Any] = {}
    # From the base up, so that what a class declares anew replaces what it inherits.
    for base in reversed(cls.__mro__):
        own = {name: hint for name, hint in inspect.get_annotations(base).items() if name != "_"}
        # A class of its own, since only annotations of classes may be ClassVars.
        copy = type(base.__name__, (), {"__annotations__": own, "__module__": base.__module__})
        hints.update(get_type_hints(copy, localns=dict(vars(base))))
    return hints


def _default_of(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    if field.default_factory is not MISSING:
        return field.default_factory
    if field.default is not MISSING:
        value = field.default
        # As a factory, so that both kinds of defaults are asked for in one way.
        return lambda: value
    return None


# Describes in words what a type and its rules allow, and checks numbers against bounds.


MOST_KEYS = 6
"""Keys of a mapping that a description names."""

_NAMES = {
    bool: "true or false",
    str: "text",
    int: "a whole number",
    float: "a number",
    type(None): "null",
    Any: "anything",
}


def is_union(hint: Any) -> bool:
    """Whether `hint` is `A | B` or Optional[A]."""
    return get_origin(hint) in (Union, UnionType)


def as_number(kind: type, value: object, rules: Setting) -> int | float | None:
    """Return `value` as `kind` (int or float), or None when it is not a finite number within the bounds.

    A number without a fraction counts as an integer, even if it is a float (5.0).
    """
    if type(value) is not float and (isinstance(value, (bool, np.bool_)) or not isinstance(value, Real)):
        return None
    try:
        # A whole number may be too large for a float.
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number) or (kind is int and not number.is_integer()):
        return None
    if not (within(number, rules) or (rules.or_zero and number == 0.0)):
        return None
    # Whole numbers are not converted by way of a float, which would round large ones.
    return int(value) if kind is int and isinstance(value, Integral) else kind(number)


def within(number: float, rules: Setting) -> bool:
    """Whether `number` is within the bounds."""
    if (rules.low is not None and number < rules.low) or (rules.high is not None and number > rules.high):
        return False
    return rules.above is None or number > rules.above


def describe(hint: Any, rules: Setting) -> str:
    """Return in words what is allowed: "a number at least 0", "one of 'a', 'b'", "a list of 3, each item ..."."""
    origin = get_origin(hint)
    if is_union(hint):
        return " or ".join(describe(option, rules) for option in get_args(hint))
    if origin is list or (origin is tuple and get_args(hint)[-1] is Ellipsis):
        item = get_args(hint)[0]
        if rules.one_is_list:
            return describe(item, rules) + ", or a list of these"
        return f"a list, each item {describe(item, rules)}"
    if origin is tuple:
        items = get_args(hint)
        return f"a list of {len(items)}, each item {describe(items[0], rules)}"
    if origin in (dict, Mapping) or hint is dict:
        return "a mapping"
    if origin is Literal:
        return "one of " + ", ".join(repr(choice) for choice in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(repr(member.value) for member in hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _mapping_of([field.name for field in dataclasses.fields(hint) if field.init])
    name = _NAMES.get(hint, getattr(hint, "__name__", str(hint)))
    return name + _bounds(rules) if hint in (int, float) else name


def _mapping_of(keys: list[str]) -> str:
    """Return in words what a mapping with these keys is; of many, only the first are named."""
    more = ", ..." if len(keys) > MOST_KEYS else ""
    return f"a mapping with keys such as {', '.join(keys[:MOST_KEYS])}{more}"


def _bounds(rules: Setting) -> str:
    """Return the bounds in words for an error, such as " at least 0 and at most 1 (m)"."""
    parts = []
    if rules.above is not None:
        parts.append(f"above {rules.above:g}")
    if rules.low is not None:
        parts.append(f"at least {rules.low:g}")
    if rules.high is not None:
        parts.append(f"at most {rules.high:g}")
    unit = f" ({rules.unit})" if rules.unit else ""
    zero = ", or 0" if rules.or_zero else ""
    return (" " + " and ".join(parts) if parts else "") + zero + unit


def shown(value: object) -> str:
    """Return `value` for a message: its text form, shortened, and marked as text if it is a string."""
    if value is None:
        return "null"
    if isinstance(value, Enum):
        return str(value)
    text = repr(value)
    if len(text) > 80:
        text = text[:77] + "..."
    return f"the text {text}" if isinstance(value, str) else text
