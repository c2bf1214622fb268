"""Messages of a fixed layout as bytes: serialised once, then only the numbers in them are written.

The positions of the numbers are found by serialising twice, once with every number zero and once with every byte of
every number nonzero: the bytes that differ are the numbers, in the order of the message. This works for any message
type, and needs no knowledge of the wire format except the alignment of numbers. Messages and what serialises them are
the caller's: those of rclpy, or those of recordings, which need no ROS.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bytes, Ints

HEADER_SIZE = 4
"""Length of the encapsulation header in bytes, which names the kind of CDR."""

# Of the widest numbers in CDR.
ALIGNMENT = 8

POSITION = ("position.x", "position.y", "position.z")
ORIENTATION = ("orientation.x", "orientation.y", "orientation.z", "orientation.w")
TWIST = ("linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z")
AXES = ("x", "y", "z")
STAMP = {"sec": ("i4", ("header.stamp.sec",)), "nanosec": ("u4", ("header.stamp.nanosec",))}
"""The stamp of a message with a header, as `numbers` of a template."""

Numbers = Mapping[str, tuple[str, Sequence[str]]]
"""By name: the NumPy type of the numbers, and the paths of the fields that hold them."""


def the_message(message: Any) -> Sequence[Any]:
    """Return the message as its only element."""
    return (message,)


@dataclass(frozen=True)
class MessagePart:
    """Numbers that every element of a message has, in the order of its fields.

    `elements` returns the objects at which the paths begin: the message, or the items of an array in it.
    """

    numbers: Numbers
    elements: Callable[[Any], Sequence[Any]] = the_message


def under(path: str, fields: Sequence[str]) -> list[str]:
    """Return the paths of `fields` in the field `path`."""
    return [f"{path}.{field}" for field in fields]


ROBOT_STATE: Numbers = {
    "motion": (
        "f8",
        [*under("pose", (*POSITION, *ORIENTATION)), *under("twist", TWIST), "distance_left", "battery"]
        + under("goal", (*POSITION, *ORIENTATION)),
    ),
    "faults": ("u4", ("faults",)),
    "codes": ("u1", ("mode", "operating_mode", "last_cause")),
    "flags": ("?", ("moving", "busy", "blocked", "carrying", "charging", "has_goal")),
}
"""The numbers of a RobotState, as `numbers` of a template. Its texts, from `blocked_by` on, follow them."""

Text = str | Sequence[str]
"""A text, or a list of texts."""


class ArrayNumber:
    """One element of an array in a message, as an object with a field."""

    def __init__(self, message: object, field: str, index: int) -> None:
        # Around the method below, which writes to the message.
        object.__setattr__(self, "_place", (message, field, index))

    def __setattr__(self, name: str, value: float) -> None:
        message, field, index = self._place  # type: ignore[attr-defined]
        getattr(message, field)[index] = value


def array_numbers(field: str) -> MessagePart:
    """Return the part of messages that is all elements of their array `field`, as a group of its name."""
    return MessagePart(
        {field: ("f8", ("number",))},
        lambda message: [ArrayNumber(message, field, index) for index in range(len(getattr(message, field)))],
    )


class ByteTemplate:
    """Messages of one type that keep their layout: names and frames stay, numbers change.

    A group of numbers has one row for each element of each message. `write` sets a group, `pieces` returns the
    bytes of the messages. `serialize` returns the CDR of a message, with its header.
    """

    def __init__(
        self, messages: Sequence[Any], parts: Sequence[MessagePart], serialize: Callable[[Any], bytes]
    ) -> None:
        """Lay out the messages as serialized when all numbers of `parts` are 0, and find where each number is.

        A number is where bytes change when it is filled with ones, so the rules of alignment need not be known.
        """
        self._slots: dict[str, _NumberSlot | _RowSlot] = {}
        self._places: dict[str, tuple[np.dtype[Any], Ints]] = {}
        for part in parts:
            _fill(messages, part, byte=0)
        empty = [serialize(message) for message in messages]
        self._lay_out(empty)
        self._number_mask = np.zeros(len(self._bytes), np.bool_)
        for part in parts:
            _fill(messages, part, byte=1)
            differing = np.flatnonzero(self._bytes != self._joined([serialize(m) for m in messages]))
            _fill(messages, part, byte=0)
            self._number_mask[differing] = True
            self._find(part.numbers, differing)

    def write(self, name: str, values: Any) -> None:
        """Set the group `name` to `values`, (count, fields) or what broadcasts to it."""
        self._slots[name].write(values)

    def write_stamp(self, nanoseconds: int) -> None:
        """Set the groups of STAMP."""
        sec, nanosec = divmod(nanoseconds, 1_000_000_000)
        self.write("sec", sec)
        self.write("nanosec", nanosec)

    def pieces(self) -> list[bytes]:
        """Return each message as CDR."""
        data = self._bytes.data
        return [bytes(data[start:end]) for start, end in self._spans]

    def views(self) -> list[memoryview]:
        """Return each message as CDR, not copied: the next call of `write` changes it."""
        data = self._bytes.data
        return [data[start:end] for start, end in self._spans]

    def elements(self, first: str, chosen: Ints) -> bytes:
        """Return the only message with the `chosen` (K,) of its elements alone, in their order.

        The message is nothing but an array of elements, each of which begins with the group `first`, at `offsets` that
        are multiples of ALIGNMENT.
        """
        ((start, end),) = self._spans
        begins = self._places[first][1][:, 0].tolist()
        data, ends = self._bytes.data, [*begins[1:], end]
        header, count = data[start : start + HEADER_SIZE], np.array(len(chosen), "<u4").tobytes()
        return b"".join([header, count, *[data[begins[index] : ends[index]] for index in chosen.tolist()]])

    def offsets(self, first: str) -> Ints:
        """Return how many bytes after the first of the elements, which begin with the group `first`, each begins."""
        begins = self._places[first][1][:, 0]
        return begins - begins[:1]

    def repeated(self, name: str, values: AnyArray) -> Bytes:
        """Return the only message K times as bytes (K, L), with `values` (K, count, fields) of the group `name`."""
        ((start, end),) = self._spans
        copies = np.empty((len(values), len(self._bytes)), np.uint8)
        copies[:] = self._bytes
        kind, places = self._places[name]
        copies.view(kind)[:, places.reshape(-1) // kind.itemsize] = values.reshape(len(values), -1)
        return copies[:, start:end]

    def fill(self, pieces: Sequence[bytes]) -> None:
        """Take the numbers out of messages of this layout; raises ValueError for messages of another one."""
        spans = self._spans
        if list(map(len, pieces)) != [end - start for start, end in spans]:
            raise ValueError("a message has another length than its layout")
        taken = self._joined(pieces)
        # What is not a number says which robots and frames they are of.
        if not np.array_equal(taken[~self._number_mask], self._bytes[~self._number_mask]):
            raise ValueError("a message has other names than its layout")
        self._bytes[:] = taken

    def read(self, name: str) -> AnyArray:
        """Return a copy of the group `name`, (count, fields)."""
        return self._slots[name].read()

    # ---- building ----------------------------------------------------------------------------------------------------

    def _lay_out(self, empty: Sequence[bytes]) -> None:
        """Lay out the messages one after the other, each body aligned, so that NumPy views can write the numbers."""
        self._spans: list[tuple[int, int]] = []
        # CDR aligns numbers from the end of the header on, so bodies and not messages begin at multiples of 8.
        cursor = ALIGNMENT - HEADER_SIZE
        for data in empty:
            self._spans.append((cursor, cursor + len(data)))
            cursor += len(data) + -len(data) % ALIGNMENT
        self._bytes = np.zeros(cursor + -cursor % ALIGNMENT, np.uint8)
        self._bytes[:] = self._joined(empty)

    def _joined(self, serialized: Sequence[bytes]) -> AnyArray:
        joined = np.zeros(len(self._bytes), np.uint8)
        for (start, end), data in zip(self._spans, serialized, strict=True):
            joined[start:end] = np.frombuffer(data, np.uint8)
        return joined

    def _find(self, numbers: Numbers, differing: Ints) -> None:
        """Find the bytes of each of `numbers` among the `differing` places (K,) of all messages, little endian."""
        # All bytes of all numbers differ, so each element contributes the same number of differing bytes, in the order
        # of its fields.
        width = sum(np.dtype(kind).itemsize * len(paths) for kind, paths in numbers.values())
        starts = differing.reshape(-1, width)
        column = 0
        for name, (kind, paths) in numbers.items():
            size = np.dtype(kind).itemsize
            places = [column + index * size for index in range(len(paths))]
            column += len(paths) * size
            self._places[name] = found = np.dtype(kind).newbyteorder("<"), starts[:, places]
            self._slots[name] = _slot(self._bytes, *found)


class ElementsTemplate:
    """One message that ends with an array of elements: a name, numbers and, after them, texts that change now and then.

    Numbers are written as in a ByteTemplate. Texts are encoded here, those of an element when they change; then all
    elements are moved to where they belong, which takes a tenth of a millisecond for a thousand of them.
    """

    def __init__(self, message: Any, array: str, numbers: Numbers, serialize: Callable[[Any], bytes]) -> None:
        """`message` has one element in its field `array`, whose name and texts are empty."""
        one = ByteTemplate(
            [message], [MessagePart(STAMP), MessagePart(numbers, lambda made: getattr(made, array))], serialize
        )
        places = {name: one._places[name] for name in numbers}
        # Numbers of 8 bytes come first, so those of each element begin at a multiple of ALIGNMENT.
        self._begin = min(int(found.min()) for _, found in places.values())
        self._length = max(int(found.max()) + kind.itemsize for kind, found in places.values()) - self._begin
        self._relative = {name: (kind, found - self._begin) for name, (kind, found) in places.items()}
        self._stamp = {name: one._places[name] for name in STAMP}
        setattr(message, array, [])
        # Without the number of elements, which is last.
        self._head = bytes(serialize(message))[:-_COUNT]
        self._names: list[tuple[bytes, bytes]] = []
        self._texts: list[tuple[Text, ...]] = []
        self._tails: list[bytes] = []
        self._empty = bytes(self._length)
        self.set_elements([], [])

    def set_elements(self, names: Sequence[str], texts: Sequence[tuple[Text, ...]]) -> None:
        """Lay the message out for elements with these `names` and the texts of each; all numbers are 0."""
        self._names = [(_named(name, 0), _named(name, _COUNT)) for name in names]
        self._texts = list(texts)
        self._tails = [self._tail(own) for own in self._texts]
        self._lay_out()

    def set_texts(self, texts: Sequence[tuple[Text, ...]]) -> None:
        """Set the texts of all elements; where some are new, all numbers are 0 until they are written."""
        changed = [index for index, (new, old) in enumerate(zip(texts, self._texts, strict=True)) if new != old]
        for index in changed:
            self._texts[index] = texts[index]
            self._tails[index] = self._tail(texts[index])
        if changed:
            self._lay_out()

    def write(self, name: str, values: Any) -> None:
        """Set the numbers `name` of all elements, (N, fields)."""
        self._slots[name].write(values)

    def write_stamp(self, nanoseconds: int) -> None:
        """Set the stamp of the header."""
        self._slots["sec"].write(nanoseconds // 1_000_000_000)
        self._slots["nanosec"].write(nanoseconds % 1_000_000_000)

    def data(self) -> bytes:
        """Return the message as CDR."""
        return bytes(self._bytes.data[ALIGNMENT - HEADER_SIZE : self._end])

    def _tail(self, texts: tuple[Text, ...]) -> bytes:
        """Return the texts after the numbers of an element, filled up to where the next element begins."""
        parts: list[bytes] = []
        place = self._length
        for text in texts:
            given = [text] if isinstance(text, str) else text
            for piece in ([] if isinstance(text, str) else [_number(len(text))]) + [_string(one) for one in given]:
                # Each begins with a number of 4 bytes.
                fill = -place % _COUNT
                parts.append(bytes(fill) + piece)
                place += fill + len(piece)
        return b"".join(parts) + bytes(-place % _COUNT)

    def _lay_out(self) -> None:
        """Put the elements one after the other, and find their numbers."""
        tails, empty = self._tails, self._empty
        pieces = [bytes(ALIGNMENT - HEADER_SIZE), self._head, _number(len(tails))]
        cursor = sum(map(len, pieces))
        begins = []
        for (even, odd), tail in zip(self._names, tails, strict=True):
            name = odd if cursor % ALIGNMENT else even
            pieces += (name, empty, tail)
            cursor += len(name)
            begins.append(cursor)
            cursor += len(empty) + len(tail)
        self._end = cursor
        self._bytes = np.zeros(cursor + -cursor % ALIGNMENT, np.uint8)
        self._bytes[:cursor] = np.frombuffer(b"".join(pieces), np.uint8)
        rows = np.array(begins, np.int64)[:, None]
        self._slots = {name: _slot(self._bytes, kind, rows + found) for name, (kind, found) in self._relative.items()}
        self._slots |= {name: _slot(self._bytes, *found) for name, found in self._stamp.items()}


class ColumnsTemplate:
    """One message of a header, columns of numbers and, after them, columns of texts that change now and then.

    `columns` are views of the numbers in the bytes, (N,) or (N, width).
    """

    def __init__(
        self,
        message: Any,
        columns: Mapping[str, tuple[str, int]],
        texts: Sequence[str],
        count: int,
        serialize: Callable[[Any], bytes],
    ) -> None:
        """Lay out `message`, whose columns and texts are empty, for `count` elements; all numbers are 0."""
        self._serialize, self._texts = serialize, dict.fromkeys(texts, b"\0" * _COUNT)
        for name, (kind, width) in columns.items():
            setattr(message, name, _array(kind, count * width, 0))
        # Without the numbers of texts, which are last.
        head = serialize(message)[: -_COUNT * len(texts)]
        # CDR aligns numbers from the end of the header on.
        self._bytes = np.zeros(ALIGNMENT - HEADER_SIZE + len(head), np.uint8)
        self._bytes[ALIGNMENT - HEADER_SIZE :] = np.frombuffer(head, np.uint8)
        self.columns: dict[str, AnyArray] = {}
        for name, (kind, width) in columns.items():
            setattr(message, name, _array(kind, count * width, 1))
            # The bytes that differ are those of the numbers.
            filled = np.frombuffer(serialize(message)[: len(head)], np.uint8)
            places = np.flatnonzero(self._bytes[ALIGNMENT - HEADER_SIZE :] != filled) + ALIGNMENT - HEADER_SIZE
            setattr(message, name, _array(kind, count * width, 0))
            begin = int(places[0]) if len(places) else 0
            numbers = self._bytes[begin : begin + len(places)].view(np.dtype(kind).newbyteorder("<"))
            self.columns[name] = numbers if width == 1 else numbers.reshape(count, width)

    def set_texts(self, name: str, texts: Sequence[str]) -> None:
        """Set a column of texts."""
        self._texts[name] = _number(len(texts)) + b"".join(
            text + bytes(-len(text) % _COUNT) for text in map(_string, texts)
        )

    def data(self, nanoseconds: int) -> bytes:
        """Return the message as CDR, with a stamp: the header of a message comes first."""
        stamp = np.array(divmod(nanoseconds, 1_000_000_000), "<u4")
        self._bytes[ALIGNMENT : 2 * ALIGNMENT] = stamp.view(np.uint8)
        return b"".join([self._bytes.data[ALIGNMENT - HEADER_SIZE :], *self._texts.values()])


def _array(kind: str, length: int, byte: int) -> Any:
    """Return an array as messages have it, of numbers whose bytes are all `byte`."""
    if kind == "?":
        return [bool(byte)] * length
    return array({"f8": "d", "u4": "I", "u1": "B"}[kind], bytes([byte]) * (length * np.dtype(kind).itemsize))


_COUNT = 4
"""Bytes of the number of what follows."""


def _number(count: int) -> bytes:
    return count.to_bytes(_COUNT, "little")


def _string(text: str) -> bytes:
    data = text.encode() + b"\0"
    return _number(len(data)) + data


def _named(name: str, begin: int) -> bytes:
    """Return a name that begins `begin` after a multiple of ALIGNMENT, filled up to the next one."""
    data = _string(name)
    return data + bytes(-(begin + len(data)) % ALIGNMENT)


class _RowSlot:
    """Rows whose numbers follow each other.

    NumPy takes each as one thing of a type without meaning, which is copied in half the time that its numbers take.
    """

    def __init__(self, data: AnyArray, kind: np.dtype[Any], places: Ints) -> None:
        self._kind, self._shape = kind, places.shape
        row = np.dtype(f"V{kind.itemsize * self._shape[1]}")
        # One for each byte that a row may begin at. Views cannot be longer than the bytes, without a row either.
        self._rows = np.ndarray((max(0, len(data) - row.itemsize + 1),), row, buffer=data, strides=(1,))
        self._places = places[:, 0]

    def write(self, values: Any) -> None:
        given = np.asarray(values, self._kind)
        if given.shape != self._shape:
            # Without a dimension of rows it is the same for all of them.
            whole = np.empty(self._shape if given.ndim == 2 else (1, self._shape[1]), self._kind)
            whole[:] = given
            given = whole
        self._rows[self._places] = np.ascontiguousarray(given).view(self._rows.dtype)[:, 0]

    def read(self) -> AnyArray:
        return self._rows[self._places].view(self._kind).reshape(self._shape)


class _NumberSlot:
    """Numbers with others between them."""

    def __init__(self, data: AnyArray, kind: np.dtype[Any], places: Ints) -> None:
        # A view as wider numbers needs a whole number of them.
        whole = len(data) // kind.itemsize * kind.itemsize
        self._numbers, self._places = data[:whole].view(kind), places // kind.itemsize

    def write(self, values: Any) -> None:
        self._numbers[self._places] = values

    def read(self) -> AnyArray:
        return self._numbers[self._places]


def _slot(data: AnyArray, kind: np.dtype[Any], places: Ints) -> _NumberSlot | _RowSlot:
    """Return the slot in `data` of numbers of a kind at `places` (count, fields), which may stand side by side."""
    return (_RowSlot if (np.diff(places, axis=1) == kind.itemsize).all() else _NumberSlot)(data, kind, places)


def _fill(messages: Sequence[Any], part: MessagePart, *, byte: int) -> None:
    """Set every number of `part` to the value whose bytes are all `byte`."""
    owners = [element for message in messages for element in part.elements(message)]
    for kind, paths in part.numbers.values():
        value = np.full(np.dtype(kind).itemsize, byte, np.uint8).view(kind)[0].item()
        for path in paths:
            *outer, field = path.split(".")
            for owner in owners:
                target = owner
                for name in outer:
                    target = getattr(target, name)
                setattr(target, field, value)
