"""Planners by name."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import InvalidValueError, PlanError
from fleet_sim.base.files import is_file, is_remote, opened, read_bytes, read_text, scratch_folder, write_file
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.lacam import Lacam
from fleet_sim.warehouse.traffic.planners.pibt import Pibt
from fleet_sim.warehouse.traffic.planners.planner import AStar, Planner, PlannerSettings
from fleet_sim.warehouse.traffic.problem import Problem

# Planners that are programs: a problem file in, a path file out.


MOST_BYTES = 500_000_000
"""Of a path file."""
MOST_TOLD = 500
"""Characters of what a program said that an error repeats, from its end."""


@dataclass
class ExternalSettings(PlannerSettings):
    """Settings of a planner that is a program."""

    command: list[str] = setting(
        doc="The program and its arguments; {problem} and {paths} become the files, which else are added at the end."
    )


class ExternalPlanner(Planner):
    """Runs a program for each problem. It is stopped, with all that it started, when the time limit has passed.

    The problem file is JSON: `positions` (N, 2) in m, `neighbours` (N, K) with -1 for none, `claims` as in Claims,
    `starts`, `goals` (R,), `blocked` (a list of nodes), `window`, `time_limit` in s, and `seed`. The path file is JSON:
    {"paths": [[node, ...], ...]}, a row per robot, the same number of steps in each, the start first. What the program
    prints is repeated in errors.
    """

    settings_class = ExternalSettings
    settings: ExternalSettings

    def __init__(self, network: Network, **settings: Any) -> None:
        super().__init__(network, **settings)
        if is_remote():
            raise InvalidValueError("external: messages may not name programs to run; give a planner that is known")
        if not self.settings.command:
            raise InvalidValueError("external: command: expected a program and its arguments, got nothing")

    def plan(self, problem: Problem) -> Ints:
        """Return the paths that the program writes; raises PlanError where it fails, is late, or writes none."""
        with scratch_folder("fleet_sim_plan_") as folder:
            question, answer = folder / "problem.json", folder / "paths.json"
            write_file(question, json.dumps(as_mapping(problem)))
            self._run(question, answer, folder / "said.txt", problem.time_limit)
            return self._read(answer)

    def _run(self, question: Path, answer: Path, said: Path, limit: float) -> None:
        """Run the program until it ends; raises PlanError if it fails, takes longer than `limit` s, or writes no paths.

        Its output goes to the file `said`, the end of which is part of the error. It runs in a session of its own, so
        it is ended together with all that it started.
        """
        named = [part.replace("{problem}", str(question)).replace("{paths}", str(answer)) for part in self._command()]
        program = self.settings.command[0]
        with opened(said, "wb") as output:
            try:
                process = subprocess.Popen(
                    named, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
                )
            except (OSError, ValueError) as error:
                raise PlanError(f"the planner {program!r} cannot be run: {error}") from error
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                raise PlanError(f"the planner {program!r} was stopped: it had no plan in {limit:g} s") from None
            finally:
                _stop(process)
        if code != 0:
            raise PlanError(f"the planner {program!r} ended with code {code}{_told(said)}")
        if not is_file(answer):
            raise PlanError(f"the planner {program!r} wrote no path file{_told(said)}")

    def _command(self) -> list[str]:
        command = self.settings.command
        placed = any("{problem}" in part or "{paths}" in part for part in command)
        return command if placed else [*command, "{problem}", "{paths}"]

    def _read(self, answer: Path) -> Ints:
        """Return the paths (robots, steps) in the file; raises PlanError for one that is too large or no such table."""
        try:
            text = read_text(answer, MOST_BYTES)
        except InvalidValueError as error:
            raise PlanError(f"the path file {error}") from error
        try:
            paths = np.array(json.loads(text)["paths"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise PlanError(f'the path file is not {{"paths": rows of nodes of one length}}: {error}') from error
        # Whether they are paths is checked as for every planner.
        return paths


def as_mapping(problem: Problem) -> dict[str, Any]:
    """Return what a problem file has."""
    network, claims = problem.network, problem.network.claims
    return {
        "positions": network.positions.tolist(),
        "neighbours": network.neighbours.tolist(),
        "claims": {"begins": claims.begins.tolist(), "ids": claims.ids.tolist()},
        "starts": problem.starts.tolist(),
        "goals": problem.goals.tolist(),
        "blocked": np.flatnonzero(problem.blocked).tolist(),
        "window": problem.window,
        "time_limit": problem.time_limit,
        "seed": problem.seed,
    }


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the program and all that it started, which may go on after it has ended."""
    if sys.platform == "win32":
        process.kill()
    else:
        # The group has the number of its first process, and lives as long as any of it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _told(said: Path) -> str:
    text = read_bytes(said).decode(errors="replace").strip()
    return f"; it said: {text[-MOST_TOLD:]}" if text else ""


PLANNERS: Registry[type[Planner]] = Registry(
    "planner",
    subclasses_of(Planner),
    group="fleet_sim.planner",
    built_in={"astar": AStar, "external": ExternalPlanner, "lacam": Lacam, "pibt": Pibt},
)
"""Classes of planners by name; `find` takes dotted paths, too."""


def make_planner(name: str, network: Network, **settings: Any) -> Planner:
    """Return the planner called `name`, or at the dotted path `name`, for `network`.

    Raises UnknownNameError with the closest name, InvalidValueError for a path that is no planner, and ConfigError for
    settings that it does not have.
    """
    return PLANNERS.find(name)(network, **settings)
