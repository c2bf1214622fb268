"""Run files: the figures of a run as JSON, written by traffic commands and read by `fleet-sim report`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, is_finite
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import write_file
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.reading import read_json
from fleet_sim.warehouse.traffic.figures import TASKS, FigureCollector

FORMAT = "fleet_sim run 1"
PERCENTS = np.arange(101)
"""Distributions are kept as their percentiles from 0 to 100."""
MOST_SQUARES = 1_000_000


class RunMark(NamedTuple):
    """What is named on the maps: a station, or a robot that is stuck; in squares from the upper left corner."""

    name: str
    kind: str
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class RunHeat:
    """Where robots passed and waited: on squares of `cell` m, the first row is the one with the largest y.

    `free_mask`, `passages` (times) and `waited` (s) have shape (H, W).
    """

    cell: float
    free_mask: Bools
    passages: Floats
    waited: Floats
    marks: Sequence[RunMark] = ()


Cell: TypeAlias = str | float | None


class RunTable(NamedTuple):
    """A table of a run, such as one of its stations: the first column names the rows. Texts, numbers, or None."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, eq=False)
class Run:
    """What a run file holds. `figures` are numbers by name; None where there is none, as the distance of a lone robot.

    `times` (B,) are the ends of stretches in s, `tasks` (B,) the tasks done in each and `states` the robot-seconds (B,)
    in each state. `levels` are further quantities that change over time, summed over the seconds (B,) of each stretch.
    `quantiles` are the percentiles 0 to 100 (101,) of what has a distribution. `about` is what was run, `tables` what
    was counted by station, robot and so on.
    """

    title: str
    figures: Mapping[str, float | None]
    times: Floats
    tasks: Floats
    states: Mapping[str, Floats]
    quantiles: Mapping[str, Floats] = field(default_factory=dict)
    heat: RunHeat | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Floats] = field(default_factory=dict)
    tables: Sequence[RunTable] = ()


class RunSource(Protocol):
    """What gathers the figures of a run while it goes on, such as tasks or orders."""

    def run(self, title: str, about: Mapping[str, str], more: Mapping[str, float | None] | None = None) -> Run:
        """Return the run so far; `more` are further figures."""


def run_of(
    title: str,
    figures: Mapping[str, float | None],
    collector: FigureCollector,
    *,
    about: Mapping[str, str],
    distributions: Mapping[str, Floats],
    tables: Sequence[RunTable] = (),
    marks: Sequence[tuple[str, str, float, float]] = (),
) -> Run:
    """Return what to write of a run; `distributions` are values (K,) whose percentiles are kept, by name.

    `marks` are named on the maps: each a name, its kind, and x and y on the grid of the collector in m.
    """
    times, sums = collector.series.table()
    columns = dict(zip(collector.series.names, sums.T, strict=True))
    levels = {name: columns.pop(name) for name in collector.levels}
    heat, reasons = collector.heat, collector.standstill.reasons
    shape = heat.free_mask.shape
    return Run(
        title,
        figures,
        times,
        # Taken out, so that what is left are the states.
        columns.pop(TASKS),
        columns,
        # A quantity nobody had has no percentiles; it is left out, as zeros would look like values.
        {name: np.percentile(values, PERCENTS) for name, values in distributions.items() if len(values)},
        RunHeat(
            heat.grid.cell,
            heat.free_mask,
            heat.passages.reshape(shape),
            heat.waited.reshape(shape),
            [_mark(heat.grid, *mark) for mark in marks],
        ),
        {**about, "why robots starved": "; ".join(reasons)} if reasons else about,
        levels,
        tables,
    )


def _mark(grid: Grid, name: str, kind: str, x: float, y: float) -> RunMark:
    column, up = (grid.to_own(np.array([(x, y)]))[0] / grid.cell).tolist()
    return RunMark(name, kind, round(column, 2), round(grid.height - up, 2))


def write_run(path: str | Path, run: Run) -> None:
    """Write `run` to a JSON file, its figures as keys of their own; raises InvalidValueError."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "title": run.title,
        **run.figures,
        "about": dict(run.about),
        "series": {
            "time_s": _rounded(run.times),
            TASKS: _rounded(run.tasks),
            "robot_seconds": {name: _rounded(values) for name, values in run.states.items()},
            "level_seconds": {name: _rounded(values) for name, values in run.levels.items()},
        },
        "percentiles": {name: _rounded(values) for name, values in run.quantiles.items()},
    }
    if run.heat is not None:
        content["heat"] = {
            "cell_m": run.heat.cell,
            # The letters of MovingAI maps, so that people can see the map in the file.
            "rows": ["".join(".@"[not free] for free in row) for row in run.heat.free_mask.tolist()],
            "passages": _sparse(run.heat.passages),
            "waited_s": _sparse(run.heat.waited),
            "marks": [list(mark) for mark in run.heat.marks],
        }
    if run.tables:
        content["tables"] = [
            {"heading": table.heading, "columns": list(table.columns), "rows": [list(row) for row in table.rows]}
            for table in run.tables
        ]
    # NaN and inf are no JSON: a figure that is one is a mistake here, not in the file.
    write_file(path, json.dumps(content, allow_nan=False) + "\n")


def _rounded(values: Floats) -> list[float]:
    # Six digits are more than a figure of a run is exact to, and keep files small.
    return [float(f"{value:.6g}") for value in values.tolist()]


def _sparse(values: Floats) -> tuple[list[int], list[float]]:
    """Return [the numbers of the squares that are not 0, their values]."""
    places = np.flatnonzero(values)
    return places.tolist(), _rounded(values.ravel()[places])


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_run(path: str | Path) -> Run:
    """Return the run in a file; raises ConfigError naming what is wrong."""
    file = Path(path)
    content = read_json(file)
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, Mapping) else None
        raise ConfigError(
            f"is not a run file: expected the format {FORMAT!r}, got {str(found)[:60]!r}", source=str(file)
        )
    reader = _RunReader(file)
    series = reader.mapping(content, "series")
    times = reader.numbers(series, "time_s", "series")
    states = reader.mapping(series, "robot_seconds", "series")
    # Runs without orders, and older files, have none.
    levels = reader.mapping(series, "level_seconds", "series") if "level_seconds" in series else {}
    about = reader.mapping(content, "about")
    return Run(
        str(content.get("title", file.stem)),
        # Keys of figures stand beside those of the format, so numbers are told by being numbers.
        {name: _number(value) for name, value in content.items() if value is None or is_finite(value)},
        times,
        reader.numbers(series, TASKS, "series", len(times)),
        {str(name): reader.numbers(states, name, "series.robot_seconds", len(times)) for name in states},
        {
            str(name): reader.numbers(content["percentiles"], name, "percentiles", len(PERCENTS))
            for name in reader.mapping(content, "percentiles")
        },
        reader.heat(content["heat"]) if "heat" in content else None,
        {str(key): str(value) for key, value in about.items()},
        {str(name): reader.numbers(levels, name, "series.level_seconds", len(times)) for name in levels},
        # Older files have none.
        [reader.table(table, f"tables[{index}]") for index, table in enumerate(reader.items(content, "tables"))],
    )


def _is_cell(value: object) -> bool:
    return value is None or isinstance(value, str) or is_finite(value)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


class _RunReader:
    """Checks of the parts of a run file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def refuse(self, key: str, message: str) -> ConfigError:
        return ConfigError(message, source=str(self._file), path=key)

    def mapping(self, parent: Mapping[str, Any], key: str, within: str = "") -> Mapping[str, Any]:
        found = parent.get(key)
        if not isinstance(found, Mapping):
            raise self.refuse(f"{within}.{key}".strip("."), "must be a mapping")
        return found

    def items(self, parent: Mapping[str, Any], key: str, within: str = "") -> list[Any]:
        """Return the list under `key`, an empty one where there is none."""
        found = parent.get(key, [])
        if not isinstance(found, list):
            raise self.refuse(f"{within}.{key}".strip("."), "must be a list")
        return found

    def table(self, content: Any, where: str) -> RunTable:
        """Return a table of texts, numbers and nothing; raises ConfigError."""
        if not isinstance(content, Mapping):
            raise self.refuse(where, "must be a mapping")
        columns, rows = self.items(content, "columns", where), self.items(content, "rows", where)
        if not columns or not all(isinstance(name, str) for name in columns):
            raise self.refuse(f"{where}.columns", "must be names")
        for row in rows:
            if not isinstance(row, list) or len(row) != len(columns) or not all(map(_is_cell, row)):
                raise self.refuse(f"{where}.rows", f"must be rows of {len(columns)} texts, finite numbers or null")
        return RunTable(str(content.get("heading", "")), columns, rows)

    def mark(self, content: Any) -> RunMark:
        """Return a mark on the maps; raises ConfigError."""
        is_mark = isinstance(content, list) and len(content) == 4 and all(map(is_finite, content[2:]))
        if not is_mark or not all(isinstance(text, str) for text in content[:2]):
            raise self.refuse("heat.marks", "must be [name, kind, x, y] each")
        return RunMark(*content)

    def numbers(self, parent: Mapping[str, Any], key: str, within: str, count: int | None = None) -> Floats:
        """Return the finite numbers under `key`: `count` of them."""
        found, where = parent.get(key), f"{within}.{key}"
        if not isinstance(found, list) or not all(map(is_finite, found)):
            raise self.refuse(where, "must be a list of finite numbers")
        if count is not None and len(found) != count:
            raise self.refuse(where, f"must have {count} numbers, got {len(found)}")
        return np.array(found, np.float64)

    def heat(self, content: Any) -> RunHeat:
        """Return the maps of heat; raises ConfigError."""
        rows = content.get("rows") if isinstance(content, Mapping) else None
        if not isinstance(rows, list) or not rows or not all(isinstance(row, str) and row for row in rows):
            raise self.refuse("heat.rows", "must be a list of rows of letters")
        width = len(rows[0])
        # Before the array is made, which a file could ask to be as large as memory.
        if any(len(row) != width or row.strip(".@") for row in rows) or width * len(rows) > MOST_SQUARES:
            raise self.refuse("heat.rows", f"must be rows of {width} letters . and @, at most {MOST_SQUARES} in all")
        cell = content.get("cell_m")
        if not is_finite(cell) or cell <= 0:
            raise self.refuse("heat.cell_m", f"must be a length above 0, got {str(cell)[:60]}")
        shape = (len(rows), width)
        free_mask = np.array([list(row) for row in rows]) == "."
        return RunHeat(
            float(cell),
            free_mask,
            self.squares(content, "passages", shape),
            self.squares(content, "waited_s", shape),
            [self.mark(mark) for mark in self.items(content, "marks", "heat")],
        )

    def squares(self, content: Mapping[str, Any], key: str, shape: tuple[int, int]) -> Floats:
        """Return the values (H, W) that are given as [numbers of squares, values]."""
        found = content.get(key)
        if not isinstance(found, list) or len(found) != 2:
            raise self.refuse(f"heat.{key}", "must be [numbers of squares, values]")
        places = self.numbers({key: found[0]}, key, "heat")
        values = self.numbers({key: found[1]}, key, "heat", len(places))
        count = shape[0] * shape[1]
        # As floats so far: a number that is not whole must not be cut to one.
        if ((places != np.floor(places)) | (places < 0) | (places >= count)).any():
            raise self.refuse(f"heat.{key}", f"numbers of squares must be whole and below {count}")
        out = np.zeros(count)
        out[places.astype(np.int64)] = values
        return out.reshape(shape)
