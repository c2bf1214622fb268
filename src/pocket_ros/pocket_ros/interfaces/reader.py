"""Generates the source of the function that reads one message type."""

from __future__ import annotations

from . import catalog
from .alignment import Alignment
from .classes import message_class
from .layout import DTYPES, FORMATS, SIZES, TYPE_CODES
from .model import EMPTY_MEMBER, FieldType, Shape


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
