"""Feeds mutants of small valid inputs to everything that reads what others made. `make fuzz ARGS="--minutes 60"`

Each target runs in a process of its own with limits of time and memory (fuzz_worker.py), as many at once as `--jobs`
says. A table tells what was fed. Faults, which are exceptions other than those documented, endless reading, too much
memory and the end of the process, are written to the folder; the exit code is 1 if there are any.
With atheris installed (the extra `fuzz`), half of the time of a target goes to inputs chosen by coverage.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test" / "support")]

from fuzz_targets import NEEDS, TARGETS  # noqa: E402
from fuzz_worker import Current  # noqa: E402

PATIENCE = 90.0
"""Processor time without a word after which a process counts as hanging, in s: one input, or loading, takes less."""
LONGEST = 1800.0
"""The same in time of the clock, for a process that waits; on a busy machine others have most of it."""

MOST_ENDS = 20
"""How often a target may end its process before it is given up."""


@dataclass
class Tally:
    """What came of a target."""

    name: str
    inputs: int = 0
    operations: int = 0
    refused: int = 0
    outcomes: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def add(self, line: dict[str, Any]) -> None:
        """Add the last figures of one process."""
        self.inputs += line["inputs"]
        self.operations += line["operations"]
        self.refused += line["refused"]
        self.outcomes = max(self.outcomes, line["outcomes"])
        self.seconds += line["seconds"]


class Worker:
    """One process that feeds one target."""

    def __init__(self, name: str, folder: Path, arguments: Sequence[str]) -> None:
        self._name, self._folder = name, folder
        self._log = folder / f"{name}.log"
        path = os.pathsep.join([*sys.path[:2], *filter(None, [os.environ.get("PYTHONPATH")])])
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-u", str(HERE / "fuzz_worker.py"), name, "--folder", str(folder), *arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
            )

    def follow(self, tally: Tally) -> bool:
        """Wait for the end, add to `tally`; return whether the process ended by itself."""
        last: dict[str, Any] | None = None
        with ThreadPoolExecutor(1) as reader:
            assert self._process.stdout is not None
            while True:
                coming = reader.submit(self._process.stdout.readline)
                used, until, line = self._used(), time.monotonic() + LONGEST, None
                while line is None and self._used() < used + PATIENCE and time.monotonic() < until:
                    with suppress(TimeoutError):
                        line = coming.result(1.0)
                if line is None:
                    self._process.kill()
                    self._fault(tally, "hangs where no signal ends it")
                    break
                if not line:
                    break
                if line.startswith('{"inputs"'):
                    last = json.loads(line)
                elif line.startswith('{"fault"'):
                    tally.faults.append(json.loads(line)["fault"])
        code = self._process.wait()
        if last is not None:
            tally.add(last)
        if code > 0 or (code < -1 and code != -9):
            self._fault(tally, f"ends the process with {code}")
        return code == 0

    def _used(self) -> float:
        """Return the processor time of the process so far, in s."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _fault(self, tally: Tally, what: str) -> None:
        path = self._folder / f"{self._name}-end{len(tally.faults)}.bin"
        current = self._folder / f"{self._name}.current"
        if current.exists():
            path.write_bytes(Current.read(current))
        tally.faults.append(f"{what}: {path}; see {self._log}")


def fuzz(name: str, folder: Path, *, seconds: float, most: int, seed: int, coverage: bool) -> Tally:
    """Feed a target for `seconds` or `most` inputs, with new processes for those that ended early."""
    tally, stop = Tally(name), time.monotonic() + seconds
    for number in range(MOST_ENDS):
        left, inputs_left = stop - time.monotonic(), most - tally.inputs
        if left <= 0.0 or inputs_left <= 0:
            break
        arguments = ["--seconds", f"{left:.1f}", "--most", str(inputs_left), "--seed", str(seed + 1000 * number)]
        if Worker(name, folder, arguments + ["--coverage"] * coverage).follow(tally):
            break
    return tally


def table_of(tallies: Sequence[Tally]) -> str:
    """Return the tallies as a table for people and for documents."""
    lines = ["| target | inputs | operations | refused | outcomes | s | faults |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| {tally.name} | {tally.inputs:,} | {tally.operations:,} | {tally.refused:,} | {tally.outcomes} | "
        f"{tally.seconds:.0f} | {len(tally.faults)} |"
        for tally in tallies
    ]
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="for all targets together, on one core")
    parser.add_argument("--most", type=int, default=1 << 62, metavar="N", help="inputs of each target at most")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="may be given several times")
    parser.add_argument("--seed", type=int, default=None, help="of the mutants; without it another one at each run")
    parser.add_argument("--jobs", type=int, default=1, help="processes at the same time")
    parser.add_argument("--engine", choices=("both", "mutants", "coverage"), default="both")
    parser.add_argument("--folder", type=Path, default=Path("fuzz"), help="where faults are written to")
    return parser.parse_args()


def main() -> int:
    """Feed the targets, print the table; return 1 if there were faults."""
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in options.target or TARGETS if name not in NEEDS or find_spec(NEEDS[name])]
    for name in set(options.target or TARGETS) - set(names):
        print(f"{name}: left out, it needs the module {NEEDS[name]}")
    engines = {"both": [False, True], "mutants": [False], "coverage": [True]}[options.engine]
    if True in engines and find_spec("atheris") is None:
        print("without coverage: atheris is not installed (pip install 'fleet_sim[fuzz]')")
        engines = [False]
    seed = int(time.time()) if options.seed is None else options.seed
    print(f"seed {seed}")
    turns = [(name, coverage) for name in names for coverage in engines]
    seconds = 60.0 * options.minutes * options.jobs / len(turns)

    def turn(name: str, coverage: bool) -> Tally:
        tally = fuzz(name, options.folder, seconds=seconds, most=options.most, seed=seed, coverage=coverage)
        tally.name += " (by coverage)" * coverage
        return tally

    with ThreadPoolExecutor(options.jobs) as pool:
        tallies = list(pool.map(lambda chosen: turn(*chosen), turns))
    print(table_of(tallies))
    for tally in tallies:
        for fault in tally.faults:
            print(f"{tally.name}: {fault}")
    return int(any(tally.faults for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
