"""`fleet-sim new` writes a scenario that works."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import fleet_sim_command

from fleet_sim.apps.cli.main import main


@pytest.mark.parametrize(("name", "file"), [("hall", "hall.yaml"), ("my.fleet", "my.fleet.yaml"), ("a.yml", "a.yml")])
@pytest.mark.slow
def test_a_new_scenario_runs_without_a_collision(tmp_path: Path, name: str, file: str) -> None:
    done = fleet_sim_command("new", name, cwd=tmp_path)
    assert done.stdout == f"{file}: written. Try: fleet-sim run {file}\n"
    assert fleet_sim_command("check", file, cwd=tmp_path).stdout == f"{file}: OK\n"
    out = fleet_sim_command("run", file, "--headless", "--duration", "16", cwd=tmp_path).stdout
    assert "0 collisions, 0 of them with walls" in out
    assert "actions: 3 completed\n" in out


def test_a_file_that_exists_is_not_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("mine")
    done = fleet_sim_command("new", "hall", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "fleet-sim: error: hall.yaml exists; choose another name, or replace it with --force\n",
    )
    assert (tmp_path / "hall.yaml").read_text() == "mine"
    assert fleet_sim_command("new", "hall", "--force", cwd=tmp_path).returncode == 0


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    done = fleet_sim_command("new", "nowhere/hall", cwd=tmp_path)
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["", ".", "/", "hall\nrobots: []", "hall\udcff", "x" * 1000, "hall\0"])
def test_what_is_no_name_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", name]) == 1
    assert capsys.readouterr().err.startswith("fleet-sim: error: ")
    assert list(tmp_path.iterdir()) == []
