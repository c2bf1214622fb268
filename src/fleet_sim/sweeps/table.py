"""The table of a sweep: a row for each run, its parameters and what was measured; as Parquet, or CSV.

Columns are `run`, `seed`, the parameters, `status`, `error`, and what was measured, in this order. A value that is
missing is null in Parquet and empty in CSV.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from fleet_sim.errors import ConfigError
from fleet_sim.output import TABLES, check_table, load_parquet, replacing
from fleet_sim.sweeps.journal import SweepJournal
from fleet_sim.sweeps.plan import SweepPlan

# In every table: parameters are after the seed, measures at the end.
OWN = ("run", "seed", "status", "error")
DONE, FAILED = "done", "failed"
FORMAT = "fleet_sim sweep 1"
AT_ONCE = 5000
"""Rows that are in memory at the same time while a table is written."""


def write_table(path: str | Path, plan: SweepPlan, journal: SweepJournal) -> None:
    """Write the runs that ended, by number: the same table whatever the order in which they ended."""
    check_table(path)
    columns = _columns(plan, journal)
    with replacing(path) as part:
        if Path(path).suffix.lower() == ".csv":
            _write_csv(part, columns, _rows(plan, journal))
        else:
            _write_parquet(part, columns, _rows(plan, journal), plan)


def _columns(plan: SweepPlan, journal: SweepJournal) -> dict[str, type]:
    """Return the columns and what they hold: int, float or str."""
    found: dict[str, type] = {"run": int, "seed": int}
    for name, values in plan.axes.items():
        found[name] = _common([_plain(value) for value in values])
    found.update({"status": str, "error": str})
    measured: dict[str, type] = {}
    for _, line in journal.entries():
        for name, value in line.get("values", {}).items():
            kind = _common([value]) if value is not None else None
            before = measured.get(name)
            if kind is not None:
                measured[name] = kind if before is None else _wider(before, kind)
            else:
                # Nothing is known of it yet; if that stays so, it is a column of numbers that are missing.
                measured.setdefault(name, float)
    # What was measured as a count in one run may be missing in another.
    found.update({name: float if kind is int else kind for name, kind in measured.items() if name not in found})
    return found


def _common(values: Sequence[Any]) -> type:
    kind: type | None = None
    for value in values:
        # True and False are counted as 1 and 0.
        own = int if isinstance(value, bool) else type(value)
        kind = own if kind is None else _wider(kind, own)
    return kind or str


def _wider(first: type, second: type) -> type:
    if first is second:
        return first
    return float if {first, second} == {int, float} else str


def _plain(value: Any) -> Any:
    """Return a value of a parameter as a number or a text: lists and sections as JSON."""
    return value if isinstance(value, (int, float, str)) and not isinstance(value, bool) else json.dumps(value)


def _rows(plan: SweepPlan, journal: SweepJournal) -> Iterator[dict[str, Any]]:
    for number, line in journal.entries():
        parameters = {name: _plain(value) for name, value in plan.values(number).items()}
        error = line.get("error", "")
        status = FAILED if error else DONE
        own = {"run": number, "seed": plan.seed(number), **parameters, "status": status, "error": error}
        # Parameters win: a figure of the same name is what came of them.
        yield {**line.get("values", {}), **own}


def _write_csv(path: Path, columns: Mapping[str, type], rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns), restval="")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Return a value as a CSV file has it: True and False as 1 and 0, so that they are read as numbers."""
    return "" if value is None else int(value) if isinstance(value, bool) else value


def _write_parquet(path: Path, columns: Mapping[str, type], rows: Iterator[dict[str, Any]], plan: SweepPlan) -> None:
    """Write the runs as Parquet, with what the sweep was in the metadata of the file; missing values are null.

    Only AT_ONCE rows are in memory at a time.
    """
    pyarrow, parquet = load_parquet(TABLES)
    kinds = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    config = plan.config
    # The name of the scenario's file and not its path: the same sweep is the same table on every machine.
    scenario = config.scenario if isinstance(config.scenario, str) else ""
    about = {"format": FORMAT, "parameters": plan.names, "scenario": scenario, "duration": config.duration}
    schema = pyarrow.schema(
        [(name, kinds[kind]) for name, kind in columns.items()], metadata={"fleet_sim": json.dumps(about)}
    )
    with parquet.ParquetWriter(path, schema) as writer:
        while block := list(islice(rows, AT_ONCE)):
            content = {
                name: [None if row.get(name) is None else kind(row[name]) for row in block]
                for name, kind in columns.items()
            }
            writer.write_table(pyarrow.table(content, schema=schema))


@dataclass(frozen=True)
class SweepTable:
    """The table of a sweep as it was read: columns by name, of numbers or texts, None where there is nothing.

    `scenario` and `duration` (in s) are empty and None where the file does not tell them, as .csv does not.
    """

    title: str
    parameters: Sequence[str]
    columns: Mapping[str, Sequence[Any]]
    scenario: str = ""
    duration: float | None = None

    @property
    def measures(self) -> list[str]:
        """The names of columns with what was measured, if it is numbers."""
        # Columns of texts cannot be drawn.
        left_out = {*OWN, *self.parameters}
        return [
            name
            for name, values in self.columns.items()
            if name not in left_out and all(value is None or isinstance(value, (int, float)) for value in values)
        ]

    def __len__(self) -> int:
        return len(self.columns["run"])


def read_table(path: str | Path) -> SweepTable:
    """Return the table of a sweep; raises ConfigError for anything else."""
    check_table(path)
    file = Path(path)
    if not file.is_file():
        raise ConfigError("there is no such file", source=str(path))
    columns, about = (_read_csv(file), {}) if file.suffix.lower() == ".csv" else _read_parquet(file)
    if not set(OWN) <= set(columns):
        raise ConfigError("is not the table of a sweep", source=str(path))
    names = list(columns)
    # As they were written: parameters are between these two.
    parameters = names[names.index("seed") + 1 : names.index("status")]
    scenario, duration = about.get("scenario"), about.get("duration")
    return SweepTable(
        file.stem,
        parameters,
        columns,
        scenario if isinstance(scenario, str) else "",
        float(duration) if isinstance(duration, (int, float)) else None,
    )


def _read_parquet(path: Path) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the columns of a file, and what it says about itself."""
    pyarrow, parquet = load_parquet(TABLES)
    try:
        found = parquet.read_table(path)
        about = json.loads((found.schema.metadata or {}).get(b"fleet_sim", b"{}"))
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise ConfigError(f"cannot be read: {error}", source=str(path)) from error
    return found.to_pydict(), about if isinstance(about, dict) else {}


def _read_csv(path: Path) -> dict[str, list[Any]]:
    """Return the columns of a CSV file by name; raises ConfigError if it cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            names = list(reader.fieldnames or [])
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigError(f"cannot be read: {error}", source=str(path)) from error
    return {name: _typed([row[name] or "" for row in rows]) for name in names}


def _typed(texts: Sequence[str]) -> list[Any]:
    """Return the values of a column: numbers where all that is there are numbers."""
    for kind in (int, float):
        try:
            return [kind(text) if text else None for text in texts]
        except ValueError:
            continue
    return list(texts)
