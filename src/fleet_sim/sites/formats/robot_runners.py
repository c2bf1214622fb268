"""Problems of the League of Robot Runners: a JSON file that names a map, agents and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.sites.formats.movingai import read_map, stations_of
from fleet_sim.sites.formats.site_format import SiteFormat, beside, fail, read_text
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import StationKind

STATIONS = {"E": StationKind.WORKSTATION, "S": StationKind.PICK}
"""What letters of the maps stand for: where goods come and go, and where they are stored."""


class RobotRunnersFormat(SiteFormat):
    """A problem of the League of Robot Runners; its tasks are read by `read_tasks`."""

    suffixes = (".json",)
    doc = "League of Robot Runners problem"
    keys = ("mapFile",)

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the map as a site, with the agents' cells as starts; raises ConfigError."""
        map_path = beside(path, content["mapFile"], "mapFile")
        read = read_map(read_text(map_path), map_path)
        grid = Grid(read.free_mask)
        starts = np.empty(0, np.int64)
        if "agentFile" in content:
            starts = self._starts(content, path, grid)
        return Site(path.stem, grid, stations=stations_of(read, grid, STATIONS), starts=starts)

    @staticmethod
    def _starts(content: Mapping[str, Any], path: Path, grid: Grid) -> Ints:
        """Return the cells where the robots of the team start; raises ConfigError for a team that is too large."""
        agents = beside(path, content["agentFile"], "agentFile")
        cells = np.array([row[0] for row in read_rows(agents, grid.count, most=1)], np.int64)
        # Without a size the team is all agents.
        size = content.get("teamSize", len(cells))
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= len(cells):
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
    import json

    problem = Path(path)
    content = json.loads(read_text(problem))
    # No file is named where there are no tasks; `beside` refuses that.
    tasks = beside(problem, content.get("taskFile"), "taskFile")
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
