"""`fleet-sim lab`: find what breaks a fleet manager, shrink it, and replay it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from fleet_sim.apps.cli.arguments import positive
from fleet_sim.base.errors import InvalidValueError


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser(
        "lab",
        help="find what breaks a fleet manager, shrink it, and replay it",
        description="Run a fleet manager in a simulated world that is cruel by a seed, and shrink what breaks it: "
        "fleet-sim lab LAB.yaml. Replay what was found: fleet-sim lab replay FILE.",
    )
    parser.add_argument("file", nargs="+", metavar="LAB", help="a lab file, or `replay` and the file of a case")
    parser.add_argument("--runs", type=positive, metavar="N", help="how many (default: 60, or by --hours)")
    parser.add_argument("--hours", type=float, metavar="H", help="run for so long")
    parser.add_argument("--seed", type=int, default=1, help="orders and disturbances follow from it (%(default)s)")
    parser.add_argument("--out", metavar="FOLDER", help="cases, texts and the page (default: LAB-lab)")
    parser.add_argument("--resume", action="store_true", help="go on with the runs in the folder")
    parser.add_argument("--check", action="store_true", help="only check the lab file")
    parser.add_argument("--times", type=positive, default=1, metavar="N", help="replays of a case (%(default)s)")
    parser.add_argument(
        "--jobs", type=positive, metavar="N", default=os.cpu_count() or 1, help="runs at the same time (%(default)s)"
    )
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Return 0 where nothing broke, 1 where something did, or 130 after Ctrl-C, which keeps what was found."""
    if args.file[0] == "replay" and len(args.file) == 2:
        return _replay(args.file[1], args.times)
    if len(args.file) != 1:
        raise InvalidValueError(f"expected LAB.yaml, or replay FILE, got {' '.join(args.file)!r}")
    return _night(args)


def _night(args: argparse.Namespace) -> int:
    from fleet_sim.apps.lab.night import RUNS, Night
    from fleet_sim.apps.lab.settings import read_lab
    from fleet_sim.apps.lab.shrink import check_parts
    from fleet_sim.base.files import exists, held, make_folder, refusals, remove

    lab = read_lab(args.file[0])
    check_parts(lab)
    if args.check:
        print(f"{args.file[0]}: {lab.vehicles.count} vehicles, {lab.orders.count} orders, "
              f"{len(lab.disturbances.ranges)} kinds of disturbances")  # fmt: skip
        return 0
    folder = Path(args.out or f"{Path(args.file[0]).stem}-lab")
    with refusals(folder):
        make_folder(folder)
    seconds = None if args.hours is None else 3600.0 * args.hours
    runs = args.runs or (None if seconds else 60)
    night = Night(lab, folder, args.seed, args.jobs, runs, seconds)
    if lab.manager.program:
        # Each of its runs takes real time.
        night.most_shrinking = 25
    try:
        with held(folder / "lock"):
            if not args.resume and exists(folder / RUNS):
                remove(folder / RUNS)
            night.resume()
            night.run()
    except KeyboardInterrupt:
        night.write_page()
        print(f"stopped; the same command with --resume goes on in {folder}", file=sys.stderr)
        return 130
    for name, text in night.figures().items():
        print(f"{name}: {text}")
    for group in night.groups():
        small = f"; {group.file}, {group.events} events" if group.file else ""
        print(f"{group.seen} x {group.oracle}: {group.cause}{small}")
    print(f"wrote {folder / 'index.html'}")
    return int(bool(night.seen))


def _replay(file: str, times: int) -> int:
    from fleet_sim.apps.lab.night import replayed, write_files
    from fleet_sim.apps.lab.shrink import check_parts, read_case

    lab, _, expected = read_case(file)
    # Before anything of it is imported or started.
    print("this case executes", ", ".join([lab.manager.program or lab.manager.python, *lab.rules.more]), flush=True)
    check_parts(lab)
    broke = 0
    for _ in range(times):
        outcome = replayed(file)
        if outcome.failure is None:
            print(f"nothing broke in {outcome.seconds:.1f} s")
            continue
        broke += 1
        failure = outcome.failure
        same = expected is not None and failure.group == expected.group
        print(f"{failure.sentence} {failure.cause}, at {failure.at:.1f} s{'' if same else ' (not as it was found)'}")
        print(failure.text)
    came = f"in {broke} of {times} replays"
    name = str(Path(file).with_suffix(""))
    write_files(name, lab, outcome, came, case_file=False)
    print(f"{came}; wrote {name}.html and {name}.md")
    return int(broke > 0)
