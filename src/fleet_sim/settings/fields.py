"""The declaration of one setting, and the settings of a class."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, get_type_hints
from weakref import WeakKeyDictionary

from fleet_sim.gate.bounds import LONGEST_TIME


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
