"""Describes in words what a type and its rules allow, and checks numbers against bounds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from fleet_sim.settings.fields import Setting

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
