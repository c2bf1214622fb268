"""Checks and conversions on assignment to a message field.

Each function takes the field's name and the value and returns what is stored. A single value of the wrong
type or range is an AssertionError in rosidl's wording. Arrays and sequences of numbers are converted where
nothing is lost, as rosidl does; what cannot be converted is one of the errors of `array_errors`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from .array_errors import FieldRangeError, FieldTypeError
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
    word = "an integer" if low else "an unsigned integer"

    def check(value: Any) -> Any:
        if not isinstance(value, int):
            raise _fail(name, "of type 'int'")
        if not low <= value <= high:
            raise _fail(name, f"{word} in [{low}, {high}]")
        return value

    return check


def _float(name: str, base: str) -> Check:
    word, limit = _FLOAT_LIMITS[base]

    def check(value: Any) -> Any:
        if not isinstance(value, float):
            raise _fail(name, "of type 'float'")
        if (value > limit or value < -limit) and not math.isinf(value):
            raise _fail(name, f"a {word} in [-{limit}, {limit}]")
        return value if type(value) is float else float(value)  # a NumPy scalar would show in the repr

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
        if isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == 1:
            result = np.ascontiguousarray(value)
        else:
            result = np.array(convert(value), dtype=dtype)
        if len(result) != size:
            raise AssertionError(
                f"The '{name}' numpy.ndarray() must have a size of {size}, not {len(result)}"
            )
        return result

    return check


def _sequence(name: str, kind: FieldType) -> Check:
    convert, bound = _to_array(name, kind), kind.size

    def check(value: Any) -> Any:
        result = convert(value)
        if bound and len(result) > bound:
            raise AssertionError(f"The '{name}' array.array() must have a size <= {bound}, not {len(result)}")
        return result

    return check


def _to_array(name: str, kind: FieldType) -> Check:
    """Converts to `array.array`; buffers of the right type are copied whole, never element by element."""
    code, dtype = TYPE_CODES[kind.base], np.dtype(DTYPES[kind.base])
    word = "int" if kind.base in INTEGERS else "float"
    limits = " in [{}, {}]".format(*integer_range(kind.base)) if word == "int" else ""
    wanted = f"The '{name}' field must be a set or sequence and each value of type '{word}'{limits}"

    def convert(value: Any) -> Any:
        if isinstance(value, array) and value.typecode == code:
            return value
        if isinstance(value, np.ndarray):
            return _from_numpy(value, code, dtype, wanted)
        if isinstance(value, (bytes, bytearray, memoryview)) and dtype.itemsize == 1:
            result = array(code)
            result.frombytes(value)
            return result
        if isinstance(value, (str, bytes, bytearray)):
            raise FieldTypeError(f"{wanted}, not {type(value).__name__}")
        try:
            return array(code, value)
        except TypeError as error:
            raise FieldTypeError(f"{wanted}: {error}") from error
        except OverflowError as error:
            raise FieldRangeError(f"{wanted}: {error}") from error

    return convert


def _from_numpy(value: Any, code: str, dtype: np.dtype[Any], wanted: str) -> Any:
    if value.ndim != 1:
        raise FieldTypeError(f"{wanted}, not an array of shape {value.shape}; `ravel()` makes it flat")
    if value.dtype.kind not in ("iub" if dtype.kind in "iu" else "iubf"):
        raise FieldTypeError(f"{wanted}, not an array of {value.dtype}")
    if dtype.kind in "iu" and value.dtype != dtype and value.size:
        limits = np.iinfo(dtype)
        if value.min() < limits.min or value.max() > limits.max:
            raise FieldRangeError(f"{wanted}, not [{value.min()}, {value.max()}]")
    result = array(code)
    result.frombytes(value.astype(dtype, copy=False).tobytes())
    return result


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
