"""The lines of a Wavefront OBJ file, sorted by keyword and read as tables.

A file may have a million lines, and a Python loop over them takes seconds, which would delay the first image of a
robot. So nothing here is done line by line.
"""

from __future__ import annotations

import re

import numpy as np

from fleet_sim.arrays import Floats, Ints

_INDENT = re.compile(rb"^[ \t]+", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")
_LEFT_OUT = re.compile(rb"/(?=[/\s])")
"""A slash that no number follows, as both in 1// and the first in 1//3."""
_STRAY_MINUS = re.compile(rb"-(?!\d)|\d-")
_MOST_INDICES = 3
_NEWLINE, _SLASH, _SPACE, _TAB = b"\n/ \t"


class Lines:
    """The lines of a file, numbered from 0; lines continued by a backslash are joined before they are numbered."""

    def __init__(self, data: bytes) -> None:
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\\\n" in data:
            data = data.replace(b"\\\n", b" ")
        self._data = data
        # The first two letters tell all keywords apart that are read, and fit in one integer to compare.
        self._starts, self._keys = _index(data)
        if np.isin(self._keys >> 8, (_SPACE, _TAB)).any():
            self._data = _INDENT.sub(b"", data)
            self._starts, self._keys = _index(self._data)

    def numbers(self, keyword: str) -> Ints:
        """Return the numbers (N,) of the lines with `keyword`; only its first two letters are compared."""
        first, second = f"{keyword} ".encode()[:2]
        return np.flatnonzero(self._keys == 256 * first + second)

    def text(self, numbers: Ints) -> bytes:
        """Return lines as one text."""
        if not len(numbers):
            return b""
        # In most files lines with the same keyword are consecutive, so there are few pieces to join.
        breaks = np.flatnonzero(np.diff(numbers) != 1)
        firsts, lasts = numbers[np.append(-1, breaks) + 1], numbers[np.append(breaks, -1)]
        runs = zip(self._starts[firsts].tolist(), self._starts[lasts + 1].tolist(), strict=True)
        return b"".join([self._data[start:end] for start, end in runs])

    def table(self, keyword: str, width: int) -> Floats:
        """Return the first `width` numbers of all lines with `keyword`, (N, width); raises ValueError."""
        numbers = self.numbers(keyword)
        if not len(numbers):
            return np.empty((0, width))
        lines = self.text(numbers).splitlines()
        table: Floats = np.loadtxt(lines, usecols=range(1, width + 1), comments=None, ndmin=2)
        return table

    def names(self, keyword: str) -> list[tuple[int, str]]:
        """Return the numbers of the lines with `keyword`, and the text after it."""
        found = []
        for number in self.numbers(keyword).tolist():
            line = self._data[self._starts[number] : self._starts[number + 1]].decode("utf-8", "replace")
            first, *rest = line.split()
            if first == keyword:
                found.append((number, " ".join(rest)))
        return found


def _index(data: bytes) -> tuple[Ints, Ints]:
    """Return the starts of lines and the end of the data (L + 1,), and the first two letters of each as a key (L,)."""
    # Two extra line ends, so that even an empty last line has two letters.
    letters = np.frombuffer(data + b"\n\n", np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(letters[:-1] == _NEWLINE) + 1))
    firsts, seconds = letters[starts[:-1]].astype(np.int64), letters[starts[:-1] + 1].astype(np.int64)
    return starts, 256 * firsts + np.where(seconds == _TAB, _SPACE, seconds)


def read_corners(text: bytes, count: int) -> tuple[Ints, Ints]:
    """Return the corners (C, 3) in the text of `count` faces, and the number of corners of each face (count,).

    A corner is v, v/vt, v//vn or v/vt/vn with indices as in the file: from 1 up, or from -1 down; 0 for none. Raises
    ValueError.
    """
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if any(end in text for end in (b"//", b"/ ", b"/\t", b"/\n")):
        text = _LEFT_OUT.sub(b"/0", text)
    strange = text.translate(None, b"f0123456789-/ \t\n")
    stray = b"-" in text and _STRAY_MINUS.search(text) is not None
    if strange or stray or text.count(b"f") != count:
        raise ValueError(f"its faces have {(strange or text)[:20]!r} where vertex numbers are expected")
    text = text.replace(b"f", b" ") + b"\n"
    letters = np.frombuffer(text, np.uint8)
    blank_mask = letters <= _SPACE
    begins = np.flatnonzero(blank_mask[:-1] & ~blank_mask[1:]) + 1
    if not len(begins):
        return np.empty((0, 3), np.int64), np.zeros(count, np.int64)
    # Indices per corner: one more than its slashes.
    sizes = 1 + np.add.reduceat(letters == _SLASH, begins, dtype=np.int64)
    values = np.fromstring(text.replace(b"/", b" "), np.int64, sep=" ")
    if len(values) != sizes.sum() or sizes.max() > _MOST_INDICES:
        raise ValueError("a corner of a face must be v, v/vt, v//vn or v/vt/vn")
    corners = np.zeros((len(begins), _MOST_INDICES), np.int64)
    firsts = np.cumsum(sizes) - sizes
    for index in range(_MOST_INDICES):
        given = np.flatnonzero(sizes > index)
        corners[given, index] = values[firsts[given] + index]
    ends = np.flatnonzero(letters == _NEWLINE)
    return corners, np.bincount(np.searchsorted(ends, begins), minlength=count)[:count]
