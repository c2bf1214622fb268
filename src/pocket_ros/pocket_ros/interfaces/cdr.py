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
from dataclasses import dataclass
from functools import cache
from struct import Struct, error
from typing import Any, TypeVar

import numpy as np

from . import catalog
from .classes import Message, message_class, run_source
from .definitions import DTYPES, EMPTY_MEMBER, FORMATS, SIZES, TYPE_CODES, Field, FieldType, Shape

# What is known about a position in CDR bytes while code is generated.


@dataclass
class Alignment:
    """The position, counted from the first field, is congruent to `residue` modulo `modulus`."""

    modulus: int = 8
    residue: int = 0

    def padding(self, size: int) -> int | None:
        """Bytes to the next multiple of `size`; None where that is only known when the code runs."""
        return -self.residue % size if self.modulus >= size else None

    def aligned(self, size: int) -> None:
        """The position has been padded, at run time, to a multiple of `size`."""
        self.modulus, self.residue = size, 0

    def advance(self, size: int) -> None:
        self.residue = (self.residue + size) % self.modulus

    def forget(self, modulus: int = 1) -> None:
        """Only that the position is a multiple of `modulus` remains known."""
        self.modulus, self.residue = modulus, 0

    def implies(self, other: Alignment) -> bool:
        """Whether every position that fits this fits `other`."""
        return self.modulus >= other.modulus and self.residue % other.modulus == other.residue


# Generates the source of the function that reads one message type.


class ReaderCode:
    """Collects statements; `d` is the data, `p` the position in it.

    Objects are made without `__init__`: every slot is assigned from the wire.
    """

    def __init__(self, order: str) -> None:
        self.structs: dict[str, str] = {}
        self.classes: dict[str, object] = {}
        self._order = order
        self._lines: list[str] = []
        self._indent = 1
        self._at = Alignment()
        self._format = ""
        self._size = 0
        self._targets: list[str] = []
        self._after: list[str] = []
        self._names = 0

    def function(self, type_name: str) -> str:
        """The source of `read(d, p)`."""
        result = self._message(type_name)
        self._flush()
        self._line("if p > len(d): _too_short(p, len(d))")
        self._line(f"return {result}")
        return "def read(d, p):\n" + "\n".join(self._lines)

    def _message(self, type_name: str) -> str:
        """Reads a message; answers the local name that holds it once the run is flushed."""
        cls = message_class(type_name)
        key = f"C{len(self.classes)}"
        self.classes[key] = cls
        self.classes[f"{key}_new"] = cls.__new__
        name = self._name()
        self._after.append(f"{name} = {key}_new({key})")
        for field in catalog.message(type_name).fields:
            if field.type.base == "wstring":
                raise NotImplementedError(
                    f"wstring fields ('{field.name}') are not covered; a full ROS 2 has them"
                )
            value = self._field(field.type)
            if field is not EMPTY_MEMBER:
                self._after.append(f"{name}._{field.name} = {value}")
        return name

    def _field(self, kind: FieldType) -> str:
        if kind.shape is Shape.SINGLE:
            return self._single(kind)
        return self._array(kind) if kind.shape is Shape.ARRAY else self._sequence(kind)

    def _single(self, kind: FieldType) -> str:
        if not kind.is_primitive:
            return self._message(kind.base)
        if not kind.is_string:
            return self._value(FORMATS[kind.base], SIZES[kind.base])
        length = self._value("I", 4)
        self._flush()
        text = self._name()
        self._line(f"{text} = str(d[p:p + {length} - 1], 'utf-8', 'replace') if {length} else ''")
        self._line(f"p += {length}")
        self._at.forget()
        return text

    def _array(self, kind: FieldType) -> str:
        if kind.base in TYPE_CODES:
            raw = self._value(f"{SIZES[kind.base] * kind.size}s", SIZES[kind.base], kind.size)
            return self._numbers(raw, kind)
        if kind.base in ("bool", "byte"):
            return self._octets(self._value(f"{kind.size}s", 1, kind.size), kind)
        return self._loop(kind, str(kind.size))

    def _numbers(self, raw: str, kind: FieldType) -> str:
        dtype = DTYPES[kind.base]
        if self._order == "<":
            return f"frombuffer({raw}, '{dtype}').copy()"
        return f"frombuffer({raw}, '{dtype}').byteswap()"

    def _octets(self, raw: str, kind: FieldType) -> str:
        if kind.base == "bool":
            return f"list(map(bool, {raw}))"
        return f"[{raw}[i:i + 1] for i in range(len({raw}))]"

    def _sequence(self, kind: FieldType) -> str:
        length = self._value("I", 4)
        self._flush()
        if kind.base in TYPE_CODES:
            size, items = SIZES[kind.base], self._name()
            if size == 8:
                self._line(f"if {length}: p += (4 - p) & 7")
            self._line(f"{items} = array('{TYPE_CODES[kind.base]}')")
            end = f"p + {length} * {size}" if size > 1 else f"p + {length}"
            self._line(f"if {end} > len(d): _too_short({end}, len(d))")
            self._line(f"{items}.frombytes(memoryview(d)[p:{end}])")
            if self._order == ">" and size > 1:
                self._line(f"{items}.byteswap()")
            self._line(f"p = {end}")
            self._at.forget(min(size, 4))
            return items
        if kind.base in ("bool", "byte"):
            raw = self._name()
            self._line(f"{raw} = d[p:p + {length}]")
            self._line(f"p += {length}")
            self._at.forget()
            return self._octets(raw, kind)
        # An element takes at least one byte: refuses absurd counts before looping over them.
        self._line(f"if {length} > len(d): _too_short(p + {length}, len(d))")
        return self._loop(kind, length)

    def _loop(self, kind: FieldType, count: str) -> str:
        """Reads elements; what is assumed of the position must hold again after each."""
        self._flush()
        known = min(self._at.modulus, 4) if self._at.residue % min(self._at.modulus, 4) == 0 else 1
        items = self._name()
        self._line(f"{items} = []")
        for modulus in (known, 1):
            start = Alignment(modulus, 0)
            mark, self._at = len(self._lines), Alignment(modulus, 0)
            self._line(f"for _ in range({count}):")
            self._indent += 1
            value = self._single(kind.element())
            self._flush()
            self._line(f"{items}.append({value})")
            self._indent -= 1
            if self._at.implies(start):
                self._at = start
                return items
            del self._lines[mark:]
        raise AssertionError("an alignment of 1 holds everywhere")

    def _value(self, fmt: str, size: int, count: int = 1) -> str:
        padding = self._at.padding(size)
        if padding is None:
            self._flush()
            self._line(f"p += (4 - p) & {size - 1}")
            self._at.aligned(size)
        else:
            self._format += "x" * padding
            self._size += padding
            self._at.advance(padding)
        name = self._name()
        self._format += fmt
        self._targets.append(name)
        self._size += size * count
        self._at.advance(size * count)
        return name

    def _flush(self) -> None:
        if self._format:
            name = f"U{len(self.structs)}"
            self.structs[name] = self._order + self._format
            self._line(f"{', '.join(self._targets)}, = {name}(d, p)")
            self._line(f"p += {self._size}")
            self._format, self._size, self._targets = "", 0, []
        for line in self._after:
            self._line(line)
        self._after = []

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)


# Generates the source of the function that writes one message type.


_HEADER_VALUE = 256  # 00 01 00 00 as a little-endian uint32: plain CDR, little endian


class WriterCode:
    """Collects statements; `b` is the bytearray being written, `m` the message."""

    def __init__(self) -> None:
        self.structs: dict[str, str] = {}
        self._lines: list[str] = []
        self._indent = 1
        self._at = Alignment()
        self._format = ""
        self._values: list[str] = []
        self._names = 0

    def function(self, type_name: str) -> str:
        """The source of `write(m)`."""
        self._message(type_name, "m")
        if not self._lines:
            name = self._struct("I" + self._format)
            return f"def write(m):\n    return {name}({', '.join([str(_HEADER_VALUE), *self._values])})"
        self._flush()
        start = "def write(m):\n    b = bytearray(b'\\x00\\x01\\x00\\x00')\n"
        return start + "\n".join(self._lines) + "\n    return b"

    def _message(self, type_name: str, expression: str) -> None:
        for field in catalog.message(type_name).fields:
            self._field(field, "0" if field is EMPTY_MEMBER else f"{expression}._{field.name}")

    def _field(self, field: Field, expression: str) -> None:
        kind = field.type
        if kind.base == "wstring":
            raise NotImplementedError(
                f"wstring fields ('{field.name}') are not covered; a full ROS 2 has them"
            )
        if kind.shape is Shape.SINGLE:
            self._single(kind, expression)
        elif kind.shape is Shape.ARRAY:
            self._array(kind, expression)
        else:
            self._sequence(kind, expression)

    def _single(self, kind: FieldType, expression: str) -> None:
        if kind.is_string:
            text = self._name()
            self._line(f"{text} = {expression}.encode()")
            self._value("I", 4, f"len({text}) + 1")
            self._flush()
            self._line(f"b += {text} + b'\\x00'")
            self._at.forget()
        elif kind.is_primitive:
            self._value(FORMATS[kind.base], SIZES[kind.base], expression)
        else:
            self._message(kind.base, expression)

    def _array(self, kind: FieldType, expression: str) -> None:
        size = SIZES.get(kind.base, 0)
        if kind.base in TYPE_CODES:
            self._block(size, kind.size, f"{expression}.tobytes()")
        elif kind.base == "bool":
            self._block(1, kind.size, f"bytes({expression})")
        elif kind.base == "byte":
            self._block(1, kind.size, f"b''.join({expression})")
        else:
            self._loop(kind, expression)

    def _sequence(self, kind: FieldType, expression: str) -> None:
        items = self._name()
        self._line(f"{items} = {expression}")
        self._value("I", 4, f"len({items})")
        self._flush()
        if kind.base in TYPE_CODES:
            size = SIZES[kind.base]
            if size == 8:
                self._line(f"if {items}: b += PAD[(4 - len(b)) & 7]")
            self._line(f"b += {items}")
            self._at.forget(min(size, 4))
        elif kind.base in ("bool", "byte"):
            self._line(f"b += bytes({items})" if kind.base == "bool" else f"b += b''.join({items})")
            self._at.forget()
        else:
            self._loop(kind, items)

    def _loop(self, kind: FieldType, expression: str) -> None:
        """Statements for each element; what is assumed of the position must hold again after each."""
        self._flush()
        known = min(self._at.modulus, 4) if self._at.residue % min(self._at.modulus, 4) == 0 else 1
        for modulus in (known, 1):
            start = Alignment(modulus, 0)
            mark, self._at = len(self._lines), Alignment(modulus, 0)
            item = self._name()
            self._line(f"for {item} in {expression}:")
            self._indent += 1
            self._single(kind.element(), item)
            self._flush()
            self._indent -= 1
            if self._at.implies(start):
                self._at = start
                return
            del self._lines[mark:]
        raise AssertionError("an alignment of 1 holds everywhere")

    def _value(self, fmt: str, size: int, expression: str) -> None:
        self._align(size)
        self._format += fmt
        self._values.append(expression)
        self._at.advance(size)

    def _block(self, size: int, count: int, expression: str) -> None:
        self._align(size)
        self._format += f"{size * count}s"
        self._values.append(expression)
        self._at.advance(size * count)

    def _align(self, size: int) -> None:
        padding = self._at.padding(size)
        if padding is None:
            self._flush()
            self._line(f"b += PAD[(4 - len(b)) & {size - 1}]")
            self._at.aligned(size)
        else:
            self._format += "x" * padding
            self._at.advance(padding)

    def _flush(self) -> None:
        if self._format:
            self._line(f"b += {self._struct(self._format)}({', '.join(self._values)})")
            self._format, self._values = "", []

    def _struct(self, fmt: str) -> str:
        name = f"S{len(self.structs)}"
        self.structs[name] = "<" + fmt
        return name

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)


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
    run_source(source, scope)
    return scope["write"]  # type: ignore[no-any-return]


@cache
def decoder(cls: Any, little_endian: bool = True) -> Callable[[bytes, int], Any]:
    """The function from CDR bytes and the offset of the first field to a message."""
    code = ReaderCode("<" if little_endian else ">")
    source = code.function(cls._type_name_)
    scope: dict[str, Any] = {name: Struct(fmt).unpack_from for name, fmt in code.structs.items()}
    scope.update(code.classes, array=array, frombuffer=np.frombuffer, _too_short=_too_short)
    run_source(source, scope)
    return scope["read"]  # type: ignore[no-any-return]


def _too_short(end: int, size: int) -> None:
    raise ValueError(f"the fields end at byte {end}, the data at {size}")
