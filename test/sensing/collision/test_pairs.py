"""Pairs start once and end once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.sensing.collision.system import PairSet

pair_lists = st.lists(st.tuples(st.integers(0, 6), st.integers(7, 12)), max_size=12)


def array(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2)


def test_differences_from_update_to_update() -> None:
    current = PairSet()
    started, ended = current.update(array([(4, 2), (0, 1), (0, 1)]))
    assert started.tolist() == [[0, 1], [2, 4]] and ended.tolist() == []
    started, ended = current.update(array([(2, 4), (3, 5)]))
    assert started.tolist() == [[3, 5]] and ended.tolist() == [[0, 1]]
    assert current.pairs.tolist() == [[2, 4], [3, 5]] and len(current) == 2
    started, ended = current.update(array([(3, 5), (2, 4)]))
    assert not len(started) and not len(ended)


@given(st.lists(pair_lists, max_size=8))
def test_every_start_has_one_end(updates: list[list[tuple[int, int]]]) -> None:
    current, open_pairs = PairSet(), set()
    for pairs in [*updates, []]:
        started, ended = (set(map(tuple, part.tolist())) for part in current.update(array(pairs)))
        assert started == set(pairs) - open_pairs
        assert ended == open_pairs - set(pairs)
        open_pairs = set(pairs)
    assert not open_pairs and not len(current)


def test_a_removed_row_ends_its_pairs_once_and_hands_none_on() -> None:
    current = PairSet()
    current.update(array([(0, 1), (1, 2), (3, 4)]))
    assert current.partners(1).tolist() == [0, 2]
    assert current.remove_rows(np.array([1])).tolist() == [[0, 1], [1, 2]]
    assert current.remove_rows(np.array([1])).tolist() == []
    # The row is used again and touches the same neighbour: a new pair.
    started, ended = current.update(array([(0, 1), (3, 4)]))
    assert started.tolist() == [[0, 1]] and ended.tolist() == []


def test_clear_ends_everything() -> None:
    current = PairSet()
    current.update(array([(5, 1), (2, 3)]))
    assert current.clear().tolist() == [[1, 5], [2, 3]]
    assert len(current) == 0 and current.clear().tolist() == []


def test_rows_above_16_bits_keep_their_order() -> None:
    current = PairSet()
    started, _ = current.update(array([(200_000, 5), (70_000, 5), (5, 6)]))
    assert started.tolist() == [[5, 6], [5, 70_000], [5, 200_000]]
