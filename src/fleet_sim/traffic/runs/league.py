"""LeagueRecorder: keeps what the robots of a run do, as the League of Robot Runners writes it."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import AnyArray, Bytes, Ints
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.sites.grid import NO_CELL
from fleet_sim.traffic.columns import BROKEN, DELAYED, STOPPED
from fleet_sim.traffic.path_files.league import DOWN, LEFT, RIGHT, UNITS, UP, WAIT, LeagueRun, LeagueTask
from fleet_sim.traffic.runs.crew import Crew
from fleet_sim.traffic.runs.fleet import RunFleet
from fleet_sim.traffic.tasks import NextGoals, Tasks

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
