"""The broad phase finds exactly the pairs that comparing all with all finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import is_usable
from fleet_sim.base.params import SpatialHashCellSizeMode
from fleet_sim.sensing.collision.broad import (
    OTHER_SIZES,
    BroadPhase,
    auto_cell_size,
    candidate_pairs,
    cell_table,
    cross_pairs,
    small_pairs,
)

FORMS = (False, True) if is_usable() else (False,)


def all_with_all(lower: Floats, upper: Floats, margin: float) -> Ints:
    touching = np.ones((len(lower), len(lower)), bool)
    for axis in range(3):
        below = lower[:, None, axis] <= upper[None, :, axis] + margin
        touching &= below & below.T
    return np.argwhere(np.triu(touching, 1))


ODD = [0.0, -0.0, 1e-300, 1e7, -1e12, 1.5e12, 1e300, np.inf, -np.inf, np.nan]


def scene(seed: int, count: int, spread: float, sizes: tuple[float, float], odd: float = 0.0) -> tuple[Floats, Floats]:
    """Boxes on a coarse lattice, so that many touch exactly; a share `odd` of the corners is infinite, NaN or far."""
    rng = np.random.default_rng(seed)
    centres = np.round(rng.uniform(-spread, spread, (count, 3)) * [4.0, 4.0, 0.4]) / 4.0
    half = np.round(rng.uniform(*sizes, (count, 3)) * 8.0) / 8.0
    lower, upper = centres - half, centres + half
    for corners in (lower, upper):
        corners[rng.random(corners.shape) < odd] = rng.choice(ODD)
    # A lower corner above the upper one is nobody's box.
    upside_down = lower > upper
    return np.where(upside_down, upper, lower), np.where(upside_down, lower, upper)


SPREADS = st.sampled_from([0.0, 3.0, 12.0, 80.0, 1e6])
SIZES = st.sampled_from([(0.05, 0.25), (0.3, 0.3), (0.0, 0.0), (0.01, 4.0), (0.1, 90.0)])
scenes = st.builds(scene, st.integers(0, 10_000), st.integers(0, 120), SPREADS, SIZES, st.sampled_from([0.0, 0.02]))


def assert_same(pairs: Ints, expected: Ints) -> None:
    assert pairs.dtype == np.int64
    assert pairs.tolist() == expected.tolist()


@pytest.mark.parametrize("compiled", FORMS)
@settings(max_examples=40, deadline=None)
@given(
    scenes,
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.02, 0.25, 1.0]),
    st.sampled_from([None, 0.05, 0.7, 50.0]),
    st.booleans(),
)
def test_equals_comparing_all_with_all(
    compiled: bool, corners: tuple[Floats, Floats], seed: int, margin: float, cell: float | None, ignore_static: bool
) -> None:
    lower, upper = corners
    rng = np.random.default_rng(seed)
    active_mask = rng.random(len(lower)) < 0.9
    static_mask = rng.random(len(lower)) < rng.choice([0.0, 0.3, 0.9])
    phase = BroadPhase(**({} if cell is None else {"mode": "constant", "cell_size": cell}))
    if compiled:
        phase.use_kernels()
    # The second time with some boxes moved: the order of boxes is kept between calls.
    for shift in (0.0, 0.25):
        lower = lower + shift * (np.arange(len(lower)) % 7 == 0)[:, None]
        upper = upper + shift * (np.arange(len(lower)) % 7 == 0)[:, None]
        masks: dict[str, Any] = {"active_mask": active_mask, "static_mask": static_mask}
        found = phase.pairs(lower, upper, margin=margin, ignore_static=ignore_static, **masks)
        expected = all_with_all(lower, upper, margin)
        expected = expected[active_mask[expected].all(axis=1)]
        assert_same(found, expected[static_mask[expected].sum(axis=1) < (1 if ignore_static else 2)])


@pytest.mark.parametrize("compiled", FORMS)
def test_boxes_that_spread_jump_and_gather(compiled: bool) -> None:
    rng = np.random.default_rng(4)
    centres = rng.uniform(-6.0, 6.0, (150, 3)) * [1.0, 1.0, 0.05]
    ways = rng.normal(0.0, 0.4, (150, 3)) * [1.0, 1.0, 0.0]
    phase, met = BroadPhase(mode=SpatialHashCellSizeMode.CONSTANT, cell_size=0.7), 0
    if compiled:
        phase.use_kernels()
    # They drive apart, out of the area where they were, and back; some jump far away, and are no numbers for a while.
    for check in range(260):
        centres += ways if check % 130 < 65 else -ways
        lower, upper = centres - 0.25, centres + 0.25
        if check % 50 == 10:
            lower[3], upper[3] = 1e5, 1e5 + 0.5
        if check % 50 == 20:
            lower[5, 0] = np.nan
        # In between they are too large for the cells asked for, and then for any.
        upper[:2] += [0.0, 0.25, 5.0][check % 3]
        if compiled or check % 20 == 0:
            expected = all_with_all(lower, upper, 0.02)
            assert_same(phase.pairs(lower, upper, margin=0.02), expected)
            met += len(expected)
    assert met > 100


@pytest.mark.parametrize("spread", [2e4, 1e7, 1e11])
def test_clusters_that_lie_far_apart(spread: float) -> None:
    rng = np.random.default_rng(3)
    clusters = rng.uniform(-spread, spread, (6, 3)) * [1.0, 1.0, 0.0]
    centres = clusters[rng.integers(6, size=1500)] + rng.uniform(0.0, 12.0, (1500, 3)) * [1.0, 1.0, 0.0]
    lower, upper = centres - 0.2, centres + 0.2
    assert_same(candidate_pairs(lower, upper, margin=0.02, compiled=FORMS[-1]), all_with_all(lower, upper, 0.02))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_margin_is_the_largest_gap_that_pairs(axis: int) -> None:
    lower, upper = np.zeros((2, 3)), np.ones((2, 3))
    lower[1, axis], upper[1, axis] = 1.25, 2.25
    assert len(candidate_pairs(lower, upper, margin=0.25)) == 1
    assert len(candidate_pairs(lower, upper, margin=0.2499)) == 0
    lower[1, axis] = 1.0
    assert len(candidate_pairs(lower, upper, margin=0.0)) == 1


@settings(max_examples=20, deadline=None)
@given(scenes, scenes, st.sampled_from([0.0, 0.1]))
def test_cross_pairs_equal_comparing_all_with_all(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats], margin: float
) -> None:
    touching = np.ones((len(a[0]), len(b[0])), bool)
    for axis in range(3):
        touching &= a[0][:, None, axis] <= b[1][None, :, axis] + margin
        touching &= b[0][None, :, axis] <= a[1][:, None, axis] + margin
    for compiled in FORMS:
        assert_same(cross_pairs(*a, *b, margin=margin, compiled=compiled), np.argwhere(touching))


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


def test_cells_are_laid_around_the_boxes_with_some_room() -> None:
    rng, size, margin, count = np.random.default_rng(12), 0.8, 0.02, 300
    centres = rng.uniform([3.0, -7.0, 0.0], [19.0, 5.0, 0.1], (count, 3))
    half = rng.uniform(0.1, 0.35, (count, 3))
    rows, second_mask, table = np.arange(count), np.zeros(count, np.bool_), cell_table(count)
    out = np.empty((2000, 2), np.int64)

    def found(shift: float, cell: float = size) -> int:
        lower, upper = centres + shift - half, centres + shift + half
        number = small_pairs.in_python(lower, upper, margin, rows, second_mask, False, cell, table, out)
        assert number in (OTHER_SIZES, len(all_with_all(lower, upper, margin)))
        return number

    assert found(0.0) > 50
    # A part in 64 of the extent and four cells on each side of the lower corners; a column on each side and a strip
    # above are empty.
    low, high = (centres - half).min(axis=0)[:2], (centres - half).max(axis=0)[:2]
    room = (high - low) / 64.0 + 4.0 * size
    wide, deep = (high - low + 2.0 * room) / size
    assert table.frame.tolist() == pytest.approx([*(low - room), 1.0 / size, size], rel=1e-12)
    assert table.shape.tolist() == [int(wide) + 3, int(deep) + 2, 100]
    frame = table.frame.tolist()
    for shift in (0.9 * room.min(), -0.9 * room.min()):
        assert found(shift) > 50 and table.frame.tolist() == frame
    assert table.shape[2] == 98
    # Out of the room, and after a hundred checks, cells are laid anew; smaller boxes than cells are asked for.
    assert found(1.2 * room.max()) > 50 and table.shape[2] == 100
    assert table.frame.tolist() == pytest.approx([*(low - room + 1.2 * room.max()), 1.0 / size, size], rel=1e-12)
    table.shape[2] = 2
    assert [(found(1.2 * room.max()) > 50, table.shape[2]) for _ in range(2)] == [(True, 1), (True, 100)]
    assert found(0.0, 0.7) == OTHER_SIZES
    assert found(0.0, 0.75) > 50
    # Cells twice and more as large where there are too few, and none where eight times as large are too small.
    centres[0, :2] = [160.0, 130.0]
    assert found(0.0) > 50 and table.frame[2] == 0.25 / size
    centres[0, :2] = [2000.0, 1500.0]
    assert found(0.0) == OTHER_SIZES
