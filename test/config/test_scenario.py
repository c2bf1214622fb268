"""Sections of a scenario: known ones only."""

from __future__ import annotations

import pytest

from fleet_sim.config.scenario import SECTIONS, check_sections, is_scenario
from fleet_sim.errors import ConfigError


def test_a_scenario_has_sections() -> None:
    assert is_scenario({"robots": []})
    assert not is_scenario({"timestep": 0.1})
    check_sections(dict.fromkeys(SECTIONS))


def test_an_unknown_section_is_named_with_its_file() -> None:
    with pytest.raises(ConfigError, match=r"f.yaml: simulatoin: unknown section. Did you mean 'simulation'"):
        check_sections({"simulatoin": {}}, source="f.yaml")
