"""The figures of runs as a table: CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fleet_sim.output import TABLES, check_table, load_parquet, replacing
from fleet_sim.traffic.figures import Run


def write_table(path: str | Path, runs: Sequence[Run]) -> None:
    """Write the figures of `runs`, a row for each: its title and its figures, empty where a run has none.

    The ending of `path` tells the format; raises as `check_table` does, and where the system refuses to write.
    """
    check_table(path)
    keys = list(dict.fromkeys(key for run in runs for key in run.figures))
    if Path(path).suffix.lower() == ".csv":
        with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["run", *keys])
            writer.writerows([run.title, *(_text(run.figures.get(key)) for key in keys)] for run in runs)
        return
    columns: dict[str, list[Any]] = {"run": [run.title for run in runs]}
    columns.update({key: [run.figures.get(key) for run in runs] for key in keys})
    pyarrow, parquet = load_parquet(TABLES)
    with replacing(path) as part:
        parquet.write_table(pyarrow.table(columns), part)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
