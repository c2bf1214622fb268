"""Generates, for each message class, the two functions that turn its objects into CDR bytes and back.

The functions are straight-line code: runs of fixed-size values are one `struct` call, nested messages are
inlined, arrays of
numbers are copied whole. Alignment is resolved when the code is generated wherever it is known by then.
Little-endian XCDR1 with its four-byte encapsulation header is written; both byte orders are read.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from functools import cache
from struct import Struct, error
from typing import Any, TypeVar

import numpy as np

from .classes import Message
from .reader import ReaderCode
from .writer import WriterCode

HEADER = b"\x00\x01\x00\x00"
_MessageT = TypeVar("_MessageT", bound=Message)

if sys.byteorder != "little":
    raise ImportError(
        "pocket_ros needs a little-endian machine: it copies arrays to and from the wire as they are"
    )


class DeserializationError(ValueError):
    """Bytes that are not the CDR of the expected type."""


def serialize(message: Message) -> bytes | bytearray:
    """The CDR of a message, with encapsulation header and without trailing padding."""
    return encoder(type(message))(message)


def deserialize(data: bytes, cls: type[_MessageT], offset: int = 4) -> _MessageT:
    """The message in `data`, whose fields start at `offset` (4, or 20 behind a request header).

    Raises DeserializationError where `data` is too short or not CDR.
    """
    try:
        message: _MessageT = decoder(cls, bool(data[1] & 1))(data, offset)
        return message
    except (error, ValueError, IndexError) as problem:
        raise DeserializationError(f"{len(data)} bytes are not a {cls._type_name_}: {problem}") from problem


@cache
def encoder(cls: Any) -> Callable[[Any], bytes | bytearray]:
    """The function from a message to its CDR."""
    code = WriterCode()
    source = code.function(cls._type_name_)
    scope: dict[str, Any] = {name: Struct(fmt).pack for name, fmt in code.structs.items()}
    scope["PAD"] = [bytes(n) for n in range(8)]
    exec(source, scope)
    return scope["write"]  # type: ignore[no-any-return]


@cache
def decoder(cls: Any, little_endian: bool = True) -> Callable[[bytes, int], Any]:
    """The function from CDR bytes and the offset of the first field to a message."""
    code = ReaderCode("<" if little_endian else ">")
    source = code.function(cls._type_name_)
    scope: dict[str, Any] = {name: Struct(fmt).unpack_from for name, fmt in code.structs.items()}
    scope.update(code.classes, array=array, frombuffer=np.frombuffer, _too_short=_too_short)
    exec(source, scope)
    return scope["read"]  # type: ignore[no-any-return]


def _too_short(end: int, size: int) -> None:
    raise ValueError(f"the fields end at byte {end}, the data at {size}")
