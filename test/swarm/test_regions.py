"""Regions and goals: a polygon or a disc, and not both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.swarm.swarm_state import AreaGoal, CylinderGoal, Goal, Region

CORNERS = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]]


@pytest.mark.parametrize("kind", [Region, Goal])
@pytest.mark.parametrize(
    "settings",
    [
        {"points": CORNERS, "radius": 3.0},
        {"points": CORNERS, "center": (0.0, 0.0)},
        {"points": CORNERS, "center": (0.0, 0.0), "radius": 3.0},
        {"center": (0.0, 0.0)},
        {"radius": 3.0},
        {},
    ],
)
def test_points_or_a_disc(kind: type[Region], settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match=r"either points .* or a center and a radius"):
        kind(**settings)


def test_each_kind_contains_what_lies_inside() -> None:
    points = np.array([[1.0, 0.25], [1.9, 0.9], [5.0, 5.0]])
    for region, inside in (
        (Region(CORNERS), [True, True, False]),
        (Region(center=(1.0, 0.0), radius=0.5), [True, False, False]),
        (AreaGoal(position=(0.0, 0.0), size=(1.5, 1.0)), [True, False, False]),
        (CylinderGoal(position=(5.0, 5.0), radius=0.1), [False, False, True]),
    ):
        assert region.contains(points).tolist() == inside
