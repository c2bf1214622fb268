"""Functions that freeze, compare, write (as plain data) and strictly read the fields of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from fleet_sim.errors import InvalidValueError

# `get_type_hints` evaluates the annotations anew each time, which every new command would pay for.
_TYPES: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


def field_types(cls: type[Any]) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, by name."""
    known = _TYPES.get(cls)
    if known is None:
        hints = get_type_hints(cls)
        known = _TYPES[cls] = {item.name: hints[item.name] for item in fields(cls)}
    return known


def frozen(value: Any, hint: Any) -> Any:
    """Return `value` in the form a command stores: numbers in a read-only copy as array, lists as tuples.

    A value that does not fit `hint` is returned unchanged: it is rejected with a reason when the command is applied.
    """
    kinds = _alternatives(hint)
    # NumPy would turn "1.5" and True into numbers, and they would no longer be rejected.
    if value is None or isinstance(value, (str, bool)):
        return value
    if any(_origin(kind) is np.ndarray for kind in kinds):
        try:
            array = np.array(value, np.float64)
        except (TypeError, ValueError, OverflowError):
            return value
        array.flags.writeable = False
        return array
    return tuple(value) if isinstance(value, list) else value


def equal(one: Any, other: Any) -> bool:
    """Return whether two fields are equal; NaN equals NaN."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f"))
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    # `==` with one array gives an array and no answer.
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return False
    return bool(one == other)


def plain(value: Any, where: str) -> Any:
    """Return `value` as JSON data; raises InvalidValueError naming `where` for a value that cannot be written."""
    if value is None or isinstance(value, (bool, int, float, str)):
        # String enumerations are written as their string.
        return str(value) if isinstance(value, str) else value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_key(key, where): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise InvalidValueError(
        f"{where}: {value!r} cannot be written as plain data; use numbers, texts, lists and mappings of them"
    )


def read(value: Any, hint: Any, where: str) -> Any:
    """Return the plain `value` converted to the type `hint`; raises InvalidValueError naming `where`."""
    kinds = _alternatives(hint)
    if value is None and NoneType in kinds:
        return None
    for kind in kinds:
        if _origin(kind) is np.ndarray:
            # The right shape of arrays depends on the other fields, so it is checked when the command is applied.
            if isinstance(value, list):
                return value
        elif get_origin(kind) is tuple:
            if isinstance(value, list):
                return tuple(read(item, get_args(kind)[0], f"{where}[{index}]") for index, item in enumerate(value))
        elif kind is Any:
            return value
        elif kind is float:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value)
        elif isinstance(value, get_origin(kind) or kind):
            return value
    wanted = " or ".join(_WORDS.get(_origin(kind) or kind, str(kind)) for kind in kinds)
    raise InvalidValueError(f"{where}: expected {wanted}, got {value!r}")


_WORDS: dict[Any, str] = {
    NoneType: "nothing",
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text",
    tuple: "a list",
    np.ndarray: "a list of numbers",
    Mapping: "a mapping",
}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _origin(hint: Any) -> Any:
    origin = get_origin(hint)
    # Since NumPy 2.5, NDArray[...] is an alias of the language: its origin is the alias and not the array.
    return np.ndarray if origin is npt.NDArray else origin


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise InvalidValueError(f"{where}: the key {key!r} cannot be written; JSON has texts as keys only")
    return key
