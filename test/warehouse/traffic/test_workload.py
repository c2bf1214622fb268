"""Workloads: starts and goals from the files that people compare planners on."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim import ConfigError, InvalidValueError, MultiRobotSimulationCore
from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.sites import NO_CELL, Warehouse, write_site
from fleet_sim.warehouse.traffic.figures_file import read_run
from fleet_sim.warehouse.traffic.workload import AlternatingTasks, ListedTasks, RandomTasks, read_workload

MAP = "type octile\nheight 3\nwidth 5\nmap\n.....\n.@@@.\n..@..\n"
ISLAND = "type octile\nheight 3\nwidth 5\nmap\n...@.\n...@.\n...@@\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hall.map").write_text(MAP)
    (tmp_path / "island.map").write_text(ISLAND)
    (tmp_path / "hall.scen").write_text(
        "version 1\n0\thall.map\t5\t3\t0\t0\t4\t2\t8.0\n0\thall.map\t5\t3\t4\t0\t0\t2\t8.0\n"
    )
    (tmp_path / "hall.agents").write_text("2\n0\n4\n")
    (tmp_path / "hall.tasks").write_text("5\n10\n14,3\n1\n2\n3\n")
    return tmp_path


def problem(folder: Path, **more: object) -> Path:
    content = {"mapFile": "hall.map", "agentFile": "hall.agents", "taskFile": "hall.tasks", "teamSize": 2, **more}
    (folder / "problem.json").write_text(json.dumps(content))
    return folder / "problem.json"


def test_a_map_has_random_starts_and_goals_in_its_largest_part(folder: Path) -> None:
    found = read_workload(folder / "island.map", robots=9, seed=1)
    largest = {0, 1, 2, 5, 6, 7, 10, 11, 12}
    assert set(found.starts.tolist()) == largest
    assert found.dwell == 2.0
    robots, cells = np.arange(9), found.starts
    seen: set[int] = set()
    for _ in range(50):
        goals = found.tasks.next(robots, cells).cells
        assert (goals != cells).all()
        seen.update(goals.tolist())
        cells = goals
    assert seen == largest


def test_the_seed_decides_starts_and_goals_whoever_asks_first(folder: Path) -> None:
    one, same, other = (read_workload(folder / "hall.map", robots=6, seed=seed) for seed in (1, 1, 2))
    assert one.starts.tolist() == same.starts.tolist() != other.starts.tolist()
    together = one.tasks.next(np.arange(6), one.starts).cells
    apart = [int(same.tasks.next(np.array([robot]), same.starts[[robot]]).cells[0]) for robot in (5, 3, 1, 0, 2, 4)]
    assert together[[5, 3, 1, 0, 2, 4]].tolist() == apart


def test_robots_go_to_and_fro_between_stations(tmp_path: Path) -> None:
    write_site(Warehouse(rows=2, columns=2).site(), tmp_path / "hall.yaml")
    found = read_workload(tmp_path / "hall.yaml", robots=5)
    workstations = found.site.grid.cells_at(
        np.array([(station.x, station.y) for station in found.site.stations_of("workstation")])
    )
    robots, cells = np.arange(5), found.starts
    at_workstations = []
    for _ in range(6):
        cells = found.tasks.next(robots, cells).cells
        at_workstations.append(np.isin(cells, workstations))
    assert all((before != after).all() for before, after in pairwise(at_workstations))


def test_a_layout_alternates_too(tmp_path: Path) -> None:
    (tmp_path / "kiva.json").write_text(json.dumps({"layout": ["w.e", "w@e", "w.e"]}))
    found = read_workload(tmp_path / "kiva.json", robots=2)
    assert (found.kind, found.dwell) == ("back and forth between 3 workstations and 3 stations", 2.0)


def test_a_scenario_has_one_task_for_each_robot(folder: Path) -> None:
    found = read_workload(folder / "hall.scen")
    assert (found.starts.tolist(), found.dwell) == ([0, 4], 0.0)
    robots = np.array([0, 1])
    first = found.tasks.next(robots, found.starts)
    assert (first.cells.tolist(), first.done_mask.tolist()) == ([14, 10], [False, False])
    second = found.tasks.next(robots, first.cells)
    assert (second.cells.tolist(), second.done_mask.tolist()) == ([NO_CELL, NO_CELL], [True, True])
    assert len(read_workload(folder / "hall.scen", robots=1).starts) == 1


def test_listed_tasks_go_to_who_is_free_or_in_turn(folder: Path) -> None:
    free = read_workload(problem(folder)).tasks
    assert free.next(np.array([1]), np.array([4])).cells.tolist() == [10]
    goals = free.next(np.array([0, 1]), np.array([0, 10]))
    assert (goals.cells.tolist(), goals.done_mask.tolist()) == ([14, 1], [False, True])
    # The task of robot 0 has two cells: it is done at the second.
    goals = free.next(np.array([0]), np.array([14]))
    assert (goals.cells.tolist(), goals.done_mask.tolist()) == ([3], [False])
    goals = free.next(np.array([0]), np.array([3]))
    assert (goals.cells.tolist(), goals.done_mask.tolist()) == ([2], [True])

    turns = read_workload(problem(folder, taskAssignmentStrategy="roundrobin")).tasks
    assert turns.next(np.array([1]), np.array([4])).cells.tolist() == [14]
    assert turns.next(np.array([0]), np.array([0])).cells.tolist() == [10]
    given = []
    for _ in range(5):
        goals = turns.next(np.array([0]), np.array([0]))
        given.append((int(goals.cells[0]), bool(goals.done_mask[0])))
    assert given == [(1, True), (3, True), (NO_CELL, True), (NO_CELL, False), (NO_CELL, False)]


def test_fewer_robots_than_a_problem_has(folder: Path) -> None:
    assert read_workload(problem(folder)).starts.tolist() == [0, 4]
    assert read_workload(problem(folder), robots=1).starts.tolist() == [0]
    with pytest.raises(InvalidValueError, match="has 2 starts, 3 are asked for"):
        read_workload(problem(folder), robots=3)


@pytest.mark.parametrize(
    ("tasks", "more", "reason"),
    [
        ("1\n6\n", {}, "task 0: it goes to a cell that is not free"),
        ("2\n1\n99\n", {}, "line 3: cell 99 is outside of the map, which has 15 cells"),
        ("1\n1\n", {"taskAssignmentStrategy": "auction"}, "taskAssignmentStrategy: must be one of"),
        (
            "1\n4\n",
            {"mapFile": "island.map", "agentFile": "one.agents", "teamSize": 1},
            "cannot get to the goal in row 0, column 4",
        ),
        (
            "1\n4\n",
            {"mapFile": "island.map", "agentFile": "far.agents"},
            "start in parts of the map that are not connected",
        ),
    ],
)
def test_problems_that_cannot_be_run_are_refused(
    folder: Path, tasks: str, more: dict[str, object], reason: str
) -> None:
    (folder / "hall.tasks").write_text(tasks)
    (folder / "one.agents").write_text("1\n0\n")
    (folder / "far.agents").write_text("2\n0\n4\n")
    with pytest.raises(ConfigError, match=reason):
        read_workload(problem(folder, **more))


def test_maps_need_a_number_of_robots_that_fits(folder: Path) -> None:
    with pytest.raises(InvalidValueError, match="say how many robots"):
        read_workload(folder / "hall.map")
    with pytest.raises(InvalidValueError, match="10 robots do not fit: the largest free part has 9 cells"):
        read_workload(folder / "island.map", robots=10)
    with pytest.raises(InvalidValueError, match="the largest free part has 0 cells"):
        read_workload(folder / "island.map", robots=1, radius=3.0)
    with pytest.raises(ConfigError, match=r"the start in row 0, column 0 has no room"):
        read_workload(problem(folder), radius=0.6)
    (folder / "island.scen").write_text("0\tisland.map\t5\t3\t0\t0\t0\t1\t1\n0\tisland.map\t5\t3\t1\t0\t4\t0\t1\n")
    with pytest.raises(ConfigError, match=r"robot 1 cannot get to the goal in row 0, column 4"):
        read_workload(folder / "island.scen")


def test_tasks_refuse_what_gives_no_goals() -> None:
    with pytest.raises(InvalidValueError, match="at least two cells"):
        RandomTasks(1, np.array([3]), 0)
    with pytest.raises(InvalidValueError, match="cells of both kinds"):
        AlternatingTasks(1, np.array([3]), np.array([], int), 0)
    with pytest.raises(InvalidValueError, match="none in common"):
        AlternatingTasks(1, np.array([3]), np.array([3, 4]), 0)
    assert ListedTasks(1, [], in_turn=True).next(np.array([0]), np.array([3])).cells.tolist() == [NO_CELL]


# ---- tasks section ---------------------------------------------------------------------------------------------------


ROOT = Path(__file__).parents[3]
Load = Callable[..., MultiRobotSimulationCore]


@pytest.fixture
def load(tmp_path: Path):
    """Make simulations with 12 robots in a warehouse; they are closed at the end."""
    write_site(Warehouse(rows=2, columns=2).site(), tmp_path / "hall.yaml")
    made: list[MultiRobotSimulationCore] = []

    def build(tasks: object, **more: Any) -> MultiRobotSimulationCore:
        shape = {"shape_type": "cylinder", "radius": 0.3, "height": 0.2}
        scenario = {
            "simulation": {"gui": False, "monitor": False, "target_rtf": 0, "timestep": 0.1, "seed": 5},
            "site": "hall.yaml",
            "robots": [{"name": "r", "at": {"site": "free", "count": 12}, "shape": shape, "max_linear_vel": 2.0}],
            "traffic": {"planner": "pibt"},
            "tasks": tasks,
            **more,
        }
        given = {key: value for key, value in scenario.items() if value is not ...}
        made.append(MultiRobotSimulationCore.from_dict(given, source=str(tmp_path / "scene.yaml")))
        return made[-1]

    yield build
    for sim in made:
        sim.close()


def steps(sim: MultiRobotSimulationCore, count: int) -> None:
    for _ in range(count):
        sim.step_once()


def test_a_reset_begins_the_same_work_and_figures_anew(load: Load) -> None:
    sim = load({"dwell": 1.0})
    work = sim.get_manager("tasks")
    checkpoint = sim.save_state()
    steps(sim, 150)
    keys = ("tasks_done", "driven_m", "closest_m", "waiting_s_mean")
    first = [work.figures()[key] for key in keys]
    state = sim.state_hash()
    sim.restore_state(checkpoint)
    assert work.figures()["driven_m"] == 0.0
    steps(sim, 150)
    assert [work.figures()[key] for key in keys] == first
    assert sim.state_hash() == state


def test_work_goes_on_without_a_robot_that_is_removed(load: Load) -> None:
    sim = load({"goals": "random"})
    steps(sim, 50)
    sim.remove_object(sim.get_object("r_3"))
    sim.get_manager("traffic").leave(sim.get_object("r_7"))
    steps(sim, 300)
    figures = sim.get_manager("tasks").figures()
    assert figures["tasks_done"] > 5
    assert (figures["collisions"], figures["deadlocks"]) == (0, 0)


def test_goals_may_be_chosen(load: Load) -> None:
    traffic = load({"goals": "stations"}).get_manager("traffic")
    site = traffic.site
    stations = [station for kind in ("workstation", "pick") for station in site.stations_of(kind)]
    cells = site.grid.cells_at(np.array([(station.x, station.y) for station in stations]))
    assert np.isin(traffic.network.cells[traffic.goals(traffic.rows)], cells).all()
    anywhere = load({"goals": "random", "seed": 1}).get_manager("traffic")
    assert not np.isin(anywhere.network.cells[anywhere.goals(anywhere.rows)], cells).all()


def test_all_is_gone_when_a_simulation_is_cleared(load: Load) -> None:
    sim = load(None)
    steps(sim, 5)
    sim.clear()
    steps(sim, 5)
    assert "tasks" not in [system.name for system in sim.pipeline.systems]


@pytest.mark.parametrize(
    ("tasks", "more", "reason"),
    [
        ({"dwel": 1}, {}, "tasks.dwel: .*Did you mean 'dwell'"),
        ({"dwell": -1}, {}, "tasks.dwell: must be a number"),
        ({"goals": "anywhere"}, {}, "tasks.goals: "),
        (None, {"traffic": ...}, "tasks: needs a section 'traffic' above it"),
        (None, {"traffic": {"robots": "none"}}, "tasks: no robot takes part"),
    ],
)
def test_mistakes_name_the_section(load: Load, tasks: object, more: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"scene\.yaml: {reason}"):
        load(tasks, **more)


def test_stations_need_both_kinds(load: Load, tmp_path: Path) -> None:
    write_site(Warehouse(rows=2, columns=2, workstations=0).site(), tmp_path / "plain.yaml")
    with pytest.raises(ConfigError, match=r"0 workstations and .* goals between stations need some of both"):
        load({"goals": "stations"}, site="plain.yaml")


@pytest.mark.parametrize("name", ["office", "warehouse", "sortation"])
def test_shipped_sites_run_at_once_and_have_figures(name: str, tmp_path: Path) -> None:
    """Robots move, nothing touches, and a run file comes out."""
    out = tmp_path / "run.json"
    file = ROOT / "config" / "sites" / f"{name}.yaml"
    assert main(["run", str(file), "--headless", "--rtf", "0", "--duration", "5", "--figures", str(out)]) == 0
    run = read_run(out)
    assert run.figures["collisions"] == 0
    assert run.figures["failed_plans"] == 0
    assert run.figures["driven_m"] is not None
    assert run.figures["driven_m"] > run.figures["robots"]  # type: ignore[operator]
    assert run.heat is not None


def test_figures_of_a_run_need_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "demo.yaml", "--headless", "--duration", "1", "--figures", str(tmp_path / "f.json")]) == 1
    assert "--figures needs a scenario with a section `tasks` or `orders`, one" in capsys.readouterr().err


def test_a_roadmap_has_no_cells_to_go_to(load: Load) -> None:
    with pytest.raises((ConfigError, InvalidValueError), match="roadmap"):
        load(None, traffic={"planner": "pibt", "network": "roadmap"})
