"""Planning: asks a planner for paths, in time, and keeps count of those that robots may not drive."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.errors import FleetSimError, PlanError
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.planners.planner import Planner, checked_plan, plan_nothing
from fleet_sim.traffic.planners.registry import make_planner
from fleet_sim.traffic.problem import Problem
from fleet_sim.traffic.settings import TrafficSettings

Answer = TypeVar("Answer")


class Late(Exception):
    """A call has not returned within its time."""


class Aside(Generic[Answer]):
    """Makes calls one by one in a thread of its own, which ends with this object or with the program.

    A new thread for each call would cost a tenth of a millisecond, and as much again for the memory that it takes anew.
    """

    def __init__(self) -> None:
        self._close: Callable[[], object] | None = None

    def call(self, work: Callable[[], Answer], limit: float) -> Answer:
        """Return what `work` returns, or raise what it raises; raises Late after `limit` s of wall time.

        A late call goes on in its thread, which is left to it: the next call has a new one.
        """
        if self._close is None:
            self._asked, self._answers = SimpleQueue[Callable[[], Answer] | None](), SimpleQueue[Answer | _Raised]()
            # A daemon: one that never returns must not keep the program from ending.
            Thread(target=_serve, args=(self._asked, self._answers), name="planner", daemon=True).start()
            self._close = weakref.finalize(self, self._asked.put, None)
        self._asked.put(work)
        try:
            answer = self._answers.get(timeout=limit)
        except Empty:
            # Queues of its own, so that its answer is nobody's when it comes after all.
            self._close()
            self._close = None
            raise Late from None
        if isinstance(answer, _Raised):
            raise answer.error
        return answer


class _Raised:
    """What a call raised: it belongs to the thread that asks."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _serve(asked: SimpleQueue[Callable[[], Answer] | None], answers: SimpleQueue[Answer | _Raised]) -> None:
    while (work := asked.get()) is not None:
        try:
            answers.put(work())
        except BaseException as error:
            answers.put(_Raised(error))
        # Else the last problem and its arrays would live until the next one.
        del work


log = logging.getLogger(__name__)

TIMES_KEPT = 100_000
GRACE = 0.5
"""Seconds that a planner has beyond its time limit: it looks at the clock between searches."""


class Planned(NamedTuple):
    """The checked paths of a plan, None where there are none, and how long the planner took in s."""

    paths: Ints | None
    took: float


class Planning:
    """Plans with one planner, within its time limit.

    A planner that raises, or returns what robots may not drive, or nothing in time, costs one refusal: it is counted,
    logged, and its reason kept. One that did not return is left to itself, and a new one asked from then on.
    """

    def __init__(self, network: Network, settings: TrafficSettings) -> None:
        """Raises FleetSimError for a planner that there is not, or cannot be made."""
        self._network = network
        self._settings = settings
        # Compiled before the first plan, whose time would depend on whether it was before: what checks the plans of
        # planners of the user's own, too, and what they ask of the network.
        plan_nothing(make_planner("astar", network))
        self._made().prepare()
        self.planner = self._made()
        self._aside: Aside[Ints] = Aside()
        self.plans = 0
        self.refusals = 0
        self.last_refusal = ""
        self.times: deque[float] = deque(maxlen=TIMES_KEPT)
        """Seconds of wall time that plans took, the latest last."""

    def plan(self, problem: Problem) -> Planned:
        """Return the paths for `problem`."""
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
        return Planned(paths, took)

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
        except Late:
            # A new one: the old one may still be at work, on state that nobody may share with it.
            self.planner = self._made()
            raise PlanError(f"planner {self._settings.planner!r} did not return within {limit:g} s") from None
