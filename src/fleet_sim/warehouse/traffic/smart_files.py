"""Path files of SMART: a line for each robot, `Agent 0:(3,4)->(3,5)->`, with or without the time of each cell."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.warehouse.sites.reading import fail
from fleet_sim.warehouse.traffic.path_points import Points, pairs_of

HEAD = re.compile(r"\s*Agent\s+(\d{1,9})\s*:")


def recognises(text: str) -> bool:
    """Return whether the first line that is not empty names an agent."""
    return HEAD.match(text.lstrip()) is not None


def parse(text: str, path: Path) -> Points:
    """Return the cells of all robots; raises ConfigError naming the line.

    SMART has files with (column, row) and with (row, column) and tells them apart by an option, so both are possible.
    """
    robots: list[Ints] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        head = HEAD.match(line)
        if head is None:
            fail(path, f"line {number}: expected `Agent {len(robots)}:` and cells, got {line.strip()[:60]!r}")
        if int(head[1]) != len(robots):
            fail(path, f"line {number}: expected agent {len(robots)}, got agent {int(head[1])}")
        pairs = pairs_of(line[head.end() :], "->", path, number)
        if not pairs:
            fail(path, f"line {number}: agent {len(robots)} has no cells")
        times = [time for _, _, time in pairs if time]
        # With gaps or fractions nobody could say where a robot is meanwhile, so who passes first would be a guess.
        if times and [float(time) for time in times] != list(range(len(pairs))):
            fail(path, f"line {number}: the times of agent {len(robots)} must count 0, 1, 2, ... over all its cells")
        robots.append(np.array([pair[:2] for pair in pairs], np.int64))
    return Points(tuple(robots), None)
