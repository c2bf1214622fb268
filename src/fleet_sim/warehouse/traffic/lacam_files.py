"""Result files of lacam3 and of what its visualiser shows: `key=value`, then after `solution=` a line for each step."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fleet_sim.warehouse.sites.reading import fail
from fleet_sim.warehouse.traffic.path_points import MOST, Points, pairs_of

SOLUTION = "solution="


def recognises(text: str) -> bool:
    """Return whether a line begins the solution, or says how many agents there are."""
    # Within the first lines: a map of another format may have such a word far down.
    return any(line.startswith((SOLUTION, "agents=")) for line in text.splitlines()[:1000])


def parse(text: str, path: Path) -> Points:
    """Return the cells of all robots; raises ConfigError naming the line."""
    lines = text.splitlines()
    header: dict[str, tuple[int, str]] = {}
    first = len(lines)
    for index, line in enumerate(lines):
        key, equals, value = line.partition("=")
        if line.strip() == SOLUTION:
            first = index + 1
            break
        if equals:
            header[key.strip()] = (index + 1, value.strip())
    # Without the line, a solution is there to be read.
    if header.get("solved", (0, "1"))[1] == "0":
        fail(path, f"line {header['solved'][0]}: it says that no solution was found")
    steps = [(index + 1, line) for index, line in enumerate(lines) if index >= first and line.strip()]
    if not steps:
        fail(path, "it has no steps after a line `solution=`; was it written with --log_short?")
    rows = [_row(line, step, number, path) for step, (number, line) in enumerate(steps)]
    robots = len(rows[0])
    for (number, _), row in zip(steps, rows, strict=True):
        if len(row) != robots or not row:
            fail(path, f"line {number}: expected the cells of {max(robots, 1)} robots, got {len(row)}")
    number, said = header.get("agents", (0, str(robots)))
    # The header is compared with what follows: a file that was cut off is refused.
    if said != str(robots):
        fail(path, f"line {number}: it says {said[:20]} agents, but has the paths of {robots}")
    if robots * len(rows) > MOST:
        fail(path, f"it has {robots} robots and {len(rows)} steps; at most {MOST} cells are read")
    return Points(tuple(np.array(rows, np.int64).transpose(1, 0, 2)), True)


def _row(line: str, step: int, number: int, path: Path) -> list[tuple[int, int]]:
    """Return the cells of all robots at `step`; raises ConfigError."""
    said, colon, cells = line.partition(":")
    if not colon or said.strip() != str(step):
        fail(path, f"line {number}: expected `{step}:` and cells, got {line.strip()[:60]!r}")
    # Between pairs there is a comma, as within them; the bracket tells which is which.
    pairs = pairs_of(cells.replace("),", ")->"), "->", path, number)
    if any(time for _, _, time in pairs):
        fail(path, f"line {number}: expected cells as (column,row), got three numbers")
    return [pair[:2] for pair in pairs]
