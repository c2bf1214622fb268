"""Problems of the League of Robot Runners: a JSON file that names a map, agents and tasks."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.config.modes import Mode
from fleet_sim.errors import ConfigError, InvalidValueError
from fleet_sim.settings import Checked, read, setting
from fleet_sim.sites.formats.movingai import read_map, stations_of
from fleet_sim.sites.formats.site_format import SiteFormat, beside, fail, read_text
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import StationKind

STATIONS = {"E": StationKind.WORKSTATION, "S": StationKind.PICK}
"""What letters of the maps stand for: where goods come and go, and where they are stored."""


TICK = 0.1
"""Seconds of a tick of the League's simulator."""
QUARTER = 0.5 * math.pi
LARGEST_TEAM, LONGEST = 1_000_000, 100_000
FOR_RUNS = ("taskAssignmentStrategy", "numTasksReveal", "agentSize", "agentCounter", "delayConfig")
"""What a run of the whole problem keeps, beside the map, the starts and the tasks."""


class EventModel(Mode):
    """How the robots that are delayed in a tick are drawn."""

    BERNOULLI = "bernoulli"
    POISSON = "poisson"


class DurationModel(Mode):
    """How long delays are."""

    UNIFORM = "uniform"
    GAUSSIAN = "gaussian"


class Strategy(Mode):
    """Who does which task, in problems of 2023."""

    ROUNDROBIN = "roundrobin"
    GREEDY = "greedy"


@dataclass
class DelayConfig(Checked):
    """Delays of a problem of 2026, in ticks."""

    seed: int = setting(0, low=0, high=2**62, doc="Of the delays.")
    minDelay: int = setting(1, low=1, high=LONGEST, doc="The shortest delay, in ticks.")
    maxDelay: int = setting(1, low=1, high=LONGEST, doc="The longest delay, in ticks.")
    eventModel: EventModel = setting(EventModel.BERNOULLI, doc="How robots are drawn in a tick.")
    pDelay: float = setting(0.0, low=0.0, high=1.0, doc="Of a robot that is not delayed, in each tick.")
    durationModel: DurationModel = setting(DurationModel.UNIFORM, doc="How long delays are.")
    gaussMeanRatio: float = setting(0.5, low=0.0, high=1.0, doc="The mean, as a share of the range.")
    gaussStdRatio: float = setting(0.0, low=0.0, high=100.0, doc="The standard deviation, as such a share.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.maxDelay < self.minDelay:
            raise InvalidValueError(f"maxDelay: expected at least minDelay, {self.minDelay}, got {self.maxDelay}")


@dataclass
class LeagueProblem(Checked):
    """A problem of the League of Robot Runners, as its file has it; see `Input_Output_Format.md` of its Start-Kit."""

    mapFile: str = setting(doc="The map, relative to this file.")
    agentFile: str | None = setting(None, doc="Where robots start.")
    taskFile: str | None = setting(None, doc="The tasks.")
    teamSize: int | None = setting(None, low=1, high=LARGEST_TEAM, doc="How many robots; null: all of the agent file.")
    version: str | None = setting(None, doc="Of the format, such as 2026 LoRR; what holds follows from the keys.")
    taskAssignmentStrategy: Strategy | None = setting(None, doc="2023: who does which task.")
    numTasksReveal: float | None = setting(
        None, above=0.0, high=1e6, doc="Tasks that are known at a time, as a multiple of the robots."
    )
    agentSize: float | None = setting(
        None, above=0.0, high=1.0, doc="2026: side of the square around a robot that nothing may enter, in cells."
    )
    agentCounter: int | None = setting(
        None, low=1, high=LONGEST, doc="2026: ticks that a robot takes for a cell, and for a quarter turn."
    )
    delayConfig: DelayConfig | None = setting(None, doc="2026: robots that stand for a while.")

    def __post_init__(self) -> None:
        super().__post_init__()
        # What the Start-Kit takes where a file of 2026 leaves it out.
        if self.is_timed:
            self.agentSize = 1.0 if self.agentSize is None else self.agentSize
            self.agentCounter = 10 if self.agentCounter is None else self.agentCounter
        if self.taskAssignmentStrategy is not None and self.numTasksReveal not in (None, 1.0):
            raise InvalidValueError(
                f"numTasksReveal: expected 1 beside taskAssignmentStrategy, got {self.numTasksReveal:g}: planners know"
                " one task of each robot; remove one of the two keys"
            )

    @property
    def is_timed(self) -> bool:
        """Whether it says how large and fast robots are, as problems of 2026 do."""
        return (self.agentSize, self.agentCounter, self.delayConfig) != (None, None, None) or "2026" in (
            self.version or ""
        )

    @property
    def revealed(self) -> float | None:
        """How many tasks are known at a time, as a multiple of the robots; None where each robot is given its own."""
        if self.taskAssignmentStrategy is not None:
            return None
        return 1.0 if self.numTasksReveal is None and self.is_timed else self.numTasksReveal


def read_problem(path: Path, content: Any = None) -> LeagueProblem:
    """Return the problem in `path`, whose parsed `content` may be given; raises ConfigError for keys that it does not
    know, and values that cannot be kept."""
    if content is None:
        try:
            content = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"is not valid JSON: {str(error)[:200]}", source=str(path)) from error
    return read(LeagueProblem, content, source=str(path))


class RobotRunnersFormat(SiteFormat):
    """A problem of the League of Robot Runners; its tasks are read by `read_tasks`."""

    suffixes = (".json",)
    doc = "League of Robot Runners problem"
    keys = ("mapFile",)

    def unused(self, content: Any) -> dict[str, list[str]]:
        """Return what the file says of robots and tasks."""
        names = [key for key in content if key in FOR_RUNS]
        return {"": names} if names else {}

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the map as a site, with the agents' cells as starts; raises ConfigError."""
        problem = read_problem(path, content)
        map_path = beside(path, problem.mapFile, "mapFile")
        read = read_map(read_text(map_path), map_path)
        grid = Grid(read.free_mask)
        starts = np.empty(0, np.int64)
        if problem.agentFile is not None:
            starts = self._starts(problem.agentFile, problem.teamSize, path, grid)
        return Site(path.stem, grid, stations=stations_of(read, grid, STATIONS), starts=starts)

    @staticmethod
    def _starts(agent_file: str, team: int | None, path: Path, grid: Grid) -> Ints:
        """Return the cells where the robots of the team start; raises ConfigError for a team that is too large."""
        agents = beside(path, agent_file, "agentFile")
        cells = np.array([row[0] for row in read_rows(agents, grid.count, most=1)], np.int64)
        # Without a size the team is all agents.
        size = len(cells) if team is None else team
        if size > len(cells):
            fail(
                path,
                f"must be a whole number from 1 to {len(cells)}, the agents in {agents.name}, got {size!r}",
                "teamSize",
            )
        return cells[:size]


def read_tasks(path: str | Path, grid: Grid) -> list[list[int]]:
    """Return the tasks of the problem in `path`: for each its cells in the order of visits; raises ConfigError.

    Cells that are not free are refused, as robots cannot go there.
    """
    problem = Path(path)
    # No file is named where there are no tasks; `beside` refuses that.
    tasks = beside(problem, read_problem(problem).taskFile, "taskFile")
    rows = read_rows(tasks, grid.count)
    # All at once: there are files with half a million tasks.
    cells = np.fromiter(chain.from_iterable(rows), np.int64)
    bad = np.flatnonzero(~grid.is_free(cells))
    if len(bad):
        # From the cell among all of them back to the task that it is of.
        index = int(np.searchsorted(np.cumsum([len(row) for row in rows]), bad[0], side="right"))
        fail(tasks, f"task {index}: it goes to a cell that is not free: {rows[index][:10]}")
    return rows


def read_rows(path: Path, cells: int, *, most: int = 1000) -> list[list[int]]:
    """Return the rows of cells behind the count in the first line; raises ConfigError naming the line."""
    lines = [
        (number, line.strip())
        for number, line in enumerate(read_text(path).splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines or not lines[0][1].isdecimal():
        fail(path, "its first line must be the number of rows")
    # Twelve digits at most: int() of a million digits takes seconds.
    count = int(lines[0][1][:12])
    if len(lines) - 1 < count:
        fail(path, f"it says {count} rows, but has {len(lines) - 1}")
    rows = []
    for number, line in lines[1 : count + 1]:
        words = line.split(",")
        # The length is looked at before the value, for the same reason.
        if len(words) > most or not all(word.strip().isdecimal() and len(word) < 12 for word in words):
            fail(path, f"line {number}: expected cells as whole numbers, at most {most}, got {line[:60]!r}")
        row = [int(word) for word in words]
        if max(row) >= cells:
            fail(path, f"line {number}: cell {max(row)} is outside of the map, which has {cells} cells")
        rows.append(row)
    return rows


FORMAT = RobotRunnersFormat()
