"""Options of `fleet-sim run` that write its figures: of the run and of each robot."""

from __future__ import annotations

import argparse
import csv
import json
import os
from typing import TYPE_CHECKING, Any

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.files import check_target, exists, load_parquet, named, write_file, writing

if TYPE_CHECKING:
    from fleet_sim.apps.cli.summary import RobotFigures, RunSummary
    from fleet_sim.simulation import MultiRobotSimulationCore

READ = ("config", "from_state", "replay_inputs")
WRITTEN = ("record", "record_inputs", "save_state", "picture", "figures", "json", "metrics")
"""Options of `fleet-sim run` that name a file."""
SUMS = ("goals", "distance_m", "waiting_s")
"""Figures of robots that a run has too, as their sum; a collision of two robots is one of the run."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", metavar="FILE", help="write the figures of the run and of each robot as JSON")
    parser.add_argument(
        "--metrics",
        metavar="FILE",
        help="write a table with a row per robot: goals, distance, waiting, collisions (.csv, .parquet)",
    )


def check(args: argparse.Namespace) -> None:
    """Raise InvalidValueError where a file could not be written, MissingDependencyError where Parquet is not there.

    Raises ConfigError for a name that is empty, and for a file that would be written over by another.
    """
    _check_names(args)
    if args.json:
        check_target(args.json)
    if args.metrics:
        if not args.metrics.lower().endswith((".csv", ".parquet")):
            raise InvalidValueError(f"--metrics: the file must end in .csv or .parquet, got {args.metrics!r}")
        if args.metrics.lower().endswith(".parquet"):
            load_parquet("writing Parquet")
        check_target(args.metrics)


def _check_names(args: argparse.Namespace) -> None:
    """Raise ConfigError for a name that is empty, and for two options with the same file, one of which writes it."""
    options: dict[str, str] = {}
    for name in (*READ, *WRITTEN):
        file = getattr(args, name)
        if file is None:
            continue
        option = "CONFIG" if name == "config" else f"--{name.replace('_', '-')}"
        if not file:
            raise ConfigError(f"{option}: the name of a file is missing, got ''")
        # The name of a shipped scenario is no file.
        if name in READ and not exists(file):
            continue
        other = options.setdefault(os.path.realpath(file), option)
        # A state may be continued from and written again: it is read before the run, and replaced after it.
        if other != option and (other, option) != ("--from-state", "--save-state"):
            raise ConfigError(f"{other} and {option} name the same file, {named(file)}; give them different ones")


class RunFiles:
    """Gathers the figures of one run, or of several one after the other, and writes them where `args` says."""

    def __init__(self, args: argparse.Namespace, scenario: str) -> None:
        self._args, self._scenario = args, scenario
        self._runs: list[dict[str, Any]] = []

    def watch(self, sim: MultiRobotSimulationCore) -> RobotFigures | None:
        """Return what adds up the figures of robots; None where no file is asked for, and nothing is watched."""
        if not (self._args.json or self._args.metrics):
            return None
        from fleet_sim.apps.cli.summary import RobotFigures

        return RobotFigures(sim)

    def add(
        self,
        sim: MultiRobotSimulationCore,
        outcome: RunSummary,
        robots: RobotFigures | None,
        wall: float,
        faults: list[str],
        interrupted: bool,
    ) -> None:
        """Keep the figures of a run that took `wall` s of real time."""
        if robots is None:
            return
        lines = robots.rows()
        sums = {name: sum(line[name] for line in lines) for name in SUMS}
        found = {"seed": sim.params.seed, **outcome.numbers(wall), **sums, "faults": faults, "interrupted": interrupted}
        if self._args.hash:
            found["state_hash"] = sim.state_hash()
        self._runs.append({**found, "robots": lines})

    def write(self) -> None:
        """Write the files and say so; raises InvalidValueError where the system refuses."""
        if self._args.json:
            about = {"scenario": self._scenario, "settings": list(self._args.set), "runs": self._runs}
            write_file(self._args.json, json.dumps(about, indent=1) + "\n")
            print(f"json: {self._args.json}")
        if self._args.metrics:
            self._write_table([{"seed": run["seed"], **line} for run in self._runs for line in run["robots"]])
            print(f"metrics: {self._args.metrics}")

    def _write_table(self, lines: list[dict[str, Any]]) -> None:
        """Write one line per robot as CSV or Parquet; the file is there as a whole or not at all."""
        # A run without robots has a table without lines, whose columns are still unknown but for these.
        names = list(lines[0]) if lines else ["seed", "robot"]
        if self._args.metrics.lower().endswith(".csv"):
            with writing(self._args.metrics, newline="") as file:
                writer = csv.DictWriter(file, names)
                writer.writeheader()
                writer.writerows(lines)
        else:
            arrow, parquet = load_parquet("writing Parquet")
            with writing(self._args.metrics, "wb") as file:
                parquet.write_table(arrow.table({name: [line[name] for line in lines] for name in names}), file)
