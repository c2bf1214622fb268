"""Files that a scenario names are looked for beside it first."""

from __future__ import annotations

from pathlib import Path

import pytest

import fleet_sim as fs

ROBOT = (
    '<robot name="x"><link name="{}"><collision><geometry><box size="1 1 {}"/></geometry></collision></link></robot>'
)
SCENARIO = """
simulation: {gui: false, target_rtf: 0, model_paths: [models]}
robots:
  - {name: by_path, urdf_path: robots/mine.urdf, pose: [0, 0, 0]}
  - {name: by_name, urdf_path: named, pose: [3, 0, 0]}
  - {name: bundled, urdf_path: diff_base, pose: [6, 0, 0]}
objects:
  - {name: pyramid, pose: [9, 0, 0], shape: {shape_type: mesh, mesh_path: pyramid.obj}}
"""
PYRAMID = "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n"


def top(sim: fs.MultiRobotSimulationCore, name: str) -> float:
    return float(sim.get_aabbs()[sim.get_object(name).object_id][1][2])


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder, elsewhere = tmp_path / "scenario", tmp_path / "elsewhere"
    for path in (folder / "robots", folder / "models", folder / "diff_base", elsewhere):
        path.mkdir(parents=True)
    (folder / "robots" / "mine.urdf").write_text(ROBOT.format("mine", 1))
    (folder / "models" / "named.urdf").write_text(ROBOT.format("named", 2))
    (folder / "pyramid.obj").write_text(PYRAMID)
    (folder / "fleet.yaml").write_text(SCENARIO)
    monkeypatch.chdir(elsewhere)
    return folder / "fleet.yaml"


@pytest.mark.parametrize("relative", [False, True], ids=["absolute", "relative"])
def test_a_scenario_works_from_any_folder(scenario: Path, relative: bool) -> None:
    path = Path("..") / "scenario" / "fleet.yaml" if relative else scenario
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        heights = {name: top(sim, name) for name in ("by_path", "by_name", "pyramid")}
        assert heights == pytest.approx({"by_path": 0.5, "by_name": 1.0, "pyramid": 2.0})
        assert len(sim.agents) == 3


def test_the_working_folder_still_counts(scenario: Path) -> None:
    for name in ("robots", "models", "pyramid.obj"):
        (scenario.parent / name).rename(Path.cwd() / name)
    with fs.MultiRobotSimulationCore.from_yaml(scenario) as sim:
        assert len(sim.agents) == 3


def test_of_two_files_that_beside_the_scenario_is_meant(scenario: Path) -> None:
    (Path.cwd() / "robots").mkdir()
    (Path.cwd() / "robots" / "mine.urdf").write_text(ROBOT.format("other", 8))
    with fs.MultiRobotSimulationCore.from_yaml(scenario) as sim:
        assert top(sim, "by_path") == pytest.approx(0.5)
