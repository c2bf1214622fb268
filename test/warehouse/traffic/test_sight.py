"""Sight along straight lines for discs, against every blocked cell; and ways made of as few lines as sight allows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.warehouse.traffic.free_space import TOUCH, Point, Sight, pulled


def gap(begin: Floats, end: Floats, low: Floats) -> float:
    """Return the distance from a line to the cell with its lower corner at `low`, by looking along both."""
    # The squared distance to a box is convex along a line: thirds close in on the least.
    first, last = 0.0, 1.0
    for _ in range(120):
        left, right = first + (last - first) / 3.0, last - (last - first) / 3.0
        if away(begin + left * (end - begin), low) <= away(begin + right * (end - begin), low):
            last = right
        else:
            first = left
    return away(begin + 0.5 * (first + last) * (end - begin), low)


def away(point: Floats, low: Floats) -> float:
    """Return the distance from a point to a cell."""
    offset = np.maximum(np.maximum(low - point, point - low - 1.0), 0.0)
    return float(np.sqrt(offset @ offset))


def room(blocked: Bools, begin: Floats, end: Floats) -> float:
    """Return the radius of the largest disc that moves along a line and touches no blocked cell and no border."""
    height, width = blocked.shape
    ends = np.array([begin, end])
    border = min(ends.min(), float((np.array([width, height]) - ends).min()))
    return min([border, *(gap(begin, end, cell[::-1].astype(float)) for cell in np.argwhere(blocked))])


@pytest.mark.parametrize("seed", range(6))
def test_a_line_is_clear_for_the_discs_that_have_room(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocked = rng.random((7, 9)) < 0.12
    sight = Sight(blocked)
    seen = 0
    for _ in range(60):
        begin, end = rng.uniform((0.0, 0.0), (9.0, 7.0), (2, 2))
        widest = room(blocked, begin, end)
        ends: tuple[Point, Point] = (begin[0], begin[1]), (end[0], end[1])
        for radius in (0.0, 0.3, 0.75, max(widest - 1e-4, 0.0), widest + 1e-4):
            if abs(radius - widest) < 1e-5:
                continue
            clear = sight.is_clear(*ends, radius)
            assert clear == (radius < widest), (ends, radius, widest)
            # It does not matter which way the robot goes.
            assert sight.is_clear(*ends[::-1], radius) == clear
            seen += clear
    assert seen > 20


def test_discs_may_touch_walls_and_borders() -> None:
    blocked = np.zeros((3, 5), bool)
    blocked[0, 2] = True
    sight = Sight(blocked)
    assert sight.is_clear((0.5, 1.5), (4.5, 1.5), 0.5)
    assert not sight.is_clear((0.5, 1.5), (4.5, 1.5), 0.5 + 3.0 * TOUCH)
    assert sight.is_clear((0.5, 2.5), (4.5, 2.5), 0.5)
    assert not sight.is_clear((0.4, 2.5), (4.5, 2.5), 0.5)
    # A point that stands is a line, too.
    assert sight.is_clear((4.0, 1.0), (4.0, 1.0), 1.0)
    assert not sight.is_clear((2.5, 0.5), (2.5, 0.5), 0.0)


def test_a_way_in_the_open_is_one_line() -> None:
    points = [(float(x), 0.0) for x in range(40)]
    assert pulled(points, lambda begin, end: True) == [points[0], points[-1]]
    assert pulled(points[:1], lambda begin, end: True) == points[:1]


def test_a_way_without_sight_stays_as_it_is() -> None:
    points = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (2.0, 1.0)]
    assert pulled(points, lambda begin, end: False) == points


@pytest.mark.parametrize("reach", [1, 2, 3, 7, 20])
def test_lines_go_as_far_as_one_can_see(reach: int) -> None:
    points = [(float(x), 0.0) for x in range(50)]
    asked = []

    def sees(begin: Point, end: Point) -> bool:
        asked.append((begin, end))
        return end[0] - begin[0] <= reach

    kept = pulled(points, sees)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert all(end[0] - begin[0] <= max(reach, 1) for begin, end in pairwise(kept))
    # No line could be longer, but the last.
    assert all(end[0] - begin[0] == max(reach, 1) for begin, end in list(pairwise(kept))[:-1])
    # By doubling and halving: few looks for each line.
    assert len(asked) <= len(kept) * (2 * reach.bit_length() + 2)
