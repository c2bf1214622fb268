"""Runs upstream's own tests on pocket_ros and counts its public names that are here.

    python conformance/run.py --all FOLDER       FOLDER holds checkouts named rclpy, launch, launch_ros, ...
    python conformance/run.py --launch FOLDER    or one checkout each

Checkouts are only read. Nothing of upstream is part of pocket_ros.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from names import NameCount, count_names, public_names
from prefix import make_prefix
from running import FileResult, run_suite
from suites import MODULES, REPOSITORIES, SUITES


def suite_table(results: Mapping[str, list[FileResult]]) -> str:
    """A line for each suite."""
    lines = [
        "| suite | files | passed | failed | skipped | files not collectable |",
        "|---|---|---|---|---|---|",
    ]
    for name, files in results.items():
        counts = (
            len(files),
            sum(file.passed for file in files),
            sum(file.failed for file in files),
            sum(file.skipped for file in files),
            sum(bool(file.not_collectable) for file in files),
        )
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def name_table(counts: Mapping[str, NameCount]) -> str:
    """A line for each package."""
    lines = ["| package | public names | refused | missing | here |", "|---|---|---|---|---|"]
    for package, count in counts.items():
        refused, missing = len(count.refused), len(count.missing)
        lines.append(f"| {package} | {count.public} | {refused} | {missing} | {100 * count.share:.1f} % |")
    return "\n".join(lines)


def as_json(results: Mapping[str, list[FileResult]], counts: Mapping[str, NameCount]) -> dict[str, object]:
    """Everything, with what each failure says."""
    return {
        "suites": {name: [file.as_json() for file in files] for name, files in results.items()},
        "names": {package: count._asdict() for package, count in counts.items()},
    }


# The two tables, in Markdown, and what is in them as JSON.


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", type=Path, metavar="DIR", help="folder of checkouts with their usual names")
    for name in REPOSITORIES:
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help=f"checkout of ros2/{name}")
    parser.add_argument("--suites", help="only these, with commas between them; - for none")
    parser.add_argument("--only", default="", metavar="TEXT", help="only files with this in their path")
    parser.add_argument("--seconds", type=float, default=180, help="time limit of a file (default: 180)")
    parser.add_argument("--no-names", action="store_true", help="count no public names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything, with what failures say")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each file as it ends")
    return parser


def find_checkouts(args: argparse.Namespace) -> dict[str, Path]:
    """The repositories that were given, by name."""
    found = {}
    for name in REPOSITORIES:
        path = getattr(args, name) or (args.all / name if args.all else None)
        if path is not None and path.is_dir():
            found[name] = path.resolve()
        elif getattr(args, name):
            raise SystemExit(f"--{name}: {path} is no folder; give a checkout of ros2/{name}")
    return found


def environment_of(work: Path) -> dict[str, str]:
    """The environment of a process that sees the prefix in a folder."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    paths = [str(work / "prefix"), *filter(None, [os.environ.get("AMENT_PREFIX_PATH")])]
    return {
        **kept,
        "AMENT_PREFIX_PATH": os.pathsep.join(paths),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(work / "prefix" / "lib" / "python"), os.environ.get("PYTHONPATH")])
        ),
        "ROS_LOG_DIR": str(work / "log"),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }


def main(argv: list[str] | None = None) -> int:
    """Print the tables. The exit code says whether everything asked for could be run, not how it ended."""
    args = _parser().parse_args(argv)
    checkouts = find_checkouts(args)
    if not checkouts:
        raise SystemExit("no checkouts: give --all FOLDER, or one of --rclpy, --launch, ... (see --help)")
    chosen = [suite for suite in SUITES if args.suites is None or suite.name in args.suites.split(",")]
    with tempfile.TemporaryDirectory(prefix="conformance_") as folder:
        work = Path(folder)
        make_prefix(work / "prefix", checkouts.values())
        environment = environment_of(work)
        results: dict[str, list[FileResult]] = {}
        for suite in (suite for suite in chosen if suite.repository in checkouts):
            checkout = checkouts[suite.repository]
            results[suite.name] = []
            for file in run_suite(checkout, suite, work, environment, args.seconds, args.only):
                results[suite.name].append(file)
                if args.verbose:
                    counts_of_file = f"{file.passed} passed, {file.failed} failed {file.not_collectable}"
                    print(f"{suite.name}/{file.file}: {counts_of_file}", file=sys.stderr)
        sources = {
            package: public_names(package, checkouts[repository] / source)
            for package, (repository, source) in MODULES.items()
            if repository in checkouts and not args.no_names
        }
        counts: dict[str, NameCount] = count_names(sources, environment, work)
    print(suite_table(results), name_table(counts), sep="\n\n")
    if args.json:
        args.json.write_text(json.dumps(as_json(results, counts), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
