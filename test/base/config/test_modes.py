"""Modes are their string values, and have stable codes for columns."""

from __future__ import annotations

import pytest

from fleet_sim.base import params as modes
from fleet_sim.base.errors import InvalidValueError, UnknownNameError

VALUES = {
    modes.MotionMode: "omnidirectional|differential|ackermann",
    modes.MovementDirection: "forward|backward|auto",
    modes.PosePhase: "rotate|forward",
    modes.ActionStatus: "not_started|in_progress|completed|failed|cancelled",
    modes.CollisionMode: "normal_3d|normal_2d|static|disabled",
    modes.CollisionDetectionMethod: "closest_points|contact_points|hybrid",
    modes.SpatialHashCellSizeMode: "constant|auto_adaptive|auto_initial",
    modes.ControllerMode: "idle|velocity|pose",
}


@pytest.mark.parametrize(("mode", "values"), VALUES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_values_and_codes(mode: type[modes.Mode], values: str) -> None:
    assert [str(member) for member in mode] == values.split("|")
    assert [member.code for member in mode] == list(range(len(mode)))
    assert all(mode(member.value) is member and member == member.value for member in mode)


@pytest.mark.parametrize("mode", VALUES)
def test_codes_and_names_lead_back_to_their_member(mode: type[modes.Mode]) -> None:
    for code, member in enumerate(mode):
        assert mode.from_code(code) is member
        assert mode.parse(member) is mode.parse(member.value) is mode.parse(member.name) is member


@pytest.mark.parametrize("mode", VALUES)
def test_unknown_values_are_refused_with_a_suggestion(mode: type[modes.Mode]) -> None:
    first = next(iter(mode)).value
    with pytest.raises(InvalidValueError, match=f"Did you mean '{first}'"):
        mode.parse(first + "x")
    for code in (-1, 99):
        with pytest.raises(UnknownNameError):
            mode.from_code(code)
