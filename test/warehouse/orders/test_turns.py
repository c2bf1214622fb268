"""Whose turn it is, what is due, and what is in stock: the parts of orders that only keep books."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from fleet_sim.base.errors import InvalidValueError, UnknownNameError
from fleet_sim.warehouse.orders.pods.floor import PodStock
from fleet_sim.warehouse.orders.turns import Service, Timers

# ---- timers ----------------------------------------------------------------------------------------------------------


def test_what_is_due_comes_by_tick_and_then_in_the_order_it_was_asked_for() -> None:
    timers = Timers()
    for tick, what in ((5, "late"), (2, "first"), (2, "second"), (1, "early")):
        timers.add(tick, what, subject=7)
    assert timers.due(0) == []
    assert [timer.what for timer in timers.due(2)] == ["early", "first", "second"]
    assert timers.due(2) == []
    timers.add(1, "past", subject=8, token=3)
    (past,) = timers.due(2)
    assert (past.what, past.subject, past.token) == ("past", 8, 3)
    assert [timer.what for timer in timers.due(100)] == ["late"]


# ---- turns at a place ------------------------------------------------------------------------------------------------


def test_robots_are_served_in_the_order_they_came() -> None:
    service = Service(1)
    assert [service.enter(0, row) for row in (3, 1, 2)] == [True, False, False]
    # Each place has a line of its own.
    assert service.enter(9, 4)
    assert service.length(0) == 3
    assert service.leave(0, 3) == 1
    assert service.leave(0, 1) == 2
    assert service.leave(0, 2) is None
    assert service.length(0) == 0


def test_who_gives_up_waiting_calls_nobody() -> None:
    service = Service(1)
    for row in (1, 2, 3):
        service.enter(0, row)
    assert service.leave(0, 2) is None
    assert service.leave(0, 1) == 3
    assert service.leave(0, 77) is None
    assert service.leave(5, 1) is None


@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_places_serve_as_many_as_they_can_and_the_longest_waiting_first(at_once: int, seed: int) -> None:
    rng, service = np.random.default_rng(seed), Service(at_once)
    lines: dict[int, list[int]] = defaultdict(list)
    for row in range(300):
        place = int(rng.integers(3))
        line = lines[place]
        if rng.integers(2) or not line:
            line.append(row)
            assert service.enter(place, row) == (len(line) <= at_once)
        else:
            at = int(rng.integers(len(line)))
            called = service.leave(place, line.pop(at))
            # The first of those who wait moves up where one that was served has left.
            assert called == (line[at_once - 1] if at < at_once and len(line) >= at_once else None)
        if row % 50 == 0:
            saved = service.save()
            service = Service(at_once)
            service.restore(saved)
        assert all(service.length(number) == len(rows) for number, rows in lines.items())


# ---- stock -----------------------------------------------------------------------------------------------------------


def stock() -> PodStock:
    """Return the stock of two pods of ten items."""
    made = PodStock(["cup", "pen"], pods=2, capacity=10)
    made.fill(0, {"cup": 4, "pen": 2}, "pod_0")
    made.fill(1, {"pen": 5}, "pod_1")
    return made


def check_nothing_is_lost(made: PodStock) -> None:
    whole = made.held.sum(axis=0) + made.coming + made.picked + made.gone
    assert whole.tolist() == made.supplied.tolist()
    assert made.free.min() >= 0


def test_promises_are_kept_apart_from_what_is_free() -> None:
    made, pen = stock(), 1
    made.wanted[pen] = 3
    assert made.available.tolist() == [4, 4]
    made.promise(1, pen, 3)
    assert made.free.tolist() == [[4, 2], [0, 2]]
    # An order has them whether or not a pod is on its way.
    assert made.available.tolist() == [4, 4]
    made.break_promise(1, pen, 1, wanted=True)
    made.break_promise(1, pen, 1, wanted=False)
    assert (int(made.wanted[pen]), int(made.promised[1, pen])) == (1, 1)
    assert made.available.tolist() == [4, 5]
    made.pick(1, pen, 1)
    assert (made.picked.tolist(), made.promised.sum()) == ([0, 1], 0)
    check_nothing_is_lost(made)


def test_items_come_in_and_go_with_their_pod() -> None:
    made = stock()
    made.order(np.array([0, 4]))
    check_nothing_is_lost(made)
    assert made.room(1) == 5
    made.put(1, 1, 4)
    assert (made.room(1), made.coming.tolist()) == (1, [0, 0])
    made.remove(1)
    assert (made.gone.tolist(), made.room(1)) == ([0, 9], 10)
    check_nothing_is_lost(made)
    assert made.target.tolist() == [4, 7]


def test_a_pod_is_not_filled_with_more_than_it_holds() -> None:
    made = PodStock(["cup", "pen"], pods=1, capacity=3)
    with pytest.raises(InvalidValueError, match=r"pod 'p' holds 3 items, its stock has 4"):
        made.fill(0, {"cup": 2, "pen": 2}, "p")
    with pytest.raises(UnknownNameError, match="Did you mean 'pen'"):
        made.number("pem")
