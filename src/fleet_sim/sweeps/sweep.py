"""Making a sweep: its runs by an executor, results as they come, a table at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleet_sim.errors import ConfigError
from fleet_sim.output import check_table, check_target
from fleet_sim.parallel import Executor, Job, JobLimits
from fleet_sim.sweeps.job import SweepRuns, simulation_of
from fleet_sim.sweeps.journal import SweepJournal
from fleet_sim.sweeps.measures import RunMeasures
from fleet_sim.sweeps.plan import SweepPlan
from fleet_sim.sweeps.table import write_table

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
    executor: Executor,
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
