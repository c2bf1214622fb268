"""Sectors, rays and lines of sight, against cases by hand and against sampled points."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray
from fleet_sim.swarm.neighbours import (
    NOTHING,
    Discs,
    Hiding,
    Sector,
    Views,
    see_discs,
)


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


def sampled(sector: Sector) -> AnyArray:
    """Points (M, 2) that fill a sector."""
    angles = np.linspace(-sector.half_angle, sector.half_angle, 201)
    reaches = np.linspace(0.0, sector.reach, 81)
    return np.stack([np.outer(np.cos(angles), reaches).ravel(), np.outer(np.sin(angles), reaches).ravel()], axis=1)


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
