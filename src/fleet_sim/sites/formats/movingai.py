"""Maps and scenarios of the MovingAI benchmarks: `.map` and `.scen`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Ints
from fleet_sim.paths import is_file
from fleet_sim.sites.formats.site_format import SiteFormat, fail, read_text
from fleet_sim.sites.grid import Grid, check_size
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import Station, StationKind

FREE = ".GSEe"
BLOCKED = "@OTW"
"""Trees, water and what is out of bounds. Water can be crossed by what floats, which our robots do not."""


class Map(NamedTuple):
    """A map: which cells are free, (H, W), and the letters they were given as, (H, W)."""

    free_mask: Bools
    letters: AnyArray


def read_map(text: str, path: Path) -> Map:
    """Return the map in `text`; raises ConfigError naming the line of `path`."""
    lines = text.splitlines()
    header: dict[str, str] = {}
    start = 0
    for start, line in enumerate(lines):
        words = line.split()
        if words == ["map"]:
            break
        if len(words) == 2 and words[0] in ("type", "height", "width"):
            header[words[0]] = words[1]
        elif words:
            fail(path, f"line {start + 1}: expected `type`, `height`, `width` or `map`, got {line[:60]!r}")
    else:
        fail(path, "it has no line `map`; is this a MovingAI map?")
    height, width = (_size(header, key, path) for key in ("height", "width"))
    rows = lines[start + 1 : start + 1 + height]
    # Checked against the header: a file cut off in transfer is well formed up to its end.
    if len(rows) < height or any(line.strip() for line in lines[start + 1 + height :]):
        given = len(lines) - start - 1
        fail(path, f"it says height {height}, but has {given} rows")
    return map_of(rows, width, path, first_line=start + 2)


def _size(header: dict[str, str], key: str, path: Path) -> int:
    value = header.get(key, "")
    # The length is looked at before the value: int() of a million digits takes seconds.
    if not value.isdecimal() or not 1 <= len(value) <= 7 or int(value) < 1:
        fail(path, f"`{key}` must be a whole number above 0, got {value!r}")
    return int(value)


def map_of(rows: list[str], width: int, path: Path, *, first_line: int = 1, also_free: str = "") -> Map:
    """Return the map in `rows` of `width` letters each; raises ConfigError naming the line."""
    # Before the letters are split: a row of millions would be a list of as many.
    check_size(len(rows), width)
    for index, row in enumerate(rows):
        if len(row) != width:
            fail(path, f"line {first_line + index}: it has {len(row)} letters, {width} are expected")
    letters = np.array([list(row) for row in rows], "U1")
    free = np.isin(letters, list(FREE + also_free))
    # Refused: taken as free or as blocked, a map of another dialect would be silently wrong.
    strange = ~free & ~np.isin(letters, list(BLOCKED))
    if strange.any():
        place = divmod(int(np.flatnonzero(strange)[0]), width)
        known = " ".join(FREE + also_free + BLOCKED)
        where = f"line {first_line + place[0]}, column {place[1] + 1}"
        fail(path, f"{where}: unknown letter {str(letters[place])!r}; known are {known}")
    return Map(free, letters)


def stations_of(
    read: Map, grid: Grid, kinds: Mapping[str, StationKind], *, counted: bool = False
) -> tuple[Station, ...]:
    """Return a station for each cell whose letter is in `kinds`.

    Its name is the letter with the number of its cell, or with its own among the stations where they are `counted`.
    """
    letters = read.letters.ravel()
    cells = np.flatnonzero(np.isin(letters, list(kinds)))
    numbers = range(len(cells)) if counted else cells.tolist()
    places = zip(cells.tolist(), numbers, grid.positions(cells).tolist(), strict=True)
    return tuple(
        Station(f"{letters[cell]}{number}", kinds[str(letters[cell])], x, y) for cell, number, (x, y) in places
    )


class MapFormat(SiteFormat):
    """A MovingAI map."""

    suffixes = (".map",)
    doc = "MovingAI map"

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the site in the text `content`; raises ConfigError."""
        return Site(path.stem, Grid(read_map(content, path).free_mask))


class ScenFormat(SiteFormat):
    """A MovingAI scenario: a map beside it, with starts and goals."""

    suffixes = (".scen",)
    doc = "MovingAI scenario"

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the site in the text `content`, with its starts and goals; raises ConfigError."""
        rows = _rows_of_scenario(content, path)
        # The first line names the map; the others are checked against its size.
        map_path = _map_of_scenario(path, rows[0][1][1])
        grid = Grid(read_map(read_text(map_path), map_path).free_mask)
        starts, goals = ends_of_scenario(content, path, grid)
        return Site(path.stem, grid, starts=starts, goals=goals)


def map_name_of(path: Path) -> str:
    """Return the file name of the map that a scenario is for; raises ConfigError."""
    return Path(_rows_of_scenario(read_text(path), path)[0][1][1]).name


def ends_of_scenario(text: str, path: Path, grid: Grid) -> tuple[Ints, Ints]:
    """Return the starts and goals (S,) in `text` as cells of `grid`; raises ConfigError naming the line."""
    rows = _rows_of_scenario(text, path)
    return _cells(path, grid, rows, 4), _cells(path, grid, rows, 6)


def _rows_of_scenario(text: str, path: Path) -> list[tuple[int, list[str]]]:
    """Return the number of each line with a task, and its words."""
    lines = [line.split() for line in text.splitlines()]
    # The first line names the version, and only in newer files.
    rows = [(number, words) for number, words in enumerate(lines, 1) if words and words[0] != "version"]
    if not rows:
        fail(path, "it has no tasks")
    for number, words in rows:
        if len(words) != 9:
            fail(path, f"line {number}: expected 9 values (bucket, map, width, ...), got {len(words)}")
    return rows


def _cells(path: Path, grid: Grid, rows: list[tuple[int, list[str]]], column: int) -> Ints:
    """Return the cells at the x in `column` and the y behind it."""
    cells = []
    for number, words in rows:
        try:
            width, height, x, y = (int(words[index]) for index in (2, 3, column, column + 1))
        except ValueError:
            fail(path, f"line {number}: expected whole numbers, got {' '.join(words)[:80]!r}")
        if (width, height) != (grid.width, grid.height):
            fail(path, f"line {number}: it is for a map of {width} x {height}, not {grid.width} x {grid.height}")
        if not (0 <= x < width and 0 <= y < height):
            fail(path, f"line {number}: ({x}, {y}) is outside of the map")
        # Row by row from the top, as the letters are.
        cells.append(y * width + x)
    return np.array(cells, np.int64)


def _map_of_scenario(path: Path, name: str) -> Path:
    """Return the map that a scenario names: below its folder, or beside it, as archives are unpacked in either way."""
    for folder in (path.parent, path.parent.parent):
        for candidate in (folder / name, folder / Path(name).name):
            if is_file(candidate):
                return candidate
    fail(path, f"its map {name!r} is neither beside it nor in the folder above")


MAP, SCEN = MapFormat(), ScenFormat()
