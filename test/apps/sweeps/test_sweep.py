"""Whole sweeps: results in one table, the same in any order, and kept through kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from fleet_sim import ConfigError, InvalidValueError
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.reports import sweep_page_of
from fleet_sim.apps.sweeps import groups_of, load_sweep, read_table, run_sweep
from fleet_sim.base.parallel import LocalExecutor

HERE = Path(__file__).parent
SWEEP = """
scenario:
  simulation: {gui: false, monitor: false, timestep: 0.1}
  robots:
    - name: a
      shape: {shape_type: box}
      controller: {type: omni, max_linear_vel: 1.0}
      actions: [{type: move, path: [[9, 0, 0]]}]
duration: 2
seeds: 1-2
parameters: {"robots[0].controller.max_linear_vel": [0.5, 1.0, 2.0]}
"""


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sweep of six runs in a folder of its own, where measures of users are found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(HERE))
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP + "measure: [sweep_measures:reach, collisions, state_hash]\n")
    return path


def test_a_sweep_makes_a_table_with_what_was_asked_for(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(sweep), "--out", "t.parquet", "--processes", "2"]) == 0
    table = read_table("t.parquet")
    assert list(table.columns["run"]) == list(range(6))
    assert list(table.columns["seed"]) == [1, 2] * 3
    speeds = table.columns["robots[0].controller.max_linear_vel"]
    assert list(speeds) == [0.5, 0.5, 1.0, 1.0, 2.0, 2.0]
    reached = table.columns["sweep_measures:reach.x"]
    assert reached[0] == pytest.approx(reached[1])
    assert reached[0] < reached[2] < reached[4]
    assert "0 collisions" not in capsys.readouterr().out
    # One process, another order, another format: the same values.
    assert main(["sweep", str(sweep), "--out", "u.csv", "--processes", "1"]) == 0
    other = read_table("u.csv")
    assert {name: list(values) for name, values in other.columns.items() if name != "error"} == {
        name: list(values) for name, values in table.columns.items() if name != "error"
    }
    groups = groups_of(table)
    assert [group.runs for group in groups] == [2, 2, 2]
    assert groups[0].spreads["sweep_measures:reach.one"].half_width == 0.0
    assert main(["report", "t.parquet", "--out", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert "sweep_measures:reach.x" in page
    assert page.count("<circle") >= 3


def test_a_page_says_once_what_is_the_same_in_all_runs(sweep: Path) -> None:
    content = yaml.safe_load(sweep.read_text())
    Path("hall.yaml").write_text(yaml.safe_dump(content["scenario"]))
    parameters = {**content["parameters"], "simulation.timestep": [0.1], "robots[0].name": ["left", "right"]}
    sweep.write_text(yaml.safe_dump({**content, "scenario": "hall.yaml", "parameters": parameters}))
    assert main(["sweep", str(sweep), "--out", "t.parquet", "--processes", "1"]) == 0
    page = sweep_page_of(read_table("t.parquet"))
    assert "<p>12 runs: 6 combinations, 2 seeds</p><p>hall.yaml, 2 s each</p>" in page
    assert page.count("simulation.timestep") == 1
    assert "In all of them: simulation.timestep 0.1" in page
    assert "The same in all combinations: Collisions 0" in page


def test_without_measures_all_figures_are_kept_that_are_the_same_again(sweep: Path) -> None:
    sweep.write_text(SWEEP)
    for name in ("a.parquet", "b.parquet"):
        run_sweep(load_sweep(sweep), name, LocalExecutor(1))
    assert Path("a.parquet").read_bytes() == Path("b.parquet").read_bytes()
    columns = read_table("a.parquet").columns
    assert {"simulated_s", "collisions", "actions_completed", "state_hash"} <= set(columns)
    assert not any(name.startswith("planning_ms") for name in columns)


def test_a_measure_that_is_true_or_false_is_a_number_in_both_formats(sweep: Path) -> None:
    sweep.write_text(SWEEP + "measure: [sweep_measures:arrived]\n")
    for name in ("a.csv", "b.parquet"):
        run_sweep(load_sweep(sweep), name, LocalExecutor(1))
        table = read_table(name)
        assert table.measures == ["sweep_measures:arrived"]
        assert list(table.columns["sweep_measures:arrived"]) == [0, 0, 1, 1, 1, 1]
        assert [group.runs for group in groups_of(table)] == [2, 2, 2]


def test_a_run_that_fails_is_told_and_counts_in_no_mean(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep.write_text(SWEEP.replace("[0.5, 1.0, 2.0]", "[0.5, -1.0]"))
    assert main(["sweep", str(sweep), "--out", "t.csv", "--processes", "1"]) == 1
    assert "2 of 4 runs failed" in capsys.readouterr().out
    table = read_table("t.csv")
    assert table.columns["status"] == ["done", "done", "failed", "failed"]
    assert "max_linear_vel" in table.columns["error"][2]
    assert [(group.runs, group.failed) for group in groups_of(table)] == [(2, 0), (2, 2)]
    assert "Runs that failed" in sweep_page_of(table)


def test_results_are_not_mixed_and_not_overwritten(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(sweep), "--out", "t.csv"]) == 0
    assert main(["sweep", str(sweep), "--out", "t.csv"]) == 1
    assert "--resume" in capsys.readouterr().err
    before = Path("t.csv").read_bytes()
    # Nothing is left to do.
    assert main(["sweep", str(sweep), "--out", "t.csv", "--resume"]) == 0
    assert Path("t.csv").read_bytes() == before
    sweep.write_text(SWEEP.replace("1-2", "1-3"))
    assert main(["sweep", str(sweep), "--out", "t.csv", "--resume"]) == 1
    assert "results of another sweep" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_sweep_goes_on_where_it_was(sweep: Path) -> None:
    text = SWEEP.replace("1-2", "1-4") + "measure: [sweep_measures:sleepy, state_hash]\n"
    sweep.write_text(text)
    run_sweep(load_sweep(sweep), "whole.parquet", LocalExecutor(2))
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    command = [
        sys.executable,
        "-m",
        "fleet_sim.apps.cli.main",
        "sweep",
        str(sweep),
        "--out",
        "t.parquet",
        "--processes",
        "2",
    ]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = Path("t.runs.jsonl")
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 4):
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    # A line that the end of the process cut off.
    with journal.open("ab") as file:
        file.write(b'{"run": 11, "s": 0.')
    known = journal.read_bytes().count(b"\n")
    assert subprocess.run([*command, "--resume"], env=environment, capture_output=True).returncode == 0
    assert Path("t.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    lines = journal.read_bytes().splitlines()
    # What had ended was not made again.
    assert (len(lines), known < 13) == (13, True)


def test_mistakes_are_reported_before_anything_runs(sweep: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"\.csv or \.parquet"):
        run_sweep(load_sweep(sweep), "t.txt", LocalExecutor(1))
    sweep.write_text(SWEEP + "measure: [collision]\n")
    with pytest.raises(ConfigError, match="Did you mean 'collisions'"):
        run_sweep(load_sweep(sweep), "t.csv", LocalExecutor(1))
    sweep.write_text(SWEEP + "measure: [nothing:here]\n")
    with pytest.raises(InvalidValueError, match="nothing"):
        run_sweep(load_sweep(sweep), "t.csv", LocalExecutor(1))
    sweep.write_text(SWEEP.replace("duration: 2", ""))
    with pytest.raises(ConfigError, match="a duration"):
        run_sweep(load_sweep(sweep), "t.csv", LocalExecutor(1))
    assert not Path("t.csv").exists()
    (sweep.parent / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match="not the table of a sweep"):
        read_table("t.csv")


def test_a_dry_run_only_says_what_would_be_run(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(sweep), "--dry-run"]) == 0
    assert capsys.readouterr().out == "6 runs: 3 of robots[0].controller.max_linear_vel x 2 seeds\n"
    assert not list(sweep.parent.glob("*.csv")) + list(sweep.parent.glob("*.parquet"))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
def test_a_cluster_makes_the_same_table(sweep: Path) -> None:
    assert main(["sweep", str(sweep), "--out", "here.parquet", "--processes", "1"]) == 0
    assert main(["sweep", str(sweep), "--out", "there.parquet", "--processes", "2", "--address", "local"]) == 0
    assert Path("there.parquet").read_bytes() == Path("here.parquet").read_bytes()
