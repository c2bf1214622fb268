"""Files of paths as SMART writes them: a line is a robot, `Agent 0:(3,4)->(3,5)->`, with or without the time of each
cell."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.base.files import write_file
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.reading import fail, read_text
from fleet_sim.warehouse.traffic.problem import steps_to_rest

HEAD = re.compile(r"\s*Agent\s+(\d{1,9})\s*:")
PAIR = re.compile(r"\(\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*(?:,\s*(\d{1,9}(?:\.\d{1,9})?)\s*)?\)")
"""A cell as `(3,4)`, or with its time as `(3,4,12)`. Few digits: int() of a million of them takes seconds."""
MOST = 100_000_000
"""Cells over all robots and steps that a file of paths may have; the array of more would not fit in memory."""


def read_paths(path: str | Path, grid: Grid, starts: Ints) -> Ints:
    """Return the paths in a file as cells (R, T + 1): column t is where each robot is after t steps.

    A robot stays in its last cell. Each cell must be free in `grid`, and robot i begin on cell `starts[i]`; `starts`
    (S,) also tell whether the file has (column, row) or (row, column), as SMART writes both. Raises ConfigError naming
    the line, or the robot and step. Whether robots may drive the paths is checked when they are to.
    """
    file = Path(path)
    robots = [_robot(line, number, file) for number, line in enumerate(read_text(file).splitlines(), 1) if line.strip()]
    if not robots:
        fail(file, "it has no paths")
    for index, (number, agent, _) in enumerate(robots):
        if agent != index:
            fail(file, f"line {number}: expected agent {index}, got agent {agent}")
    if len(robots) > len(starts):
        fail(file, f"it has the paths of {len(robots)} robots, but there are {len(starts)} starts")
    pairs = [pairs for _, _, pairs in robots]
    longest = max(map(len, pairs))
    # Before the array is made, which one long path could make too large.
    if len(pairs) * longest > MOST:
        fail(file, f"it has {len(pairs)} robots and {longest} steps; at most {MOST} cells are read")
    first = np.array([own[0] for own in pairs])
    begins = np.stack(np.divmod(starts[: len(first)], grid.width)[::-1], axis=1)
    # The order that fits more starts; equal for both only on a symmetrical map, then x comes first, as in most files.
    fits = [int(np.count_nonzero((first == order).all(axis=1))) for order in (begins, begins[:, ::-1])]
    cells = np.empty((len(pairs), max(longest, 2)), np.int64)
    for robot, own in enumerate(pairs):
        found = _cells(own if fits[0] >= fits[1] else own[:, ::-1], robot, grid, file)
        # Who has arrived stays there, as plans have it.
        cells[robot, : len(found)], cells[robot, len(found) :] = found, found[-1]
        if found[0] != starts[robot]:
            given, wanted = (_place(int(cell), grid) for cell in (found[0], starts[robot]))
            fail(file, f"robot {robot}, step 0: it begins in {given}, but the scenario starts it in {wanted}")
    return cells


def _robot(line: str, number: int, file: Path) -> tuple[int, int, Ints]:
    """Return the number of a line, of its agent, and the pairs (K, 2) of that; raises ConfigError."""
    head = HEAD.match(line)
    if head is None:
        fail(file, f"line {number}: expected `Agent <number>:` and cells, as SMART writes them, got {line[:60]!r}")
    # A separator may follow the last pair, as programs write it.
    pieces = line[head.end() :].strip().removesuffix("->").split("->")
    matches = [PAIR.fullmatch(piece.strip()) for piece in pieces]
    if None in matches:
        wrong = pieces[matches.index(None)].strip()[:60]
        fail(file, f"line {number}: expected cells such as (3,4)->(3,5), got {wrong!r}")
    found = [match.groups() for match in matches if match]
    times = [float(time) for *_, time in found if time]
    # With gaps or fractions nobody could say where a robot is meanwhile, so who passes first would be a guess.
    if times and times != list(range(len(found))):
        fail(file, f"line {number}: the times of agent {head[1]} must count 0, 1, 2, ... over all its cells")
    return number, int(head[1]), np.array([pair[:2] for pair in found], np.int64)


def _cells(pairs: Ints, robot: int, grid: Grid, file: Path) -> Ints:
    """Return the cells (K,) of pairs (column, row) of a robot; raises ConfigError for those that are not free."""
    columns, rows = pairs.T
    inside_mask = (columns >= 0) & (columns < grid.width) & (rows >= 0) & (rows < grid.height)
    cells = np.where(inside_mask, rows * grid.width + columns, -1)
    bad = np.flatnonzero(~grid.is_free(cells))
    if len(bad):
        step = int(bad[0])
        where = "blocked in" if inside_mask[step] else "outside of"
        size = f"the map, which has {grid.width} x {grid.height} cells"
        fail(file, f"robot {robot}, step {step}: column {columns[step]}, row {rows[step]} is {where} {size}")
    return cells


def _place(cell: int, grid: Grid) -> str:
    row, column = divmod(cell, grid.width)
    return f"column {column}, row {row}"


def write_paths(path: str | Path, cells: Ints, grid: Grid) -> None:
    """Write the paths `cells` (R, T + 1) to a file, with (column, row)."""
    rows, columns = np.divmod(cells, grid.width)
    paths = zip(columns.tolist(), rows.tolist(), steps_to_rest(cells).tolist(), strict=True)
    lines = [
        f"Agent {robot}:" + "".join(f"({x},{y})->" for x, y in zip(xs[: last + 1], ys[: last + 1], strict=True))
        for robot, (xs, ys, last) in enumerate(paths)
    ]
    write_file(path, "\n".join(lines) + "\n")
