"""Points: cells as files of paths write them, in pairs of numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fleet_sim.arrays import Ints
from fleet_sim.sites.formats.site_format import fail

PAIR = re.compile(r"\(\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*(?:,\s*(\d{1,9}(?:\.\d{1,9})?)\s*)?\)")
"""A cell as `(3,4)`, or with its time as `(3,4,12)`. Few digits: int() of a million of them takes seconds."""

MOST = 100_000_000
"""Cells over all robots and steps that a file of paths may have; the array of more would not fit in memory."""


@dataclass(frozen=True)
class Points:
    """What a file says: for each robot its cells (K, 2) in the order of its steps, as pairs in the order of the file.

    `by_columns` tells what the pairs are: True for (column, row), False for (row, column), None where the format leaves
    it open.
    """

    robots: tuple[Ints, ...]
    by_columns: bool | None


def pairs_of(text: str, separator: str, path: Path, number: int) -> list[tuple[int, int, str]]:
    """Return the pairs in `text`, each with its time or ""; raises ConfigError naming line `number` of `path`.

    A separator may follow the last pair, as programs write it.
    """
    pieces = text.strip().split(separator)
    if pieces[-1].strip() == "":
        pieces.pop()
    pairs = []
    for piece in pieces:
        match = PAIR.fullmatch(piece.strip())
        if match is None:
            fail(path, f"line {number}: expected cells such as (3,4){separator}(3,5), got {piece.strip()[:60]!r}")
        pairs.append((int(match[1]), int(match[2]), match[3] or ""))
    return pairs
