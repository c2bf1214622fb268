"""Starts upstream's example programs on pocket_ros and looks at what they print.

    python conformance/programs.py --all FOLDER    FOLDER holds checkouts named demos, examples, geometry2

Programs of a scenario run at the same time, each started by `ros2 run`. Checkouts are only read.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from prefix import make_prefix
from run import environment_of
from scenarios import SCENARIOS, Program, Scenario
from suites import REPOSITORIES

_LOOK_SECONDS = 0.2
_END_SECONDS = 15
_ROS2 = (str(Path(sys.executable).parent / "ros2"),)


class Running:
    """A program that runs, and what it has printed so far; a helper starts again until it said enough."""

    def __init__(self, program: Program, environment: Mapping[str, str], output: Path) -> None:
        self.program = program
        self._environment = environment
        self._output = output
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        program = self.program
        if program.is_example:
            command = [*_ROS2, "run", program.package, program.name, *program.arguments]
        elif program.name.startswith("-c"):
            command = [sys.executable, "-c", program.name.removeprefix("-c")]
        else:
            command = [*_ROS2, *shlex.split(program.name)]
        with self._output.open("ab") as output:
            return subprocess.Popen(
                command,
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._environment["ROS_LOG_DIR"],
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        """What was printed."""
        return self._output.read_text(errors="replace")

    def missing(self) -> list[str]:
        """Patterns that have not been found."""
        text = self.text
        found = [pattern for pattern in self.program.says if not re.search(pattern, text)]
        if found and not self.program.is_example and self._process.poll() is not None:
            self._process = self._start()
        return found

    def crashed(self) -> bool:
        """Whether it ended by itself with an error."""
        return self._process.poll() not in (None, 0) and self.program.is_example

    def forget(self) -> None:
        """Remove what was printed."""
        self._output.unlink(missing_ok=True)

    def end(self) -> None:
        """End it as Ctrl-C does."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            try:
                self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


def run_scenario(
    scenario: Scenario, environment: Mapping[str, str], work: Path, seconds: float
) -> dict[Program, list[str]]:
    """What each program did not say, within a time limit."""
    started = []
    try:
        for number, program in enumerate(scenario):
            started.append(Running(program, environment, work / f"output_{number}.txt"))
        limit = time.monotonic() + seconds
        while sum(bool(running.missing()) for running in started) and time.monotonic() < limit:
            time.sleep(_LOOK_SECONDS)
        left = {running.program: running.missing() for running in started}
        for running in started:
            if running.crashed():
                left[running.program] += [f"ended with an error: {running.text.strip().splitlines()[-1:]}"]
        return left
    finally:
        for running in started:
            running.end()
            running.forget()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", type=Path, required=True, metavar="DIR", help="folder of checkouts")
    parser.add_argument("--only", default="", metavar="TEXT", help="only scenarios with this in their name")
    parser.add_argument("--seconds", type=float, default=40, help="time limit of a scenario (default: 40)")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Print a line for each scenario, and how many programs work; 0 when all that were started do."""
    args = _parser().parse_args(argv)
    checkouts = [args.all / name for name in REPOSITORIES if (args.all / name).is_dir()]
    working: set[tuple[str, str]] = set()
    tried: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory(prefix="programs_") as folder:
        work = Path(folder).resolve()
        make_prefix(work / "prefix", checkouts)
        (work / "log").mkdir()
        environment = {**os.environ, **environment_of(work), "PYTHONUNBUFFERED": "1"}
        for name, scenario in SCENARIOS.items():
            if args.only not in name:
                continue
            left = run_scenario(scenario, environment, work, args.seconds)
            examples = {program for program in scenario if program.is_example}
            tried |= {program[:2] for program in examples}
            working |= {program[:2] for program in examples if not left[program]}
            print(f"{name}: {'as upstream' if not any(left.values()) else ''}", flush=True)
            for program, patterns in left.items():
                for pattern in patterns:
                    print(f"  {program.package or 'ros2'} {program.name[:60]} did not say: {pattern}")
    print(f"{len(working)} of {len(tried)} programs do what upstream's do")
    return 0 if working == tried else 1


if __name__ == "__main__":
    sys.exit(main())
