"""The figures of a soak: what a process uses, what it has done, and the CSV file they are kept in."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import IO

TICK = float(os.sysconf("SC_CLK_TCK"))
MEGABYTE = 1e6


@dataclass(frozen=True)
class Use:
    """What a process uses: memory in MB (resident), open files, threads, and the processor time so far in s."""

    memory: float
    files: int
    threads: int
    processor: float


def use_of(pid: int) -> Use:
    """Return what the process `pid` uses; raises OSError where there is no such process."""
    folder = Path(f"/proc/{pid}")
    # The name of the program comes second and may have spaces.
    stat = folder.joinpath("stat").read_text().rpartition(")")[2].split()
    pages = int(folder.joinpath("statm").read_text().split()[1])
    return Use(
        memory=pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE,
        files=len(os.listdir(folder / "fd")),
        threads=int(stat[17]),
        processor=(int(stat[11]) + int(stat[12])) / TICK,
    )


@dataclass(frozen=True)
class Row:
    """The figures of one process at one moment; counts are since the start."""

    seconds: float
    part: str
    memory_mb: float
    files: int
    threads: int
    processor_s: float
    step_ms: float
    """Median of the steps since the last row; nan if there was none."""
    steps: int
    operations: int
    refused: int
    """What must be refused and was."""
    lost: int
    """What had no answer, or a wrong one; see the log."""


NAMES = tuple(field.name for field in fields(Row))
_READERS = {"float": float, "int": int, "str": str}


class Table:
    """Writes rows to a CSV file, each at once: whoever looks while the soak runs sees all of them."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._writer = csv.writer(file)
        self._writer.writerow(NAMES)

    def add(self, row: Row) -> None:
        """Write a row."""
        self._writer.writerow(f"{value:.6g}" if isinstance(value, float) else value for value in astuple(row))
        self._file.flush()


def read_rows(lines: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of a CSV file."""
    for line in csv.DictReader(lines):
        yield Row(**{field.name: _READERS[str(field.type)](line[field.name]) for field in fields(Row)})
