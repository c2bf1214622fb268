"""`fleet-sim verify`: run the shipped scenarios and compare every step with the hashes made elsewhere."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_sim.base.errors import InvalidValueError, MissingDependencyError, did_you_mean
from fleet_sim.base.files import exists

if TYPE_CHECKING:
    from fleet_sim.apps.verification import Trace


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser(
        "verify", help="check that runs on this machine equal those of other machines, bit for bit"
    )
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO", help="names of shipped scenarios (default: all)")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="a table of hashes to compare with (default: that of the package)"
    )
    parser.add_argument(
        "--update", action="store_true", help="for maintainers: write the table from the runs made here"
    )
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print a line for each scenario; return 0 if none differs, else 1."""
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.apps import verification as table

    file = args.table or table.FILE
    files = table.shipped()
    for name in args.scenario:
        if name not in files:
            raise InvalidValueError(f"there is no shipped scenario {name!r}.{did_you_mean(name, files)}")
    known = {} if args.update and not exists(file) else table.load(file)
    print(_machine())
    differing = 0
    for name in args.scenario or files:
        if args.update:
            known[name] = table.traced(files[name])
            print(f"  {name}: {len(known[name].states)} steps")
        else:
            differing += _verify(name, files[name], known)
    if args.update:
        # In the order of the files, whichever were run again; what is no longer shipped is left out.
        table.save({name: known[name] for name in files if name in known}, file)
        print(f"wrote {file}")
    elif differing:
        print(f"{differing} of them differ: runs made here cannot be compared bit for bit with those of other machines")
    return 1 if differing else 0


def _verify(name: str, file: Path, known: dict[str, Trace]) -> bool:
    """Run a scenario and print the result; return whether it differs."""
    from fleet_sim.apps import verification as table

    if name not in known:
        print(f"  {name}: DIFFERS: it is not in the table; run fleet-sim verify --update")
        return True
    reason = table.hindrance(known[name])
    if reason:
        print(f"  {name}: skipped: {reason}")
        return False
    try:
        found = table.difference(known[name], table.traced(file))
    except MissingDependencyError as error:
        print(f"  {name}: skipped: {error}")
        return False
    print(f"  {name}: {'same' if found is None else f'DIFFERS: {found}'}")
    return found is not None


def _machine() -> str:
    """Return the versions and the platform that results may depend on."""
    import numpy as np

    from fleet_sim.apps.verification import engine_version

    engine = f", PyBullet {engine_version()}" if engine_version() else ", no PyBullet"
    return (
        f"Python {platform.python_version()}, NumPy {np.__version__}{engine}, {platform.system()} {platform.machine()}"
    )
