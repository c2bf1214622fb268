"""Writing metrics to a table: CSV, or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, TextIO

from fleet_sim.errors import InvalidValueError
from fleet_sim.output import check_target, load_parquet, part_of, refusals, replacing, uninterrupted
from fleet_sim.settings import setting
from fleet_sim.swarm.parameters import Configured, documented, file_setting
from fleet_sim.swarm.swarm_world import Subscriber, SwarmWorld

BATCH = 1000
"""Lines that are written at once."""
ALWAYS = {"step": "int64", "time": "float64", "population": "int64"}
"""The columns of every table, and their types in Parquet; a run without a line leaves a table of these."""


@documented
@dataclass(eq=False, repr=False)
class MetricTable(Configured, Subscriber):
    """Writes one line per step, or per `every` steps: step, time, population, and every metric by name.

    `path` ends in .csv or .parquet. What is in memory never grows beyond a batch of lines. The file is written beside
    its place and gets there when it is closed.
    """

    path: Path = file_setting(MISSING, "The file.")
    every: int = setting(1, low=1, unit="steps", doc="Steps between two lines.")

    def __post_init__(self) -> None:
        """Raises InvalidValueError for another ending, MissingDependencyError where pyarrow is needed and not there."""
        super().__post_init__()
        self.closed = False
        self._sink = _sink_for(self.path)
        self._names: list[str] = []
        self._lines: list[list[Any]] = []

    def settled(self) -> Collection[str]:
        """Return `path`, which was checked at the beginning; and all, once it is closed."""
        return ("path", "every") if self.closed else ("path",)

    def step(self, world: SwarmWorld) -> None:
        """Note the metrics of this step."""
        if self.closed or world.steps % self.every:
            return
        # The columns are those of the first line: neither format can add one later.
        if not self._names:
            self._names = [*ALWAYS, *(metric.name for metric in world.metrics)]
            with uninterrupted(), refusals(self.path):
                self._sink.begin(self._names)
        # A metric that was removed has no value from then on; one that came later has no column.
        values = {metric.name: metric.value for metric in world.metrics}
        known = [values.get(name, float("nan")) for name in self._names[len(ALWAYS) :]]
        self._lines.append([world.steps, world.time, len(world.population), *known])
        if len(self._lines) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        with uninterrupted(), refusals(self.path):
            # Emptied before writing: after a failure the same lines are not written twice.
            lines, self._lines = self._lines, []
            if lines:
                self._sink.write(self._names, lines)

    def close(self) -> None:
        """Write the last lines; may be called again."""
        if not self.closed:
            self.closed = True
            # The sink has written beside `path` all along; here that file takes its place.
            with replacing(self.path):
                if not self._names:
                    self._sink.begin(list(ALWAYS))
                self._flush()
                self._sink.close()


class _CsvSink:
    """Writes a table as CSV, in the unfinished file beside `path`, which there is from the heading on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: TextIO | None = None

    def begin(self, names: list[str]) -> None:
        csv.writer(self._open()).writerow(names)

    def write(self, names: list[str], lines: list[list[Any]]) -> None:
        csv.writer(self._open()).writerows(lines)

    def close(self) -> None:
        self._open().close()

    def _open(self) -> TextIO:
        if self._stream is None:
            self._stream = part_of(self._path).open("w", newline="", encoding="utf-8")
        return self._stream


class _ParquetSink:
    """Writes a table as Parquet, a group of rows at a time; the first lines decide on the types of the columns.

    Raises MissingDependencyError without pyarrow.
    """

    def __init__(self, path: Path) -> None:
        self._arrow, _ = load_parquet("writing Parquet")
        self._path = path
        self._writer: Any = None

    def begin(self, names: list[str]) -> None:
        """Do nothing: the types of the columns are not known yet."""

    def write(self, names: list[str], lines: list[list[Any]]) -> None:
        # Columns, as Parquet wants them, from lines.
        table = self._arrow.table(dict(zip(names, map(list, zip(*lines, strict=True)), strict=True)))
        if self._writer is None:
            self._writer = self._arrow.parquet.ParquetWriter(part_of(self._path), table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is None:
            empty = self._arrow.schema([(name, getattr(self._arrow, kind)()) for name, kind in ALWAYS.items()])
            self._writer = self._arrow.parquet.ParquetWriter(part_of(self._path), empty)
        self._writer.close()


def _sink_for(path: Path) -> _CsvSink | _ParquetSink:
    """Return what writes a table by the ending of the path; raises InvalidValueError for any other ending."""
    ending = path.suffix.lower()
    # Before the file is opened, so that a wrong ending leaves no empty file behind.
    if ending in (".csv", ".parquet", ".pq"):
        check_target(path)
    if ending == ".csv":
        return _CsvSink(path)
    if ending in (".parquet", ".pq"):
        return _ParquetSink(path)
    raise InvalidValueError(f"cannot write a table to {str(path)!r}: the ending must be .csv or .parquet")
