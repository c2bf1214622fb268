"""Planners that return what cannot be driven, raise, or never return: counted refusals, and safe robots."""

from __future__ import annotations

import gc
import re
from threading import Event, current_thread
from typing import Any

import numpy as np
import pytest
from crowds import RADIUS, Crowd
from networks import HALL, site_of

from fleet_sim.base.arrays import Ints
from fleet_sim.warehouse.traffic import Planner, Problem, make_planner
from fleet_sim.warehouse.traffic.planning import Aside

RELEASED = Event()
HUNG = Event()


class Bad(Planner):
    """Plans as PIBT does, but badly in each second call."""

    def __init__(self, network: Any, **settings: Any) -> None:
        super().__init__(network, **settings)
        self._good = make_planner("pibt", network)
        self._calls = 0

    def prepare(self) -> None:
        """Compile now, which on a busy machine takes longer than a plan may."""
        self._good.prepare()

    def plan(self, problem: Problem) -> Ints:
        """Return a good plan, or what `spoilt` makes of it."""
        self._calls += 1
        paths = self._good.plan(problem)
        return paths if self._calls % 2 else self.spoilt(paths)

    def spoilt(self, paths: Ints) -> Ints:
        raise NotImplementedError


class Colliding(Bad):
    def spoilt(self, paths: Ints) -> Ints:
        return np.repeat(paths[:1], len(paths), axis=0)


class Jumping(Bad):
    def spoilt(self, paths: Ints) -> Ints:
        return np.concatenate((paths[:, :1], paths[::-1, -1:]), axis=1)


class Short(Bad):
    def spoilt(self, paths: Ints) -> Ints:
        return paths[:, :2]


class Strange(Bad):
    def spoilt(self, paths: Ints) -> Any:
        return "go ahead"


class Raising(Bad):
    def spoilt(self, paths: Ints) -> Ints:
        raise ZeroDivisionError("no plan today")


class Hanging(Bad):
    def spoilt(self, paths: Ints) -> Ints:
        HUNG.set()
        RELEASED.wait()
        return paths


@pytest.mark.parametrize(
    ("planner", "reason"),
    [
        (Colliding, "starts at node"),
        (Jumping, "not neighbours|both at node"),
        (Short, "steps"),
        (Strange, "expected whole numbers"),
        (Raising, "ZeroDivisionError: no plan today"),
    ],
)
def test_a_bad_plan_is_one_refusal_and_the_traffic_goes_on(planner: type[Bad], reason: str) -> None:
    crowd = Crowd(site_of(HALL), 12, seed=2, planner=f"{__name__}:{planner.__name__}")
    crowd.roam()
    crowd.run(30.0)
    figures = crowd.traffic.figures()
    assert figures["plans"] == 15
    assert figures["refusals"] == 15
    assert re.search(reason, figures["last_refusal"])
    assert crowd.done > 5
    assert crowd.closest >= 2.0 * RADIUS


def test_a_planner_that_never_returns_does_not_keep_the_simulation() -> None:
    RELEASED.clear()
    HUNG.clear()
    try:
        crowd = Crowd(site_of(HALL), 6, seed=2, planner=f"{__name__}:Hanging", time_limit=0.2)
        crowd.roam()
        crowd.run(4.0)
    finally:
        RELEASED.set()
    figures = crowd.traffic.figures()
    assert HUNG.is_set()
    assert figures["refusals"] == 2
    assert "did not return within" in figures["last_refusal"]
    # A new planner is asked after each that did not return.
    assert figures["plans"] == 2


def test_on_failure_stop_stops_all_robots() -> None:
    crowd = Crowd(site_of(HALL), 6, seed=2, planner=f"{__name__}:Raising", on_failure="stop")
    crowd.roam()
    crowd.run(4.0)
    places = crowd.sim.world.position[crowd.traffic.rows].copy()
    crowd.run(4.0)
    np.testing.assert_array_equal(crowd.sim.world.position[crowd.traffic.rows], places)
    assert crowd.traffic.figures()["refusals"] == 1


def test_on_failure_replan_asks_again_in_the_next_step() -> None:
    crowd = Crowd(site_of(HALL), 6, seed=2, planner=f"{__name__}:Raising", on_failure="replan")
    crowd.roam()
    crowd.run(3.0)
    figures = crowd.traffic.figures()
    assert (figures["plans"], figures["refusals"]) == (3, 2)


def test_robots_drive_on_while_a_plan_is_made() -> None:
    done = []
    for planning_time in ("free", 0.8):
        crowd = Crowd(site_of(HALL), 8, seed=3, planning_time=planning_time)
        crowd.roam()
        crowd.run(60.0)
        assert crowd.closest >= 2.0 * RADIUS
        assert crowd.traffic.figures()["refusals"] == 0
        done.append(crowd.done)
    assert 0.8 * done[0] <= done[1] < done[0]


@pytest.mark.parametrize("policy", ["all_stopped", "on_demand"])
def test_other_policies_bring_robots_to_their_goals(policy: str) -> None:
    crowd = Crowd(site_of(HALL), 8, seed=3, policy=policy)
    crowd.roam()
    crowd.run(60.0)
    assert crowd.done > 8
    assert crowd.closest >= 2.0 * RADIUS
    assert crowd.traffic.figures()["plans"] < 60


# ---- Calls that may never return -------------------------------------------------------------------------------------


def test_calls_share_a_thread_until_one_is_late() -> None:
    aside: Aside[object] = Aside()
    first = aside.call(current_thread, 60.0)
    assert aside.call(current_thread, 60.0) is first is not current_thread()
    with pytest.raises(ZeroDivisionError):
        aside.call(lambda: 1 / 0, 60.0)
    assert aside.call(current_thread, 60.0) is first
    open_gate, ended = Event(), Event()

    def hang() -> str:
        open_gate.wait(60.0)
        ended.set()
        return "too late"

    with pytest.raises(TimeoutError):
        aside.call(hang, 0.01)
    # Its answer is nobody's, whenever it comes.
    open_gate.set()
    assert ended.wait(60.0)
    second = aside.call(current_thread, 60.0)
    assert second is not first
    del aside
    # Errors that were raised hold the frames that they passed.
    gc.collect()
    # Both threads end with what asked them.
    for thread in (first, second):
        thread.join(60.0)  # type: ignore[attr-defined]
        assert not thread.is_alive()  # type: ignore[attr-defined]
