"""PlanTiming: when plans are made, from where, and when they are driven; and what is driven meanwhile."""

from __future__ import annotations

import logging
import math
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from copy import deepcopy
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import FleetSimError, InvalidValueError, PlanError
from fleet_sim.base.kernels import is_in_python, seconds_in_python
from fleet_sim.base.registry import saved
from fleet_sim.base.request_budget import Work, is_from_outside
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.traffic.columns import BROKEN, STOPPED, UNFIT, TrafficColumns, turning_speeds
from fleet_sim.warehouse.traffic.dependency_graph import ActionDependencyGraph, Tracks
from fleet_sim.warehouse.traffic.execution import Execution
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.planner import ONE_CELL, USUAL_WINDOW, Planner, checked_plan, plan_nothing
from fleet_sim.warehouse.traffic.planners.registry import PLANNERS, make_planner
from fleet_sim.warehouse.traffic.policies import POLICIES, Situation
from fleet_sim.warehouse.traffic.problem import Problem, check_paths
from fleet_sim.warehouse.traffic.settings import COUNTED, FREE, OnFailure, TrafficSettings
from fleet_sim.world.world import World

# What robots drive along the last plan while the next one is made, which takes time: it begins where they will be.

TICK = 0.25
"""Time in s from one look at who may go on to the next."""


@saved
class Driven(NamedTuple):
    """Nodes of robots by object id at each step, `paths` (R, T + 1), and `bases` (R,): their last places granted at
    step 0, as the dependency graph counts them since its plan number `plan`."""

    ids: Ints
    paths: Ints
    bases: Ints
    plan: int

    def of(self, ids: Ints) -> Driven:
        """Return those of robots (N,), which it has."""
        places = places_of(self.ids, ids)
        return Driven(ids, self.paths[places], self.bases[places], self.plan)

    def ahead(self, granted: Ints, ends: Ints) -> Ints:
        """Return what is left of the paths (R, S + 1) of robots whose last `granted` places (R,) are at `ends` (R,)."""
        passed_mask = _moves(self.paths) <= (granted - self.bases)[:, None]
        paths = np.where(passed_mask, ends[:, None], self.paths)
        return paths[:, int(passed_mask.all(axis=0).sum()) - 1 :]


def places_of(ids: Ints, asked: Ints) -> Ints:
    """Return where in `ids` (R,) each of `asked` (N,) is, -1 for those that are not."""
    if not len(ids):
        return np.full(len(asked), -1)
    if np.array_equal(ids, asked):
        return np.arange(len(ids))
    order = np.argsort(ids, kind="stable")
    places = np.minimum(np.searchsorted(ids[order], asked), len(ids) - 1)
    return np.where(ids[order][places] == asked, order[places], -1)


def _moves(paths: Ints) -> Ints:
    """Return how many moves (R, T + 1) robots have made at each step."""
    return np.pad(np.cumsum(paths[:, 1:] != paths[:, :-1], axis=1), ((0, 0), (1, 0)))


class Pace(NamedTuple):
    """How long in s robots (R,) take: until they are at the end of what was granted, for a m, and for a turn by `turns`
    rad more than 0, to stop before it included; and in which direction in rad they drive or stand there."""

    ready: Floats
    per_metre: Floats
    stop: Floats
    turn: Floats
    yaws: Floats


def pace_of(world: World, table: TrafficColumns, graph: ActionDependencyGraph, rows: Rows, lane: float) -> Pace:
    """Return the pace of `rows` (R,) on lanes of about `lane` m; those that are held are never ready."""
    motion, ways = world.motion, graph.ways
    speeds = np.minimum(motion.linear_limit[rows], motion.linear_limits[rows, 0]) * table.pace[rows]
    accels = np.minimum(motion.linear_accel[rows], motion.linear_accels[rows, 0])
    left = (table.granted[rows] - table.at[rows]) * lane - table.progress[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        per_metre = np.nan_to_num(1.0 / speeds, nan=np.inf)
        stop = np.nan_to_num(speeds / accels)
        spins = turning_speeds(world, rows)
        turn = np.where(table.turns[rows] & (spins > 0.0), 1.0 / spins, 0.0)
    ready = np.where(table.held[rows] != 0, np.inf, np.maximum(left, 0.0) * per_metre)
    drives_mask = table.granted[rows] > table.at[rows]
    lanes = graph.tracks.yaws[ways.lanes[rows, table.granted[rows]]]
    return Pace(ready, per_metre, stop, turn, np.where(drives_mask, lanes, table.yaw[rows]))


def kept_for(paths: Ints, goals: Ints, shut: Bools, positions: Floats, pace: Pace, seconds: float) -> Ints:
    """Return `paths` (R, T + 1) as far as robots come along them in `seconds`, as they pass nodes in the same order.

    They end at their `goals` (R,), and enter none of `shut` (N,) nodes at `positions` (N, 2) in m. A robot goes to its
    next node when all have left that who are there before it by the plan.
    """
    robots, counts = np.arange(len(paths)), _moves(paths)
    steps = [np.flatnonzero(row) + 1 for row in paths[:, 1:] != paths[:, :-1]]
    most = max(map(len, steps), default=0)
    # By robot and move: the step of the plan, the node, and how long it takes to get there.
    never = paths.shape[1]
    when = np.full((len(paths), most + 1), never)
    for robot, own in enumerate(steps):
        when[robot, : len(own)] = own
    nodes = paths[robots[:, None], np.minimum(when, never - 1)]
    ways = positions[nodes] - positions[np.column_stack((paths[:, 0], nodes[:, :-1]))]
    yaws = trig.arctan2(ways[..., 1], ways[..., 0])
    bends = np.abs(quaternions.wrapped(yaws - np.column_stack((pace.yaws, yaws[:, :-1]))))
    takes = np.sqrt((ways * ways).sum(axis=2)) * pace.per_metre[:, None]
    takes += np.where(bends > 1e-6, bends * pace.turn[:, None] + (pace.stop * (pace.turn > 0.0))[:, None], 0.0)
    at, ready, made = paths[:, 0].copy(), pace.ready.copy(), np.zeros(len(paths), np.int64)
    firsts = np.empty(len(positions), np.int64)
    for time in np.arange(0.0, seconds + TICK, TICK).tolist():
        while True:
            # Who is the next to enter each node, of all who have not yet.
            firsts[:] = never
            left_mask = np.arange(most + 1) >= made[:, None]
            np.minimum.at(firsts, nodes[left_mask], when[left_mask])
            step, node = when[robots, made], nodes[robots, made]
            goes_mask = (step < never) & (ready <= time) & (step == firsts[node]) & ~shut[node] & (at != goals)
            taken = np.bincount(at, minlength=len(positions))
            goes_mask &= taken[node] == 0
            if not goes_mask.any():
                break
            ready[goes_mask] = np.maximum(ready, time)[goes_mask] + takes[robots, made][goes_mask]
            at[goes_mask] = node[goes_mask]
            made[goes_mask] += 1
    ends = np.where(counts <= made[:, None], paths, at[:, None])
    return ends[:, : int(np.max(when[robots, np.maximum(made - 1, 0)] * (made > 0), initial=0)) + 1]


# Planning: asks a planner for paths, in time, and keeps count of those that robots may not drive.


class Aside:
    """Makes calls one by one in a thread of its own, which ends with this object or with the program.

    A new thread for each call would cost a tenth of a millisecond, and as much again for the memory that it takes anew.
    """

    def __init__(self) -> None:
        self._close: Callable[[], object] | None = None

    def call(self, work: Callable[[], Ints], limit: float) -> Ints:
        """Return what `work` returns, or raise what it raises; raises TimeoutError after `limit` s of wall time.

        A late call goes on in its thread, which is left to it: the next call has a new one.
        """
        if self._close is None:
            self._asked, self._answers = SimpleQueue[Callable[[], Ints] | None](), SimpleQueue[Future[Ints]]()
            # A daemon: one that never returns must not keep the program from ending.
            Thread(target=_serve, args=(self._asked, self._answers), name="planner", daemon=True).start()
            self._close = weakref.finalize(self, self._asked.put, None)
        self._asked.put(work)
        try:
            answer = self._awaited(limit)
        except Empty:
            # Queues of its own, so that its answer is nobody's when it comes after all.
            self._close()
            self._close = None
            raise TimeoutError from None
        return answer.result()

    def _awaited(self, limit: float) -> Future[Ints]:
        for _ in range(MOST_LIMITS - 1):
            since = seconds_in_python()
            try:
                return self._answers.get(timeout=limit)
            except Empty:
                if not is_in_python(since):
                    raise
        return self._answers.get(timeout=limit)


MOST_LIMITS = 20
"""How many times its limit a call may take while kernels run in Python, some hundred times slower than compiled."""


def _serve(asked: SimpleQueue[Callable[[], Ints] | None], answers: SimpleQueue[Future[Ints]]) -> None:
    while (work := asked.get()) is not None:
        answer: Future[Ints] = Future()
        try:
            answer.set_result(work())
        except BaseException as error:  # it belongs to the thread that asks
            answer.set_exception(error)
        answers.put(answer)
        # Else the last problem and its arrays would live until the next one.
        del work, answer


log = logging.getLogger(__name__)

TIMES_KEPT = 100_000
GRACE = 0.5
"""Seconds that a planner has beyond its time limit: it looks at the clock between searches."""


class Planning:
    """Plans with one planner, within its time limit.

    A planner that raises, or returns what robots may not drive, or nothing in time, costs one refusal: it is counted,
    logged, and its reason kept. One that did not return is left to itself, and a new one asked from then on.
    """

    def __init__(self, network: Network, settings: TrafficSettings) -> None:
        """Raises FleetSimError for an unknown planner, or one that cannot be made."""
        self._network = network
        self._settings = settings
        if network.stands and not PLANNERS.find(settings.planner).keeps_stands:
            raise InvalidValueError(f"planner {settings.planner!r} {ONE_CELL}")
        # Compiled before the first plan, whose time would depend on whether it was before: what checks the plans of
        # planners of the user's own, too, and what they ask of the network.
        plan_nothing(make_planner("astar", network))
        self._made().prepare()
        self.planner = self._made()
        self._aside = Aside()
        self.plans = 0
        self.refusals = 0
        self.last_refusal = ""
        self.times: deque[float] = deque(maxlen=TIMES_KEPT)
        """Seconds of wall time that plans took, the latest last."""

    def plan(self, problem: Problem) -> tuple[Ints | None, float]:
        """Return the checked paths for `problem`, None where there are none, and how long the planner took in s."""
        begin = perf_counter()
        try:
            paths = self._in_time(problem)
        except FleetSimError as error:
            self.refuse(str(error))
            paths = None
        took = perf_counter() - begin
        self.times.append(took)
        # Refused ones took time, too, but are no plans.
        self.plans += paths is not None
        return paths, took

    def refuse(self, reason: str) -> None:
        """Count a plan that is not driven."""
        # The same reason again is counted, but not written again.
        if reason != self.last_refusal:
            log.warning("no plan is driven: %s", reason)
        self.refusals += 1
        self.last_refusal = reason

    def figures(self) -> dict[str, Any]:
        """Return how many plans there were, and how long they took in ms."""
        # Zeros, not nothing: figures have the same keys from the first step on.
        times = np.array(self.times) * 1e3 if self.times else np.zeros(1)
        return {
            "plans": self.plans,
            "refusals": self.refusals,
            "last_refusal": self.last_refusal,
            "planning_ms_p50": float(np.percentile(times, 50)),
            "planning_ms_p99": float(np.percentile(times, 99)),
            "planning_ms_most": float(times.max()),
        }

    def _made(self) -> Planner:
        return make_planner(self._settings.planner, self._network, **self._settings.settings)

    def _in_time(self, problem: Problem) -> Ints:
        """Return the checked plan; raises FleetSimError, for a planner that does not return in time too."""
        # Taken now: after a time-out the late thread keeps the planner that it has, and a new one takes over.
        planner = self.planner
        limit = self._settings.time_limit + GRACE
        try:
            return self._aside.call(lambda: checked_plan(planner, problem), limit)
        except TimeoutError:
            # A new one: the old one may still be at work, on state that nobody may share with it.
            self.planner = self._made()
            raise PlanError(f"planner {self._settings.planner!r} did not return within {limit:g} s") from None


LONGEST = 1000


def usual_lane(tracks: Tracks) -> float:
    """Return the length in m that half of all lanes have at most."""
    # Those within a place have none.
    lengths = tracks.lengths[(tracks.neighbours.ravel() >= 0) & (tracks.lengths > 0.0)]
    return float(np.median(lengths)) if len(lengths) else 1.0


def steps_ahead(world: World, rows: Rows, lane: float, period: float) -> int:
    """Return the least window with which no robot in `rows` has to brake before the next plan, `period` s later.

    That is what the fastest drives until then and needs to stop, in lanes of `lane` m; one step that it is on, and one
    to go on with.
    """
    speeds, brakes = world.motion.linear_limit[rows], world.motion.linear_accel[rows]
    with np.errstate(invalid="ignore"):
        ways = np.ceil(speeds * period / lane) + np.ceil(0.5 * speeds * speeds / brakes / lane)
    # Robots without limits are as fast as they like.
    most = float(np.where(np.isfinite(ways), ways, LONGEST).max(initial=0.0))
    return min(int(min(most, LONGEST)) + 2, LONGEST)


UNPLANNED = STOPPED | BROKEN | UNFIT
"""Reasons to stand for which robots are not planned for, but around."""


@saved
class Pending(NamedTuple):
    """A plan that is not ready yet: paths of robots by object id, None where it failed; and the tick it is ready."""

    ids: Ints
    paths: Ints | None
    tick: int


PLANNING = Work("nodes of planning per simulated second", 1e6, 1e6)
"""They take about half a second. A plan may be made at once of what a second has, and of no more."""
WAYS = 16
"""Nodes to which the distance is measured in the time that a planner looks at one; each robot may have a new goal."""


MOST_TICKS = 100


class PlanTiming:
    """Makes plans when the policy says so, from the ends of what is granted, and gives them to the execution."""

    def __init__(
        self,
        world: World,
        table: TrafficColumns,
        network: Network,
        execution: Execution,
        settings: TrafficSettings,
        seed: int,
    ) -> None:
        """Raises FleetSimError for an unknown planner or policy."""
        self.changed = True
        """Whether something that plans depend on changed since the last one."""
        self.cut_off = 0
        """Robots of the last plan that no way led to their goals; they waited, and gave way."""
        self.barred: Bools = np.zeros(len(network), np.bool_)
        """Nodes (N,) that wide robots enter only as their goals."""
        self.first: Rows = NO_ROWS
        """Robots that go before all others, set anew in each step by who sends them."""
        self.left: Bools = np.zeros(len(network), np.bool_)
        """Nodes (N,) that robots leave, and that nobody goes to, set anew in each step."""
        self._world = world
        self._table = table
        self._network = network
        self._execution = execution
        self._graph = execution.graph
        self._lane = usual_lane(execution.graph.tracks)
        self._settings = settings
        self._seed = seed
        self._planning = Planning(network, settings)
        # Robots, or their goals, may need more than was counted when they came.
        self._most_work = PLANNING.most * self._shortest() if is_from_outside() else math.inf
        # Made here, so that a policy that does not exist is noticed before the first step.
        self._policy = POLICIES.find(settings.policy)()
        self._next_tick = 0
        self._pending: Pending | None = None
        self._driven: Driven | None = None
        """The plan that robots drive, where planning takes time."""

    def step(self, blocked: Bools) -> None:
        """Plan, if it is time to; `blocked` (N,) nodes are not entered."""
        tick = self._world.clock.tick
        if self._pending is not None:
            if tick >= self._pending.tick:
                self._drive(self._pending, waited=True)
            # While a plan is on its way nothing else is planned: it begins where grants end now.
            return
        if tick < self._next_tick or not self._policy.plans(self._situation()):
            return
        self._next_tick = tick + max(self._world.clock.ticks(self._settings.period), 1)
        self._plan(blocked, tick)

    @property
    def is_due(self) -> bool:
        """Whether a plan may be made in this step."""
        return self._pending is None and self._world.clock.tick >= self._next_tick

    def span(self) -> int:
        """Return the ticks until the next plan, that of this step not counted; 1 where it may come at any time.

        At most MOST_TICKS: between two steps it can be paused and stopped.
        """
        settings, clock = self._settings, self._world.clock
        if settings.policy != "period" or settings.planning_time != FREE or settings.on_failure is OnFailure.REPLAN:
            return 1
        left = max(clock.ticks(settings.period), 1) if self.is_due else self._next_tick - clock.tick
        return min(left, MOST_TICKS)

    def hurry(self) -> None:
        """Plan in the next step, if the policy agrees."""
        self._next_tick = 0

    def drive(self, rows: Rows, paths: Ints) -> None:
        """Give paths that were planned elsewhere to the execution; raises PlanError where they cannot be driven."""
        if paths.ndim != 2 or len(paths) != len(rows) or paths.shape[1] < 2:
            raise PlanError(f"paths: expected a row of at least 2 nodes for each of {len(rows)} robots")
        starts = self._graph.ends(self._table, rows)
        ids = self._world.object_id[rows]
        # As a planner's own: paths from elsewhere pass the same checks.
        wide = self._table.wide[rows]
        check_paths(Problem(self._network, starts, paths[:, -1], ids=ids, barred=self.barred, wide=wide), paths)
        self._graph.append(self._table, self._execution.rows, rows, paths)

    @property
    def planner(self) -> Planner:
        """What makes the plans."""
        return self._planning.planner

    @property
    def times(self) -> Floats:
        """How long the latest plans took (K,) in s."""
        return np.array(self._planning.times)

    def _situation(self) -> Situation:
        table, rows = self._table, self._execution.rows
        standing = not (table.speed[rows].any() or table.spin[rows].any())
        planned_mask = table.held[rows] & UNPLANNED == 0
        # Who stands for a reason has not used up a plan; it is held.
        spent_mask = planned_mask & (table.at[rows] == table.length[rows] - 1)
        spent_mask &= (table.goal[rows] >= 0) & ~table.arrived[rows]
        return Situation(self.changed, standing, bool(spent_mask.any()))

    def _plan(self, blocked: Bools, tick: int) -> None:
        """Plan for all robots that are to be planned for, and drive by it when its planning time is over.

        Until then nothing more is granted. A failure is counted, and the robots go on with what they were granted.
        """
        rows = self._execution.rows
        mask = ~self._unplanned_mask(rows)
        # Before planning, as the plan takes into account what has changed up to now.
        self.changed = False
        # Nobody to plan for, which is no failure.
        if not mask.any():
            return
        planned = rows[mask]
        delay = self._settings.planning_time
        try:
            starts = self._graph.ends(self._table, planned) if delay == FREE else self._go_on(planned, blocked)
            problem = self._problem(planned, rows[~mask], blocked, starts)
            paths, took = self._planning.plan(problem)
        except PlanError as error:
            self._planning.refuse(str(error))
            paths, took = None, 0.0
        seconds = 0.0 if delay == FREE else took if delay == COUNTED else float(delay)
        pending = Pending(self._world.object_id[planned], paths, tick + self._world.clock.ticks(seconds))
        if pending.tick > tick:
            self._pending = pending
        else:
            self._drive(pending)

    def _go_on(self, rows: Rows, blocked: Bools) -> Ints:
        """Let robots in `rows` drive on along the last plan while the next one is made; return where (R,) they will be.

        What they drive until then is settled, and the rest of that plan dropped: the next one begins where that ends.
        """
        table, graph, known = self._table, self._graph, self._driven
        ends, ids = graph.ends(table, rows), self._world.object_id[rows]
        left = np.repeat(ends[:, None], 2, axis=1)
        # With claims it is not known what else would have to be left before.
        more = self._network.claims or self._network.stands
        if known is not None and known.plan == graph.plans and not more:
            there = np.flatnonzero(places_of(known.ids, ids) >= 0)
            ahead = known.of(ids[there]).ahead(table.granted[rows[there]], ends[there])
            left = np.repeat(ends[:, None], max(ahead.shape[1], 2), axis=1)
            left[there, : ahead.shape[1]] = ahead
            left[there, ahead.shape[1] :] = ahead[:, -1:]
            shut = blocked.copy()
            shut[graph.held(table, np.setdiff1d(self._execution.rows, rows))] = True
            pace = pace_of(self._world, table, graph, rows, self._lane)
            # Beyond that they need room to brake, or would do so before the plan is ready.
            seconds = self._planning_seconds() + float(np.median(pace.stop))
            left = kept_for(left, table.goal[rows], shut, self._network.positions, pace, seconds)
            if left.shape[1] == 1:
                left = np.repeat(left, 2, axis=1)
        self._append(rows, left)
        return np.ascontiguousarray(left[:, -1])

    def _planning_seconds(self) -> float:
        """Return how long in s the next plan is expected to take."""
        delay = self._settings.planning_time
        if delay == COUNTED:
            return self._planning.times[-1] if self._planning.times else 0.0
        return 0.0 if delay == FREE else float(delay)

    def _append(self, rows: Rows, paths: Ints) -> None:
        """Give paths to the execution, and keep them in mind where planning takes time; raises PlanError."""
        self._graph.append(self._table, self._execution.rows, rows, paths)
        if self._settings.planning_time != FREE:
            bases = self._table.granted[rows].copy()
            self._driven = Driven(self._world.object_id[rows].copy(), paths, bases, self._graph.plans)

    def _unplanned_mask(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) stand for long: by themselves, in lockstep with one that does, or behind it."""
        table = self._table
        mask: Bools = (table.held[rows] & UNPLANNED != 0) | table.halted[rows]
        rounds, leaders = table.round[rows], table.leader[rows]
        moved, known = True, np.zeros(table.capacity, np.bool_)
        while moved and mask.any():
            known[rows] = mask
            more = mask | ((leaders >= 0) & known[leaders]) | ((rounds >= 0) & np.isin(rounds, rounds[mask]))
            moved, mask = not np.array_equal(more, mask), more
        return mask

    def _problem(self, rows: Rows, others: Rows, blocked: Bools, starts: Ints) -> Problem:
        """Return the problem of the robots in `rows`, from `starts` (R,); the places of `others` are blocked.

        Robots that cannot reach their goals are asked to stay, and counted in `cut_off`.
        """
        table, graph = self._table, self._graph
        taken = blocked.copy()
        # What others hold, and what they were granted, is in nobody's plan.
        taken[graph.held(table, others)] = True
        taken = self._network.meeting(taken)
        # Robots without a goal are planned for, too: they may have to give way.
        goals = np.where(table.goal[rows] >= 0, table.goal[rows], starts)
        if self.left.any():
            goals = self._goals_elsewhere(starts, goals, taken | ~self._execution.open_mask)
        problem = self._asked(starts, goals, taken, rows)
        lost_mask = problem.unreachable()
        self.cut_off = int(np.count_nonzero(lost_mask))
        # Who cannot reach its goal is asked to stay, so that one closed door stops nobody else.
        return self._asked(starts, np.where(lost_mask, starts, goals), taken, rows) if self.cut_off else problem

    def _goals_elsewhere(self, starts: Ints, goals: Ints, shut: Bools) -> Ints:
        """Return `goals` (R,) for nodes that are to be left: who stands there goes to the nearest other one that
        nobody goes to, and past none that is `shut` (N,); who would go there waits."""
        goals, used = np.where(self.left[goals], starts, goals), self.left.copy()
        used[goals] = True
        for robot in np.flatnonzero(self.left[starts]).tolist():
            found = [int(starts[robot])]
            for node in found:
                if not used[node]:
                    goals[robot], used[node] = node, True
                    break
                ends = self._network.neighbours[node].tolist()
                found += [end for end in ends if end >= 0 and not shut[end] and end not in found]
        return goals

    def _asked(self, starts: Ints, goals: Ints, blocked: Bools, rows: Rows) -> Problem:
        ids, wide = self._world.object_id[rows], self._table.wide[rows]
        barred = self.barred if wide.any() else np.empty(0, bool)
        limits = (self._window(rows), self._settings.time_limit, self._seed)
        first = (np.isin(rows, self.first) if len(self.first) else False) | self.left[starts]
        return Problem(self._network, starts, goals, blocked, *limits, ids, barred, wide, first, self._most_work)

    def charge(self, present: Rows, new: Rows) -> None:
        """Count what plans take for robots in `new`, beside those in `present`; raises InvalidValueError."""
        if not is_from_outside():
            return
        planner, window = self._planning.planner, self._window(np.concatenate((present, new)))
        there, all_of_them = (
            (planner.work(robots, window) + robots * len(self._network) / WAYS) / self._shortest()
            for robots in (len(present), len(present) + len(new))
        )
        PLANNING.charge(all_of_them - there, there)

    def _shortest(self) -> float:
        """Return the time in s from plan to plan at least, at most a second: a longer step than that holds a node."""
        period, dt = self._settings.period, self._world.clock.dt
        return dt if self._settings.on_failure is OnFailure.REPLAN else min(max(period, dt), 1.0)

    def _window(self, rows: Rows) -> int:
        settings = self._settings
        if settings.window is not None:
            return settings.window
        # What is driven while the next plan is made belongs to this one.
        least = steps_ahead(self._world, rows, self._lane, settings.period + self._planning_seconds())
        # Other policies may plan only when all is driven.
        return self._planning.planner.window_for(least if settings.policy == "period" else max(least, USUAL_WINDOW))

    def _drive(self, pending: Pending, *, waited: bool = False) -> None:
        """Let robots drive a plan that is ready; one that `waited` may come from a state file, and is checked again."""
        self._pending = None
        paths = pending.paths
        rows = self._execution.rows
        if paths is not None:
            # Some may have left since they were planned for, and their rows may be others'.
            places = places_of(pending.ids, self._world.object_id[rows])
            driven, paths = rows[places >= 0], paths[places[places >= 0]]
            try:
                joined = self._joined(driven, paths)
                if waited:
                    self._check_moves(joined)
                self._append(driven, joined)
                return
            except PlanError as error:
                self._planning.refuse(str(error))
        if self._settings.on_failure is OnFailure.REPLAN:
            # In the very next step, whatever the period says.
            self._next_tick = 0
        elif self._settings.on_failure is OnFailure.STOP:
            self._table.held[rows] |= np.uint8(STOPPED)

    def _check_moves(self, paths: Ints) -> None:
        """Raise PlanError for moves (R, T + 1) that the network does not have: a plan may come from a state file."""
        nodes = len(self._network)
        if paths.size and not (paths.min() >= 0 and paths.max() < nodes):
            raise PlanError(f"the plan leads to nodes beyond the {nodes} of the network")
        begins, ends = paths[:, :-1], paths[:, 1:]
        if not ((begins == ends) | (self._network.neighbours[begins] == ends[..., None]).any(axis=-1)).all():
            raise PlanError("the plan has moves between nodes that are not neighbours")

    def _joined(self, rows: Rows, paths: Ints) -> Ints:
        """Return `paths` (R, T + 1) of `rows`, after what is left of that which they drive until they begin."""
        known = self._driven
        if known is None or known.plan != self._graph.plans:
            return paths
        own = known.of(self._world.object_id[rows])
        left = own.ahead(self._table.granted[rows], self._graph.ends(self._table, rows))
        return np.concatenate((left, paths[:, 1:]), axis=1)

    # ---- figures and state -------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, Any]:
        """Return how many plans there were, and what became of them."""
        return {**self._planning.figures(), "cut_off": self.cut_off}

    def save(self) -> Any:
        """Return the state, that of the planner included, for a checkpoint."""
        planner = self._planning.planner
        own = {name: value for name, value in vars(planner).items() if name not in ("network", "settings")}
        when = (self._next_tick, self._pending, self._driven, self.changed, self.cut_off)
        # Orders measure ways by the tables as the last plan left them.
        return planner, self._copied(own), *when, self.barred.copy(), self._network.tables.shut

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        planner, state, self._next_tick, self._pending, self._driven, self.changed, self.cut_off, barred, shut = saved
        self.barred[:] = barred
        self._network.tables.block(*shut)
        self._planning.planner = planner
        vars(planner).update(self._copied(state))
        if self._driven is not None:
            # Counted from here on: the graph is as it was.
            self._driven = self._driven._replace(plan=self._graph.plans)

    def _copied(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of what a planner remembers; the network is shared, as it does not change."""
        return deepcopy(state, {id(self._network): self._network})
