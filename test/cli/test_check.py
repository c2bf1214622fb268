"""`fleet-sim check` finds what loading a scenario finds."""

from __future__ import annotations

from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.cli.main import main

GOOD = "simulation: {gui: true}\nrobots:\n  - {name: r, sensors: [{type: lidar}], controller: random_walk}\n"
WRONG = [
    "robots: [{name: r, controller: {type: [1]}}]",
    "robots: [{name: r, controller: {class: .x.y}}]",
    "robots: [{name: r, controller: {class: no.such.Thing}}]",
    "robots: [{name: r, controller: no_such}]",
    "robots: [{name: r, controller: {type: omni, max_linear_vel: -1}}]",
    "robots: [{name: r, actions: [{type: fleet_sim.MoveTo}]}]",
    "robots: [{name: r, actions: [{type: move_to, nonsense: 1}]}]",
    "robots: [{name: r, sensors: [{type: lidar, beams: -1}]}]",
    "robots: [{name: r, urdf_path: no_such_model}]",
    "robots: [{name: r, urdf_path: arm6, joint_positions: {no_such: 1}}]",
    "robots: [{name: r}, {name: r}]",
    "robots: [{name: r, grid: {count: 2147483648}}]",
    "robots: [{name: r, grid: {count: 6.0e+200}}]",
    "robots: [{name: r, grid: {count: 4, columns: 1.0e+201}}]",
    "objects: [{name: o, shape: {shape_type: mesh, mesh_path: /no/such.obj}}]",
    "sensors: [{type: no_such}]",
    "sensors: [{type: lidar, name: [1]}]",
    "robots: [{name: r, motion_mode: [1]}]",
    "robots: [{name: r, features: {no_such: {}}}]",
    "robots: 3",
]


@pytest.mark.parametrize("text", WRONG)
def test_it_finds_what_loading_finds(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(f"simulation: {{gui: false}}\n{text}\n", encoding="utf-8")
    with pytest.raises(fs.ConfigError):
        fs.MultiRobotSimulationCore.from_yaml(file)
    assert main(["check", str(file)]) == 1
    assert str(file) in capsys.readouterr().err


def test_it_opens_no_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(GOOD, encoding="utf-8")
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: OK\n"
