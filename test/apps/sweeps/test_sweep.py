"""Whole sweeps: results in one table, the same in any order, and kept through kills."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fleet_sim import ConfigError, InvalidValueError
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.reports import sweep_page_of
from fleet_sim.apps.sweeps import groups_of, limits_of, load_sweep, read_table, run_sweep
from fleet_sim.apps.sweeps.sweep import RunGroup, Spread, SweepTable, simulation_of, spread_of, student, welch
from fleet_sim.base.files import TableFile
from fleet_sim.base.parallel import JobLimits, LocalExecutor

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


def test_a_text_that_looks_like_a_formula_is_read_as_it_was_given(tmp_path: Path) -> None:
    given = ["=1+1", "-slow", "plain", "'quoted", "'=2"]
    columns = {"run": int, "seed": int, "way": str, "status": str, "error": str}
    with closing(TableFile(tmp_path / "t.csv", columns)) as table:
        table.write([[run, 1, text, "done", ""] for run, text in enumerate(given)])
    written = [line.split(",")[2] for line in (tmp_path / "t.csv").read_text().splitlines()]
    assert written == ["way", "'=1+1", "'-slow", "plain", "'quoted", "''=2"]
    assert list(read_table(tmp_path / "t.csv").columns["way"]) == given


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


# ---- What is varied: values, combinations and seeds, and how mistakes are reported -----------------------------------


SCENARIO: dict[str, Any] = {
    "simulation": {"gui": False, "monitor": False, "timestep": 0.1},
    "robots": [{"name": "a", "shape": {"shape_type": "box"}}],
}


def sweep_plan(**settings: Any) -> Any:
    return load_sweep({"scenario": SCENARIO, "duration": 1.0, **settings})


def test_a_grid_has_every_combination_with_every_seed() -> None:
    plan = sweep_plan(parameters={"simulation.timestep": [0.1, 0.2], "robots[0].name": ["x", "y", "z"]}, seeds="3-4")
    assert len(plan) == 12
    found = [(*plan.values(number).values(), plan.seed(number)) for number in range(12)]
    assert found == [(step, name, seed) for step in (0.1, 0.2) for name in "xyz" for seed in (3, 4)]
    scenario = plan.scenario_of(11)
    assert scenario["simulation"]["timestep"] == 0.2
    assert scenario["simulation"]["seed"] == 4
    assert scenario["robots"][0]["name"] == "z"
    # The plan's own is as it was.
    assert plan.scenario_of(0)["robots"][0]["name"] == "x"


def test_zip_takes_the_values_side_by_side() -> None:
    plan = sweep_plan(parameters={"simulation.timestep": [0.1, 0.2], "robots[0].name": ["x", "y"]}, combine="zip")
    assert [tuple(plan.values(number).values()) for number in range(len(plan))] == [(0.1, "x"), (0.2, "y")]
    with pytest.raises(ConfigError, match=r"has 2, .* has 1"):
        sweep_plan(parameters={"simulation.timestep": [0.1, 0.2], "robots[0].name": ["x"]}, combine="zip")


def test_ranges_and_distributions() -> None:
    parameters: dict[str, Any] = {"simulation.timestep": {"from": 0.1, "to": 0.3, "step": 0.1}}
    assert sweep_plan(parameters=parameters).axes["simulation.timestep"] == pytest.approx([0.1, 0.2, 0.3])
    assert sweep_plan(parameters={"a.b": {"from": 2, "to": 6, "count": 3}}).axes["a.b"] == [2, 4, 6]
    parameters["robots[0].x"] = {"uniform": [-1, 1]}
    parameters["robots[0].y"] = {"log_uniform": [0.1, 10]}
    plan = sweep_plan(parameters=parameters, samples=4)
    assert len(plan) == 12
    # What is drawn belongs together: four points, not sixteen.
    points = {(plan.values(number)["robots[0].x"], plan.values(number)["robots[0].y"]) for number in range(12)}
    assert len(points) == 4
    assert all(-1 <= x <= 1 and 0.1 <= y <= 10 for x, y in points)
    again = sweep_plan(parameters=parameters, samples=6)
    assert again.axes["robots[0].x"][:4] == plan.axes["robots[0].x"]
    assert sweep_plan(parameters=parameters, samples=4, sample_seed=1).axes["robots[0].x"] != plan.axes["robots[0].x"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": "3-1"}, "seeds: .*ends before"),
        ({"seeds": [1, 1]}, "seed 1 is given twice"),
        ({"seeds": "x"}, "whole number"),
        ({"parameters": {"a": {"uniform": [0, 10**400]}}}, "parameters.a.uniform: must be finite"),
        ({"parameters": {"robots[3].name": [1]}}, r"parameters.robots\[3\].name: .*1 entries"),
        ({"parameters": {"a": []}}, "parameters.a: must be a list of values"),
        ({"parameters": {"a": {"uniform": [2, 1]}}}, "parameters.a.uniform: .*smaller and a larger"),
        ({"parameters": {"a": {"log_uniform": [0, 1]}}}, "above 0"),
        ({"parameters": {"a": {"uniform": [0, 1], "step": 1}}}, "nothing beside uniform"),
        ({"parameters": {"a": {"from": 0, "to": 1}}}, "`count` or `step`"),
        ({"parameters": {"a": {"from": 1, "to": 1, "count": 2}}}, "above from"),
        ({"parameters": {"simulation.seed": [1]}}, "varied by `seeds`"),
        ({"time_limit": 0}, "time_limit"),
        ({"colour": 1}, "colour"),
        ({"scenario": 3}, "name of a file"),
    ],
)
def test_mistakes_name_their_place(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sweep_plan(**settings)


def test_what_a_parameter_makes_wrong_is_named_in_the_sweep(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text("{scenario: demo.yaml, duration: 1, parameters: {simulation.timstep: [0.1]}}")
    place = f"^{re.escape(str(file))}: parameters.simulation.timstep: "
    with pytest.raises(ConfigError, match=f"{place}.*unknown key. Did you mean 'timestep'"):
        simulation_of(load_sweep(file), 0)


def test_the_scenario_is_looked_for_beside_the_sweep_first(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text("robots: [{name: mine}]\n")
    (tmp_path / "sweep.yaml").write_text("scenario: demo.yaml\nduration: 1\n")
    assert load_sweep(tmp_path / "sweep.yaml").scenario["robots"][0]["name"] == "mine"
    (tmp_path / "demo.yaml").unlink()
    assert len(load_sweep(tmp_path / "sweep.yaml").scenario["robots"]) >= 1


def test_limits_are_those_of_each_run() -> None:
    assert limits_of(sweep_plan(time_limit=2, memory_limit=300, attempts=5)) == JobLimits(2.0, 300.0, 5)


# ---- Means and confidence intervals of sweeps, against the distribution they come from -------------------------------


def share_within(limit: float, freedom: int) -> float:
    """Return how likely Student's t of so many degrees of freedom is within +-limit, by adding up its density."""
    # The tail falls with a power only: t = tan(angle) makes the range finite.
    angle = np.linspace(0.0, math.atan(limit), 20_001)
    t = np.tan(angle)
    scale = math.lgamma(0.5 * (freedom + 1)) - math.lgamma(0.5 * freedom) - 0.5 * math.log(freedom * math.pi)
    density = math.exp(scale) * (1.0 + t * t / freedom) ** (-0.5 * (freedom + 1)) * (1.0 + t * t)
    step = angle[1] - angle[0]
    # Simpson's rule, on both sides of 0.
    return float(
        2.0 * step / 3.0 * (density[0] + density[-1] + 4.0 * density[1::2].sum() + 2.0 * density[2:-1:2].sum())
    )


@pytest.mark.parametrize("freedom", [*range(1, 41), 60, 120, 1000])
def test_an_interval_holds_the_mean_in_95_of_100_sweeps(freedom: int) -> None:
    assert share_within(student(freedom), freedom) == pytest.approx(0.95, abs=1e-5)


def test_intervals_get_shorter_with_every_run() -> None:
    factors = [student(freedom) for freedom in range(1, 200)]
    assert all(later < earlier for earlier, later in pairwise(factors))
    assert factors[-1] > 1.959964


def test_a_spread_of_few_values() -> None:
    assert spread_of([]) is None
    one = spread_of([4.0])
    assert one is not None
    assert (one.mean, one.half_width, one.count) == (4.0, None, 1)
    two = spread_of([1.0, 3.0])
    assert two is not None
    # The standard deviation is sqrt(2), the standard error 1.
    assert (two.mean, two.count) == (2.0, 2)
    assert two.half_width == pytest.approx(12.7062)
    same = spread_of([0.1] * 7)
    assert same is not None
    assert same.half_width == pytest.approx(0.0, abs=1e-15)


def table(**columns: list[Any]) -> SweepTable:
    """Return a table of runs that vary `speed` and measure `arrived` and `late`."""
    return SweepTable("", ["speed"], columns)


def test_runs_are_grouped_by_their_parameters_and_failed_ones_are_counted_only() -> None:
    runs = table(
        run=[0, 1, 2, 3, 4],
        seed=[1, 1, 2, 2, 3],
        speed=[1.0, 2.0, 1.0, 2.0, 1.0],
        status=["done", "done", "done", "failed", "failed"],
        error=["", "", "", "too long", "too long"],
        arrived=[10, 20, 14, 99, None],
        late=[None, 3.0, 5.0, None, None],
    )
    slow, fast = groups_of(runs)
    assert (slow.values, slow.runs, slow.failed) == ({"speed": 1.0}, 3, 1)
    assert (fast.values, fast.runs, fast.failed) == ({"speed": 2.0}, 2, 1)
    assert (slow.spreads["arrived"].mean, slow.spreads["arrived"].count) == (12.0, 2)
    # What was not measured in a run does not count as 0.
    assert (slow.spreads["late"].mean, slow.spreads["late"].count) == (5.0, 1)
    assert fast.spreads["arrived"].mean == 20.0
    assert list(groups_of(runs, ["late"])[1].spreads) == ["late"]


def test_a_group_of_failed_runs_has_no_spreads() -> None:
    runs = table(run=[0], seed=[1], speed=[1.0], status=["failed"], error=["x"], arrived=[None], late=[None])
    (group,) = groups_of(runs)
    assert (group.failed, group.spreads) == (1, {})


# ---- hostile sweeps --------------------------------------------------------------------------------------------------


SCENARIO_HOSTILE_SWEEPS = "scenario: {simulation: {timestep: 0.1}, robots: [{name: a}]}\nduration: 0.2\n"


@pytest.mark.parametrize("sizes", [(2, 2), (2, 9), (5, 4), (30, 12), (300, 200)])
@pytest.mark.parametrize("shift", [0.0, 0.3, 2.0, 30.0])
def test_two_samples_differ_by_chance_as_often_as_scipy_says(sizes: tuple[int, int], shift: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(sum(sizes))
    first, second = random.normal(0.0, 1.0, sizes[0]), random.normal(shift, 3.1, sizes[1])
    expected = stats.ttest_ind(first, second, equal_var=False).pvalue
    assert welch(first.tolist(), second.tolist()) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert welch([1.0], [2.0, 3.0]) is None and welch([1.0, 1.0], [2.0, 2.0]) is None


def test_two_sweeps_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, shift in (("old", 0.0), ("new", 3.0)):
        lines = ["run,seed,robots,status,error,throughput_per_h,collisions"]
        lines += [f"{run},{run},20,done,,{100 + shift + run % 3},{run % 2}" for run in range(8)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    files = [str(tmp_path / f"{name}.csv") for name in ("old", "new")]
    assert main(["report", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    # By hand: means 100.875 and 103.875, standard deviations 0.8345, t = 7.19 with 14 degrees of freedom.
    changed = next(line for line in lines if line.startswith("Throughput (per hour)")).split()
    assert "103.9" in changed and changed[-1] == "differs" and float(changed[-2]) == pytest.approx(4.6e-6, rel=0.05)
    assert next(line for line in lines if line.startswith("Collisions")).split()[-1] == "1"
    assert main(["report", *files, "--out", str(tmp_path / "page.html")]) == 0
    assert "differs" in (tmp_path / "page.html").read_text()
    assert main(["report", files[0], "run.json"]) == 1
    assert "compared with another sweep" in capsys.readouterr().err


def test_the_least_number_that_meets_the_goals_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "walls.yaml"
    robots = {"name": "a", "grid": {"count": 1, "spacing": [2, 0, 0]}, "shape": {"shape_type": "box"}}
    path.write_text(yaml.safe_dump({"simulation": {"timestep": 0.1}, "robots": [robots]}))
    command = ["size", str(path), "--seeds", "1-2", "--duration", "0.1", "--processes", "1", "--most", "40"]
    # As many robots as asked for: the figure is the number itself.
    assert main([*command, "--goal", "robots>=11"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "robots[0].grid.count: 11 meets all goals, 10 does not"
    assert main([*command, "--goal", "robots>=41"]) == 1
    assert "up to 40" in capsys.readouterr().out
    assert main([*command, "--goal", "robot>=3"]) == 1
    assert "robots" in capsys.readouterr().err
    # The whole interval of 10 \u00b1 0.5 has to be on the right side of each bound.
    group = RunGroup({}, 2, 0, {"x": Spread(10.0, 0.5, 2)})
    monkeypatch.setattr("fleet_sim.apps.sweeps.groups_of", lambda table: [group])
    for goals, code in ((["x>=9.4"], 0), (["x>=9.6"], 1), (["x<=10.6"], 0), (["x<=10.4"], 1), (["x>=9", "x<=9"], 1)):
        given = [word for goal in goals for word in ("--goal", goal)]
        assert main([*command, "--least", "40", *given]) == code, goals


def changed(line: str, name: str, value: object) -> str:
    """A line of a journal with another value in it, and the checksum as it was."""
    return json.dumps({**json.loads(line), name: value})


EDITS: dict[str, tuple[Callable[[str], str], str]] = {
    "a number that was changed by hand": (
        lambda line: line.replace('"robots": 1', '"robots": 2'),
        "changed or damaged",
    ),
    "no checksum": (lambda line: line.rpartition(', "crc"')[0] + "}", "changed or damaged"),
    "a run that does not exist": (lambda line: changed(line, "run", 10**9), "changed or damaged"),
    "a line cut off in the middle": (lambda line: line[: len(line) // 2], "is none of a sweep"),
    "other bytes": (lambda line: "\x00" * 40, "is none of a sweep"),
    "depth": (lambda line: "[" * 100_000, "is none of a sweep"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep of two runs that was made."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "s.yaml").write_text(SCENARIO_HOSTILE_SWEEPS + "seeds: 1-2\nmeasure: [robots]\n")
    assert main(["sweep", str(folder / "s.yaml"), "--out", str(folder / "t.parquet"), "--processes", "1"]) == 0
    return folder


@pytest.mark.parametrize("edit", EDITS)
def test_journals_that_were_changed_are_refused(
    edit: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (whole / "t.runs.jsonl").read_text().splitlines()
    lines[1] = EDITS[edit][0](lines[1])
    journal = tmp_path / "t.runs.jsonl"
    journal.write_text("\n".join(lines) + "\n")
    before = journal.read_bytes()
    assert main(["sweep", str(whole / "s.yaml"), "--out", str(tmp_path / "t.parquet"), "--resume"]) == 1
    error = capsys.readouterr().err
    assert "t.runs.jsonl: line 2" in error and EDITS[edit][1] in error and "Traceback" not in error
    assert journal.read_bytes() == before and not (tmp_path / "t.parquet").exists()


@pytest.mark.parametrize("part", [0, 3, 40, -8, -1])
def test_tables_that_were_cut_off_are_refused_and_written_anew(
    part: int, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.parquet"
    table.write_bytes((whole / "t.parquet").read_bytes()[:part])
    assert main(["report", str(table), "--out", str(tmp_path / "page.html")]) == 1
    assert "Traceback" not in capsys.readouterr().err
    # What --resume goes on from is the journal: the table comes out of it whole.
    (tmp_path / "t.runs.jsonl").write_bytes((whole / "t.runs.jsonl").read_bytes())
    assert main(["sweep", str(whole / "s.yaml"), "--out", str(table), "--resume"]) == 0
    assert read_table(table).columns == read_table(whole / "t.parquet").columns


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("parameters: {a: &a [1], b: *a, c: {uniform: [0, .inf]}}", "finite"),
        ("seeds: 1-99999999999", "at most 100000 seeds"),
        ("parameters: {simulation.timestep: {from: 0, to: 1.0e+300, step: 1}}", "100000 values"),
        ("samples: 1000000\nparameters: {a: {uniform: [0, 1]}, b: {uniform: [0, 1]}, c: {uniform: [0, 1]}}", "2000000"),
        ("measure: !!python/object/apply:os.system [true]", "s.yaml"),
        ("scenario: !!python/name:os.system", "s.yaml"),
        ("parameters: {'robots[999999999].mass': [1]}", "robots"),
        ("attempts: 1000000", "attempts"),
    ],
)
def test_hostile_sweeps_are_refused_with_the_reason(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        text + "\n" + "".join(f"{line}\n" for line in SCENARIO_HOSTILE_SWEEPS.splitlines() if line[:8] not in text)
    )
    with pytest.raises(ConfigError, match=reason):
        load_sweep(path)


def test_a_dry_run_imports_no_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil_measure.py").write_text("raise SystemExit('it was imported')\n")
    (tmp_path / "s.yaml").write_text(SCENARIO_HOSTILE_SWEEPS + 'measure: ["evil_measure:x"]\n')
    assert main(["sweep", str(tmp_path / "s.yaml"), "--dry-run"]) == 0
