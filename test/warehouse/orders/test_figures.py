"""The figures of orders and robots."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml
from depot import depot, orders_of, run_until

from fleet_sim.apps.cli.main import main
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.orders import OrderRun, OrderState
from fleet_sim.warehouse.sites import Warehouse, write_site
from fleet_sim.warehouse.traffic.figures_file import read_run

ENTRIES = [
    {"id": str(number), "pick": f"shelf_{'abc'[number % 3]}", "drop": "dock", "due": 30.0 + 40.0 * number}
    for number in range(4)
]


def test_what_a_removed_robot_did_still_counts(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": ENTRIES}) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 1)
        before = orders.figures()["robots"]
        sim.remove_object(sim.agents[0])
        after = orders.figures()["robots"]
        assert after["count"] == 0
        assert after["driven_m"] == before["driven_m"] > 5.0
        assert after["time_s"] == pytest.approx(before["time_s"])


def test_tables_are_written_as_csv(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": ENTRIES}) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 2)
        orders.write_csv(tmp_path / "orders.csv")
        orders.write_history(tmp_path / "history.csv")
        with (tmp_path / "orders.csv").open() as file:
            lines = list(csv.DictReader(file))
        assert [line["id"] for line in lines] == ["0", "1", "2", "3"]
        assert [line["state"] for line in lines][:2] == ["done", "done"]
        assert lines[0]["stops"] == "shelf_a|dock"
        assert float(lines[0]["ended"]) == orders.status("0").ended
        assert lines[3]["ended"] == ""
        with (tmp_path / "history.csv").open() as file:
            assert next(csv.DictReader(file))["orders_waiting"] == "4.0"


# ---- run figures -----------------------------------------------------------------------------------------------------


@pytest.fixture
def scenario(tmp_path: Path) -> dict[str, Any]:
    write_site(Warehouse(rows=2, columns=2, chargers=2).site(), tmp_path / "hall.yaml")
    robot = {
        "name": "amr",
        "at": {"site": "free", "count": 6, "seed": 1},
        "shape": {"shape_type": "cylinder", "radius": 0.3},
        "controller": {"type": "differential", "max_linear_vel": 2.0, "max_angular_vel": 3.0},
        "battery": {"capacity_wh": 10, "level": 0.34, "charge_power": 1500},
    }
    return {
        "simulation": {"gui": False, "target_rtf": 0, "timestep": 0.1, "seed": 2, "duration": 240},
        "site": {"map": "hall.yaml"},
        "robots": [robot],
        "traffic": {"planner": "pibt"},
        "orders": {"arrivals": [{"per_hour": [400], "due_after": 40}]},
    }


def write(tmp_path: Path, scenario: dict[str, Any], name: str = "scenario") -> str:
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(scenario, sort_keys=False))
    return str(path)


def test_a_reset_gathers_anew_and_robots_may_go(tmp_path: Path, scenario: dict[str, Any]) -> None:
    with MultiRobotSimulationCore.from_dict(scenario, source=write(tmp_path, scenario)) as sim:
        gathered = OrderRun(sim, sim.get_manager("orders"))
        for _ in range(200):
            sim.step_once()
        first = gathered.figures()
        sim.reset()
        assert gathered.figures()["simulated_s"] == 0.0
        for _ in range(200):
            sim.step_once()
        again = gathered.figures()
        same = ("tasks_done", "driven_m", "driven_loaded_m", "orders_submitted", "flow_time_s_p50", "share_idle")
        assert {key: again[key] for key in same} == {key: first[key] for key in same}
        sim.remove_object(sim.agents[0])
        sim.step_once()
        assert gathered.figures()["robots"] == 5
        sim.clear()
        sim.step_once()


@pytest.mark.parametrize("told", [False, True])
def test_a_run_without_readers_steps_to_what_happens_next_and_is_the_same(
    tmp_path: Path, scenario: dict[str, Any], told: bool
) -> None:
    # So little energy that robots run out of it on their way, also to a charger.
    scenario["robots"][0]["battery"].update(capacity_wh=3, drive_energy=90)
    scenario["simulation"]["duration"] = 10.0 if told else 90.0
    found, steps, changes = [], [], []
    for strides in (True, False):
        with MultiRobotSimulationCore.from_dict(scenario, source=write(tmp_path, scenario)) as sim:
            gathered = OrderRun(sim, sim.get_manager("orders"))
            if told:
                sim.events.on("order_changed", lambda **_: changes.append(1))
            sim.run_simulation(None if strides else (lambda *_: None))
            figures = {name: value for name, value in gathered.figures().items() if not name.startswith("planning")}
            batteries = [robot.feature("battery").energy for robot in sim.agents]
            found.append((figures, batteries, sim.get_manager("orders").figures(), sim.state_hash()))
            steps.append(len(sim.profiler.totals))
    assert found[0] == found[1]
    if told:
        assert steps == [100, 100] and changes
    else:
        assert steps[0] < 450 and steps[1] == 900
        assert (found[0][0]["tasks_done"] or 0) > 2 and (found[0][0]["share_out_of_energy"] or 0.0) > 0.05


@pytest.mark.slow
def test_two_allocators_are_compared_on_one_page(
    tmp_path: Path, scenario: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for allocator in ("nearest", "auction"):
        files.append(str(tmp_path / f"{allocator}.json"))
        file = write(tmp_path, scenario, f"{allocator}&amp;<b>")
        option = f"orders.allocation.type={allocator}"
        assert main(["run", file, "--set", option, "--figures", files[-1]]) == 0
        assert "done per hour, half of them within" in capsys.readouterr().out
    assert main(["report", *files, "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for text in ("Orders done late", "How late orders were", "Driving loaded", "out of energy", "Energy", "nearest"):
        assert text in page
    assert ", 6 robots, orders.allocation.type=auction" in page
    # Names of files come from outside.
    assert "nearest&amp;amp;&lt;b&gt;" in page
    assert "<b>, 6 robots" not in page
    assert read_run(files[0]).about["settings"] == "orders.allocation.type=nearest"
    assert main(["run", file, "--seeds", "3,4", "--figures", str(tmp_path / "hall.json")]) == 0
    files = [str(tmp_path / f"hall_{seed}.json") for seed in (3, 4)]
    assert [read_run(one).about["seed"] for one in files] == ["3", "4"]
    assert main(["report", *files, "--bands", "--out", str(tmp_path / "bands.html")]) == 0
    assert "2 runs with the seeds 3, 4" in (tmp_path / "bands.html").read_text(encoding="utf-8")


def test_figures_of_tasks_and_orders_at_once_are_refused(
    tmp_path: Path, scenario: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, {**scenario, "tasks": {}})
    assert main(["run", file, "--figures", str(tmp_path / "f.json")]) == 1
    assert "a section `tasks` or `orders`, one" in capsys.readouterr().err


def test_a_busy_stream_does_not_lag_behind_its_rate(tmp_path: Path, scenario: dict[str, Any]) -> None:
    """Several orders may come within one step of 0.1 s."""
    scenario["orders"]["arrivals"] = [{"per_hour": [360_000], "end": 1.0}]
    with MultiRobotSimulationCore.from_dict(scenario, source=write(tmp_path, scenario)) as sim:
        for _ in range(13):
            sim.step_once()
        assert 70 < len(sim.get_manager("orders")) < 130
        count = len(sim.get_manager("orders"))
        for _ in range(20):
            sim.step_once()
        assert len(sim.get_manager("orders")) == count
