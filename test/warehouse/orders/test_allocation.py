"""Who serves what: the allocators, and how wrong answers of others are taken."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot, orders_of, run_until
from hypothesis import given, settings
from hypothesis import strategies as st

import fleet_sim as fs
from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.warehouse.orders import ALLOCATORS, Assignment, OrderState, Request
from fleet_sim.warehouse.orders.allocation import check, make_allocator


def request(costs: Floats, priority: Sequence[int] | None = None, queue: int = 1) -> Request:
    """Idle robots and orders with `costs`; a way between places a and b is |a - b| m long."""
    robots, orders = costs.shape
    numbers = np.arange(orders)
    return Request(
        rows=np.arange(robots),
        orders=numbers,
        costs=costs,
        free=np.full(robots, queue),
        plans=[[] for _ in range(robots)],
        begins=numbers,
        ends=numbers + 1,
        lengths=np.ones(orders),
        left=np.zeros(robots),
        reach=lambda robot, places: np.abs(places + 1.0 + 500.0 * robot),
        between=lambda begins, ends: np.abs(begins - ends).astype(float),
        priority=np.zeros(orders, np.int64) if priority is None else np.array(priority),
        release=np.zeros(orders),
        due=np.full(orders, np.inf),
        now=0.0,
    )


def costs_of(robots: int, orders: int, seed: int) -> Floats:
    """Costs, some of them impossible."""
    random = np.random.default_rng(seed)
    costs = random.integers(1, 30, (robots, orders)).astype(float)
    costs[random.random(costs.shape) < 0.2] = np.inf
    return costs


def best(costs: Floats) -> tuple[int, float]:
    """How many orders can be served at once at most, and the least cost of that, by trying everything."""
    robots, orders = costs.shape
    found = (0, 0.0)
    for choice in itertools.product(range(-1, orders), repeat=robots):
        taken = [order for order in choice if order >= 0]
        cost = sum(costs[robot, order] for robot, order in enumerate(choice) if order >= 0)
        if len(set(taken)) == len(taken) and cost < np.inf and (-len(taken), cost) < (-found[0], found[1]):
            found = len(taken), float(cost)
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 10_000))
def test_hungarian_serves_as_many_as_can_be_served_for_the_least_cost(robots: int, orders: int, seed: int) -> None:
    asked = request(costs_of(robots, orders, seed))
    found = check(asked, make_allocator("hungarian", {}).allocate(asked))
    assert (len(found), sum(asked.costs[robot, order] for robot, order, _ in found)) == best(asked.costs)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["nearest", "hungarian", "auction"]), st.integers(1, 6), st.integers(1, 8), st.integers(0, 10_000)
)
def test_every_allocator_gives_possible_answers_and_wastes_no_robot(
    name: str, robots: int, orders: int, seed: int
) -> None:
    asked = request(costs_of(robots, orders, seed))
    before = asked.costs.copy()
    found = check(asked, make_allocator(name, {}).allocate(asked))
    assert (asked.costs == before).all()
    idle, left = set(range(robots)) - {a.robot for a in found}, set(range(orders)) - {a.order for a in found}
    assert not any(np.isfinite(asked.costs[robot, order]) for robot in idle for order in left)


def test_nearest_takes_orders_in_their_order_and_hungarian_the_whole() -> None:
    costs = np.array([[1.0, 2.0], [2.0, 9.0]])
    asked = request(costs)
    assert make_allocator("nearest", {}).allocate(asked) == [Assignment(0, 0), Assignment(1, 1)]
    assert sorted(make_allocator("hungarian", {}).allocate(asked)) == [Assignment(0, 1), Assignment(1, 0)]


def test_hungarian_serves_larger_priorities_first() -> None:
    asked = request(np.array([[1.0, 50.0]]), priority=[0, 3])
    assert make_allocator("hungarian", {}).allocate(asked) == [Assignment(0, 1)]


class Reversed:
    """An allocator of somebody else: the last orders to the first robots."""

    def __init__(self, most: int = 1) -> None:
        self.most = most

    def allocate(self, request: Request) -> list[Assignment]:
        """Return at most `most` assignments."""
        orders = range(len(request.orders) - 1, -1, -1)
        pairs = zip(np.flatnonzero(request.free).tolist(), orders, strict=False)
        return [Assignment(*pair) for pair in pairs][: self.most]


class Wrong:
    """Gives one order to everybody."""

    def allocate(self, request: Request) -> list[Assignment]:
        """Return what cannot be."""
        return [Assignment(robot, 0) for robot in range(len(request.rows))]


ENTRIES = [{"id": str(number), "pick": "shelf_a", "drop": "dock"} for number in range(3)]


def test_an_allocator_of_ones_own_is_found_by_its_path(tmp_path: Path) -> None:
    chosen = {"type": f"{__name__}:Reversed", "options": {"most": 1}}
    with depot(tmp_path, {"list": ENTRIES, "allocation": chosen}) as sim:
        sim.step_once()
        assert orders_of(sim).status("2").robot == "amr_0"


def test_impossible_answers_are_counted_and_assign_nothing(tmp_path: Path) -> None:
    places = [[5.5, 3.5], [0.5, 0.5]]
    with depot(tmp_path, {"list": ENTRIES, "allocation": {"type": f"{__name__}:Wrong"}}, places) as sim:
        sim.step_once()
        assert orders_of(sim).counts[OrderState.WAITING] == 3
        assert sum(count for what, count in sim.guard.counts.items() if "allocator" in what) == 1


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"type": "nearst"}, r"orders: unknown allocator 'nearst'. Did you mean 'nearest'"),
        ({"type": "fleet_sim.nothing:There"}, r"orders: allocator: 'fleet_sim.nothing:There' cannot be imported"),
        ({"type": "nearest", "options": {"speed": 1}}, r"orders: allocator 'nearest' cannot be made with .*speed"),
        ({"type": "nearest", "queue": 0}, r"orders.allocation.queue: must be"),
    ],
)
def test_a_wrong_allocator_is_an_error_that_names_the_key(tmp_path: Path, chosen: Any, message: str) -> None:
    with pytest.raises(fs.ConfigError, match=r"scenario.yaml: " + message):
        depot(tmp_path, {"allocation": chosen})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([(0, 7)], "there are 2 robots and 3 orders"),
        ([(0, 0), (1, 0)], "order 0 is given to two robots"),
        ([(0, 0), (0, 1)], "robot 0 may take 1 orders"),
        ([(1, 2)], "robot 1 cannot serve order 2"),
    ],
)
def test_answers_are_checked(answer: list[tuple[int, int]], message: str) -> None:
    costs = np.ones((2, 3))
    costs[1, 2] = np.inf
    with pytest.raises(fs.InvalidValueError, match=message):
        check(request(costs), [Assignment(*pair) for pair in answer])


@pytest.mark.slow
def test_waiting_makes_up_for_a_long_way(tmp_path: Path) -> None:
    entries = [{"id": "far", "pick": "gate", "drop": "dock"}]
    # A stream of near orders would keep the far one waiting for ever.
    entries += [{"id": f"near_{n}", "pick": "shelf_b", "drop": "shelf_c", "release": 5.0 * n} for n in range(30)]
    ended = {}
    for weight in (0.0, 1.0):
        allocation = {"type": "hungarian", "waiting_weight": weight}
        with depot(tmp_path, {"list": entries, "allocation": allocation}) as sim:
            run_until(sim, lambda: orders_of(sim).status("far").ended is not None, 2000.0)
            ended[weight] = sim.clock.time
    assert ended[1.0] < ended[0.0] - 20.0


@pytest.mark.parametrize("allocator", ["nearest", "hungarian", "auction"])
@pytest.mark.parametrize(("queue", "robot"), [(1, "amr_1"), (2, "amr_0")])
def test_with_a_queue_the_robot_that_ends_there_gets_the_next_order(
    tmp_path: Path, allocator: str, queue: int, robot: str
) -> None:
    # The first robot will be at the dock, while the second is idle at the other end of the depot.
    entries = [
        {"id": "first", "pick": "shelf_c", "drop": "dock"},
        {"id": "next", "pick": "dock", "drop": "gate", "release": 0.5},
    ]
    section = {"list": entries, "allocation": {"type": allocator, "queue": queue}}
    with depot(tmp_path, section, [[9.5, 2.5], [0.5, 7.5]]) as sim:
        run_until(sim, lambda: orders_of(sim).status("next").assigned is not None, 5.0)
        assert orders_of(sim).status("first").robot == "amr_0"
        assert orders_of(sim).status("next").robot == robot


def test_costs_of_a_robot_at_work_have_in_them_what_it_does_before(tmp_path: Path) -> None:
    costs: list[Floats] = []

    class Looking:
        def allocate(self, request: Request) -> list[Assignment]:
            costs.append(request.costs)
            return [Assignment(0, 0)] if request.plans[0] == [] else []

    ALLOCATORS.register("looking", Looking)
    try:
        entries = [{"id": str(n), "pick": "desk", "drop": "dock", "priority": -n} for n in range(4)]
        section = {"list": entries, "allocation": {"type": "looking", "queue": 4, "waiting_weight": 0.0}}
        with depot(tmp_path, section, [[7.5, 0.5]], max_linear_vel=0.001) as sim:
            run_until(sim, lambda: len(costs) == 3, 10.0)
    finally:
        ALLOCATORS.unregister("looking")
    # It is at the desk; then to the dock (6 m), back to the desk and so on.
    assert [cost[0, 0] for cost in costs] == pytest.approx([0.0, 12.0, 24.0], abs=0.01)


def test_rows_are_those_of_the_robots(tmp_path: Path) -> None:
    seen: list[Ints] = []

    class Looking:
        def allocate(self, request: Request) -> list[Assignment]:
            seen.append(request.rows)
            return []

    ALLOCATORS.register("looking", Looking)
    try:
        with depot(tmp_path, {"list": ENTRIES, "allocation": {"type": "looking"}}, [[5.5, 3.5], [0.5, 0.5]]) as sim:
            sim.step_once()
            assert seen[0].tolist() == [robot.row for robot in sim.agents]
    finally:
        ALLOCATORS.unregister("looking")
