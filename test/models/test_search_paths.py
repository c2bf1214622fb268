"""The folders of a simulation's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim import InvalidValueError, MultiRobotSimulationCore, SimulationParams


def test_model_paths_of_the_settings_reach_the_world(tmp_path: Path) -> None:
    params = SimulationParams(gui=False, monitor=False, model_paths=[str(tmp_path)])
    with MultiRobotSimulationCore(params) as sim:
        assert sim.world.model_paths == (str(tmp_path.resolve()),)


def test_a_missing_folder_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "robots").mkdir()
    params = SimulationParams(gui=False, monitor=False, model_paths=[str(tmp_path / "robot")])
    with pytest.raises(InvalidValueError, match=r"model_paths: there is no folder .*robot'. Did you mean 'robots'\?"):
        MultiRobotSimulationCore(params)
