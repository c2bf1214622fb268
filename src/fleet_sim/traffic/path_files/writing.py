"""Writes paths as files that SMART, lacam3's visualiser and `read_paths` read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.output import replacing
from fleet_sim.sites.grid import Grid
from fleet_sim.traffic.costs import makespan, steps_to_rest

FORMATS = ("lacam", "smart")


def write_paths(
    path: str | Path, cells: Ints, grid: Grid, *, goals: Ints | None = None, form: str = "lacam", map_name: str = ""
) -> None:
    """Write the paths `cells` (R, T + 1) to a file; raises InvalidValueError.

    `lacam` is the file that lacam3 writes and its visualiser shows, `smart` that of SMART with (column, row). `goals`
    (R,) are cells; by default the last ones of the paths.
    """
    if form not in FORMATS:
        raise InvalidValueError(f"paths are written as {' or '.join(FORMATS)}, got {form!r}")
    rows, columns = np.divmod(np.asarray(cells, np.int64), grid.width)
    if form == "smart":
        lines = _smart(columns.tolist(), rows.tolist(), steps_to_rest(cells).tolist())
    else:
        # Without goals, where robots are at the end is where they wanted to be.
        ends = np.asarray(cells[:, -1] if goals is None else goals, np.int64)
        lines = _lacam(np.asarray(cells), columns, rows, ends, grid, map_name)
    with replacing(path) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")


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
