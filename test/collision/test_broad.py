"""The broad phase finds exactly the pairs that comparing all with all finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.arrays import Floats, Ints
from fleet_sim.collision.broad import BroadPhase, auto_cell_size, candidate_pairs, cross_pairs
from fleet_sim.config.modes import SpatialHashCellSizeMode
from fleet_sim.errors import InvalidValueError


def all_with_all(lower: Floats, upper: Floats, margin: float) -> Ints:
    touching = np.ones((len(lower), len(lower)), bool)
    for axis in range(3):
        below = lower[:, None, axis] <= upper[None, :, axis] + margin
        touching &= below & below.T
    return np.argwhere(np.triu(touching, 1))


def scene(seed: int, count: int, spread: float, height: float, sizes: tuple[float, float]) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-spread, spread, (count, 3)) * [1.0, 1.0, height]
    half = rng.uniform(*sizes, (count, 3))
    return centres - half, centres + half


scenes = st.builds(
    scene,
    st.integers(0, 10_000),
    st.integers(1, 300),
    st.sampled_from([0.0, 0.1, 3.0, 12.0, 80.0, 3000.0]),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([(0.05, 0.25), (0.3, 0.3), (0.0, 0.0), (0.01, 4.0)]),
)


def assert_same(pairs: Ints, expected: Ints) -> None:
    assert pairs.dtype == np.int64
    assert pairs.tolist() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(scenes, st.sampled_from([0.0, 0.02, 1.0]), st.sampled_from([None, 0.05, 0.7, 50.0]))
def test_equals_comparing_all_with_all(corners: tuple[Floats, Floats], margin: float, cell: float | None) -> None:
    lower, upper = corners
    assert_same(candidate_pairs(lower, upper, margin=margin, cell_size=cell), all_with_all(lower, upper, margin))


@settings(max_examples=20, deadline=None)
@given(scenes, st.integers(0, 10_000))
def test_walls_outliers_and_planes_are_found_too(corners: tuple[Floats, Floats], seed: int) -> None:
    lower, upper = (array.copy() for array in corners)
    rng = np.random.default_rng(seed)
    count = len(lower)
    for size in ([100.0, 0.2, 1.0], [0.2, 60.0, 1.0], [30.0, 30.0, 0.1], [400.0, 400.0, 400.0]):
        row = rng.integers(count)
        lower[row], upper[row] = -np.array(size), np.array(size)
    for place in (1e7, -1e7, 1e15, -1e300):
        row = rng.integers(count)
        lower[row], upper[row] = place, place + 0.5
    row = rng.integers(count)
    lower[row], upper[row] = -np.inf, [np.inf, np.inf, 0.0]
    assert_same(candidate_pairs(lower, upper, margin=0.02), all_with_all(lower, upper, 0.02))


@pytest.mark.parametrize("spread", [2e4, 1e7, 1e11])
def test_clusters_that_lie_far_apart(spread: float) -> None:
    rng = np.random.default_rng(3)
    clusters = rng.uniform(-spread, spread, (6, 3)) * [1.0, 1.0, 0.0]
    centres = clusters[rng.integers(6, size=1500)] + rng.uniform(0.0, 12.0, (1500, 3)) * [1.0, 1.0, 0.0]
    lower, upper = centres - 0.2, centres + 0.2
    assert_same(candidate_pairs(lower, upper, margin=0.02), all_with_all(lower, upper, 0.02))


@pytest.mark.parametrize("layers", [30.0, 1000.0])
def test_many_boxes_above_each_other(layers: float) -> None:
    rng = np.random.default_rng(4)
    centres = rng.uniform(0.0, 1.0, (1500, 3)) * [8.0, 8.0, layers]
    lower, upper = centres - 0.3, centres + 0.3
    assert_same(candidate_pairs(lower, upper, margin=0.02), all_with_all(lower, upper, 0.02))


def test_a_row_with_nan_pairs_with_nothing() -> None:
    lower, upper = scene(1, 40, 1.0, 0.0, (0.3, 0.3))
    lower[7, 0] = upper[7, 0] = np.nan
    upper[9, 1] = np.nan
    pairs = candidate_pairs(lower, upper)
    assert len(pairs) and not np.isin(pairs, [7, 9]).any()


def test_no_rows_and_one_row_have_no_pairs() -> None:
    empty = np.empty((0, 3))
    assert candidate_pairs(empty, empty).shape == (0, 2)
    assert candidate_pairs(np.zeros((1, 3)), np.ones((1, 3))).shape == (0, 2)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_margin_is_the_largest_gap_that_pairs(axis: int) -> None:
    lower, upper = np.zeros((2, 3)), np.ones((2, 3))
    lower[1, axis], upper[1, axis] = 1.25, 2.25
    assert len(candidate_pairs(lower, upper, margin=0.25)) == 1
    assert len(candidate_pairs(lower, upper, margin=0.2499)) == 0
    lower[1, axis] = 1.0
    assert len(candidate_pairs(lower, upper, margin=0.0)) == 1


def test_static_rows_pair_with_others_only_on_request_and_never_with_each_other() -> None:
    lower, upper = scene(5, 200, 4.0, 0.0, (0.1, 0.4))
    static_mask = np.arange(200) % 3 == 0
    expected = all_with_all(lower, upper, 0.02)
    static_counts = static_mask[expected].sum(axis=1)
    assert_same(candidate_pairs(lower, upper, margin=0.02, static_mask=static_mask), expected[static_counts == 0])
    assert_same(
        candidate_pairs(lower, upper, margin=0.02, static_mask=static_mask, ignore_static=False),
        expected[static_counts < 2],
    )


def test_inactive_rows_are_left_out() -> None:
    lower, upper = scene(6, 200, 4.0, 0.0, (0.1, 0.4))
    active_mask = np.arange(200) % 4 != 1
    expected = all_with_all(lower, upper, 0.0)
    assert_same(candidate_pairs(lower, upper, active_mask=active_mask), expected[active_mask[expected].all(axis=1)])


def test_the_kept_index_of_static_rows_is_that_of_the_boxes_as_they_are() -> None:
    lower, upper = scene(7, 100, 3.0, 0.0, (0.2, 0.2))
    static_mask, active_mask = np.arange(100) < 50, np.ones(100, bool)
    phase, counts = BroadPhase(), []

    def check(margin: float = 0.02) -> None:
        given: dict[str, Any] = {"margin": margin, "active_mask": active_mask, "static_mask": static_mask}
        given["ignore_static"] = False
        pairs = phase.pairs(lower, upper, **given)
        assert_same(pairs, candidate_pairs(lower, upper, **given))
        counts.append(len(pairs))

    check()
    check()
    check(margin=0.3)
    lower[:50] += 100.0
    upper[:50] += 100.0
    check()
    lower[:20] -= 100.0
    upper[:20] -= 100.0
    check()
    active_mask[:10] = False
    check()
    static_mask[60:] = True
    check()
    assert counts[0] == counts[1]
    assert len(set(counts)) == 6


def test_the_order_of_rows_does_not_matter() -> None:
    lower, upper = scene(8, 300, 5.0, 0.1, (0.05, 0.9))
    order = np.random.default_rng(9).permutation(300)
    shuffled = order[candidate_pairs(lower[order], upper[order], margin=0.02)]
    shuffled.sort(axis=1)
    assert sorted(shuffled.tolist()) == candidate_pairs(lower, upper, margin=0.02).tolist()


@settings(max_examples=20, deadline=None)
@given(scenes, scenes, st.sampled_from([0.0, 0.1]))
def test_cross_pairs_equal_comparing_all_with_all(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats], margin: float
) -> None:
    touching = np.ones((len(a[0]), len(b[0])), bool)
    for axis in range(3):
        touching &= a[0][:, None, axis] <= b[1][None, :, axis] + margin
        touching &= b[0][None, :, axis] <= a[1][:, None, axis] + margin
    assert_same(cross_pairs(*a, *b, margin=margin), np.argwhere(touching))


def test_auto_cell_size_is_twice_the_median_extent_but_at_least_half_a_metre() -> None:
    lower = np.zeros((3, 3))
    assert auto_cell_size(lower, lower + [[1.0, 0.2, 0.2], [0.2, 3.0, 0.2], [0.1, 0.1, 9.0]]) == 6.0
    assert auto_cell_size(lower, lower + 0.1) == 0.5
    assert auto_cell_size(lower[:0], lower[:0]) == 0.5
    assert auto_cell_size(lower, lower + [[np.inf], [1.0], [1.0]]) == 2.0


def test_cell_size_modes() -> None:
    lower = np.zeros((4, 3))
    constant = BroadPhase(mode=SpatialHashCellSizeMode.CONSTANT, cell_size=0.8)
    initial, adaptive = BroadPhase(), BroadPhase(mode=SpatialHashCellSizeMode.AUTO_ADAPTIVE)
    assert (initial.mode, initial.cell_size) == (SpatialHashCellSizeMode.AUTO_INITIAL, None)
    for phase in (constant, initial, adaptive):
        phase.pairs(lower[:2], lower[:2] + 1.0)
    assert [phase.cell_size for phase in (constant, initial, adaptive)] == [0.8, 2.0, 2.0]
    for phase in (constant, initial, adaptive):
        phase.pairs(lower, lower + 3.0)
    assert [phase.cell_size for phase in (constant, initial, adaptive)] == [0.8, 2.0, 6.0]
    assert initial.set_cell_size_mode("constant", 1.5) == 1.5


def test_bad_cell_sizes_are_refused() -> None:
    for cell_size in (None, 0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InvalidValueError, match="cell_size"):
            BroadPhase(mode=SpatialHashCellSizeMode.CONSTANT, cell_size=cell_size)
    with pytest.raises(InvalidValueError, match="auto_initial"):
        BroadPhase().set_cell_size_mode("auto_initally")
    with pytest.raises(InvalidValueError, match="multi_cell_threshold"):
        BroadPhase(multi_cell_threshold=0.5)
