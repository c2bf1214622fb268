"""Points: cells as files of paths write them, in pairs of numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Ints
from fleet_sim.base.files import replacing
from fleet_sim.warehouse.sites.reading import fail

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


# Writes what robots did as the output file of the League of Robot Runners, which its visualiser PlanViz opens.


WAIT, DOWN, UP, LEFT, RIGHT = range(5)
"""Moves of a tick: by one unit along a row or a column of the map. Rows count downwards."""
LETTERS = ("W", "U", "D", "L", "R")
"""As the visualiser has them in its action model MAPF: with U the row grows."""
UNITS = np.array([(0, 0), (1, 0), (-1, 0), (0, -1), (0, 1)])
SEGMENT = 1000
"""Ticks of a segment of a path."""


@dataclass(frozen=True)
class LeagueTask:
    """A task: its number, the tick since which a robot has it, and the cells (K, 2) as (row, column) it leads to."""

    number: int
    since: int
    places: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class LeagueRun:
    """A run of R robots in T ticks, in each of which a robot moves by one `units`-th of a cell at most.

    `starts` (R, 2) are cells as (row, column); `moves` (T, R) what robots did, `planned` (T, R) what they would have
    done had nothing kept them. `events` are (tick, robot, task, visited places of it), `schedules` for
    each robot (tick, task it has from then on, -1 for none), `delays` for each robot (first, last tick), `errors`
    (robot, other robot or -1, tick, what happened).
    """

    units: int
    starts: Ints
    moves: AnyArray
    planned: AnyArray
    tasks: Sequence[LeagueTask]
    finished: int
    events: Sequence[tuple[int, int, int, int]]
    schedules: Sequence[Sequence[tuple[int, int]]]
    delays: Sequence[Sequence[tuple[int, int]]]
    errors: Sequence[tuple[int, int, int, str]]
    planning_s: Floats
    failed_plans: int


def write_league(path: str | Path, run: LeagueRun) -> None:
    """Write the file of a run; the same run gives the same bytes but for the times of planning."""
    ticks, robots = run.moves.shape
    content = {
        # The model without headings: ours turn at any rate, that of the League in quarters.
        "actionModel": "MAPF",
        "version": "2026 LoRR",
        "teamSize": robots,
        "numTaskFinished": run.finished,
        "makespan": ticks,
        "numPlannerErrors": len(run.errors),
        "numScheduleErrors": 0,
        "numEntryTimeouts": run.failed_plans,
        "agentMaxCounter": run.units,
        "outputSegmentSize": SEGMENT,
        "delayIntervals": [[list(interval) for interval in intervals] for intervals in run.delays],
        "start": [[row, column, "E"] for row, column in run.starts.tolist()],
        "actualPaths": _paths(run.moves, run),
        "events": [list(event) for event in run.events],
        "tasks": [[task.number, task.since, [part for place in task.places for part in place]] for task in run.tasks],
        "plannerPaths": _paths(run.planned, run),
        "plannerTimes": run.planning_s.tolist(),
        "errors": [[-1, *error] for error in run.errors],
        "actualSchedule": [_schedule(schedule) for schedule in run.schedules],
        "plannerSchedule": [_schedule(schedule) for schedule in run.schedules],
        "scheduleErrors": [],
    }
    with replacing(path) as part:
        part.write_text(json.dumps(content) + "\n", encoding="utf-8")


def _schedule(schedule: Sequence[tuple[int, int]]) -> str:
    # An empty one is not read: a robot without a task has task -1.
    return ",".join(f"{tick}:{task}" for tick, task in schedule or [(0, -1)])


def _paths(moves: AnyArray, run: LeagueRun) -> list[str]:
    """Return the path of each robot: segments of where it is, in which counted cell, and what it does how often."""
    ticks, robots = moves.shape
    # Where robots are at the begin of each segment follows from what they did, whatever was planned.
    cells, units = run.starts.copy(), run.starts * run.units
    paths = [""] * robots
    for begin in range(0, ticks, SEGMENT):
        part = slice(begin, begin + SEGMENT)
        gone = np.abs(units - cells * run.units).sum(axis=1).tolist()
        for robot, (row, column) in enumerate(cells.tolist()):
            runs = ",".join(f"{LETTERS[move]} {count}" for move, count in _runs(moves[part, robot]))
            paths[robot] += f"[({begin},{row},{column},0,{gone[robot]}):({runs})]"
        for step in UNITS[run.moves[part]]:
            units = units + step
            whole_mask = (units % run.units == 0).all(axis=1)
            cells[whole_mask] = units[whole_mask] // run.units
    return paths


def _runs(moves: AnyArray) -> list[tuple[int, int]]:
    """Return (move, how often) of each run of equal moves."""
    begins = np.concatenate(([0], np.flatnonzero(np.diff(moves)) + 1))
    counts = np.diff(np.concatenate((begins, [len(moves)])))
    return list(zip(moves[begins].tolist(), counts.tolist(), strict=True))
