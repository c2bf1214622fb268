"""Endless tasks in scenarios: the section `tasks`, its figures, resets, and robots that come to an end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim import ConfigError, InvalidValueError, MultiRobotSimulationCore
from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.sites import Warehouse, write_site
from fleet_sim.warehouse.traffic.run_file import read_run

pytest.importorskip("numba")

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
