"""Sectors, rays and lines of sight, against cases by hand and against sampled points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet_sim.base.arrays import AnyArray
from fleet_sim.swarm.neighbours import (
    NOTHING,
    Discs,
    Hiding,
    Sector,
    Views,
    in_frame,
    ray_meets_discs,
    ray_segment_distances,
    see_discs,
)

near = st.integers(-3000, 3000).map(lambda thousandths: thousandths / 1000.0)


def one(value: float) -> AnyArray:
    return np.array([value])


def sees(sector: Sector, ahead: float, aside: float, radius: float, hiding: Hiding = NOTHING) -> bool:
    """Whether an observer in the middle that looks along x sees a disc."""
    edges = (*sector.edge, 0.0, 1.0, 0.0, 0.0)
    views = Views(*map(one, (sector.half_angle, sector.reach, *edges)), np.array([7]))
    return bool(see_discs(views, Discs(np.array([8]), *map(one, (ahead, aside, radius))), 1, hiding, compiled=False)[0])


@pytest.mark.parametrize(
    ("half_angle", "ahead", "aside", "radius", "seen"),
    [
        (0.5, 1.0, 0.0, 0.0, True),
        (0.5, 2.1, 0.0, 0.0, False),
        (0.5, 2.1, 0.0, 0.2, True),  # reaches in over the arc
        (0.5, -0.1, 0.0, 0.05, False),
        (0.5, -0.1, 0.0, 0.1, True),  # touches the observer's middle
        (0.5, 1.0, 0.7, 0.0, False),
        (0.5, 1.0, 0.7, 0.15, True),  # reaches in over the straight edge
        (0.5, 2.0, 1.6, 0.3, False),  # beside the corner, which is farther than the radius
        (0.0, 1.0, 0.1, 0.1, True),
        (0.0, -1.0, 0.0, 0.5, False),
        (np.pi / 2, 1e-9, 1.0, 0.0, True),
        (np.pi / 2, -0.01, 1.0, 0.0, False),
        (2.0, -0.3, 1.0, 0.0, True),
        (2.0, -1.0, 0.0, 0.1, False),
        (np.pi, -1.0, 0.0, 0.0, True),
        (10.0, -1.0, 0.0, 0.0, True),
        (10.0, -2.1, 0.0, 0.0, False),
    ],
)
def test_discs_in_a_sector(half_angle: float, ahead: float, aside: float, radius: float, seen: bool) -> None:
    sector = Sector(half_angle, 2.0)
    for side in (aside, -aside):
        assert sees(sector, ahead, side, radius) == seen


def holds(sector: Sector, points: AnyArray) -> AnyArray:
    """Which points (M, 2) are in a sector."""
    turned = np.abs(np.arctan2(points[:, 1], points[:, 0])) <= sector.half_angle
    return turned & (np.hypot(points[:, 0], points[:, 1]) <= sector.reach)


def sampled(sector: Sector) -> AnyArray:
    """Points (M, 2) that fill a sector."""
    angles = np.linspace(-sector.half_angle, sector.half_angle, 201)
    reaches = np.linspace(0.0, sector.reach, 81)
    return np.stack([np.outer(np.cos(angles), reaches).ravel(), np.outer(np.sin(angles), reaches).ravel()], axis=1)


@given(half_angle=st.floats(0.0, 3.1), ahead=near, aside=near, radius=st.floats(0.0, 1.0))
def test_discs_are_seen_where_they_hold_a_point_of_the_sector(
    half_angle: float, ahead: float, aside: float, radius: float
) -> None:
    sector = Sector(half_angle, 2.0)
    points = sampled(sector)
    gap = float(np.hypot(points[:, 0] - ahead, points[:, 1] - aside).min())
    seen = sees(sector, ahead, aside, radius)
    if gap <= radius - 1e-9:
        assert seen
    if gap > radius + 0.05:
        assert not seen


@given(half_angle=st.floats(0.0, 3.1), ends=st.tuples(near, near, near, near))
@example(half_angle=2.225073858507e-311, ends=(0.0, 0.001, 0.001, 0.001))
def test_walls_are_seen_at_the_distance_of_their_nearest_point_in_the_sector(
    half_angle: float, ends: tuple[float, float, float, float]
) -> None:
    sector = Sector(half_angle, 2.0)
    begin, end = np.array(ends[:2]), np.array(ends[2:])
    along = begin + np.linspace(0.0, 1.0, 2001)[:, None] * (end - begin)
    inside = holds(sector, along)
    distance = float(sector.segment_distances(begin[:, None], end[:, None])[0])
    if inside.any():
        assert distance <= np.hypot(*along[inside].T).min() + 1e-9
    if np.isfinite(distance):
        # Its points are 4 mm apart; some lie that near to the sector, and to the distance found.
        wider = holds(Sector(sector.half_angle + 0.02, sector.reach + 0.02), along)
        gaps = np.hypot(along[:, 0], along[:, 1])[wider | (np.hypot(along[:, 0], along[:, 1]) < 0.02)]
        assert np.abs(gaps - distance).min() < 0.2


def test_walls_by_hand() -> None:
    sector = Sector(0.3, 2.0)

    def distance(*ends: float) -> float:
        return float(sector.segment_distances(np.array([[ends[0]], [ends[1]]]), np.array([[ends[2]], [ends[3]]]))[0])

    assert distance(1.0, -5.0, 1.0, 5.0) == 1.0  # right across
    assert distance(2.5, -5.0, 2.5, 5.0) == np.inf
    assert distance(0.0, 0.5, 3.0, 0.5) == pytest.approx(0.5 / np.sin(0.3))  # alongside: enters over the edge
    assert distance(-1.0, 0.5, -1.0, -0.5) == np.inf  # behind
    assert Sector(4.0, 2.0).segment_distances(np.array([[-1.0], [0.5]]), np.array([[-1.0], [-0.5]]))[0] == 1.0


def test_rays_meet_discs_ahead_only() -> None:
    ahead, aside = np.array([2.0, 2.0, -0.1, 50.0]), np.array([0.2, -0.4, 0.0, 0.3])
    assert ray_meets_discs(ahead, aside, np.full(4, 0.3)).tolist() == [True, False, False, True]


def test_rays_meet_segments() -> None:
    begin = np.array([[1.0, 1.0, 3.0, -2.0], [-1.0, 1.0, 0.0, -1.0]])
    end = np.array([[1.0, 2.0, 2.0, -2.0], [1.0, 2.0, 0.0, 1.0]])
    assert ray_segment_distances(1.0, 0.0, begin, end).tolist() == [1.0, np.inf, 2.0, np.inf]


def test_segments_and_discs_hide_what_is_behind_them() -> None:
    targets = [(2.0, 0.0), (0.5, 0.0), (2.0, 3.0), (1.0, 0.0)]
    everywhere, nobody = Sector(4.0, 9.0), Discs(np.empty(0, np.int64), *[np.empty(0)] * 3)
    walls = Hiding(np.array([(1.0, -1.0, 1.0, 1.0)]), nobody)
    assert [sees(everywhere, *target, 0.1, walls) for target in targets] == [False, True, True, False]
    # On the line, but not between.
    along = Hiding(np.array([(3.0, 0.0, 4.0, 0.0), (-2.0, 0.0, -1.0, 0.0)]), nobody)
    assert all(sees(everywhere, *target, 0.1, along) for target in targets)
    for row, seen in ((9, [False, True, True, False]), (7, [True] * 4), (8, [True] * 4)):
        # Neither the observer nor the one that is looked at hides anything.
        disc = Hiding(np.empty((0, 4)), Discs(np.array([row]), one(1.0), one(0.2), one(0.3)))
        assert [sees(everywhere, *target, 0.1, disc) for target in targets] == seen


def test_frames_turn_with_the_observer() -> None:
    ahead, aside = in_frame(one(0.0), one(2.0), np.cos(one(np.pi / 2)), np.sin(one(np.pi / 2)))
    assert (ahead[0], aside[0]) == (pytest.approx(2.0), pytest.approx(0.0))
