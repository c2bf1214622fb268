"""`fleet-sim traffic run` and `execute`, as their users call them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim import ConfigError
from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.sites import Grid, Warehouse, read_site, write_site
from fleet_sim.warehouse.traffic.figures import DRIVING, MOST, WAITING, FigureCollector, Series
from fleet_sim.warehouse.traffic.figures_file import read_run, run_of, write_run
from fleet_sim.warehouse.traffic.planners.planner import Planner
from fleet_sim.warehouse.traffic.problem import steps_to_rest, sum_of_costs
from fleet_sim.warehouse.traffic.workload import read_paths, write_paths

CONTRACT = {
    "robots",
    "simulated_s",
    "wall_s",
    "tasks_done",
    "throughput_per_s",
    "collisions",
    "closest_m",
    "deadlocks",
    "planning_ms_p50",
    "planning_ms_p99",
    "sum_of_costs",
    "makespan_s",
}

ROOM = "type octile\nheight 6\nwidth 8\nmap\n" + "........\n.@@..@@.\n........\n........\n.@@..@@.\n........\n"
SCEN = "version 1\n0\troom.map\t8\t6\t0\t0\t7\t5\t12.0\n0\troom.map\t8\t6\t7\t5\t0\t0\t12.0\n"
PATHS = (
    "Agent 0:(0,0)->(1,0)->(2,0)->(3,0)->(4,0)->(5,0)->(6,0)->(7,0)->(7,1)->(7,2)->(7,3)->(7,4)->(7,5)->\n"
    "Agent 1:(7,5)->(6,5)->(5,5)->(4,5)->(3,5)->(2,5)->(1,5)->(0,5)->(0,4)->(0,3)->(0,2)->(0,1)->(0,0)->\n"
)


class Silly(Planner):
    """Teleports everybody to node 0."""

    def plan(self, problem: Any) -> Any:
        return np.zeros((len(problem), 5), np.int64)


class Lazy(Planner):
    """Lets everybody stay."""

    def plan(self, problem: Any) -> Any:
        return np.repeat(problem.starts[:, None], 11, axis=1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "room.map").write_text(ROOM)
    (tmp_path / "room.scen").write_text(SCEN)
    (tmp_path / "paths.txt").write_text(PATHS)
    (tmp_path / "kiva.json").write_text(json.dumps({"layout": ["w..e", "w@.e", "w..e", "...."]}))
    (tmp_path / "room.agents").write_text("3\n0\n7\n47\n")
    (tmp_path / "room.tasks").write_text("4\n5\n23\n40\n16,31\n")
    content = {"mapFile": "room.map", "agentFile": "room.agents", "taskFile": "room.tasks", "teamSize": 3}
    (tmp_path / "league.json").write_text(json.dumps(content))
    write_site(Warehouse(rows=2, columns=2).site(), tmp_path / "hall.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> dict[str, Any]:
    """Run `fleet-sim traffic` in this process and return its JSON."""
    assert main(["traffic", *arguments, "--json", "out.json"]) == 0
    content: dict[str, Any] = json.loads(Path("out.json").read_text())
    return content


@pytest.mark.parametrize(
    ("problem", "options", "robots"),
    [
        ("room.map", ["--robots", "6"], 6),
        ("kiva.json", ["--robots", "4"], 4),
        ("league.json", [], 3),
        ("hall.yaml", ["--robots", "8", "--dwell", "0.5"], 8),
        ("room.scen", ["--dwell", "0"], 2),
    ],
)
def test_each_kind_of_problem_runs(folder: Path, problem: str, options: list[str], robots: int) -> None:
    found = run("run", problem, "--planner", "pibt", "--seconds", "60", *options)
    assert found.keys() >= CONTRACT
    assert found["robots"] == robots
    assert found["tasks_done"] >= min(robots, 4)
    assert (found["collisions"], found["deadlocks"], found["failed_plans"]) == (0, 0, 0)
    assert found["closest_gap_m"] == pytest.approx(found["closest_m"] - 0.6)
    assert found["closest_gap_m"] > 0.02
    assert found["planning_ms_p50"] <= found["planning_ms_p99"]
    assert found["throughput_per_s"] == pytest.approx(found["tasks_done"] / found["simulated_s"])
    assert sum(value for key, value in found.items() if key.startswith("share_")) == pytest.approx(1.0)
    assert 0.0 < found["speed_max"] <= 2.0


def test_another_planner_runs_and_plans_to_the_end(folder: Path) -> None:
    found = run("run", "room.map", "--planner", "lacam", "--robots", "4", "--seconds", "40")
    assert (found["collisions"], found["deadlocks"]) == (0, 0)
    assert found["tasks_done"] > 0
    once = run("run", "room.scen", "--planner", "lacam", "--paths", "plan.txt")
    assert (once["tasks_done"], once["collisions"], once["plans"]) == (2, 0, 1)
    site = read_site("room.scen")
    paths = read_paths("plan.txt", site.grid, site.starts)
    assert paths[:, -1].tolist() == site.goals.tolist()
    assert once["sum_of_costs"] >= 24


def test_listed_tasks_end_the_run(folder: Path) -> None:
    found = run("run", "league.json", "--seconds", "500")
    assert found["tasks_done"] == 4
    assert found["simulated_s"] < 100


def test_a_stay_at_the_goals_and_slow_robots_cost_tasks(folder: Path) -> None:
    quick = run("run", "room.map", "--robots", "3", "--seconds", "120", "--dwell", "0")
    staying = run("run", "room.map", "--robots", "3", "--seconds", "120", "--dwell", "10")
    slow = run("run", "room.map", "--robots", "3", "--seconds", "120", "--dwell", "0", "--speed", "0.3")
    assert quick["tasks_done"] > staying["tasks_done"] > 0
    assert quick["tasks_done"] > slow["tasks_done"] > 0
    assert slow["speed_max"] == pytest.approx(0.3)
    # Each task has ten seconds of it.
    assert staying["share_serving"] >= staying["tasks_done"] * 10.0 / (3 * 120.0) - 1e-9


def test_the_command_runs_by_itself_with_a_planner_of_ones_own(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from fleet_sim.warehouse.traffic.planners.pibt import Pibt\n\nclass Mine(Pibt):\n    '''My planner.'''\n"
    )
    command = [sys.executable, "-m", "fleet_sim.apps.cli.main", "traffic", "run", "room.map", "--planner", "mine:Mine"]
    done = subprocess.run(
        [*command, "--robots", "3", "--seconds", "20", "--json", "out.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Tasks done" in done.stdout
    assert json.loads((folder / "out.json").read_text())["about"]["planner"] == "mine:Mine"


def test_settings_reach_the_planner(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("run", "room.map", "--robots", "2", "--seconds", "2", "--setting", "most_steps=5")
    assert main(["traffic", "run", "room.map", "--robots", "2", "--seconds", "2", "--setting", "mots_steps=5"]) == 1
    assert "most_steps" in capsys.readouterr().err


def test_a_file_of_paths_is_executed(folder: Path) -> None:
    found = run("execute", "--map", "room.map", "--scen", "room.scen", "--paths", "paths.txt")
    assert found.keys() >= CONTRACT
    assert (found["tasks_done"], found["collisions"], found["deadlocks"]) == (2, 0, 0)
    assert (found["sum_of_costs"], found["planning_ms_p50"]) == (24, None)
    # Twelve metres at 2 m/s with one stop to turn.
    assert 6.0 < found["makespan_s"] < 12.0
    assert found["driven_m"] == pytest.approx(24.0)


def test_paths_that_move_robots_round_at_once_are_executed_where_their_discs_have_room(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    square = [(2, 2), (3, 2), (3, 3), (2, 3)]
    goals = square[1:] + square[:1]
    lines = [f"0\troom.map\t8\t6\t{a}\t{b}\t{c}\t{d}\t1" for (a, b), (c, d) in zip(square, goals, strict=True)]
    (folder / "round.scen").write_text("\n".join(["version 1", *lines]) + "\n")
    paths = [
        f"Agent {robot}:({a},{b})->({c},{d})->"
        for robot, ((a, b), (c, d)) in enumerate(zip(square, goals, strict=True))
    ]
    (folder / "round.txt").write_text("\n".join(paths) + "\n")
    given = ["execute", "--map", "room.map", "--scen", "round.scen", "--paths", "round.txt"]
    found = run(*given)
    assert (found["tasks_done"], found["collisions"], found["sum_of_costs"]) == (4, 0, 4)
    assert 0.7071 < found["closest_m"] < 0.72
    assert main(["traffic", *given, "--radius", "0.35"]) == 1
    assert "have no room to move round at once" in capsys.readouterr().err


def test_robots_that_end_elsewhere_have_done_no_task(folder: Path) -> None:
    (folder / "paths.txt").write_text("Agent 0:(0,0)->(1,0)->\nAgent 1:(7,5)->(7,4)->\n")
    found = run("execute", "--map", "room.map", "--scen", "room.scen", "--paths", "paths.txt")
    assert (found["tasks_done"], found["sum_of_costs"]) == (0, 2)
    assert found["makespan_s"] > 0.0


def test_a_lone_robot_has_no_closest_approach(folder: Path) -> None:
    assert run("run", "room.map", "--robots", "1", "--seconds", "5")["closest_m"] is None


def test_a_report_is_made_of_a_run(folder: Path) -> None:
    run("run", "room.map", "--robots", "6", "--seconds", "60")
    assert main(["report", "out.json", "--out", "page.html", "--csv", "table.csv"]) == 0
    assert "room, 6 robots, pibt" in (folder / "page.html").read_text()


def test_a_planner_that_does_nothing_is_told_by_the_figures(folder: Path) -> None:
    found = run("run", "room.map", "--robots", "3", "--seconds", "70", "--planner", f"{__name__}:Lazy")
    assert (found["tasks_done"], found["deadlocks"], found["stuck_robots"]) == (0, 1, 3)
    assert found["longest_wait_s"] == pytest.approx(70.0)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "none.map", "--robots", "1"], "none.map"),
        (["run", "room.map"], "say how many robots"),
        (["run", "room.map", "--robots", "99"], "99 robots do not fit: the largest free part has 40 cells"),
        (["run", "room.map", "--robots", "1", "--planner", "pipt"], "Did you mean 'pibt'"),
        (["run", "room.map", "--robots", "1", "--planner", "json:loads"], "a class derived from Planner"),
        (
            ["run", "room.map", "--robots", "1", "--speed", "-1"],
            "--speed: must be a number above 0 and at most 100 (m/s), got -1",
        ),
        (["run", "room.map", "--robots", "1", "--period", "0"], "--period: must be a number above 0"),
        (["run", "room.map", "--robots", "1", "--seconds", "0"], "--seconds: expected seconds above 0"),
        (["run", "room.map", "--robots", "1", "--dwell", "-2"], "--dwell: expected"),
        (["run", "room.map", "--robots", "1", "--radius", "0.6"], "where it has no room"),
        (["run", "room.map", "--robots", "1", "--setting", "a"], "--setting needs KEY=VALUE"),
        (["run", "room.map", "--robots", "1", "--json", "no/out.json"], "there is no folder 'no'"),
        (["run", "room.map", "--robots", "1", "--paths", "p.txt"], "--paths: there is one plan to write for a .scen"),
        (
            ["run", "room.map", "--robots", "4", "--seconds", "5", "--planner", f"{__name__}:Silly"],
            "all 5 plans failed",
        ),
        (["execute", "--map", "room.map", "--scen", "room.scen", "--paths", "none.txt"], "there is no such file"),
        (["execute", "--map", "room.map", "--scen", "room.map", "--paths", "paths.txt"], "are read from .scen files"),
        (
            ["execute", "--map", "kiva.json", "--scen", "room.scen", "--paths", "paths.txt"],
            "for a map of 8 x 6, not 4 x 4",
        ),
        (
            ["execute", "--map", "room.map", "--scen", "room.scen", "--paths", "jump.txt"],
            "robot 0 moves from node 0 to node 4 at step 1, which are not neighbours",
        ),
    ],
)
def test_mistakes_are_one_clear_error(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    (folder / "jump.txt").write_text("Agent 0:(0,0)->(4,0)->\n")
    assert main(["traffic", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fleet-sim: error: ")
    assert reason in error
    assert error.count("\n") == 1


def test_a_written_plan_is_read_again(folder: Path) -> None:
    (folder / "one.scen").write_text("0\troom.map\t8\t6\t0\t0\t7\t5\t12.0\n")
    found = run("run", "one.scen", "--planner", "pibt", "--paths", "plan.txt")
    site = read_site("one.scen")
    paths = read_paths("plan.txt", site.grid, site.starts)
    assert found["sum_of_costs"] == paths.shape[1] - 1 == 12
    again = run("execute", "--map", "room.map", "--scen", "one.scen", "--paths", "plan.txt")
    assert again["makespan_s"] == found["makespan_s"]


# ---- path files ------------------------------------------------------------------------------------------------------


FREE = np.ones((3, 4), bool)
FREE[1, 1] = False
GRID = Grid(FREE)
"""Cells 0 to 11 in rows of four; 5 is a wall."""

SMART = "Agent 0:(0,0)->(1,0)->(2,0)->\nAgent 1:(3,2)->(3,1)->\n"
CELLS = [[0, 1, 2], [11, 7, 7]]
STARTS = np.array([0, 11])


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "paths.txt"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        SMART,
        SMART.replace("->\n", "\n"),
        "\n" + SMART.replace("Agent 1:", "Agent 1: ").replace("\n", "\r\n"),
        "Agent 0:(0,0,0)->(1,0,1)->(2,0,2)->\nAgent 1:(3,2,0)->(3,1,1.0)->\n",
    ],
)
def test_paths_are_read(file, text: str) -> None:
    assert read_paths(file(text), GRID, STARTS).tolist() == CELLS


def test_starts_tell_the_order_of_the_two_numbers(file) -> None:
    by_rows = "Agent 0:(0,0)->(0,1)->(0,2)->\nAgent 1:(2,3)->(1,3)->\n"
    assert read_paths(file(by_rows), GRID, STARTS).tolist() == CELLS
    with pytest.raises(ConfigError, match=r"step 0: it begins in column 3, row 2, but .* starts it in column 2"):
        read_paths(file(SMART), GRID, np.array([0, 10]))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_paths(tmp_path / "out.txt", np.array(CELLS), GRID)
    assert read_paths(tmp_path / "out.txt", GRID, STARTS).tolist() == CELLS


def test_a_robot_that_only_stands_has_a_path(file) -> None:
    assert read_paths(file("Agent 0:(2,2)->"), GRID, np.array([10])).tolist() == [[10, 10]]


def test_costs_count_the_steps_until_a_robot_stays() -> None:
    paths = np.array([[0, 1, 1, 2, 2, 2], [4, 4, 4, 4, 4, 4], [8, 9, 10, 9, 8, 9]])
    assert steps_to_rest(paths).tolist() == [3, 0, 5]
    assert sum_of_costs(paths) == 8


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it has no paths"),
        ("x,y\n0,1\n", "line 1: expected `Agent <number>:` and cells"),
        ("Agent 0:(0,0)->(1,0\n", r"line 1: expected cells such as \(3,4\)->\(3,5\), got '\(1,0'"),
        ("Agent 0:(0,0)->(99999999999,0)\n", "line 1: expected cells"),
        ("Agent 0:\n", "line 1: expected cells such as"),
        ("Agent 1:(0,0)->\n", "line 1: expected agent 0, got agent 1"),
        ("Agent 0:(0,0)->\nrobot 1:(1,0)->\n", "line 2: expected `Agent <number>:`"),
        ("Agent 0:(0,0,0)->(1,0,2)->\n", "the times of agent 0 must count"),
        ("Agent 0:(0,0)->(0,-1)->\n", "robot 0, step 1: column 0, row -1 is outside of the map, which has 4 x 3"),
        ("Agent 0:(1,0)->(1,1)->\n", "robot 0, step 1: column 1, row 1 is blocked in the map"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(file, text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        read_paths(file(text), GRID, STARTS)


def test_more_robots_than_starts_are_refused(file) -> None:
    with pytest.raises(ConfigError, match="paths of 2 robots, but there are 1 starts"):
        read_paths(file(SMART), GRID, np.array([0]))
    with pytest.raises(ConfigError, match="there is no such file"):
        read_paths("none.txt", GRID, STARTS)


def test_a_file_that_would_fill_the_memory_is_refused(file) -> None:
    many = "".join(f"Agent {robot}:(0,0)->\n" for robot in range(1, 20_001))
    with pytest.raises(ConfigError, match="at most 100000000 cells"):
        read_paths(file("Agent 0:" + "(0,0)->" * 5_001 + "\n" + many), GRID, np.zeros(20_001, np.int64))


# ---- Figures of a run: gathered on arrays, written to a file and read again ------------------------------------------


GRID_FIGURES = Grid(np.ones((4, 5), bool))


def points(*cells: int) -> np.ndarray:
    return GRID_FIGURES.positions(np.array(cells))


def test_small_cells_are_counted_together() -> None:
    free = np.ones((7, 10), bool)
    free[:, 9] = False
    found = FigureCollector(Grid(free, 0.2))
    assert found.heat.grid.cell == pytest.approx(0.6)
    assert found.heat.free_mask.tolist() == [[True, True, True, False]] * 3


def test_series_keep_their_sums_however_long_the_run() -> None:
    series = Series(["a", "b"])
    for _ in range(4 * MOST):
        series.add(0.5, np.array([1.0, 0.25]))
    times, sums = series.table()
    assert len(times) < MOST
    assert times[-1] == pytest.approx(2 * MOST)
    assert sums.sum(axis=0).tolist() == [4 * MOST, MOST]
    assert np.diff(times).max() == pytest.approx(4.0)


def written(path: Path) -> dict[str, Any]:
    found = FigureCollector(GRID_FIGURES)
    found.observe(0.5, np.arange(2), points(0, 1), np.array([DRIVING, WAITING]))
    found.tasks_ended(np.array([2.0, 4.0]))
    figures = {"robots": 2.0, "closest_m": None, "tasks_done": 2.0}
    distributions = {"flow_time_s": found.flow_times, "planning_ms": np.zeros(0)}
    write_run(path, run_of("a run", figures, found, about={"seed": "3"}, distributions=distributions))
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_a_run_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    content = written(tmp_path / "run.json")
    assert (content["robots"], content["closest_m"]) == (2.0, None)
    run = read_run(tmp_path / "run.json")
    assert (run.title, run.about["seed"], run.figures["tasks_done"], run.figures["closest_m"]) == (
        "a run",
        "3",
        2,
        None,
    )
    assert run.times.tolist() == [0.5]
    assert run.states["waiting"].tolist() == [0.5]
    assert list(run.quantiles) == ["flow_time_s"]
    assert run.quantiles["flow_time_s"][[0, 50, 100]].tolist() == [2.0, 3.0, 4.0]
    assert run.heat is not None
    assert run.heat.passages[0].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert run.heat.waited[0, 1] == 0.5


@pytest.mark.parametrize(
    ("keys", "value", "reason"),
    [
        (["format"], "other", "is not a run file: expected the format 'fleet_sim run 1'"),
        (["series"], [], "series: must be a mapping"),
        (["series", "time_s"], ["a"], "series.time_s: must be a list of finite numbers"),
        (["series", "tasks_done"], [1, 2], "series.tasks_done: must have 1 numbers, got 2"),
        (["series", "robot_seconds", "idle"], [None], "robot_seconds.idle: must be a list of finite numbers"),
        (["percentiles", "flow_time_s"], [1.0], "percentiles.flow_time_s: must have 101 numbers"),
        (["percentiles"], 3, "percentiles: must be a mapping"),
        (["heat"], 3, "heat.rows: must be a list of rows"),
        (["heat", "rows"], [".", ".."], "heat.rows: must be rows of 1 letters"),
        (["heat", "cell_m"], 0, "heat.cell_m: must be a length above 0"),
        (["heat", "passages"], [[99], [1]], "heat.passages: numbers of squares must be whole and below 20"),
        (["heat", "waited_s"], [[1], []], "heat.waited_s: must have 1 numbers"),
    ],
)
def test_wrong_run_files_are_refused(tmp_path: Path, keys: list[str], value: object, reason: str) -> None:
    content = written(tmp_path / "run.json")
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (tmp_path / "run.json").write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=reason):
        read_run(tmp_path / "run.json")


@pytest.mark.parametrize(
    ("text", "reason"), [("[1]", "is not a run file"), ("{", "is not valid JSON"), ("NaN", "not a run")]
)
def test_other_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ConfigError, match=reason):
        read_run(tmp_path / "run.json")
