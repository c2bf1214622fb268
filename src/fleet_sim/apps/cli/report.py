"""`fleet-sim report`: turn a run or a sweep into a page, or compare two."""

from __future__ import annotations

import argparse
from typing import Any

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import check_target, write_file

TABLES_OF_SWEEPS = (".parquet", ".csv")


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("report", help="write a page with plots of a run, or of two runs to compare")
    parser.add_argument(
        "run",
        metavar="RUN",
        help="a file of `fleet-sim run --figures` or `fleet-sim traffic run --json`, or the table of a sweep",
    )
    parser.add_argument("others", metavar="OTHER", nargs="*", help="another run, or another sweep, to compare with")
    parser.add_argument(
        "--bands", action="store_true", help="the runs differ in their seeds: show means, and bands of all of them"
    )
    parser.add_argument("--out", metavar="FILE.html", help="write a self-contained HTML page")
    parser.add_argument("--csv", metavar="FILE", help="write the figures as a table: .csv, or .parquet (needs pyarrow)")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Write the page and the table that are asked for; without any print the figures. Return 0."""
    if args.run.lower().endswith(TABLES_OF_SWEEPS):
        return of_sweep(args)
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.apps.reports import page_of, seeds_page_of, write_table
    from fleet_sim.apps.reports.page import lines_of
    from fleet_sim.base.files import check_table
    from fleet_sim.warehouse.traffic.figures_file import read_run

    # Everything that can be refused is, before a long file is read.
    check_page(args.out)
    if args.csv:
        check_table(args.csv)
    # An empty name is not a file that was asked for.
    for file in filter(None, (args.out, args.csv)):
        check_target(file)
    if len(args.others) > 1 and not args.bands:
        raise InvalidValueError("more than two runs are shown with --bands: as runs that differ in their seeds")
    runs = [read_run(file) for file in (args.run, *args.others)]
    if args.out:
        write_file(args.out, (seeds_page_of if args.bands else page_of)(runs))
    if args.csv:
        write_table(args.csv, runs)
    for file in filter(None, (args.out, args.csv)):
        print(f"wrote {file}")
    # Figures are printed where nothing else would come of the command.
    if not args.out and not args.csv:
        print("\n".join(lines_of(runs)))
    return 0


def check_page(path: str | None) -> None:
    """Raise InvalidValueError where `path` is given and is no page."""
    if path and not path.lower().endswith((".html", ".htm")):
        raise InvalidValueError(f"the page must be a .html file, got {path!r}")


def of_sweep(args: argparse.Namespace) -> int:
    """Write the page of a sweep or of two, or print their means; return 0."""
    from fleet_sim.apps.reports import aligned, comparison_lines, comparison_page_of, sweep_lines, sweep_page_of
    from fleet_sim.apps.sweeps import read_table

    if args.csv:
        raise InvalidValueError("--csv is for runs: the table of a sweep is written already")
    if args.bands or len(args.others) > 1:
        raise InvalidValueError("--bands and more than two files are for runs: a sweep has the runs of all its seeds")
    for other in args.others:
        if not other.lower().endswith(TABLES_OF_SWEEPS):
            raise InvalidValueError(f"a sweep is compared with another sweep, not with the run {other}")
    check_page(args.out)
    if args.out:
        check_target(args.out)
    tables = [read_table(file) for file in (args.run, *args.others)]
    if not args.out:
        print("\n".join(sweep_lines(*tables) if len(tables) == 1 else aligned(comparison_lines(*tables))))
        return 0
    write_file(args.out, sweep_page_of(*tables) if len(tables) == 1 else comparison_page_of(*tables))
    print(f"wrote {args.out}")
    return 0
