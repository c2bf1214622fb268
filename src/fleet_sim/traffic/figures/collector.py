"""FigureCollector: what a fleet did, gathered step by step on arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.errors import MissingDependencyError
from fleet_sim.sites.grid import Grid
from fleet_sim.traffic.figures.closest import Closest, RobotOutlines, discs_of
from fleet_sim.traffic.figures.heat import HeatMap
from fleet_sim.traffic.figures.series import Series
from fleet_sim.traffic.figures.standstill import Standstill
from fleet_sim.traffic.figures.states import STATES, Role, StateKind
from fleet_sim.traffic.figures.tally import Logs, tally

TASKS = "tasks_done"


class FigureCollector:
    """Figures of robots numbered from 0, each in one of `states` at a time.

    `deadlock_after` is the time in s after which a standstill of all counts as a deadlock, see `Standstill`. Robots may
    come and go: those of a step are the ones that `observe` is given. `levels` are names of further quantities that
    change over time, such as how many orders wait.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        states: Sequence[StateKind] = STATES,
        deadlock_after: float = 30.0,
        levels: Sequence[str] = (),
    ) -> None:
        self.states = tuple(states)
        self.levels = tuple(levels)
        self.heat = HeatMap(grid)
        self.closest = Closest()
        self.standstill = Standstill(deadlock_after)
        self.series = Series([TASKS, *(state.name for state in self.states), *self.levels])
        self.simulated = 0.0
        self.tasks_done = 0
        self._waits = np.array([state.role is Role.WAITS for state in self.states])
        self._roles = np.array([list(Role).index(state.role) for state in self.states])
        self._in_state: Floats = np.zeros((len(self.states), 0))
        self._driven: Floats = np.zeros(0)
        self._points: Floats = np.zeros((0, 2))
        self._present: Bools = np.zeros(0, bool)
        self._flow: list[Floats] = []
        self._done_now = 0

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def begin(self, robots: Ints, points: Floats, outlines: RobotOutlines | None = None) -> None:
        """Say where robots (K,), ascending, are before the first step: they drive from these `points` (K, 2).

        `outlines` are theirs in the world; without them they have no extent.
        """
        if len(robots):
            self._grow(max(int(robots[-1]) + 1, len(self._driven)))
        self.closest.look(discs_of(points) if outlines is None else outlines)
        self._points[robots] = points
        self._present[robots] = True

    def carried(self, robots: Ints, points: Floats) -> None:
        """Say that robots (K,), seen before, are at `points` (K, 2) by now without having driven there."""
        self._points[robots] = points

    def observe(
        self,
        dt: float,
        robots: Ints,
        points: Floats,
        codes: Ints,
        levels: Sequence[float] = (),
        outlines: RobotOutlines | None = None,
    ) -> None:
        """Look at `robots` (K,), ascending, at `points` (K, 2), in the states `codes` (K,) for the last `dt` s.

        `levels` are what the quantities of that name were; `outlines` as for `begin`.
        """
        # Numbers are ascending, so the last one tells how many there are.
        if len(robots) and int(robots[-1]) >= len(self._driven):
            self._grow(int(robots[-1]) + 1)
        self.closest.look(discs_of(points) if outlines is None else outlines)
        counts = self._add_up(dt, robots, points, codes)
        count = len(self.states)
        amounts = np.empty(1 + count + len(self.levels))
        amounts[0] = self._done_now
        amounts[1 : 1 + count] = counts
        amounts[1 + count :] = levels
        amounts[1:] *= dt
        self.series.add(dt, amounts)
        self._done_now = 0
        self.simulated += dt

    def tasks_ended(self, times: Floats) -> None:
        """Count tasks that ended in this step; `times` (K,) in s is how long each took since a robot had it."""
        if len(times):
            self._flow.append(np.array(times))
            self._done_now += len(times)
            self.tasks_done += len(times)

    def _add_up(self, dt: float, robots: Ints, points: Floats, codes: Ints) -> Ints:
        """Add up the step, and return how many robots (S,) are in each state."""
        counts, most = np.zeros(len(self.states), np.int64), len(self._driven)
        logs = Logs(self._driven, self._points, self._present, self.standstill.waited(most), self._in_state)
        step = (dt, robots, points, codes, self._waits, self.heat.squares(most), logs, counts)
        try:
            longest = tally(*step)
        except MissingDependencyError:
            longest = tally.in_python(*step)
        self.standstill.judge(dt, longest, self._by_role(counts))
        return counts

    def _by_role(self, counts: Ints) -> Ints:
        """Return how many robots (4,) are in each role, from those (S,) in each state."""
        return np.bincount(self._roles, weights=counts, minlength=len(Role)).astype(np.int64)

    def _grow(self, count: int) -> None:
        more = count - len(self._driven)
        self._in_state = np.pad(self._in_state, ((0, 0), (0, more)))
        self._driven = np.pad(self._driven, (0, more))
        self._points = np.pad(self._points, ((0, more), (0, 0)))
        self._present = np.pad(self._present, (0, more))

    # ---- afterwards --------------------------------------------------------------------------------------------------

    @property
    def flow_times(self) -> Floats:
        """How long each task took (K,) in s, from when a robot had it until it was done."""
        return np.concatenate(self._flow) if self._flow else np.zeros(0)

    @property
    def driven(self) -> Floats:
        """How far each robot (N,) drove, in m."""
        return self._driven

    def seconds_in(self, state: str) -> Floats:
        """Return how long each robot (N,) was in the state of that name, in s."""
        return self._in_state[[known.name for known in self.states].index(state)]

    def shares(self) -> dict[str, float]:
        """Return the share of all robots' time in each state, by name."""
        total = float(self._in_state.sum())
        sums = self._in_state.sum(axis=1).tolist()
        return {state.name: sum_ / total if total else 0.0 for state, sum_ in zip(self.states, sums, strict=True)}

    def waiting_times(self) -> Floats:
        """Return how long each robot (N,) stood on its way, waiting or blocked, in s."""
        return np.asarray(self._in_state[self._waits].sum(axis=0))
