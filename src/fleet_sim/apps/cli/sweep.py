"""`fleet-sim sweep`: run a scenario with many seeds and values of its settings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.cli.arguments import LENGTH, StatusLine, add_workers, bar
from fleet_sim.base.errors import MissingDependencyError
from fleet_sim.base.files import resolve_config

if TYPE_CHECKING:
    from fleet_sim.apps.sweeps import SweepPlan, SweepProgress


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("sweep", help="run a scenario with many seeds and values of its settings")
    parser.add_argument("config", metavar="SWEEP", help="a YAML file with scenario, seeds, parameters and measure")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="the table: .parquet (needs pyarrow) or .csv (default: SWEEP.parquet, or SWEEP.csv without pyarrow)",
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue an earlier call: keep its results and run the rest"
    )
    add_workers(parser, "runs at the same time")
    parser.add_argument("--dry-run", action="store_true", help="only print the number of runs")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Make the sweep and print means; return 0, 1 where runs failed, or 130 after Ctrl-C, which keeps the results."""
    from fleet_sim.apps.reports import sweep_lines
    from fleet_sim.apps.sweeps import journal_of, limits_of, load_sweep, read_table, run_sweep
    from fleet_sim.base.parallel import LocalExecutor

    path = resolve_config(args.config)
    plan = load_sweep(path)
    print(described(plan))
    if args.dry_run:
        return 0
    out = args.out or default_table(path)
    executor = LocalExecutor(args.processes, limits_of(plan))
    print(f"in {args.processes} processes of this machine")
    line = SweepLine()
    try:
        journal = run_sweep(plan, out, executor, resume=args.resume, report=line.show)
    except KeyboardInterrupt:
        line.end()
        print(f"stopped; the same command with --resume goes on from {journal_of(out)}", file=sys.stderr)
        # As shells report a program that ended by SIGINT: 128 + 2.
        return 130
    line.end()
    print("\n".join(sweep_lines(read_table(out))))
    if journal.deaths:
        print(f"processes died {journal.deaths} times; their runs were begun again")
    if journal.failed:
        print(
            f"{journal.failed} of {len(plan)} runs failed; the column `error` tells why, {journal.path} has the traces"
        )
    print(f"wrote {out}; make a page of it with: fleet-sim report {out} --out sweep.html")
    return int(journal.failed > 0)


def described(plan: SweepPlan) -> str:
    """Return in a line which runs there are."""
    values = " x ".join(f"{length} of {', '.join(names)}" for names, length in plan.lengths)
    seeds = f"{len(plan.config.seeds)} seeds" if len(plan.config.seeds) > 1 else "1 seed"
    return f"{len(plan)} runs: {values + ' x ' if values else ''}{seeds}"


def default_table(path: Path) -> str:
    """Return the table of the sweep in the file `path`: Parquet where that can be written."""
    from fleet_sim.base.files import check_table

    try:
        check_table("sweep.parquet")
    except MissingDependencyError:
        return f"{path.stem}.csv"
    return f"{path.stem}.parquet"


class SweepLine(StatusLine):
    """The line with the progress of a sweep."""

    def __init__(self) -> None:
        super().__init__()
        self._told = 0.0

    def show(self, progress: SweepProgress) -> None:
        """Print the progress, not more often than people read it."""
        done = progress.ended == progress.total
        if progress.seconds < self._told and not done:
            return
        self._told = progress.seconds + (0.1 if self.in_place else 10.0)
        share = progress.ended / progress.total
        rate = progress.new / progress.seconds if progress.seconds else 0.0
        left = (progress.total - progress.ended) / rate if rate else 0.0
        failed = f", {progress.failed} failed" if progress.failed else ""
        self.write(
            f"{bar(int(LENGTH * share))} {progress.ended}/{progress.total} runs{failed}"
            f"  {rate:.3g} per second  {left:.0f} s left"
        )
