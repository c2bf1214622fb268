"""What the robots of a run did, as the League of Robot Runners writes it and its visualiser PlanViz opens it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bytes, Floats, Ints
from fleet_sim.base.files import write_file
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.warehouse.sites.grid import NO_CELL
from fleet_sim.warehouse.traffic.columns import BROKEN, DELAYED, STOPPED
from fleet_sim.warehouse.traffic.workload import Crew, NextGoals, RunFleet, Tasks

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
    write_file(path, json.dumps(content) + "\n")


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


LATE = DELAYED | BROKEN | STOPPED


class LeagueRecorder:
    """What robots did, in ticks: places are rounded to parts of cells, of which a robot passes one in a tick at most.

    At full speed a robot passes one in each tick; slower ones wait in some. So a place is wrong by two parts at most,
    and right where robots stand in the middle of a cell.
    """

    def __init__(self, fleet: RunFleet, speed: float) -> None:
        """`speed` in m/s is the highest of any robot."""
        self._sim, self._traffic, self._grid = fleet.sim, fleet.traffic, fleet.site.grid
        self._crew = Crew(fleet.sim.world, fleet.traffic)
        cells = speed * fleet.sim.clock.dt / self._grid.cell
        # In a tick a robot passes one part of a cell at most: slow ones have many parts, fast ones many ticks.
        self._ticks_per_step = max(1, math.ceil(cells - 1e-9))
        self._units = max(1, math.floor(self._ticks_per_step / cells + 1e-9))
        self._at = np.rint(self._places() * self._units).astype(np.int64)
        self._starts = self._at // self._units
        self._moves: list[Bytes] = []
        self._planned: list[Bytes] = []
        count = self._crew.count
        self._tasks: list[LeagueTask] = []
        self._task: list[LeagueTask | None] = [None] * count
        self._visited = [0] * count
        self._finished = 0
        self._events: list[tuple[int, int, int, int]] = []
        self._schedules: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self._delays: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self._late_since: Ints = np.full(count, -1)
        self._errors: list[tuple[int, int, int, str]] = []
        self._number = {row: number for number, row in enumerate(self._crew.rows.tolist())}
        fleet.sim.events.on("collision_started", self._collided)

    @property
    def tick(self) -> int:
        """How many ticks are recorded."""
        return len(self._moves)

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def sent(self, robots: Ints, goals: NextGoals, tasks: Tasks | None = None) -> None:
        """Note where `robots` (K,) go next, those that had a goal having been there."""
        rows, columns = np.divmod(goals.cells, self._grid.width)
        for place, robot in enumerate(robots.tolist()):
            task = self._task[robot]
            if task is not None:
                self._visited[robot] += 1
                self._events.append((self.tick, robot, task.number, self._visited[robot]))
                if goals.done_mask[place]:
                    self._finished += 1
                    self._task[robot] = task = None
            if task is None:
                going = goals.cells[place] != NO_CELL
                self._begin(robot, (int(rows[place]), int(columns[place])) if going else None, tasks)

    def _begin(self, robot: int, place: tuple[int, int] | None, tasks: Tasks | None) -> None:
        """Give a robot its next task, or none."""
        if place is None:
            if self._schedules[robot]:
                self._schedules[robot].append((self.tick, -1))
            return
        cells = tasks.errands(robot) if tasks is not None else None
        width = self._grid.width
        places = [place] if cells is None else [(cell // width, cell % width) for cell in cells]
        task = LeagueTask(len(self._tasks), self.tick, places)
        self._tasks.append(task)
        self._task[robot], self._visited[robot] = task, 0
        self._schedules[robot].append((self.tick, task.number))

    def look(self, dt: float) -> None:
        """Note what robots did in a step."""
        self._crew.renew()
        robots, rows = self._crew.robots, self._crew.rows
        target = self._at.copy()
        target[robots] = np.rint(self._places() * self._units).astype(np.int64)
        late_mask = np.zeros(self._crew.count, bool)
        late_mask[robots] = self._crew.table.held[rows] & LATE != 0
        self._note_delays(late_mask)
        planned = np.zeros(self._crew.count, np.uint8)
        planned[robots] = self._next_moves(rows)
        for _ in range(self._ticks_per_step):
            moves = _towards(self._at, target, self._units)
            self._at += UNITS[moves]
            self._moves.append(moves)
            self._planned.append(planned)

    def _places(self) -> AnyArray:
        """Return where the robots are (K, 2), in rows and columns; whole numbers are middles of cells."""
        own = self._grid.to_own(self._sim.world.position[self._crew.rows, :2]) / self._grid.cell
        # The League counts rows from the top.
        return np.stack((self._grid.height - own[:, 1] - 0.5, own[:, 0] - 0.5), axis=1)

    def _next_moves(self, rows: Ints) -> Bytes:
        """Return the moves (K,) that the plan has next for robots in `rows`."""
        cells = self._traffic.network.cells
        begin, end = cells[self._traffic.nodes(rows)], cells[self._traffic.nodes(rows, ahead=True)]
        moves = np.zeros(len(rows), np.uint8)
        for move, step in ((DOWN, self._grid.width), (UP, -self._grid.width), (LEFT, -1), (RIGHT, 1)):
            moves[end - begin == step] = move
        return moves

    def _note_delays(self, late_mask: AnyArray) -> None:
        began, ended = late_mask & (self._late_since < 0), ~late_mask & (self._late_since >= 0)
        for robot in np.flatnonzero(ended).tolist():
            self._delays[robot].append((int(self._late_since[robot]), self.tick - 1))
        self._late_since[began] = self.tick
        self._late_since[ended] = -1

    def _collided(self, obj_a: SimObject, obj_b: SimObject) -> None:
        one, other = (self._number.get(body.row, -1) for body in (obj_a, obj_b))
        if max(one, other) >= 0:
            what = "collision of two robots" if min(one, other) >= 0 else "collision with an obstacle"
            self._errors.append((max(one, other), min(one, other), self.tick, what))

    # ---- afterwards --------------------------------------------------------------------------------------------------

    def run(self) -> LeagueRun:
        """Return the run so far."""
        count = self._crew.count
        self._note_delays(np.zeros(count, bool))
        empty: Bytes = np.zeros((0, count), np.uint8)
        return LeagueRun(
            units=self._units,
            starts=self._starts,
            moves=np.array(self._moves) if self._moves else empty,
            planned=np.array(self._planned) if self._planned else empty,
            tasks=self._tasks,
            finished=self._finished,
            events=self._events,
            schedules=self._schedules,
            delays=self._delays,
            errors=self._errors,
            planning_s=self._traffic.planning_times,
            failed_plans=int(self._traffic.figures()["refusals"]),
        )


def _towards(at: Ints, target: Ints, units: int) -> Bytes:
    """Return the moves (R,) from `at` towards `target` (R, 2), along the line between two cells that a robot is on."""
    off = target - at
    # A robot is on a line between two middles of cells, and goes on along it.
    down, right = off[:, 0], off[:, 1]
    between = at % units != 0
    along_column = between[:, 0] | (~between[:, 1] & (np.abs(down) >= np.abs(right))) | (right == 0)
    along_column &= down != 0
    moves = np.where(down > 0, DOWN, UP)
    sideways = np.where(right > 0, RIGHT, np.where(right < 0, LEFT, WAIT))
    return np.where(along_column, moves, sideways).astype(np.uint8)
