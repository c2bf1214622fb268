"""Making a sweep: its runs by an executor, results as they come, a table at the end."""

from __future__ import annotations

import csv
import json
import logging
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from math import exp, lgamma, log, log1p
from pathlib import Path
from statistics import fmean, stdev
from types import TracebackType
from typing import Any, BinaryIO

from fleet_sim.apps.sweeps.settings import RunMeasures, SweepPlan
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import (
    TABLES,
    TableFile,
    check_table,
    check_target,
    exists,
    is_file,
    is_sealed,
    load_parquet,
    opened,
    refusals,
    replacing,
    sealed,
    status,
    text_of_cell,
    to_read,
)
from fleet_sim.base.parallel import Ended, Job, JobLimits, LocalExecutor, Perform
from fleet_sim.simulation import MultiRobotSimulationCore

# One run of a sweep, in a worker.


@dataclass(frozen=True)
class SweepRuns:
    """Begins a worker: what it returns makes the run of a number, and returns what was measured by name."""

    plan: SweepPlan

    def __call__(self) -> Perform:
        # A thousand runs would warn a thousand times of one thing.
        logging.getLogger("fleet_sim").setLevel(logging.ERROR)
        return self.run

    def run(self, number: int) -> dict[str, Any]:
        """Make run `number` to its end and return what was measured."""
        with simulation_of(self.plan, number) as sim:
            measures = RunMeasures(sim, self.plan.config.measure)
            sim.run_simulation()
            return measures.values()


def simulation_of(plan: SweepPlan, number: int) -> MultiRobotSimulationCore:
    """Return the simulation of run `number` of `plan`, not begun; raises ConfigError."""
    scenario = plan.scenario_of(number)
    if "tasks" in scenario and "orders" in scenario:
        raise ConfigError("has tasks and orders, whose figures would be mixed; a sweep measures one of them")
    try:
        sim = MultiRobotSimulationCore.from_dict(scenario, source=plan.source)
    except ConfigError as error:
        if error.path not in plan.names:
            raise
        # It stands in the sweep, not in the scenario.
        raise ConfigError(str(error), source=plan.file, path=f"parameters.{error.path}") from error
    if not sim.params.duration:
        sim.close()
        raise ConfigError("a sweep needs runs that end; give it a duration")
    return sim


# The journal of a sweep: a line of JSON for each run that ended, in the order in which they end. It is what a sweep
# goes on from: a line is written as soon as a run has ended, and a line that was cut off is not there. Any other line
# that is not as it was written is refused.


MISSING = -1


class SweepJournal:
    """The journal of `plan` in the file `path`: a new one, or with `resume` the one that is there. A context manager.

    Raises ConfigError for the journal of another sweep, and where there is one and `resume` was not asked for.
    """

    def __init__(self, path: str | Path, plan: SweepPlan, *, resume: bool) -> None:
        self.path = Path(path)
        self._plan = plan
        # Where the line of each run is: eight bytes, however much was measured in it.
        self._file: BinaryIO | None = None
        # An array of numbers: a sweep may have millions of runs.
        self._places = array("q", [MISSING]) * len(plan)
        self.known = 0
        self.failed = 0
        self.deaths = 0
        self.seconds = 0.0
        """Real time of all runs together."""

        try:
            self._open(resume=resume)
        except BaseException:
            self.close()
            raise

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self._places[number] != MISSING

    def _open(self, *, resume: bool) -> None:
        """Open the journal, cut off behind its last whole line; raises ConfigError where it must not be resumed."""
        # What the sweep varies and measures: another one must not go on here.
        head = json.dumps({"sweep": self._plan.fingerprint()})
        if exists(self.path) and status(self.path).st_size and not resume:
            raise ConfigError(
                "there are results of an earlier sweep; go on with --resume, or remove it", source=str(self.path)
            )
        with refusals(self.path):
            file = self._file = opened(self.path, "ab+")
            end = self._read(file, head) if resume else 0
            # A line that was cut off is written again.
            file.truncate(end)
            file.seek(end)
            if not end:
                self._write(head)

    def _read(self, file: BinaryIO, head: str) -> int:
        """Read the lines that there are; return where the last whole one ends."""
        file.seek(0)
        end = 0
        for index, line in enumerate(file):
            if not line.endswith(b"\n"):
                break
            try:
                content = json.loads(line)
                # The first line has no seal: it is compared with what it should be.
                if index:
                    if not is_sealed(line.decode()):
                        raise ValueError("it was changed or damaged")
                    self._count(content, end)
            except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
                message = f"line {index + 1} is none of a sweep: {error}; remove the file to begin anew"
                raise ConfigError(message, source=str(self.path)) from error
            if not index and content != json.loads(head):
                raise ConfigError("holds results of another sweep; remove it to begin anew", source=str(self.path))
            end += len(line)
        return end

    def add(self, ended: Ended) -> None:
        """Write how a run ended. One that is there already is not counted twice."""
        if ended.number in self:
            return
        content: dict[str, Any] = {"run": ended.number, "s": round(ended.seconds, 4)}
        content |= {"error": ended.error, "trace": ended.trace} if ended.error else {"values": ended.value}
        content |= {"deaths": ended.deaths} if ended.deaths else {}
        with refusals(self.path):
            place = self._write(sealed(json.dumps(content, allow_nan=False)))
        self._count(content, place)

    def _write(self, line: str) -> int:
        """Write a line and return where it begins."""
        assert self._file is not None
        place = self._file.tell()
        self._file.write(line.encode() + b"\n")
        # The system has it now: the end of this process loses nothing.
        self._file.flush()
        return place

    def _count(self, content: dict[str, Any], place: int) -> None:
        """Take in the line of one run, which stands at `place`; raises for what no sweep writes."""
        number = content["run"]
        if type(number) is not int or not 0 <= number < len(self._places):
            raise IndexError(f"there is no run {number!r}")
        if not isinstance(content.get("values", {}), dict):
            raise TypeError("values by name are missing")
        # A run that was begun twice may have two lines; the first one counts.
        if self._places[number] == MISSING:
            self.known += 1
            self.failed += "error" in content
            self.deaths += content.get("deaths", 0)
            self.seconds += content["s"]
            self._places[number] = place

    def entries(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and the line of each run that ended, by number."""
        with opened(self.path, "rb") as file:
            for number, place in enumerate(self._places):
                if place != MISSING:
                    file.seek(place)
                    yield number, json.loads(file.readline())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            # Every line was flushed, or reported as refused. Closing tries once more to write the rest of such a line.
            with suppress(OSError):
                self._file.close()

    def __enter__(self) -> SweepJournal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


# The table of a sweep: a row for each run, its parameters and what was measured; as Parquet, or CSV. Columns are
# `run`, `seed`, the parameters, `status`, `error`, and what was measured, in this order. A value that is missing is
# null in Parquet and empty in CSV.


# In every table: parameters are after the seed, measures at the end.
OWN = ("run", "seed", "status", "error")
DONE, FAILED = "done", "failed"
FORMAT = "fleet_sim sweep 1"
AT_ONCE = 5000
"""Rows that are in memory at the same time while a table is written."""


def write_table(path: str | Path, plan: SweepPlan, journal: SweepJournal) -> None:
    """Write the runs that ended, by number: the same table whatever the order in which they ended."""
    check_table(path)
    columns, config = _columns(plan, journal), plan.config
    # The name of the scenario's file and not its path: the same sweep is the same table on every machine.
    scenario = config.scenario if isinstance(config.scenario, str) else ""
    about = {"format": FORMAT, "parameters": plan.names, "scenario": scenario, "duration": config.duration}
    rows = _rows(plan, journal)
    with replacing(path) as part, closing(TableFile(part, columns, json.dumps(about))) as table:
        while block := list(islice(rows, AT_ONCE)):
            table.write([[row.get(name) for name in columns] for row in block])


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
    if not is_file(file):
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
        found = parquet.read_table(to_read(path))
        about = json.loads((found.schema.metadata or {}).get(b"fleet_sim", b"{}"))
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise ConfigError(f"cannot be read: {error}", source=str(path)) from error
    return found.to_pydict(), about if isinstance(about, dict) else {}


def _read_csv(path: Path) -> dict[str, list[Any]]:
    """Return the columns of a CSV file by name; raises ConfigError if it cannot be read."""
    try:
        with opened(path, newline="") as file:
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
    return [text_of_cell(text) for text in texts]


BETWEEN_TABLES = 30.0
"""How often the table is written while runs go on, in s; the journal has each run at once."""


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is: runs that ended, those of this call among them, those that failed, and all there are."""

    ended: int
    new: int
    failed: int
    total: int
    seconds: float
    """Since this call began."""


def limits_of(plan: SweepPlan) -> JobLimits:
    """Return the limits of each run of `plan`."""
    return JobLimits(plan.config.time_limit, plan.config.memory_limit, plan.config.attempts)


def journal_of(out: str | Path) -> Path:
    """Return the file of the journal that belongs to the table `out`."""
    return Path(out).with_suffix(".runs.jsonl")


def run_sweep(
    plan: SweepPlan,
    out: str | Path,
    executor: LocalExecutor,
    *,
    resume: bool = False,
    report: Callable[[SweepProgress], Any] = lambda progress: None,
) -> SweepJournal:
    """Make all runs of `plan` that have no result yet, write the table `out`, and return the closed journal.

    With `resume` the results of an earlier call are kept. `report` is called after each run. Raises ConfigError for a
    scenario that cannot be run, and for results of another sweep; InvalidValueError where nothing can be written.
    """
    check_table(out)
    check_target(out)
    check_first(plan)
    begin = time.monotonic()
    with SweepJournal(journal_of(out), plan, resume=resume) as journal, executor.crew(SweepRuns(plan)) as crew:
        known = journal.known
        written = time.monotonic()
        try:
            for run in crew.run(_jobs(plan, journal)):
                journal.add(run)
                progress = SweepProgress(
                    journal.known, journal.known - known, journal.failed, len(plan), time.monotonic() - begin
                )
                report(progress)
                # It takes longer the more there is: never more than a small part of the time.
                if time.monotonic() > written + BETWEEN_TABLES:
                    before = time.monotonic()
                    write_table(out, plan, journal)
                    written = time.monotonic() + 20.0 * (time.monotonic() - before)
        finally:
            # Also after Ctrl-C: the table has what there is.
            if journal.known:
                write_table(out, plan, journal)
    return journal


def check_first(plan: SweepPlan) -> None:
    """Build the first run and measure it at its beginning, so that mistakes are reported before anything runs."""
    with simulation_of(plan, 0) as sim:
        measures = RunMeasures(sim, plan.config.measure)
        try:
            measures.values()
        except KeyError as error:
            raise ConfigError(str(error), path="measure") from error


def _jobs(plan: SweepPlan, journal: SweepJournal) -> Iterator[Job]:
    return (Job(number, number) for number in range(len(plan)) if number not in journal)


# Means and confidence intervals of what a sweep measured, for each combination of its parameters.


# Student's t for 95 %, two-sided, by degrees of freedom from 1 on; from 31 on the expansion below has four digits.
_STUDENT = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
_NORMAL = 1.959964


@dataclass(frozen=True)
class Spread:
    """The mean of `count` values, and how far the 95 % confidence interval goes to either side; None for one value."""

    mean: float
    half_width: float | None
    count: int


@dataclass(frozen=True)
class RunGroup:
    """The runs of one combination of values, which are by the name of the parameter, and what they measured."""

    values: dict[str, Any]
    runs: int
    failed: int
    spreads: dict[str, Spread]


def student(freedom: int) -> float:
    """Return how many standard errors a 95 % confidence interval goes to either side."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    # The first terms of the expansion about the normal distribution.
    z = _NORMAL
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def spread_of(values: Sequence[float]) -> Spread | None:
    """Return the mean of `values` and its confidence interval; None of no values."""
    if not values:
        return None
    count = len(values)
    half = student(count - 1) * stdev(values) / count**0.5 if count > 1 else None
    return Spread(fmean(values), half, count)


def welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the probability that means of two samples differ so much by chance: Welch's test, two-sided.

    None where a sample has less than two values, or neither varies.
    """
    if min(len(first), len(second)) < 2:
        return None
    parts = [stdev(values) ** 2 / len(values) for values in (first, second)]
    if not sum(parts):
        return None
    freedom = sum(parts) ** 2 / sum(part**2 / (len(v) - 1) for part, v in zip(parts, (first, second), strict=True))
    t = (fmean(first) - fmean(second)) / sum(parts) ** 0.5
    return _beta_share(0.5 * freedom, freedom / (freedom + t * t))


def _beta_share(a: float, x: float) -> float:
    """Return the regularized incomplete beta function I_x(a, 1/2): that of Student's distribution."""
    b = 0.5
    if x >= 1.0:
        return 1.0
    # The continued fraction converges fast on this side of the mean; on the other one 1 - I_(1-x)(b, a) is it.
    turned = x > (a + 1.0) / (a + b + 2.0)
    p, q, y = (b, a, 1.0 - x) if turned else (a, b, x)
    front = exp(lgamma(p + q) - lgamma(p) - lgamma(q) + p * log(y) + q * log1p(-y)) / p
    c, d = 1.0, 1.0 / (1.0 - (p + q) * y / (p + 1.0))
    value = d
    for m in range(1, 300):
        for top in (
            m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m)),
            -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + top * d)
            c = 1.0 + top / c
            value *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    share = front * value
    return 1.0 - share if turned else share


@dataclass(frozen=True)
class Difference:
    """What a measure was in the runs of two sweeps with the same values, and how likely that comes of chance."""

    values: dict[str, Any]
    measure: str
    first: Spread
    second: Spread
    chance: float | None


def differences_of(first: SweepTable, second: SweepTable) -> list[Difference]:
    """Return for each combination of values and each measure that both sweeps have how the second one differs.

    Raises ConfigError where they have no combination in common.
    """
    common = [name for name in first.parameters if name in second.parameters]
    others, found = _rows_of(second, common), []
    for key, rows in _rows_of(first, common).items():
        for measure in (name for name in first.measures if name in second.measures):
            samples = _measured(first, rows, measure), _measured(second, others.get(key, ()), measure)
            before, after = map(spread_of, samples)
            if before is not None and after is not None:
                found.append(Difference(dict(zip(common, key, strict=True)), measure, before, after, welch(*samples)))
    if not found:
        raise ConfigError(f"{first.title} and {second.title} have no runs with the same values and measures")
    return found


def _rows_of(table: SweepTable, names: Sequence[str]) -> dict[tuple[Any, ...], list[int]]:
    """Return the rows of `table` by the values of the parameters `names`, in their order."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in range(len(table)):
        found.setdefault(tuple(table.columns[name][row] for name in names), []).append(row)
    return found


def _measured(table: SweepTable, rows: Sequence[int], name: str) -> list[float]:
    """Return what those of `rows` measured that were done."""
    status, values = table.columns["status"], table.columns[name]
    return [float(values[row]) for row in rows if status[row] == DONE and values[row] is not None]


def groups_of(table: SweepTable, measures: Sequence[str] | None = None) -> list[RunGroup]:
    """Return the combinations of `table` in their order, each with the spread of its `measures` (None: of all)."""
    names = table.measures if measures is None else measures
    status = table.columns["status"]
    groups = []
    for key, rows in _rows_of(table, table.parameters).items():
        spreads = {name: spread_of(_measured(table, rows, name)) for name in names}
        failed = sum(status[row] != DONE for row in rows)
        known = {name: spread for name, spread in spreads.items() if spread is not None}
        groups.append(RunGroup(dict(zip(table.parameters, key, strict=True)), len(rows), failed, known))
    return groups
