"""Checks and conversions on assignment to a message field.

Each function takes the field's name and the value, returns what is stored, and raises AssertionError with
rosidl's
wording for what the field cannot hold.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from .layout import DTYPES, SIZES, TYPE_CODES
from .model import FLOATS, INTEGERS, FieldType, Shape

Check = Callable[[Any], Any]
_FLOAT_LIMITS = {"float32": ("float", 3.402823466e38), "float64": ("double", 1.7976931348623157e308)}


def _fail(name: str, what: str) -> AssertionError:
    return AssertionError(f"The '{name}' field must be {what}")


def checker(name: str, kind: FieldType, cls: type | None) -> Check:
    """The check of a field; `cls` is the message class where the base type is a message."""
    single = _single(name, kind.element(), cls)
    if kind.shape is Shape.SINGLE:
        return single
    if kind.base in TYPE_CODES:
        return _array(name, kind) if kind.shape is Shape.ARRAY else _sequence(name, kind)
    return _list(name, kind, single, cls)


def _single(name: str, kind: FieldType, cls: type | None) -> Check:
    if cls is not None:
        return _message(name, cls)
    if kind.is_string:
        return _string(name, kind.string_bound)
    if kind.base in INTEGERS:
        return _integer(name, kind.base)
    if kind.base in FLOATS:
        return _float(name, kind.base)
    return _bool(name) if kind.base == "bool" else _byte(name)


def _message(name: str, cls: type) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, cls):
            raise _fail(name, f"a sub message of type '{cls.__name__}'")
        return value

    return check


def _string(name: str, bound: int) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise _fail(name, "of type 'str'")
        if bound and len(value) > bound:
            raise _fail(name, f"string value not longer than {bound}")
        return value

    return check


def integer_range(base: str) -> tuple[int, int]:
    """The lowest and highest value of an integer type."""
    bits = 8 * SIZES[base]
    return (0, 2**bits - 1) if base.startswith(("u", "c")) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _integer(name: str, base: str) -> Check:
    low, high = integer_range(base)

    def check(value: Any) -> Any:
        if not isinstance(value, int):
            raise _fail(name, "of type 'int'")
        if not low <= value <= high:
            raise _fail(name, f"an integer in [{low}, {high}]")
        return value

    return check


def _float(name: str, base: str) -> Check:
    word, limit = _FLOAT_LIMITS[base]

    def check(value: Any) -> Any:
        if not isinstance(value, float):
            raise _fail(name, "of type 'float'")
        if (value > limit or value < -limit) and not math.isinf(value):
            raise _fail(name, f"a {word} in [-{limit}, {limit}]")
        return value

    return check


def _bool(name: str) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, bool):
            raise _fail(name, "of type 'bool'")
        return value

    return check


def _byte(name: str) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, (bytes, bytearray)) or len(value) != 1:
            raise _fail(name, "of type 'bytes' or 'ByteString' with length 1")
        return bytes(value)

    return check


def _array(name: str, kind: FieldType) -> Check:
    dtype, size = np.dtype(DTYPES[kind.base]), kind.size
    convert = _to_array(name, kind)

    def check(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if value.dtype != dtype:
                raise _fail(name, f"a numpy.ndarray with dtype 'numpy.{dtype}'")
            if value.size != size:
                raise _fail(name, f"a numpy.ndarray with a size of {size}")
            return np.ascontiguousarray(value)
        result = convert(value)
        if len(result) != size:
            raise _fail(name, f"a set or sequence with length {size} and each value of type '{_word(kind)}'")
        return np.array(result, dtype=dtype)

    return check


def _sequence(name: str, kind: FieldType) -> Check:
    convert, bound = _to_array(name, kind), kind.size

    def check(value: Any) -> Any:
        result = convert(value)
        if bound and len(result) > bound:
            raise _fail(
                name, f"a set or sequence with length <= {bound} and each value of type '{_word(kind)}'"
            )
        return result

    return check


def _word(kind: FieldType) -> str:
    return "int" if kind.base in INTEGERS else "float"


def _to_array(name: str, kind: FieldType) -> Check:
    """Converts to `array.array`; buffers of the right type are copied whole, never element by element."""
    code = TYPE_CODES[kind.base]
    dtype, word = np.dtype(DTYPES[kind.base]), _word(kind)

    def convert(value: Any) -> Any:
        if isinstance(value, array):
            if value.typecode != code:
                raise _fail(name, f"an array.array() with typecode '{code}'")
            return value
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in ("f" if word == "float" else "iu"):
                raise _fail(name, f"a set or sequence and each value of type '{word}'")
            result = array(code)
            result.frombytes(_exact(name, value, dtype).tobytes())
            return result
        if isinstance(value, (bytes, bytearray, memoryview)) and code == "B":
            result = array(code)
            result.frombytes(value)
            return result
        allowed = isinstance(value, (Sequence, Set)) and not isinstance(value, (str, bytes))
        try:
            if not allowed or (word == "float" and not all(isinstance(v, float) for v in value)):
                raise TypeError
            return array(code, value)
        except (TypeError, OverflowError) as error:
            limits = "" if word == "float" else " in [{}, {}]".format(*integer_range(kind.base))
            raise _fail(name, f"a set or sequence and each value of type '{word}'{limits}") from error

    return convert


def _exact(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """The array in another dtype. Raises AssertionError where integers would not fit."""
    if dtype.kind in "iu" and value.dtype != dtype and value.size:
        limits = np.iinfo(dtype)
        if value.min() < limits.min or value.max() > limits.max:
            raise _fail(name, f"a set or sequence and each value an integer in [{limits.min}, {limits.max}]")
    return value.astype(dtype, copy=False)


def _list(name: str, kind: FieldType, single: Check, cls: type | None) -> Check:
    size, fixed = kind.size, kind.shape is Shape.ARRAY
    word = cls.__name__ if cls else {"bool": "bool", "byte": "bytes"}.get(kind.base, "str")
    length = f" with length {'' if fixed else '<= '}{size}" if size else ""

    def check(value: Any) -> Any:
        if not isinstance(value, (Sequence, Set)) or isinstance(value, (str, bytes, bytearray)):
            raise _fail(name, f"a set or sequence{length} and each value of type '{word}'")
        if size and (len(value) != size if fixed else len(value) > size):
            raise _fail(name, f"a set or sequence{length} and each value of type '{word}'")
        try:
            for element in value:
                single(element)
        except AssertionError as error:
            raise _fail(name, f"a set or sequence{length} and each value of type '{word}'") from error
        return value if isinstance(value, list) else list(value)

    return check
