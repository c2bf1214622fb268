"""Files of paths: those of SMART, `Agent 0:(3,4)->(3,5)->`, and of lacam3, `key=value` and `0:(3,4),(5,6),`.

Of SMART a line is a robot, with or without the time of each cell; of lacam3, whose visualiser shows them, a step.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import write_file
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.reading import fail, read_text
from fleet_sim.warehouse.traffic.problem import makespan, steps_to_rest


class CellPaths(NamedTuple):
    """Paths as cells (R, T + 1): column t is where each robot is after t steps; the last cell is kept to the end.

    `lengths` (R,) are the numbers of steps that the file gives each robot.
    """

    cells: Ints
    lengths: Ints


def read_paths(path: str | Path, grid: Grid, starts: Ints | None = None) -> CellPaths:
    """Return the paths in a file of SMART or of lacam3; raises ConfigError naming the line, or the robot and step.

    Each cell must be free in `grid`, each step lead to a neighbour or stay, and no two robots may meet: neither on one
    cell nor by changing places. With `starts` (S,) robot i must begin on cell `starts[i]`; they also tell whether the
    file has (column, row) or (row, column) where its format allows both. Without them (column, row) is taken.
    """
    file = Path(path)
    text = read_text(file)
    for recognises, parse in READERS:
        if recognises(text):
            points = parse(text, file)
            break
    else:
        fail(file, "it has neither lines `Agent 0:(x,y)->` as SMART writes them nor a `solution=` as lacam3 does")
    if not points.robots:
        fail(file, "it has no paths")
    if starts is not None and len(points.robots) > len(starts):
        fail(file, f"it has the paths of {len(points.robots)} robots, but there are {len(starts)} starts")
    longest = max(map(len, points.robots))
    # Before the array is made, which one long path could make too large.
    if len(points.robots) * longest > MOST:
        fail(file, f"it has {len(points.robots)} robots and {longest} steps; at most {MOST} cells are read")
    by_columns = _order(points, grid, starts)
    cells = np.empty((len(points.robots), max(longest, 2)), np.int64)
    # Who has arrived stays there, as plans have it.
    for robot, pairs in enumerate(points.robots):
        found = _cells(pairs, robot, grid, by_columns, file)
        cells[robot, : len(found)] = found
        cells[robot, len(found) :] = found[-1]
    _check_starts(cells, grid, starts, file)
    check_steps(cells, grid, file)
    return CellPaths(cells, np.array([len(pairs) - 1 for pairs in points.robots]))


def _order(points: Points, grid: Grid, starts: Ints | None) -> bool:
    """Return whether the pairs are (column, row): what the format says, else the order that fits more starts."""
    if points.by_columns is not None:
        return points.by_columns
    if starts is None:
        # Nothing to compare with; most programs write x before y.
        return True
    first = np.array([pairs[0] for pairs in points.robots])
    rows, columns = np.divmod(starts[: len(first)], grid.width)
    fits = [
        int(np.count_nonzero((first == np.stack(order, axis=1)).all(axis=1)))
        for order in ((columns, rows), (rows, columns))
    ]
    # Equal for both only on a symmetrical map; then x comes first, as in most files.
    return fits[0] >= fits[1]


def _cells(pairs: Ints, robot: int, grid: Grid, by_columns: bool, file: Path) -> Ints:
    """Return the cells (K,) of the pairs of a robot; raises ConfigError for those that are not free."""
    columns, rows = pairs.T if by_columns else pairs.T[::-1]
    inside_mask = (columns >= 0) & (columns < grid.width) & (rows >= 0) & (rows < grid.height)
    cells = np.where(inside_mask, rows * grid.width + columns, -1)
    bad = np.flatnonzero(~grid.is_free(cells))
    if len(bad):
        step = int(bad[0])
        place = f"column {columns[step]}, row {rows[step]}"
        where = "blocked in" if inside_mask[step] else "outside of"
        size = f"the map, which has {grid.width} x {grid.height} cells"
        fail(file, f"robot {robot}, step {step}: {place} is {where} {size}")
    return cells


def _check_starts(cells: Ints, grid: Grid, starts: Ints | None, file: Path) -> None:
    if starts is None:
        return
    wrong = np.flatnonzero(cells[:, 0] != starts[: len(cells)])
    if len(wrong):
        robot = int(wrong[0])
        given, wanted = _place(int(cells[robot, 0]), grid), _place(int(starts[robot]), grid)
        fail(file, f"robot {robot}, step 0: it begins in {given}, but the scenario starts it in {wanted}")


def check_steps(cells: Ints, grid: Grid, file: Path) -> None:
    """Raise ConfigError naming robot and step for a jump, two robots on one cell, or two that change places."""
    rows, columns = np.divmod(cells, grid.width)
    jumps = np.abs(np.diff(rows, axis=1)) + np.abs(np.diff(columns, axis=1)) > 1
    if jumps.any():
        # The first in time is shown: what follows from one jump is not of interest.
        step, robot = divmod(int(np.flatnonzero(jumps.T.ravel())[0]), len(cells))
        begin, end = (_place(int(cells[robot, at]), grid) for at in (step, step + 1))
        fail(file, f"robot {robot}, step {step + 1}: it jumps from {begin} to {end}, which are no neighbours")
    for step in range(cells.shape[1]):
        here = cells[:, step]
        # Sorted, two equal cells are neighbours; comparing all pairs would take far longer.
        order = np.argsort(here, kind="stable")
        same = np.flatnonzero(np.diff(here[order]) == 0)
        if len(same):
            one, other = order[same[0]], order[same[0] + 1]
            fail(file, f"robot {other}, step {step}: it is in {_place(int(here[one]), grid)} together with robot {one}")
        if step:
            _check_swaps(cells[:, step - 1], here, step, grid, file)


def _check_swaps(before: Ints, here: Ints, step: int, grid: Grid, file: Path) -> None:
    """Raise ConfigError where two robots change places between `before` (R,) and `here` (R,)."""
    moved = np.flatnonzero(before != here)
    # A move as one number, and its reverse: who makes the reverse of another's move exchanges places with it.
    forth, back = (begin[moved] * grid.count + end[moved] for begin, end in ((before, here), (here, before)))
    _, ones, others = np.intersect1d(forth, back, return_indices=True)
    if len(ones):
        one, other = sorted((int(moved[ones[0]]), int(moved[others[0]])))
        begin, end = _place(int(before[one]), grid), _place(int(here[one]), grid)
        fail(file, f"robot {one}, step {step}: it changes places with robot {other}, from {begin} to {end}")


def _place(cell: int, grid: Grid) -> str:
    row, column = divmod(cell, grid.width)
    return f"column {column}, row {row}"


# ---- cells as files write them ---------------------------------------------------------------------------------


PAIR = re.compile(r"\(\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*(?:,\s*(\d{1,9}(?:\.\d{1,9})?)\s*)?\)")
"""A cell as `(3,4)`, or with its time as `(3,4,12)`. Few digits: int() of a million of them takes seconds."""

MOST = 100_000_000
"""Cells over all robots and steps that a file of paths may have; the array of more would not fit in memory."""


@dataclass(frozen=True)
class Points:
    """What a file says: for each robot its cells (K, 2) in the order of its steps, as pairs in the order of the file.

    `by_columns` tells what the pairs are: True for (column, row), False for (row, column), None where the format leaves
    it open.
    """

    robots: tuple[Ints, ...]
    by_columns: bool | None


def pairs_of(text: str, separator: str, path: Path, number: int) -> list[tuple[int, int, str]]:
    """Return the pairs in `text`, each with its time or ""; raises ConfigError naming line `number` of `path`.

    A separator may follow the last pair, as programs write it.
    """
    pieces = text.strip().split(separator)
    if pieces[-1].strip() == "":
        pieces.pop()
    pairs = []
    for piece in pieces:
        match = PAIR.fullmatch(piece.strip())
        if match is None:
            fail(path, f"line {number}: expected cells such as (3,4){separator}(3,5), got {piece.strip()[:60]!r}")
        pairs.append((int(match[1]), int(match[2]), match[3] or ""))
    return pairs


SMART_HEAD = re.compile(r"\s*Agent\s+(\d{1,9})\s*:")


def _is_smart(text: str) -> bool:
    """Return whether the first line that is not empty names an agent."""
    return SMART_HEAD.match(text.lstrip()) is not None


def _parse_smart(text: str, path: Path) -> Points:
    """Return the cells of all robots; raises ConfigError naming the line.

    SMART has files with (column, row) and with (row, column) and tells them apart by an option, so both are possible.
    """
    robots: list[Ints] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        head = SMART_HEAD.match(line)
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


LACAM_SOLUTION = "solution="


def _is_lacam(text: str) -> bool:
    """Return whether a line begins the solution, or says how many agents there are."""
    # Within the first lines: a map of another format may have such a word far down.
    return any(line.startswith((LACAM_SOLUTION, "agents=")) for line in text.splitlines()[:1000])


def _parse_lacam(text: str, path: Path) -> Points:
    """Return the cells of all robots; raises ConfigError naming the line."""
    lines = text.splitlines()
    header: dict[str, tuple[int, str]] = {}
    first = len(lines)
    for index, line in enumerate(lines):
        key, equals, value = line.partition("=")
        if line.strip() == LACAM_SOLUTION:
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
    rows = [_lacam_row(line, step, number, path) for step, (number, line) in enumerate(steps)]
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


def _lacam_row(line: str, step: int, number: int, path: Path) -> list[tuple[int, int]]:
    """Return the cells of all robots at `step`; raises ConfigError."""
    said, colon, cells = line.partition(":")
    if not colon or said.strip() != str(step):
        fail(path, f"line {number}: expected `{step}:` and cells, got {line.strip()[:60]!r}")
    # Between pairs there is a comma, as within them; the bracket tells which is which.
    pairs = pairs_of(cells.replace("),", ")->"), "->", path, number)
    if any(time for _, _, time in pairs):
        fail(path, f"line {number}: expected cells as (column,row), got three numbers")
    return [pair[:2] for pair in pairs]


READERS: tuple[tuple[Callable[[str], bool], Callable[[str, Path], Points]], ...] = (
    (_is_smart, _parse_smart),
    (_is_lacam, _parse_lacam),
)


# ---- writing ----------------------------------------------------------------------------------------------------


WRITING_FORMATS = ("lacam", "smart")


def write_paths(
    path: str | Path, cells: Ints, grid: Grid, *, goals: Ints | None = None, form: str = "lacam", map_name: str = ""
) -> None:
    """Write the paths `cells` (R, T + 1) to a file; raises InvalidValueError.

    `lacam` is the file that lacam3 writes and its visualiser shows, `smart` that of SMART with (column, row). `goals`
    (R,) are cells; by default the last ones of the paths.
    """
    if form not in WRITING_FORMATS:
        raise InvalidValueError(f"paths are written as {' or '.join(WRITING_FORMATS)}, got {form!r}")
    rows, columns = np.divmod(np.asarray(cells, np.int64), grid.width)
    if form == "smart":
        lines = _smart(columns.tolist(), rows.tolist(), steps_to_rest(cells).tolist())
    else:
        # Without goals, where robots are at the end is where they wanted to be.
        ends = np.asarray(cells[:, -1] if goals is None else goals, np.int64)
        lines = _lacam(np.asarray(cells), columns, rows, ends, grid, map_name)
    write_file(path, "\n".join(lines) + "\n")


def _smart(columns: list[list[int]], rows: list[list[int]], lengths: list[int]) -> list[str]:
    return [
        f"Agent {robot}:" + "".join(f"({x},{y})->" for x, y in zip(xs[: last + 1], ys[: last + 1], strict=True))
        for robot, (xs, ys, last) in enumerate(zip(columns, rows, lengths, strict=True))
    ]


def _lacam(cells: Ints, columns: Ints, rows: Ints, goals: Ints, grid: Grid, map_name: str) -> list[str]:
    """Return the lines of a plan in the format of LaCAM: a heading with figures, then all places step by step."""
    goal_rows, goal_columns = np.divmod(goals, grid.width)
    at_steps = enumerate(zip(columns.T.tolist(), rows.T.tolist(), strict=True))
    steps = [f"{step}:" + _line(xs, ys) for step, (xs, ys) in at_steps]
    # Only figures that were computed: no lower bounds, no time of a search.
    return [
        f"agents={len(cells)}",
        f"map_file={map_name}",
        "solver=fleet_sim",
        "solved=1",
        f"soc={int(steps_to_rest(cells).sum())}",
        f"makespan={makespan(cells)}",
        "starts=" + _line(columns[:, 0].tolist(), rows[:, 0].tolist()),
        "goals=" + _line(goal_columns.tolist(), goal_rows.tolist()),
        "solution=",
        *steps,
    ]


def _line(columns: list[int], rows: list[int]) -> str:
    return "".join(f"({x},{y})," for x, y in zip(columns, rows, strict=True))
