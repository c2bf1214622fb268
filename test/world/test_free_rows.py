"""Rows that nobody lives in: each is taken once, low ones first, and checkpoints bring the same order back."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.world.entity_index import FreeRows


def test_rows_are_taken_from_the_front() -> None:
    free = FreeRows(8)
    assert free.take(3).tolist() == [0, 1, 2]
    assert free.take(1).tolist() == [3]
    assert len(free) == 4
    free.grow(8, 12)
    # What was free before comes before what is new.
    assert free.take(8).tolist() == [4, 5, 6, 7, 8, 9, 10, 11]
    assert len(free) == 0


def test_rows_given_back_are_the_next_ones() -> None:
    free = FreeRows(6)
    free.take(5)
    free.give_back(np.array([1, 3]), rest=False)
    assert free.take(3).tolist() == [1, 3, 5]


def test_rows_that_rest_are_not_taken_within_the_step() -> None:
    free = FreeRows(3)
    free.take(2)
    free.give_back(np.array([0]), rest=True)
    assert len(free) == 1
    assert free.take(1).tolist() == [2]
    free.end_step()
    assert free.take(1).tolist() == [0]
    free.end_step()
    assert len(free) == 0


def test_what_is_taken_does_not_change_when_rows_come_back() -> None:
    free = FreeRows(100)
    taken = free.take(40)
    free.give_back(np.arange(39, -1, -1), rest=False)
    assert taken.tolist() == list(range(40))


def test_rows_used_before_are_told_from_fresh_ones() -> None:
    free = FreeRows(5)
    assert free.used_before(free.take(3)).tolist() == []
    free.give_back(np.array([1]), rest=False)
    assert free.used_before(free.take(2)).tolist() == [1]


@pytest.mark.parametrize("seed", range(5))
def test_no_row_is_taken_twice_whatever_happens(seed: int) -> None:
    rng, capacity = np.random.default_rng(seed), 32
    free, living, resting = FreeRows(capacity), set[int](), set[int]()
    for _ in range(400):
        what = int(rng.integers(4))
        if what == 0:
            count = int(rng.integers(1, 40))
            if count > len(free):
                free.grow(capacity, capacity + count)
                capacity += count
            rows = free.take(count).tolist()
            assert not living.intersection(rows)
            assert not resting.intersection(rows)
            living.update(rows)
        elif what == 1 and living:
            gone = rng.permutation(sorted(living))[: int(rng.integers(1, 40))]
            rest = bool(rng.integers(2))
            free.give_back(gone, rest=rest)
            living.difference_update(gone.tolist())
            if rest:
                resting.update(gone.tolist())
        elif what == 2:
            free.end_step()
            resting.clear()
        assert len(free) + len(living) + len(resting) == capacity
    free.end_step()
    assert sorted(living | set(free.take(len(free)).tolist())) == list(range(capacity))


def test_a_checkpoint_brings_back_the_order_and_leaves_new_rows_for_later() -> None:
    free = FreeRows(8)
    free.take(4)
    free.give_back(np.array([2, 0]), rest=False)
    saved = free.save()
    first = free.take(3).tolist()
    free.give_back(np.array([3]), rest=True)
    free.grow(8, 10)
    free.restore(saved, 8, 10)
    assert free.take(3).tolist() == first
    # What rested belonged to the state that was left.
    free.end_step()
    assert len(free) == 5
    assert free.take(5).tolist() == [5, 6, 7, 8, 9]


def test_what_was_saved_does_not_change_later() -> None:
    free = FreeRows(4)
    saved = free.save()
    free.take(4)
    free.give_back(np.array([3, 2, 1, 0]), rest=False)
    assert saved.tolist() == [3, 2, 1, 0]
