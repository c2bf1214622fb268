"""Mutants of bytes: flipped, cut, doubled, spliced, with extreme numbers and words of the format put in."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from random import Random

LARGEST = 1 << 16
"""Bytes of a mutant."""

NUMBERS = tuple(
    b"0 -0 1 -1 2 255 256 65536 2147483647 2147483648 4294967296 -9223372036854775809 1e-300 1e-9 1e6 1e9 1e155 -1e155 "
    b"1e308 1e999 nan inf -inf .inf .nan 0x10 1_0 0.1 3.5 1e 99999999999999999999999999 true null ''".split()
)
"""Numbers as texts, at and beyond the ends of what is allowed."""

BINARY = tuple(
    [struct.pack("<d", value) for value in (0.0, -1.0, 1e9, 1e155, -1e308, float("nan"), float("inf"), 5e-324)]
    + [struct.pack("<I", value) for value in (0, 1, 2, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)]
    + [b"\x00", b"\xff", b"\x80", b"\x00\x01\x00\x00", b"\x00\x03", b"\xff\xff\xff\xff\xff\xff\xff\xff"]
)

_NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")


class Mutator:
    """Makes mutants; the same `random` makes the same ones."""

    def __init__(self, random: Random, words: Sequence[bytes] = ()) -> None:
        self._random = random
        self._words = tuple(words)
        self._ways: tuple[Callable[[bytes, bytes], bytes], ...] = (
            self._flip,
            self._overwrite,
            self._cut,
            self._double,
            self._insert,
            self._splice,
            self._number,
            self._number,
            self._word,
            self._line,
            self._repeat,
        )

    def mutant(self, data: bytes, other: bytes) -> bytes:
        """Return a mutant of `data`, with parts of `other` in some."""
        # One change in half of all: what is broken in many places is refused at the first.
        for _ in range(self._random.choice((1, 1, 1, 2, 3, 6))):
            data = self._random.choice(self._ways)(data, other)[:LARGEST]
        return data

    def _flip(self, data: bytes, other: bytes) -> bytes:
        if not data:
            return b"\x01"
        at = self._random.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 << self._random.randrange(8))]) + data[at + 1 :]

    def _overwrite(self, data: bytes, other: bytes) -> bytes:
        new = self._random.choice(BINARY)
        at = self._random.randrange(max(1, len(data)))
        # Numbers of messages are aligned.
        at -= at % 4 * self._random.randrange(2)
        return data[:at] + new + data[at + len(new) :]

    def _cut(self, data: bytes, other: bytes) -> bytes:
        start, stop = self._slice(data)
        return data[:start] if self._random.random() < 0.2 else data[:start] + data[stop:]

    def _double(self, data: bytes, other: bytes) -> bytes:
        start, stop = self._slice(data)
        return data[:stop] + data[start:stop] + data[stop:]

    def _insert(self, data: bytes, other: bytes) -> bytes:
        at = self._random.randrange(len(data) + 1)
        return data[:at] + self._random.choice(self._words or BINARY) + data[at:]

    def _splice(self, data: bytes, other: bytes) -> bytes:
        (start, stop), (first, last) = self._slice(data), self._slice(other)
        return data[:start] + other[first:last] + data[stop:]

    def _number(self, data: bytes, other: bytes) -> bytes:
        return self._replace(_NUMBER, data, NUMBERS)

    def _word(self, data: bytes, other: bytes) -> bytes:
        return self._replace(_WORD, data, self._words or (b"", b"x", b"null", b"[]"))

    def _line(self, data: bytes, other: bytes) -> bytes:
        lines = data.split(b"\n")
        first, second = (self._random.randrange(len(lines)) for _ in range(2))
        way = self._random.randrange(4)
        if way == 0:
            del lines[first]
        elif way == 1:
            lines.insert(second, lines[first])
        elif way == 2:
            lines[first], lines[second] = lines[second], lines[first]
        else:
            lines[first] = b"  " + lines[first] if self._random.random() < 0.5 else lines[first].lstrip()
        return b"\n".join(lines)

    def _repeat(self, data: bytes, other: bytes) -> bytes:
        start, stop = self._slice(data)
        stop = min(stop, start + 64)
        return data[:stop] + data[start:stop] * self._random.choice((2, 10, 400)) + data[stop:]

    def _replace(self, pattern: re.Pattern[bytes], data: bytes, news: Sequence[bytes]) -> bytes:
        # From a random place on, as finding all of them takes longer than reading most inputs.
        found = pattern.search(data, self._random.randrange(len(data) + 1)) or pattern.search(data)
        new = self._random.choice(news)
        return new if found is None else data[: found.start()] + new + data[found.end() :]

    def _slice(self, data: bytes) -> tuple[int, int]:
        start = self._random.randrange(len(data) + 1)
        length = min(len(data) - start, 1 << self._random.randrange(1, 11))
        return start, start + self._random.randrange(length + 1)
