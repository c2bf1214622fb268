"""Tasks: where robots go, and where they go next when they have been there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.warehouse.sites.grid import NO_CELL
from fleet_sim.world.clock import purpose_key, uniforms

NO_TASK = -1


class NextGoals(NamedTuple):
    """Next goals (K,) of K robots as cells, NO_CELL where nothing is left; and which of them ended a task (K,)."""

    cells: Ints
    done_mask: Bools


class Tasks(ABC):
    """A source of goals for `robots` robots, numbered from 0. The same calls give the same goals."""

    def __init__(self, robots: int) -> None:
        self.robots = robots
        self._given: Ints = np.zeros(robots, np.int64)

    def next(self, robots: Ints, cells: Ints) -> NextGoals:
        """Return where `robots` (K,), each once, go from `cells` (K,): from their starts, later from their goals."""
        # A robot that has not been given anything yet cannot have ended a task.
        first_mask = self._given[robots] == 0
        goals = self._next(robots, np.asarray(cells, np.int64))
        self._given[robots] += 1
        return NextGoals(goals.cells, goals.done_mask & ~first_mask)

    def errands(self, robot: int) -> Sequence[int] | None:
        """Return the cells of the task that `robot` has, in their order; None where each goal is a task of its own."""
        return None

    @abstractmethod
    def _next(self, robots: Ints, cells: Ints) -> NextGoals:
        """Return the goals; the first `done_mask` of a robot is not looked at."""

    def _draws(self, key: int, robots: Ints, count: int | Ints, lane: int = 0) -> Ints:
        """Return for each robot a number (K,) below `count`, or its own of (K,): a function of its number and of how
        often it asked."""
        return np.asarray(uniforms(key, robots, self._given[robots], lane) * count, np.int64)


class RandomTasks(Tasks):
    """Each robot goes from one of `cells` (N,) to another, for ever; each goal is a task."""

    def __init__(self, robots: int, cells: Ints, seed: int) -> None:
        super().__init__(robots)
        self._cells = np.unique(cells)
        if len(self._cells) < 2:
            raise InvalidValueError(f"random goals need at least two cells to go to, got {len(self._cells)}")
        self._key = purpose_key(seed, "traffic.goals")

    def _next(self, robots: Ints, cells: Ints) -> NextGoals:
        return NextGoals(self._drawn(robots, cells), np.ones(len(robots), bool))

    def _drawn(self, robots: Ints, cells: Ints) -> Ints:
        places = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        here_mask = self._cells[places] == cells
        # Nobody is sent to where it stands: its own place is left out, and those behind it move up.
        drawn = self._draws(self._key, robots, len(self._cells) - here_mask)
        return self._cells[drawn + (here_mask & (drawn >= places))]


class AlternatingTasks(Tasks):
    """Robots go back and forth between two kinds of cells, `ones` (N,) and `others` (M,), to a random one each time.

    From one of the ones a robot begins with the others and the other way round, from anywhere else with any of all
    cells. Each goal is a task, as in LSMART.
    """

    def __init__(self, robots: int, ones: Ints, others: Ints, seed: int) -> None:
        super().__init__(robots)
        self._kinds = (np.unique(ones), np.unique(others))
        if not all(map(len, self._kinds)):
            raise InvalidValueError("alternating goals need cells of both kinds")
        if len(np.intersect1d(*self._kinds)):
            raise InvalidValueError("alternating goals need two kinds of cells that have none in common")
        self._key = purpose_key(seed, "traffic.goals")

    def _next(self, robots: Ints, cells: Ints) -> NextGoals:
        """Draw a goal of the other kind for each robot: from the first kind to the second, and back."""
        ones, others = self._kinds
        # A lane of its own, so that this question and the next ones get different numbers.
        # Where it is nowhere of both, a robot draws of all cells: the kinds count by their sizes.
        any_mask = self._draws(self._key, robots, len(ones) + len(others), lane=1) < len(ones)
        to_ones = np.where(np.isin(cells, others), True, np.where(np.isin(cells, ones), False, any_mask))
        of_ones = ones[self._draws(self._key, robots, len(ones))]
        of_others = others[self._draws(self._key, robots, len(others))]
        return NextGoals(np.where(to_ones, of_ones, of_others), np.ones(len(robots), bool))


class TaskList(Tasks):
    """Tasks from a list, each a row of cells that one robot visits in their order."""

    def __init__(self, robots: int, tasks: Sequence[Sequence[int]]) -> None:
        super().__init__(robots)
        self._tasks = tasks
        self._task: Ints = np.full(robots, NO_TASK, np.int64)
        self._visited: Ints = np.zeros(robots, np.int64)

    def _next(self, robots: Ints, cells: Ints) -> NextGoals:
        """Return the next stop of each robot's task, or of one that it takes; NO_CELL where there is none for it."""
        goals = np.full(len(robots), NO_CELL, np.int64)
        done_mask = np.zeros(len(robots), bool)
        for place, robot in enumerate(robots.tolist()):
            if (task := int(self._task[robot])) != NO_TASK:
                # Arrived at one more of its stops.
                self._visited[robot] += 1
                done_mask[place] = self._visited[robot] >= len(self._stops(task))
                if done_mask[place]:
                    self._task[robot] = NO_TASK
                    self._ended()
        # Those who ended one are free together: all that is known by then is there for each.
        for place, robot in enumerate(robots.tolist()):
            if self._task[robot] == NO_TASK:
                self._task[robot], self._visited[robot] = self._take(robot, int(cells[place])), 0
            if (task := int(self._task[robot])) != NO_TASK:
                goals[place] = self._stops(task)[int(self._visited[robot])]
        return NextGoals(goals, done_mask)

    def errands(self, robot: int) -> Sequence[int] | None:
        """Return the cells of the task that `robot` has; None where it has none."""
        task = int(self._task[robot])
        return None if task == NO_TASK else self._stops(task)

    def _stops(self, task: int) -> Sequence[int]:
        return self._tasks[task % len(self._tasks)]

    def _ended(self) -> None:
        """Note that a task has ended."""

    @abstractmethod
    def _take(self, robot: int, cell: int) -> int:
        """Return the next task of `robot`, which stands on `cell`; NO_TASK where there is none for it."""


class RevealedTasks(TaskList):
    """Tasks from a list, of which `revealed` are known at a time, those that robots have included.

    Where one ends the next of the list is revealed, after the last the first again, as the League of Robot Runners does
    since 2024. A robot that is free takes the one that begins nearest to it, along the rows and columns of a grid with
    `width` cells in a row; of equals the one that was revealed first. It stays where it is while others have all.
    """

    def __init__(self, robots: int, tasks: Sequence[Sequence[int]], revealed: float, width: int) -> None:
        super().__init__(robots, tasks)
        self._width = width
        count = int(revealed * robots)
        if count < 1:
            raise InvalidValueError(f"numTasksReveal: {revealed:g} times {robots} robots is less than one task")
        self._open = list(range(count))
        """Numbers of the tasks that are known and that no robot has; those behind the last begin the list again."""
        self._revealed = count

    def _ended(self) -> None:
        """Reveal another one for each that ends."""
        self._open.append(self._revealed)
        self._revealed += 1

    def _take(self, robot: int, cell: int) -> int:
        if not self._open:
            return NO_TASK
        row, column = divmod(cell, self._width)
        firsts = np.array([self._stops(task)[0] for task in self._open])
        away = np.abs(firsts // self._width - row) + np.abs(firsts % self._width - column)
        return self._open.pop(int(away.argmin()))


class ListedTasks(TaskList):
    """Tasks from a list, each for one robot.

    With `in_turn` task i is for robot i modulo the number of robots (LoRR's "roundrobin"), else the next task goes to
    the next robot that is free, the lower numbers first. A robot for which none is left stays where it is.
    """

    def __init__(self, robots: int, tasks: Sequence[Sequence[int]], *, in_turn: bool) -> None:
        super().__init__(robots, tasks)
        self._in_turn = in_turn
        self._following: Ints = np.arange(robots) if in_turn else np.zeros(1, np.int64)
        """The next task of each robot, or of all."""

    def _take(self, robot: int, cell: int) -> int:
        own = robot if self._in_turn else 0
        task = int(self._following[own])
        if task >= len(self._tasks):
            return NO_TASK
        self._following[own] += self.robots if self._in_turn else 1
        return task
