"""Generates the source of the function that writes one message type."""

from __future__ import annotations

from . import catalog
from .alignment import Alignment
from .layout import FORMATS, SIZES, TYPE_CODES
from .model import EMPTY_MEMBER, Field, FieldType, Shape

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
