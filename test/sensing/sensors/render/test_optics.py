"""Intrinsics: to pixels and back, and what they refuse."""

from __future__ import annotations

import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.sensing.sensors.render.shot import Intrinsics


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 240, 1.0), "width.*got 0"),
        ((320, 10_000, 1.0), "height.*8192"),
        ((320, 240.0, 1.0), "height"),
        ((320, 240, 0.0), "horizontal_fov"),
        ((320, 240, 4.0), "horizontal_fov"),
        ((320, 240, float("nan")), "horizontal_fov"),
    ],
)
def test_impossible_intrinsics_are_refused(arguments: tuple[int, int, float], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        Intrinsics.from_fov(*arguments)


def test_a_focal_length_of_zero_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="fy"):
        Intrinsics(10, 10, 5.0, 0.0, 5.0, 5.0)
