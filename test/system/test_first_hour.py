"""What a newcomer writes in the first hour: wrong names are refused with the right ones, files are found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.base.files import data_file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("robots: [{nme: a}]", "robots[0].nme: unknown key. Did you mean 'name'"),
        ("simulations: {}", "Did you mean 'simulation'"),
        ("robtos: []", "Did you mean 'robots'"),
        ("robots: [{name: a, pose: [0, 0, 0, 90]}]", "90 degrees are 1.5708"),
        ("robots: [{name: bat}]\nros: {per_robot: [bot]}", "ros.per_robot[0]: unknown robot 'bot'. Did you mean 'bat'"),
        ("robots: [{name: a, grid: {count: 2}}]\nros: {per_robot: [a_1, a_2]}", "ros.per_robot[1]: unknown robot"),
    ],
)
def test_check_and_run_refuse_alike(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    for command in (["check", str(path)], ["run", str(path), "--headless", "--duration", "0.1"]):
        assert main(command) == 1
        assert message in capsys.readouterr().err


def test_robots_may_come_later(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("ros: {per_robot: [late]}\nsimulation: {timestep: 0.05}")
    assert main(["check", str(path)]) == 0


def test_files_are_found_beside_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    (folder / "models").mkdir(parents=True)
    elsewhere.mkdir()
    shutil.copy(data_file("urdf", "cube.urdf"), folder / "mine.urdf")
    shutil.copy(data_file("urdf", "cube.urdf"), folder / "models" / "other_cube.urdf")
    (folder / "s.yaml").write_text(
        "simulation: {model_paths: [models]}\n"
        "robots: [{name: a, urdf_path: mine.urdf}, {name: b, urdf_path: other_cube}]\n"
        "objects: [{name: c, urdf_path: mine.urdf}]\n"
    )
    monkeypatch.chdir(elsewhere)
    # A scenario that asks for no window opens none where there is no display.
    monkeypatch.delenv("DISPLAY", raising=False)
    with fs.MultiRobotSimulationCore.from_yaml(folder / "s.yaml") as sim:
        paths = {sim.get_object(name).robot_model.path for name in ("a", "b")}
    assert paths == {str(folder / "mine.urdf"), str(folder / "models" / "other_cube.urdf")}
