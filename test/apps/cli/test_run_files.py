"""The files that `fleet-sim run --json` and `--metrics` write."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fleet_sim.apps.cli.main import main

FLEET = """
simulation: {gui: false, target_rtf: 0, timestep: 0.05, duration: 10, ignore_static_collision: false}
objects:
  - {name: wall, pose: [0, 5, 0.5], collision_mode: static,
     collision_shape: {shape_type: box, half_extents: [0.1, 1, 0.5]}}
robots:
  - {name: drives, urdf_path: diff_base, pose: [0, 0, 0], actions: [{type: move_to, target_pose: [2, 0, 0]}]}
  - {name: rests, urdf_path: diff_base, pose: [0, -5, 0]}
  - {name: hits, urdf_path: diff_base, pose: [-1, 5, 0], actions: [{type: move_to, target_pose: [0.6, 5, 0]}]}
  - {name: stuck, urdf_path: diff_base, pose: [-4, 5, 0], block_on_collision: true,
     actions: [{type: move_to, target_pose: [9, 5, 0]}]}
"""


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.yaml").write_text(FLEET)
    return "fleet.yaml"


def test_files_have_the_run_and_each_robot(scenario: str) -> None:
    assert (
        main(["run", scenario, "--json", "a.json", "--metrics", "a.csv", "--hash", "--set", "simulation.seed=4"]) == 0
    )
    told = json.loads(Path("a.json").read_text())
    assert (told["scenario"], told["settings"]) == (scenario, ["simulation.seed=4"])
    (run,) = told["runs"]
    assert run["seed"] == 4
    assert run["simulated_s"] == pytest.approx(10.0)
    assert run["steps"] == 200
    assert run["static_collisions"] == sum(line["collisions"] for line in run["robots"])
    assert len(run["state_hash"]) > 8
    robots = {line["robot"]: line for line in run["robots"]}
    assert robots["drives"]["goals"] == robots["drives"]["actions_completed"] == 1
    assert robots["drives"]["distance_m"] == pytest.approx(2.0, abs=0.02)
    assert robots["drives"]["waiting_s"] < 0.2
    assert (robots["rests"]["goals"], robots["rests"]["distance_m"], robots["rests"]["waiting_s"]) == (0, 0.0, 0.0)
    assert robots["hits"]["collisions"] >= 1
    assert robots["stuck"]["busy"]
    assert robots["stuck"]["waiting_s"] > 2.0
    assert run["goals"] == sum(line["goals"] for line in run["robots"])
    with Path("a.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [line["robot"] for line in table] == list(robots)
    assert float(table[0]["distance_m"]) == robots["drives"]["distance_m"]


def test_several_seeds_are_in_one_file(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", scenario, "--seeds", "1,2", "--duration", "1", "--json", "a.json", "--metrics", "a.parquet"]
    pytest.importorskip("pyarrow")
    assert main(command) == 0
    from pyarrow import parquet

    assert [run["seed"] for run in json.loads(Path("a.json").read_text())["runs"]] == [1, 2]
    assert parquet.read_table("a.parquet").column("seed").to_pylist() == [1] * 4 + [2] * 4
    assert "json: a.json\nmetrics: a.parquet\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "file", "reason"),
    [("--metrics", "a.txt", "must end in .csv or .parquet"), ("--json", "none/a.json", "there is no folder 'none'")],
)
def test_files_that_cannot_be_written_are_refused_before_the_run(
    scenario: str, option: str, file: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", scenario, option, file]) == 1
    captured = capsys.readouterr()
    assert reason in captured.err
    assert captured.out == ""


def test_robots_in_traffic_have_goals_distance_and_waiting(scenario: str) -> None:
    del scenario
    command = ["run", "sites/warehouse.yaml", "--headless", "--rtf", "0", "--duration", "20", "--json", "a.json"]
    assert main(command) == 0
    (run,) = json.loads(Path("a.json").read_text())["runs"]
    assert run["goals"] > 0
    assert run["distance_m"] > 100.0
    assert run["waiting_s"] > 0.0
