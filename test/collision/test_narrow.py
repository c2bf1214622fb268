"""The narrow phase keeps the pairs within the margin and asks a solver only about the rest."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.arrays import Floats, Ints
from fleet_sim.collision.broad import candidate_pairs
from fleet_sim.collision.narrow import closer_than, contact_pairs
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind


def boxes(positions: list[list[float]], eulers: list[list[float]], half: float = 0.5) -> ShapeArrays:
    count = len(positions)
    return ShapeArrays(
        np.full(count, ShapeKind.BOX),
        np.array(positions),
        quaternions.from_eulers(np.array(eulers)),
        np.full((count, 3), half),
        np.zeros(count),
    )


PAIR = np.array([[0, 1]])
LEVEL = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(("margin", "hit"), [(0.26, True), (0.25, True), (0.24, False), (0.0, False)])
def test_a_hit_is_a_gap_of_at_most_the_margin(margin: float, hit: bool) -> None:
    shapes = boxes([[0.0, 0.0, 0.0], [1.25, 0.0, 0.0]], LEVEL)
    hit_mask, undecided_mask = closer_than(PAIR, shapes, margin)
    assert (hit_mask.tolist(), undecided_mask.tolist()) == ([hit], [False])


def test_boxes_whose_world_boxes_overlap_need_not_touch() -> None:
    turn = [[0.0, 0.0, np.pi / 4]] * 2
    shapes = boxes([[0.0, 0.0, 0.0], [1.1, 1.1, 0.0]], turn)
    pairs = candidate_pairs(*world_aabbs(*shapes))
    assert pairs.tolist() == [[0, 1]]
    assert contact_pairs(pairs, shapes, 0.0)[0].tolist() == []
    # Face to face at a distance of 1.1 sqrt(2) - 1.
    assert contact_pairs(pairs, shapes, 0.5557)[0].tolist() == [[0, 1]]


def test_only_undecided_pairs_reach_the_solver() -> None:
    shapes = boxes(
        [[0.0, 0.0, 0.0], [1.2, 0.0, 0.0], [0.0, 1.2, 0.0], [5.0, 0.0, 0.0]],
        [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 0.0]],
    )
    pairs = np.array([[0, 1], [0, 2], [0, 3]])
    asked: list[tuple[list[list[int]], float]] = []

    def solve(open_pairs: Ints, reach: float) -> Floats:
        asked.append((open_pairs.tolist(), reach))
        return np.array([0.05, np.inf])

    hits, count = contact_pairs(pairs, shapes, 0.1, solve)
    assert asked == [([[0, 1], [0, 2]], 0.1)]
    assert (hits.tolist(), count) == ([[0, 1]], 2)


def test_without_a_solver_undecided_pairs_count_as_hits() -> None:
    shapes = boxes([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0]])
    hit_mask, undecided_mask = closer_than(PAIR, shapes, 0.1)
    assert (hit_mask.tolist(), undecided_mask.tolist()) == ([False], [True])
    hits, count = contact_pairs(PAIR, shapes, 0.1)
    assert (hits.tolist(), count) == ([[0, 1]], 1)


def test_no_pairs() -> None:
    shapes = boxes([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0]], LEVEL)
    hits, count = contact_pairs(np.empty((0, 2), np.int64), shapes, 0.1)
    assert (hits.shape, count) == ((0, 2), 0)
