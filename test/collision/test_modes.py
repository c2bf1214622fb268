"""The enums of collisions: their values, and the codes that columns hold."""

from __future__ import annotations

import pytest

from fleet_sim.collision.modes import CollisionDetectionMethod, CollisionMode, SpatialHashCellSizeMode
from fleet_sim.errors import UnknownNameError

ENUMS = [CollisionMode, CollisionDetectionMethod, SpatialHashCellSizeMode]


def test_values_are_those_of_configuration_files() -> None:
    assert [mode.value for mode in CollisionMode] == ["normal_3d", "normal_2d", "static", "disabled"]
    assert [method.value for method in CollisionDetectionMethod] == ["closest_points", "contact_points", "hybrid"]
    assert [mode.value for mode in SpatialHashCellSizeMode] == ["constant", "auto_adaptive", "auto_initial"]


@pytest.mark.parametrize("enum", ENUMS)
def test_codes_and_names_lead_back_to_their_member(enum: type[CollisionMode]) -> None:
    for code, member in enumerate(enum):
        assert member.code == code
        assert enum.from_code(code) is member
        assert enum.parse(member) is enum.parse(member.value) is enum.parse(member.name) is member
        assert str(member) == member.value


@pytest.mark.parametrize("enum", ENUMS)
def test_unknown_values_are_refused_with_a_suggestion(enum: type[CollisionMode]) -> None:
    wrong = list(enum)[0].value + "x"
    with pytest.raises(UnknownNameError, match=f"Did you mean '{list(enum)[0].value}'"):
        enum.parse(wrong)
    for code in (-1, 99):
        with pytest.raises(UnknownNameError):
            enum.from_code(code)
